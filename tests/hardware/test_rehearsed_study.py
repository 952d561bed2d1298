"""A whole study on a robot in another process, with a person who sets its table and judges: links cut and programs
killed at random moments. No trial is lost or doubled, and nothing is sent to a robot that was stopped."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from actor import BUSY, SCENE, VERDICT, Actor
from rehearsals import Rehearsal, rehearsing
from test_one_word import POLICY

import foretell
from foretell.registry import resolve

TASK = "widowx_carrot_on_plate"
SECONDS = 2.0
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared() -> Iterator[Rehearsal]:
    with rehearsing(TASK, "standin") as rehearsal:
        yield rehearsal


@pytest.fixture
def lab(tmp_path: Path, shared: Rehearsal) -> Path:
    shared.hands.mend()
    (tmp_path / "dip.py").write_text(POLICY)
    lines = [json.dumps(s.model_dump(mode="json")) + "\n" for s in LAYOUTS]
    (tmp_path / "scenarios.jsonl").write_text("".join(lines))
    shared.write(tmp_path / "robot.yaml", approach=1.0, watchdog={"link": 0.3})
    study = {"name": "trials", "world": "robot.yaml", "tasks": [{"use": TASK, "time_limit": SECONDS}]}
    study |= {"policies": {"dip": "dip.py:Dip"}, "scenarios": {"file": "scenarios.jsonl"}, "clocks": ["realtime"]}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(study))
    return tmp_path


LAYOUTS = resolve("tasks", TASK)().layouts()[:2]


def actor(lab: Path, shared: Rehearsal) -> Actor:
    return Actor(lab, shared, LAYOUTS, "run", "study.yaml")


def rows(lab: Path) -> list[dict[str, Any]]:
    return foretell.read(lab / "runs/trials").to_pylist()


def sends(shared: Rehearsal, since: float) -> list[float]:
    """When the robot was sent something."""
    return [when for when, call, _ in shared.hands.log() if call == "send_action" and when > since]


def under_way(shared: Rehearsal, person: Actor) -> float:
    """Wait until a trial runs, for a random time. Returns when that was."""
    began = time.monotonic()
    person.keyboard.see("Is the way clear?")
    person.keyboard.press("y")
    until = time.monotonic() + 30.0
    while len(sends(shared, began)) < 10:
        assert time.monotonic() < until, person.keyboard.screen
        time.sleep(0.02)
    time.sleep(random.uniform(0.2, 1.0))
    return time.monotonic()


def finish(lab: Path, shared: Rehearsal) -> list[str]:
    """Run what is left of the study, until the machine was quick enough for it. Returns the scenes that were set."""
    scenes: list[str] = []
    for _ in range(5):
        with actor(lab, shared) as person:
            assert person.play() in (0, 3), person.keyboard.screen
            scenes += person.set
        if all(row["blame"] is None for row in rows(lab)):
            return scenes
        assert any(word in str(row["error"]) for row in rows(lab) for word in BUSY), rows(lab)
    pytest.skip("this machine is too busy for the clock `realtime`")


def complete(lab: Path) -> None:
    """Every trial is there, and once."""
    table = rows(lab)
    assert sorted(row["scenario"] for row in table) == sorted(layout.id for layout in LAYOUTS)
    assert {(row["blame"], row["judge"], row["success"]) for row in table} == {(None, "person", False)}, table


def test_a_killed_program_sends_nothing_more_and_goes_on_later(lab: Path, shared: Rehearsal) -> None:
    with actor(lab, shared) as person:
        person.set_scene()
        under_way(shared, person)
        person.keyboard.kill(signal.SIGKILL)
        killed = time.monotonic()
        time.sleep(0.7)
        assert not [when for when in sends(shared, killed) if when > killed + 0.1]
    finish(lab, shared)
    complete(lab)


@pytest.mark.parametrize(
    "fault", ["cut", "freeze", *(pytest.param(name, marks=pytest.mark.daily) for name in ("garbage", "nan"))]
)
def test_a_link_that_fails_is_the_machines_and_the_trial_runs_again(lab: Path, shared: Rehearsal, fault: str) -> None:
    with actor(lab, shared) as person:
        person.set_scene()
        under_way(shared, person)
        failed = time.monotonic()
        shared.hands.fault(fault, **({"count": 3} if fault in ("garbage", "nan") else {"seconds": 1.0}))
        time.sleep(1.5)
        # watchdog.link is 0.3 s; one more send holds the robot, where there is still a link
        late = [when for when in sends(shared, failed) if when > failed + 0.3 + 0.4]
        assert not late, [when - failed for when in late]
        shared.hands.mend()
    broken = rows(lab)
    assert len(broken) <= 1 and {row["blame"] for row in broken} <= {"machine"}, broken
    finish(lab, shared)
    complete(lab)


def test_a_rehearsal_that_follows_a_run_sets_its_scenes(lab: Path) -> None:
    with rehearsing(TASK, "standin", "--run", str(lab / "runs/trials")) as rehearsal:
        rehearsal.write(lab / "robot.yaml", approach=1.0, watchdog={"link": 0.3})
        assert rehearsal.process.stderr is not None
        with actor(lab, rehearsal) as person:
            words = person.keyboard.see(SCENE)
            (scenario,) = (s for s in LAYOUTS if all(line in words for line in s.card().splitlines()))
            assert rehearsal.process.stderr.readline() == "The scene is set.\n"
            assert rehearsal.hands.truth()["scenario"] == scenario.id
            person.keyboard.press("\n")
            person.agree()
            assert person.keyboard.see_any([VERDICT, SCENE]) is not None
            told = rehearsal.process.stderr.readline()
            assert told.startswith(("The task says: failure; ", "The scene is set."))  # the machine may be too busy
