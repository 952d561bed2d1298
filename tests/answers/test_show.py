"""What a run shows: rates by group, and every episode with the key that replays it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import foretell
from foretell.cli import main
from foretell.study.follow import Follower


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shown") / "run"
    policies = {"expert": "expert", "[/bold] *wild*": "random"}
    foretell.run({"tasks": ["lift"], "policies": policies, "scenarios": {"count": 3}}, out=path, workers=0)
    return path


def test_every_episode_is_listed_with_its_outcome(run: Path) -> None:
    listed = foretell.show(run, episodes=True)
    assert len(listed) == 6
    assert {(r["policy"], r["success"]) for r in listed} == {("expert", True), ("[/bold] *wild*", False)}
    assert [r["policy"] for r in foretell.show(run, failed=True)] == ["[/bold] *wild*"] * 3
    assert foretell.replay(run, listed[0]["episode"][:8]).identical


def test_the_command_prints_keys_and_names_as_they_are(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["show", str(run), "--failed"])
    said = capsys.readouterr().out
    assert said.count("[/bold] *wild*") == 3 and "no reach" in said and "expert" not in said
    main(["show", str(run), "--episodes", "--json"])
    assert len(json.loads(capsys.readouterr().out)) == 6


@pytest.mark.parametrize("judged", [True, False], ids=["every trial is judged", "one trial is not"])
def test_show_and_bound_agree_on_trials_without_a_scenario(tmp_path: Path, judged: bool) -> None:
    """Nothing orders such trials, so the interval must not depend on the order of the lines."""
    solved = [0, 1, 0, 2, 3, 0, 1, 1]
    trials = [f"bc,lift,s{i},{t},{int(t < k)}" for i, k in enumerate(solved) for t in range(3)]
    trials += [f"bc,lift,,,{k}" for k in (1, 0, 0, 1, 0, 0)]
    trials += [] if judged else ["bc,lift,s0,3,"]
    answers = []
    for order in (trials, sorted(trials, key=lambda line: line[-1]), random.Random(3).sample(trials, len(trials))):
        sheet = tmp_path / f"{len(answers)}.csv"
        sheet.write_text("\n".join(["policy,task,scenario,trial,success", *order]) + "\n")
        run = foretell.import_(sheet, out=tmp_path / f"run{len(answers)}").path
        (row,) = foretell.show(run)
        interval = foretell.bound(run).intervals[0]
        assert (row["low"], row["high"], row["method"]) == (interval.low, interval.high, "star")
        answers.append((row["low"], row["high"]))
        follower = Follower(run)
        follower.look()
        (live,) = follower.tally.figures()
        assert (live["low"], live["high"]) == answers[0]
    assert len(set(answers)) == 1
