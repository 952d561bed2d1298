"""Trials repeated until one succeeds make a policy look good; trials planned in advance do not."""

import numpy as np

from foretell.answers.bound import bound
from foretell.answers.compare import compare

rng = np.random.default_rng(6)


def sheet(outcomes):
    rows = [(f"s{i}", t, v) for i, trials in enumerate(outcomes) for t, v in enumerate(trials)]
    return dict(zip(("scenario", "trial", "success"), map(list, zip(*rows, strict=True)), strict=True))


def until(p):
    trials = [int(rng.random() < p)]
    while not trials[-1] and len(trials) < 5:
        trials.append(int(rng.random() < p))
    return trials


def test_repeats_until_success_are_noticed():
    found = bound(sheet([until(0.4) for _ in range(20)]))
    assert "every trial failed but the last" in found.text() and "\nwarning: real: in " in found.text()
    turned = sheet([until(0.4) for _ in range(20)])
    turned = {name: cells[::-1] for name, cells in turned.items()}  # the column `trial` has the order
    assert "repeated until one succeeded" in bound(turned).text()
    both = [{**sheet([until(0.4) for _ in range(20)]), "policy": ["p"] * 200} for _ in range(1)]
    both[0]["policy"] = ["p"] * len(both[0]["success"])
    other = sheet([[1, 0]] * 20)
    other["policy"] = ["q"] * 40
    assert "warning: table 1: in " in compare(both[0], other).text()


def test_trials_planned_in_advance_are_not_suspected():
    for p in (0.1, 0.5, 0.9):
        planned = [[int(rng.random() < p) for _ in range(3)] for _ in range(20)]
        assert "repeated until" not in bound(sheet(planned)).text()
    assert "repeated until" not in bound(sheet([[1], [0], [0, 1], [0, 1], [1], [0]])).text()  # two are no habit
