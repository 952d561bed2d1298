"""A task may change its instruction in an episode: when a policy declares itself done, the next subtask begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import foretell

TASK = '''
from foretell.tasks import Stage
from foretell.tasks.lift import Lift


class Errands(Lift):
    """Go left, go right, and go back to the middle."""

    name, time_limit, success_rule = "errands", 6.0, "end"
    instruction = "run three errands"
    stages = (Stage("left", "10 cm left"), Stage("right", "then 10 cm right"), Stage("middle", "then back"))

    def instructions(self, state):
        return [("go left", "go right", "go back")[min(s, 2)] for s in state.subtask.tolist()]

    def on_terminate(self, state):
        return state.subtask < 2

    def reached(self, state):
        y, at = state.ee_pos("panda")[:, 1], state.subtask
        return {"left": (at == 0) & (y > 0.1), "right": (at == 1) & (y < -0.1), "middle": (at == 2) & (abs(y) < 0.05)}

    def solved(self, state):
        return self.reached(state)["middle"]
'''
POLICY = '''
import numpy as np

from foretell import Chunk, Policy, PolicySpec, Stream

GOALS = {"go left": 0.12, "go right": -0.12, "go back": 0.0}


class Obedient(Policy):
    """Goes where it is told, and says so when it is there. Its chunks have more than is ever wanted."""

    spec = PolicySpec(reads={"panda/ee_pos": Stream((3,))}, chunk=4, batch=None)

    def act(self, slots, observations):
        actions, done = np.zeros((len(slots), 4, 7)), np.zeros((len(slots), 4), dtype=bool)
        for row, told in enumerate(observations["instruction"]):
            gap = GOALS[told] - observations["panda/ee_pos"][row, 1]
            actions[row, :, 1] = np.clip(10 * gap, -0.4, 0.4)
            done[row] = abs(gap) < 0.015
        actions[:, :, 6] = -1
        return Chunk(actions, done)
'''
CLOCKS: dict[str, Any] = {
    "sync": "sync",
    "instant": {"virtual": {"latency": 0.0}},
    "virtual": {"virtual": {"latency": 0.12}},
    "replace": {"virtual": {"latency": 0.12, "chunks": "replace", "hold": "zero"}},
    "unlimited": {"virtual": {"latency": 0.12, "chunks": "ensemble", "computers": "unlimited"}},
    "realtime": {"realtime": {"speed": 0.5}},
}


@pytest.mark.parametrize("clock", CLOCKS)
def test_the_policy_is_told_the_next_subtask(clock: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "errands.py").write_text(TASK)
    (tmp_path / "obedient.py").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    study = {"tasks": ["errands.py:Errands"], "policies": {"it": "obedient.py:Obedient"}, "scenarios": 2}
    foretell.run({**study, "clocks": [CLOCKS[clock]]}, out="it", workers=1)
    found = foretell.read("it").to_pylist()
    judged = [row for row in found if row["blame"] != "machine"]  # in real time a machine may be too slow
    assert judged or clock == "realtime"
    for row in judged:
        stages = dict(row["stages"])
        assert list(stages) == ["left", "right", "middle"], row
        assert 0 < stages["left"] < stages["right"] < stages["middle"]
        assert row["end"] == "terminated" and row["success"], row


def test_without_latency_virtual_is_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "errands.py").write_text(TASK)
    (tmp_path / "obedient.py").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    study = {"tasks": ["errands.py:Errands"], "policies": {"it": "obedient.py:Obedient"}, "scenarios": 3}
    foretell.run({**study, "clocks": ["sync", CLOCKS["instant"]]}, out="it", workers=0)
    columns = ["scenario", "success", "stages", "steps", "sim_s", "end"]
    found = foretell.read("it").to_pylist()
    rows = [[{c: row[c] for c in columns} for row in found if kind in row["clock"]] for kind in ("sync", "virtual")]
    assert rows[0] == rows[1] and len(rows[0]) == 3
