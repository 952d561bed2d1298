"""Simulation, a stand-in and a robot run the same study: a single word of its file changes."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from actor import BUSY, Actor
from rehearsals import rehearsing

import foretell
from foretell.registry import resolve
from foretell.rooms import Room
from foretell.scenario import Scenario

POLICY = '''
import numpy as np

from foretell import PolicySpec, Stream


class Dip:
    """Lowers its hand and closes it. It reads what a robot measures too."""

    def bind(self, task, action):
        reads = {"widowx/joint_pos": Stream(), "widowx/gripper": Stream()}
        self.spec = PolicySpec(reads=reads, action=action, action_rate=task.action_rate, batch=None)

    def act(self, slots, observations):
        actions = np.zeros((len(slots), 7))
        actions[:, 2], actions[:, 6] = -0.01, 1.0
        return actions
'''
CARROT = {"use": "widowx_carrot_on_plate", "time_limit": 1.6}


def study(folder: Path, tasks: list[Any], policies: dict[str, str], scenarios: Sequence[Scenario]) -> str:
    """A study file that leaves out one word."""
    (folder / "dip.py").write_text(POLICY)
    lines = [json.dumps(scenario.model_dump(mode="json")) + "\n" for scenario in scenarios]
    (folder / "scenarios.jsonl").write_text("".join(lines))
    given = {"name": "trials", "world": "WORLD", "tasks": tasks, "policies": policies, "clocks": ["realtime"]}
    return yaml.safe_dump({**given, "scenarios": {"file": "scenarios.jsonl"}})


def rows(folder: Path, text: str, world: str, number: int) -> list[dict[str, Any]]:
    """The rows of the study in a simulated world."""
    (folder / f"{world}.study.yaml").write_text(text.replace("WORLD", world))
    run = foretell.run(folder / f"{world}.study.yaml", out=folder / f"runs/{world}{number}")
    return foretell.read(run.path).to_pylist()


def settled(make: Any) -> list[dict[str, Any]]:
    """Rows of trials that the machine was quick enough for."""
    for attempt in range(4):
        table: list[dict[str, Any]] = make(attempt)
        if not any(word in str(row["error"]) for row in table for word in BUSY):
            return table
    pytest.skip("this machine is too busy for the clock `realtime`")


def columns(table: list[dict[str, Any]], *names: str) -> set[tuple[Any, ...]]:
    return {tuple(row[name] for name in names) for row in table}


SAME = ("task", "task_version", "policy", "policy_hash", "scenario", "trial", "clock", "controller", "robot")


@pytest.mark.slow
def test_an_arm_task_on_simulation_a_stand_in_and_a_robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    layouts = resolve("tasks", CARROT["use"])().layouts()[:1]
    text = study(tmp_path, [CARROT], {"dip": "dip.py:Dip"}, layouts)
    tables = {}
    for world in ("mujoco", "standin"):
        tables[world] = settled(functools.partial(rows, tmp_path, text, world))
    with rehearsing(str(CARROT["use"]), "standin") as rehearsal:
        rehearsal.write(tmp_path / "robot.yaml")
        (tmp_path / "robot.study.yaml").write_text(text.replace("WORLD", "robot.yaml"))

        def attempt(number: int) -> list[dict[str, Any]]:
            run = f"runs/robot{number}"
            with Actor(tmp_path, rehearsal, layouts, "run", "robot.study.yaml", "--out", run) as actor:
                actor.set_scene()
                actor.agree()
                actor.judge()
                assert actor.keyboard.end() == 0, actor.keyboard.screen
            return foretell.read(tmp_path / run).to_pylist()

        tables["robot"] = settled(attempt)
    assert columns(tables["mujoco"], *SAME) == columns(tables["standin"], *SAME) == columns(tables["robot"], *SAME)
    kinds = {name: columns(table, "real", "stands_in", "judge") for name, table in tables.items()}
    assert kinds == {
        "mujoco": {(False, False, "task")},
        "standin": {(False, True, "task")},
        "robot": {(True, True, "person")},
    }
    for table in tables.values():
        assert columns(table, "success", "end", "blame") == {(False, "time_limit", None)}, table
        assert all(row["sim_s"] == pytest.approx(1.6, abs=0.05) for row in table)


@pytest.mark.slow
def test_a_navigation_task_on_simulation_and_a_robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    task, room = resolve("tasks", "pointnav")(), Room.named("lab_easy")
    x, y, yaw = room.spots["A"]
    near = task.between(room, (x, y, yaw), (x + 0.4 * math.cos(yaw), y + 0.4 * math.sin(yaw)))
    text = study(tmp_path, ["pointnav"], {"follow": "goal-follower"}, [near])
    tables = {"planar": settled(functools.partial(rows, tmp_path, text, "planar"))}
    with rehearsing("pointnav", "planar") as rehearsal:
        rehearsal.write(tmp_path / "robot.yaml")
        (tmp_path / "robot.study.yaml").write_text(text.replace("WORLD", "robot.yaml"))

        def attempt(number: int) -> list[dict[str, Any]]:
            run = f"runs/robot{number}"
            with Actor(tmp_path, rehearsal, [near], "run", "robot.study.yaml", "--out", run) as actor:
                actor.set_scene()
                assert actor.keyboard.end() == 0, actor.keyboard.screen
            return foretell.read(tmp_path / run).to_pylist()

        tables["robot"] = settled(attempt)
    assert columns(tables["planar"], *SAME) == columns(tables["robot"], *SAME)
    for table in tables.values():
        assert columns(table, "success", "judge", "blame") == {(True, "task", None)}, table
        assert {name for name, _ in table[0]["stages"]} == {"halfway", "close", "arrival", "stop"}
        assert 0.2 < dict(table[0]["metrics"])["path_length"] < 0.6  # one step of 0.25 m, or two
