"""`tasks: [{use: can, time_limit: 8}]`: shorter episodes are other episodes."""

from __future__ import annotations

from pathlib import Path

import pytest

import foretell
from foretell.errors import UsageError

STUDY = {"name": "limited", "policies": {"still": "random"}, "scenarios": 2, "record": {"steps": "all"}}


def study(**task: float) -> dict[str, object]:
    return {**STUDY, "tasks": [{"use": "lift", **task}]}


def test_an_episode_ends_at_the_limit_of_the_study_and_is_another_episode(tmp_path: Path) -> None:
    short = foretell.run(study(time_limit=0.4), out=tmp_path / "short", workers=0)
    long = foretell.run(study(time_limit=0.6), out=tmp_path / "long", workers=0)
    rows, others = foretell.read(short.path).to_pylist(), foretell.read(long.path).to_pylist()
    assert [row["sim_s"] for row in rows] == [0.4, 0.4]
    assert [row["sim_s"] for row in others] == [0.6, 0.6]
    assert not {row["episode"] for row in rows} & {row["episode"] for row in others}
    assert {row["task_hash"] for row in rows} != {row["task_hash"] for row in others}
    assert [row["scenario"] for row in rows] == [row["scenario"] for row in others]


def test_the_limit_of_the_task_itself_is_the_same_episode(tmp_path: Path) -> None:
    plain = {**STUDY, "tasks": ["lift"], "scenarios": 1}
    first = foretell.run(plain, out=tmp_path, workers=0)
    named = foretell.run(
        {**plain, "tasks": [{"use": "lift", "time_limit": 20.0}]}, out=tmp_path, workers=0, retire=True
    )
    assert (first.ran, named.ran, named.skipped) == (1, 0, 1)


def test_replay_and_judge_keep_the_limit(tmp_path: Path) -> None:
    run = foretell.run(study(time_limit=0.4), out=tmp_path, workers=0).path
    episode = foretell.read(run)["episode"][0].as_py()
    assert not foretell.replay(run, episode).differences
    judged = foretell.judge(run)
    assert (judged.judged, judged.differences) == (2, [])


@pytest.mark.parametrize("limit", [0, -1.0, float("nan"), "long"])
def test_a_limit_that_is_none_names_the_field(tmp_path: Path, limit: object) -> None:
    with pytest.raises(UsageError, match="time_limit"):
        foretell.run({**STUDY, "tasks": [{"use": "lift", "time_limit": limit}]}, out=tmp_path)
