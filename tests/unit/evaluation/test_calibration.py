"""Thresholds and probabilities fitted to labelled history."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach import FormatError, ReachError
from agent_reach.checks import calibrated_relevance
from agent_reach.evaluation.calibration import auc, auc_interval, calibrate_bands, calibrate_relevance, to_record
from agent_reach.events import Retrieval, Turn, line_from_event
from agent_reach.importers.fragments import labelled_fragments
from agent_reach.scores.logistic import logistic


def test_cuts_say_what_they_catch_and_whom_they_disturb():
    bands = calibrate_bands([(0.55, False)] * 9 + [(0.97, False)] + [(0.98, True)] * 19 + [(0.72, True)])
    at = {cut.at: (cut.caught.value, cut.disturbed.value) for cut in bands.cuts}
    assert (at[0.6], at[0.75], at[0.95], at[1.0]) == ((0.9, 0.0), (0.9, 0.05), (0.9, 0.05), (1.0, 1.0))
    assert (bands.degraded, bands.healthy) == (0.95, 1.0)
    assert bands.tells
    assert [(b.low, b.well.hits, b.well.n) for b in bands.bins] == [(0.5, 0, 9), (0.7, 1, 1), (0.9, 19, 20)]


def test_a_score_that_tells_nothing_suggests_nothing():
    dice = random.Random(2)
    bands = calibrate_bands([(dice.random(), n % 2 == 0) for n in range(100)])
    assert not bands.tells


@pytest.mark.parametrize("fit", [calibrate_bands, lambda examples: calibrate_relevance([examples])])
def test_too_few_labels_of_a_kind_are_told(fit):
    with pytest.raises(ReachError, match="at least 10"):
        fit([(0.5, True)] * 50 + [(0.1, False)] * 9)


def test_a_relevance_becomes_the_probability_that_made_the_labels():
    dice = random.Random(4)
    examples = [(x, dice.random() < logistic(8 * x - 5)) for x in (dice.random() for _ in range(4_000))]
    fitted = calibrate_relevance([[example] for example in examples])
    assert (fitted.slope, fitted.offset) == (pytest.approx(8, abs=0.6), pytest.approx(-5, abs=0.4))
    assert fitted.error < 0.03
    assert fitted.brier < fitted.base
    judge = calibrated_relevance(fitted.slope, fitted.offset, lambda _query, texts: [float(text) for text in texts])
    assert judge("q", ["0.625", "1e9", "-1e9"]) == pytest.approx([0.5, 1, 0], abs=0.05)
    json.dumps(to_record(fitted))


SIDES = st.lists(st.integers(0, 5), min_size=1, max_size=20)


@given(SIDES, SIDES)
def test_the_auc_is_the_share_of_pairs_in_the_right_order(high, low):
    pairs = [(h > k) + (h == k) / 2 for h in high for k in low]
    assert auc(high, low) == pytest.approx(sum(pairs) / len(pairs))
    assert auc(high, low) + auc(low, high) == pytest.approx(1)


def test_the_interval_is_that_of_the_literature():
    """Hanley and McNeil 1982, table II: 58 normal and 51 abnormal cases, area 0.893, standard error 0.032."""
    low, high = auc_interval(0.893, 51, 58)
    assert (high - low) / 2 / 1.959964 == pytest.approx(0.032, abs=0.0015)


# what it is fitted to -------------------------------------------------------------------------------------------------


def test_labelled_fragments_are_read_in_both_forms(tmp_path):
    path = tmp_path / "labels.jsonl"
    one = {"query": "warranty of headsets", "fragments": ["The warranty of headsets.", "Tea."], "needed": [True, False]}
    path.write_text(json.dumps(one) + "\n\n" + json.dumps({"relevance": 0.25, "needed": False}) + "\n")
    assert list(labelled_fragments(path)) == [[(1.0, True), (0.0, False)], [(0.25, False)]]


def test_fragments_that_a_reply_cites_count_as_needed(tmp_path):
    where = {"session": "s", "turn": 1}
    events = [
        Retrieval(**where, source="a", relevances=("0.9", "0.1")),
        Retrieval(**where, source="b", relevances=("0.5",)),
        Retrieval(**where, source="b", relevances=("0.6",)),
        Turn(**where, context_sources=("a", "b", "a", "b"), context_cited=("1", "0", "0", "1")),
    ]
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(map(line_from_event, events)))
    assert list(labelled_fragments(path)) == [[(0.9, True), (0.1, False)]]


@pytest.mark.parametrize(
    "text",
    ["nonsense", "[]", '{"query": "x"}', '{"query": "x", "fragments": ["a"], "needed": []}', '{"relevance": "much", "needed": 1}'],
)
def test_what_is_no_label_is_told(tmp_path, text):
    path = tmp_path / "labels.jsonl"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"labels\.jsonl"):
        list(labelled_fragments(path))


def test_where_the_needed_fragment_stands_in_its_query_does_not_matter():
    """Folds that are ranks would each hold one label only."""
    dice = random.Random(5)
    queries = [[(0.6 + dice.random() * 0.4, True), *((dice.random() * 0.5, False) for _ in range(4))] for _ in range(40)]
    shuffled = [dice.sample(query, 5) for query in queries]
    first, second = calibrate_relevance(queries), calibrate_relevance(shuffled)
    assert first.base == second.base == pytest.approx(0.16)
    assert first.brier == pytest.approx(second.brier)
    assert first.brier < first.base


def test_a_binary_file_of_labels_is_one_clear_error(tmp_path):
    (tmp_path / "labels.jsonl").write_bytes(b"\x7fELF\xd0\xff" * 100)
    with pytest.raises(FormatError) as caught:
        list(labelled_fragments(tmp_path / "labels.jsonl"))
    assert len(str(caught.value)) < 300
