"""`foretell.evaluate`: the rows of `run`, worlds that stay open, and the decision against a base."""

import numpy as np
import pytest

import foretell
from foretell import PolicySpec, Stream, UsageError
from foretell.answers import evaluate as module
from foretell.answers.evaluate import evaluate
from foretell.policies.expert import NoisyExpert
from foretell.study import open_study

STUDY = {"name": "loop", "tasks": ["lift"], "scenarios": {"count": 6}}
SPEC = PolicySpec(reads={"panda/ee_pos": Stream((3,))}, batch=None)


@pytest.fixture(autouse=True)
def closed():
    yield
    module.close()


def same(a, b):
    columns = [c for c in a.column_names if not c.startswith("wall_") and c not in ("study",)]
    return a.select(columns).equals(b.select(columns))


def test_rows_are_those_of_a_run(tmp_path, capfd):
    policy = NoisyExpert(noise=0.2)
    first = evaluate(policy, STUDY)
    again = evaluate(policy, STUDY)
    assert capfd.readouterr() == ("", "")
    run = foretell.run(STUDY, out=tmp_path / "run", policies={"policy": policy}, workers=0)
    assert same(first.episodes, again.episodes)
    kept = foretell.read(run.path)
    assert same(first.episodes.drop(["video"]), kept.drop(["video"]))
    shown = foretell.show(run.path)[0]
    assert (first.mean.estimate, first.mean.low, first.mean.high) == (shown["rate"], shown["low"], shown["high"])


def test_worlds_stay_open_for_the_next_call(monkeypatch):
    opened = []
    monkeypatch.setattr(open_study, "Session", lambda **given: opened.append(1) or SESSION(**given))
    evaluate(NoisyExpert(noise=0.0), STUDY)
    evaluate(NoisyExpert(noise=0.5), STUDY)
    assert len(opened) == 1
    evaluate(NoisyExpert(noise=0.0), {**STUDY, "scenarios": {"count": 2}})
    evaluate(NoisyExpert(noise=0.0), {**STUDY, "scenarios": {"count": 3}})
    assert len(opened) == 3 and len(module._OPEN) == module.KEPT
    evaluate(NoisyExpert(noise=0.0), STUDY)  # it was closed to make room
    assert len(opened) == 4


SESSION = open_study.Session


def test_a_base_gives_the_decision(tmp_path):
    good = evaluate(NoisyExpert(noise=0.0), STUDY)
    assert good.mean.estimate == 1.0 and good.gate is None
    bad = evaluate(lambda seen: np.zeros((len(seen["time"]), 7)), STUDY, spec=SPEC, base=good)
    assert bad.mean.estimate == 0.0 and bad.gate.decision == "fail" and "FAIL" in bad.text()
    run = foretell.run(STUDY, out=tmp_path / "run", policies={"old": NoisyExpert(noise=0.0)}, workers=0)
    same = evaluate(NoisyExpert(noise=0.0), STUDY, base=run.path, margin=0.5)
    assert same.gate.decision == "pass" and same.gate.tasks[0].paired
    assert same.to_dict()["gate"]["decision"] == "pass"


def test_arms_of_a_scenario_count_once():
    """Three arms of four scenarios are four draws."""
    study = {"tasks": ["lift"], "scenarios": {"count": 4}, "arms": ["none", "Light_Color", "Object_Friction"]}
    made = evaluate(NoisyExpert(noise=0.0), study)
    assert made.mean.n == 4 and {rate.arm for rate in made.rates} == set(study["arms"])
    assert len(made.episodes) == 12
    with pytest.raises(UsageError, match="a gate needs one clock and no arms"):
        evaluate(NoisyExpert(), study, base=made)


class Broken(foretell.Policy):
    spec = SPEC

    def act(self, slots, observations):
        raise RuntimeError("no weights")


def test_a_policy_that_raises_fails_and_is_named():
    made = evaluate(Broken, {"tasks": ["lift"], "scenarios": {"count": 2}})
    assert made.mean.estimate == 0.0
    assert any("2 episodes ended in an error, first (blame policy)" in note for note in made.notes)


@pytest.mark.parametrize(
    ("policy", "more", "words"),
    [
        (lambda seen: seen, {}, "spec: a function needs it"),
        (NoisyExpert(), {"clocks": [{"realtime": {}}]}, "realtime runs a policy in a process of its own"),
        (NoisyExpert(), {"clocks": [{"virtual": {"latency": "measured"}}]}, "give it in seconds"),
        (NoisyExpert(), {"until": {"width": 0.3}}, "fixed number of scenarios"),
        (object(), {}, "has no method `act`"),
    ],
)
def test_what_cannot_run_in_a_loop_is_refused(policy, more, words):
    with pytest.raises(UsageError, match=words):
        evaluate(policy, {**STUDY, **more})
