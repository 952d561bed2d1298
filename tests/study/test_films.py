"""Films are chosen when outcomes are known: both outcomes, or failures only."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import foretell
from foretell.episode import Outcome
from foretell.episodes.read import read
from foretell.errors import UsageError
from foretell.policies.random import Random
from foretell.policy import Chunk
from foretell.rollout.video import AFTER_S, every, frames
from foretell.sim import render
from foretell.study import films
from foretell.study.config import Record, load_study
from foretell.study.estimate import estimate
from foretell.study.films import FAILURES, FEW, at_most, chosen
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


def test_a_study_that_does_not_say_films_a_few_of_both_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORETELL_VIDEO")
    few = load_study(STUDY).record
    assert few.video == "few" and load_study({**STUDY, "record": {"steps": 1}}).record.video == "few"
    episodes = planned()
    assert not any(e.video for e in planned(clocks=["realtime"]).values()), "what runs once is left alone"
    mixed = {name: int(name.split()[1]) % 3 == 0 for name in episodes}
    assert chosen(few, episodes, mixed) == ["expert 1", "random 1", "expert 0", "random 0"]
    ended = {name: name.startswith("expert") for name in episodes}
    assert chosen(few, episodes, ended) == ["random 0", "expert 0", "random 1"]
    assert at_most(few, list(episodes.values())) == FEW
    many = load_study({**STUDY, "policies": {f"p{i}": "random" for i in range(9)}, "scenarios": 1})
    assert at_most(few, plan(many, resolve_scenarios(many)[0])) == FEW


def test_the_environment_turns_films_off_that_nobody_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORETELL_VIDEO", "none")
    assert load_study(STUDY).record.video == 0
    assert load_study({**STUDY, "record": {"video": "few"}}).record.video == "few"
    monkeypatch.setenv("FORETELL_VIDEO", "2")
    assert load_study(STUDY).record.video == 2
    monkeypatch.setenv("FORETELL_VIDEO", "sometimes")
    with pytest.raises(UsageError, match=r"FORETELL_VIDEO should be a whole number from 0, .* it is 'sometimes'"):
        load_study(STUDY)


def test_films_that_nobody_asked_for_take_little_time() -> None:
    rows = {f"e{i}": {"wall_s": 3.0, "sim_s": 20.0} for i in range(4)}  # 111 pictures of 0.08 s: 8.9 s
    assert films._soon(list(rows), rows, spent=10.0) == ["e0", "e1"], "30 s"
    assert films._soon(list(rows), rows, spent=400.0) == ["e0", "e1", "e2"], "a tenth of the study"
    short = {name: {"wall_s": 3.0, "sim_s": 2.0} for name in rows}  # 31 pictures: 2.5 s
    assert films._soon(list(short), short, spent=10.0) == list(rows)
    slow = {"e0": {"wall_s": 100.0, "sim_s": 20.0}, "e1": {"wall_s": 1.0, "sim_s": 2.0}}
    assert films._soon(list(slow), slow, spent=400.0) == ["e1"], "the first would take too long"


def test_a_film_has_no_more_pictures_than_it_is_taken_for() -> None:
    for rate in (3.0, 5.0, 20.0, 50.0):
        for seconds in (0.2, 2.0, 9.9, 20.0, 120.0):
            drawn = math.ceil((rate * (seconds + AFTER_S) + 1) / every(rate, max(seconds, 20.0)))
            assert drawn <= frames(seconds), (rate, seconds)


@pytest.mark.daily
@pytest.mark.gl
def test_few_films_change_no_row_and_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("av")
    study = {"tasks": [f"{__file__}:Hasty"], "policies": ["expert"], "scenarios": {"count": 3}}
    plain = foretell.run({**study, "record": {"video": "none"}}, out=tmp_path / "plain", workers=0)
    monkeypatch.delenv("FORETELL_VIDEO")
    said: list[str] = []
    filmed = foretell.run(study, out=tmp_path / "filmed", workers=0, notify=said.append)
    rows = read(filmed.path)
    assert 1 <= sum(video is not None for video in rows["video"].to_pylist()) <= 3
    assert any(line.endswith("(record: {video: none} films nothing)") for line in said)
    apart = [c for c in rows.column_names if c == "video" or c.startswith("wall_")]
    assert rows.drop(apart).equals(read(plain.path).drop(apart))
    for film in (filmed.path / "videos").iterdir():
        film.unlink()
    assert foretell.run(study, out=filmed.path, workers=0, notify=pytest.fail).ran == 0, "no film is waited for"
    assert ", with up to 3 films, about " in estimate(study).text()


def test_a_machine_that_cannot_draw_runs_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("av")
    monkeypatch.delenv("FORETELL_VIDEO")
    monkeypatch.setenv("MUJOCO_GL", "nonsense")
    monkeypatch.setattr(render, "_shared", None)
    study = {"tasks": [f"{__file__}:Blink"], "policies": ["random"], "scenarios": 1}
    done = foretell.run(study, out=tmp_path / "run", workers=0)
    (note,) = done.notes
    assert note.startswith("nothing is filmed: cannot draw: no OpenGL here") and done.ran == 1
    assert note.endswith("`record: {video: none}` asks for no films") and not list((done.path / "videos").iterdir())
    monkeypatch.setattr(films, "_encodes", lambda: False)
    assert not foretell.run(study, out=tmp_path / "other", workers=0).notes, "who installed no encoder wants none"


class Ends(Lift):
    name, time_limit, success_rule = "ends", 0.2, "end"


@pytest.mark.parametrize(("task", "said"), [("Blink", True), ("Ends", False)])
def test_an_estimate_says_that_episodes_end_sooner_only_where_they_do(task: str, said: bool) -> None:
    study = {"tasks": [f"{__file__}:{task}"], "policies": ["random"], "scenarios": 1}
    assert ("(solved episodes end sooner)" in estimate(study).text()) is said


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


def test_an_episode_that_breaks_while_it_is_filmed_says_nothing_of_the_policy(tmp_path: Path) -> None:
    named = {"abc": next(iter(planned().values()))}
    rows = {"abc": {"success": False, "steps": 3, "end": "time_limit"}}
    killed = Outcome(end="error", blame="machine", error="the worker was killed")
    place, again = lambda name: Path("videos") / name, lambda wanted: iter([("abc", killed)])
    (note,) = films._filmed(tmp_path, named, rows, place, again)
    assert note == (
        "policy 'expert' on lift, blame machine: 1 episode could not be filmed, first episode abc: the worker was "
        "killed"
    )


def test_films_are_found_by_the_name_of_their_episode(tmp_path: Path) -> None:
    run = foretell.run({**STUDY, "policies": ["expert"], "scenarios": {"count": 2}}, out=tmp_path / "run", workers=0)
    first, second = read(run.path)["episode"].to_pylist()
    (run.path / "videos" / f"lift-expert-{second}.mp4").write_bytes(b"")
    (run.path / "videos" / f"lift-expert-{first}.part.mp4").write_bytes(b"")
    assert read(run.path)["video"].to_pylist() == [None, f"videos/lift-expert-{second}.mp4"]
