"""Films are chosen when outcomes are known: both outcomes, or failures only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import foretell
from foretell.episodes.read import read
from foretell.policies.random import Random
from foretell.policy import Chunk
from foretell.study.config import Record, load_study
from foretell.study.estimate import estimate
from foretell.study.films import FAILURES, at_most, chosen
from foretell.study.plan import Planned, plan, resolve_scenarios
from foretell.tasks.lift import Lift

STUDY = {"tasks": ["lift"], "policies": ["expert", "random"], "scenarios": {"count": 30}}


def planned(**more: Any) -> dict[str, Planned]:
    study = load_study({**STUDY, **more})
    episodes = plan(study, resolve_scenarios(study)[0])
    return {f"{e.policy} {i % 30}": e for i, e in enumerate(episodes)}


def test_failures_come_first_and_a_number_is_shared_between_both_outcomes() -> None:
    episodes = planned()
    mixed = {name: int(name.split()[1]) % 3 == 0 for name in episodes if name.startswith("expert")}
    assert chosen(Record(video=4), episodes, mixed) == ["expert 1", "expert 2", "expert 0", "expert 3"]
    assert chosen(Record(video=1), episodes, mixed) == ["expert 1"], "one film is of a failure"
    assert chosen(Record(video=3), episodes, mixed)[:2] == ["expert 1", "expert 2"]
    assert chosen(Record(video=2), episodes, dict.fromkeys(mixed, True)) == ["expert 0", "expert 1"]
    assert chosen(Record(video=2), episodes, dict.fromkeys(mixed, False)) == ["expert 0", "expert 1"]
    few = {"random 7": True, "random 8": False, "random 9": False, "random 10": False}
    assert chosen(Record(video=4), episodes, few) == ["random 8", "random 9", "random 10", "random 7"]


def test_failures_alone_are_filmed_up_to_a_cap() -> None:
    episodes = planned()
    ended = {name: name.startswith("expert") for name in episodes}
    assert chosen(Record(video="failures"), episodes, ended) == [f"random {i}" for i in range(FAILURES)]
    assert at_most(Record(video="failures"), list(episodes.values())) == 2 * FAILURES
    assert at_most(Record(video=4), list(episodes.values())) == 2 * 4


def test_in_real_time_films_are_made_as_it_runs() -> None:
    episodes = planned(clocks=["realtime"], record={"video": 2})
    assert [name for name, e in episodes.items() if e.video] == ["expert 0", "expert 1", "random 0", "random 1"]
    assert chosen(Record(video=2), episodes, dict.fromkeys(episodes, False)) == []


def test_a_study_says_what_films_take() -> None:
    small = {**STUDY, "policies": ["expert"], "scenarios": {"count": 3}}
    assert estimate({**small, "record": {"video": 2}}).bytes > estimate(small).bytes + 1_000_000


class Hasty(Lift):
    """Over when the slower half of experts has not lifted the cube yet."""

    name, time_limit = "hasty", 1.8


class Blink(Lift):
    """Over before it has begun."""

    name, time_limit = "blink", 0.4


class Moody(Random):
    """Gives up at once in every episode after the first."""

    def reset(self, slots, instructions, seeds):
        super().reset(slots, instructions, seeds)
        self.begun = getattr(self, "begun", 0) + 1

    def act(self, slots, observations):
        actions = super().act(slots, observations)
        return Chunk(actions[:, None], np.full((len(slots), 1), self.begun > 1))


@pytest.mark.gl
def test_one_film_of_each_outcome_and_no_row_changes(tmp_path: Path) -> None:
    study = {"tasks": [f"{__file__}:Hasty"], "policies": ["expert"], "scenarios": {"count": 3}}
    plain = foretell.run(study, out=tmp_path / "plain", workers=0)
    filmed = foretell.run({**study, "record": {"video": 2}}, out=tmp_path / "filmed", workers=0)
    rows = read(filmed.path).to_pylist()
    assert sorted(row["success"] for row in rows if row["video"]) == [False, True]
    assert all((filmed.path / row["video"]).stat().st_size > 1000 for row in rows if row["video"])
    apart = [c for c in read(plain.path).column_names if c == "video" or c.startswith("wall_")]
    assert read(filmed.path).drop(apart).equals(read(plain.path).drop(apart))
    again = foretell.run({**study, "record": {"video": 2}}, out=tmp_path / "filmed", workers=0, notify=pytest.fail)
    assert again.ran == 0 and not again.notes, "nothing is filmed twice"


@pytest.mark.gl
def test_an_episode_that_comes_out_otherwise_has_no_film(tmp_path: Path) -> None:
    study = {"tasks": [f"{__file__}:Blink"], "scenarios": {"count": 1}, "record": {"video": "failures"}}
    run = foretell.run(study, out=tmp_path / "run", policies={"moody": Moody()})
    (note,) = run.notes
    assert note.startswith("policy 'moody' on blink does not reproduce: 1 episode had another result when filmed")
    assert read(run.path)["video"].to_pylist() == [None] and not list((run.path / "videos").iterdir())


def test_films_are_found_by_the_name_of_their_episode(tmp_path: Path) -> None:
    run = foretell.run({**STUDY, "policies": ["expert"], "scenarios": {"count": 2}}, out=tmp_path / "run", workers=0)
    first, second = read(run.path)["episode"].to_pylist()
    (run.path / "videos" / f"lift-expert-{second}.mp4").write_bytes(b"")
    (run.path / "videos" / f"lift-expert-{first}.part.mp4").write_bytes(b"")
    assert read(run.path)["video"].to_pylist() == [None, f"videos/lift-expert-{second}.mp4"]
