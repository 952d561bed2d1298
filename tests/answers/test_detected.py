"""`bound --detector`: errors of a detector widen the bound; what is missing is refused, not left out."""

import json

import made
import numpy as np
import pytest

from foretell.answers.bound import bound
from foretell.judging import confirms
from foretell.stats.coverage_detector import DETECTORS, cover_detector
from foretell.verdict_lines import append_verdict

SHARE, N = 0.3, 120


def judged(path, rate, says, *, people=True, share=SHARE, missing=0, **changes):
    """A run folder whose films a detector judged; `says`: (truth, scenario's number) -> score."""
    scenarios, rows = made.rows({"mine": rate}, N, **changes)
    run = made.run(path, scenarios, rows)
    asked = 0
    for i, row in enumerate(rows):
        score = float(says(row.success, i))
        line = {"episode": row.episode, "judge": "detector-eye", "kind": "detector", "success": score >= 0.5}
        line |= {"score": score, "wall_time": 1.0, "note": None, "confirm": share, "seed": 0}
        append_verdict(run, "detector-eye", line)
        if people and confirms(row.scenario, share):
            asked += 1
            if asked > missing:
                line = {"episode": row.episode, "judge": "ann", "kind": "person", "success": row.success}
                append_verdict(run, "ann", {**line, "score": None, "wall_time": 2.0, "note": None})
    return run, np.mean([row.success for row in rows])


def test_a_good_detector_narrows_and_a_liar_does_not_bias(tmp_path):
    good, rate = judged(tmp_path / "good", 0.7, lambda truth, i: truth)
    liar, _ = judged(tmp_path / "liar", 0.7, lambda truth, i: True)
    kind, false = bound(good, detector="eye"), bound(liar, detector="eye")
    assert rate in kind.intervals[0] and rate in false.intervals[0]
    assert kind.intervals[0].width < kind.confirmed_alone.width
    assert false.detection.rate == 1.0 and 1.0 not in false.intervals[0]
    assert kind.intervals[0].method == "blocked" and kind.intervals[0].guarantee == "finite-sample"
    assert kind.intervals[0].n + kind.intervals[0].n_extra == N
    text = kind.text()
    assert "scenarios that a person confirmed" in text and "narrower" in text and "simulation" not in text.lower()
    assert "drawn by coins" in text
    assert json.loads(json.dumps(kind.to_dict()))["detector"]["confirm"] == SHARE


def test_probabilities_and_other_methods(tmp_path):
    run, rate = judged(tmp_path / "p", 0.7, lambda truth, i: 0.8 if truth else 0.1)
    every = bound(run, detector="eye", method="all")
    assert {"blocked", "strata", "clopper_pearson"} <= {i.method for i in every.intervals}
    assert "* the default here" in every.text()
    assert rate in bound(run, detector="eye", method="strata").intervals[0]


def test_every_confirmed_trial_must_be_judged(tmp_path, refused):
    run, _ = judged(tmp_path / "run", 0.7, lambda truth, i: truth, missing=3)
    words = refused(bound, run, detector="eye")
    assert "3 of " in words and "have no person's verdict yet" in words and "would bias the bound" in words


def test_what_is_missing_is_named(tmp_path, refused):
    run, _ = judged(tmp_path / "run", 0.7, lambda truth, i: truth)
    assert "'eyes' has not judged" in refused(bound, run, detector="eyes")
    assert "did you mean 'eye'" in refused(bound, run, detector="eyes")
    assert "leave sim, extra, metric and horizon out" in refused(bound, run, run, detector="eye")
    assert "is no run folder" in refused(bound, {"scenario": ["a"], "success": [1]}, detector="eye")
    plain = made.run(tmp_path / "plain", *made.rows({"mine": 0.5}, 5))
    assert "let it judge first" in refused(bound, plain, detector="eye")
    path = run / "verdicts" / "detector-eye.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-2]))
    assert "has not judged 2 episodes" in refused(bound, run, detector="eye")


def test_coins_that_were_edited_do_not_count(tmp_path):
    """Which trials are confirmed is drawn again from share and seed."""
    run, _ = judged(tmp_path / "run", 0.7, lambda truth, i: truth)
    before = bound(run, detector="eye").intervals
    path = run / "verdicts" / "detector-eye.jsonl"
    lines = [json.loads(line) | {"chosen": False} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert bound(run, detector="eye").intervals == before


def test_rows_that_a_person_judged_need_no_second_verdict(tmp_path):
    run, _ = judged(tmp_path / "run", 0.7, lambda truth, i: truth, people=False, judge="person", world="real")
    assert bound(run, detector="eye").intervals[0].n_extra > 0


def test_a_detector_that_failed_at_the_robot_costs_no_trial(tmp_path):
    run, _ = judged(tmp_path / "run", 0.7, lambda truth, i: truth, people=False, judge="person", world="real")
    path = run / "verdicts" / "detector-eye.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-3]))
    answer = bound(run, detector="eye")
    assert answer.detection.silent == 3 and "no verdict on 3, which count as a probability of 0.5" in answer.text()
    assert answer.intervals[0].n + answer.intervals[0].n_extra == N


def test_a_person_who_judges_again_is_believed(tmp_path):
    run, _ = judged(tmp_path / "run", 0.7, lambda truth, i: truth)
    before = bound(run, detector="eye").mean
    _, rows = made.rows({"mine": 0.7}, N)
    chosen = next(r for r in rows if confirms(r.scenario, SHARE) and r.success)
    line = {"episode": chosen.episode, "judge": "bob", "kind": "person", "success": False, "score": None}
    append_verdict(run, "bob", {**line, "wall_time": 3.0, "note": None})
    assert bound(run, detector="eye").mean < before


@pytest.mark.parametrize("name", ["errs in 5 %", "always says the opposite", "takes 40 % of failures for successes"])
def test_the_bound_covers_for_good_and_bad_detectors(name):
    assert name in DETECTORS
    held, width = cover_detector(name, 0.7, draws=60)["bound"]
    assert held >= 52 and width < 0.33  # of 60 at 95 %: fewer than 52 in 1 of 200
