"""How likely a conversation ends well, from its signals."""

import json
import random

import pytest

from agent_reach import FormatError, ReachError, Routes
from agent_reach.checks.signals import NAMES
from agent_reach.evaluation.calibration import auc
from agent_reach.evaluation.outlook import Outlook, fit_outlook


def history(n, seed):
    """Two signals count, one for and one against; the others are noise."""
    dice = random.Random(seed)
    rows, well = [], []
    for _ in range(n):
        label = dice.random() < 0.6
        row = [dice.expovariate(0.1) for _ in NAMES]
        row[1] = dice.expovariate(0.02 if label else 0.2)
        row[4] = dice.expovariate(0.2 if label else 0.02)
        rows.append(row)
        well.append(label)
    return rows, well


def test_signals_that_go_with_the_outcome_tell_it_on_other_conversations():
    fitted = fit_outlook(*history(80, 1))
    rows, well = history(400, 2)
    scores = [fitted.probability(row) for row in rows]
    assert auc([s for s, w in zip(scores, well, strict=True) if w], [s for s, w in zip(scores, well, strict=True) if not w]) > 0.85
    assert sum(scores) / len(scores) == pytest.approx(sum(well) / len(well), abs=0.08)
    assert fitted.weights[1] > 0.3
    assert fitted.weights[4] < -0.3


def test_an_outlook_is_the_same_after_a_file(tmp_path):
    fitted = fit_outlook(*history(60, 3))
    fitted.save(tmp_path / "o.json")
    assert Outlook.load(tmp_path / "o.json") == fitted


def test_signals_that_never_vary_weigh_nothing():
    rows, well = history(60, 4)
    for row in rows:
        row[0] = 7.0
    assert fit_outlook(rows, well).weights[0] == pytest.approx(0, abs=1e-12)


def test_too_few_labels_are_told():
    rows, _ = history(30, 5)
    with pytest.raises(ReachError, match="ten conversations of each label"):
        fit_outlook(rows, [True] * 25 + [False] * 5)


@pytest.mark.parametrize("change", [{"names": ["x"]}, {"means": [1]}, {"slope": "steep"}, {"weights": None}])
def test_a_file_that_is_no_outlook_is_told(tmp_path, change):
    path = tmp_path / "o.json"
    fit_outlook(*history(60, 3)).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(FormatError, match=r"o\.json"):
        Outlook.load(path)
    with pytest.raises(FormatError, match="readable"):
        Outlook.load(tmp_path / "nowhere.json")


def test_an_outlook_is_used_with_the_side_effects_that_it_was_fitted_with(tmp_path):
    fitted = fit_outlook(*history(60, 3), ("pay",))
    fitted.save(tmp_path / "o.json")
    assert Outlook.load(tmp_path / "o.json") == fitted
    fitted.check_effects(Routes.model_validate({"tools": {"pay": {"side_effect": True}}}), "o.json")
    with pytest.raises(ReachError, match="was fitted with the side effects pay, found none"):
        fitted.check_effects(Routes(), "o.json")


def test_the_area_that_is_told_is_held_out():
    assert fit_outlook(*history(80, 1)).auc > 0.6
    dice = random.Random(7)
    rows, well = history(80, 1)
    assert 0.3 < fit_outlook(rows, [dice.random() < 0.5 for _ in well]).auc < 0.7
