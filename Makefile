# Two commands for a newcomer: `make demo` and `make test`. Both create .venv from an empty folder.
PYTHON ?= python3
BIN := .venv/bin
JOBS ?= 2

.PHONY: demo test test-long lint format bench upstream clean

demo: .venv/core
	$(BIN)/agent-reach demo

test: .venv/dev
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

test-long: .venv/dev
	$(BIN)/python -m pytest -m long

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/dev  # the figures of benchmarks/RESULTS.md
	$(BIN)/pip install --quiet -e '.[peers]'
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/score_airline.py
	$(BIN)/python benchmarks/soak.py
	$(BIN)/python benchmarks/import_time.py
	$(BIN)/python benchmarks/large_result.py
	$(BIN)/python benchmarks/score_throughput.py
	$(BIN)/python benchmarks/metatool.py
	$(BIN)/python benchmarks/banking.py
	$(BIN)/python benchmarks/live_signals.py
	$(BIN)/python benchmarks/tau_reach.py
	$(BIN)/python benchmarks/tau_effects.py
	$(BIN)/python benchmarks/who_and_when.py
	$(BIN)/python benchmarks/report_size.py
	$(BIN)/python benchmarks/nestful.py
	$(BIN)/python benchmarks/serve.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/core: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet -e '.[serve]'
	touch $@

.venv/dev: .venv/core
	$(BIN)/pip install --quiet -e '.[dev]'
	touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
