"""The frames that a robot's camera kept of its trials tell where the objects really lay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from actor import BUSY, Actor
from rehearsals import rehearsing
from test_one_word import POLICY

import foretell
from foretell.cli import main
from foretell.hardware.rehearsal import Hands
from foretell.registry import resolve
from foretell.scenario import Scenario

TASK = "widowx_carrot_on_plate"
BESIDE = (0.012, -0.009)
"""m by which the person puts the carrot beside its place."""
pytestmark = [pytest.mark.slow, pytest.mark.gl]


class Careless(Actor):
    """Puts the carrot down a little beside its place."""

    def set_scene(self) -> Scenario:
        hands, asked = self.hands, Hands.set

        def beside(scenario: Scenario, **more: Any) -> None:
            carrot = scenario.placements["carrot"]
            x, y, z = carrot.pos
            there = carrot.model_copy(update={"pos": (x + BESIDE[0], y + BESIDE[1], z)})
            asked(hands, scenario.model_copy(update={"placements": {**scenario.placements, "carrot": there}}), **more)

        hands.set = beside  # type: ignore[method-assign]
        return super().set_scene()


def test_trials_of_a_study_are_measured_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (planned,) = resolve("tasks", TASK)().layouts()[:1]
    (tmp_path / "dip.py").write_text(POLICY)
    (tmp_path / "scenarios.jsonl").write_text(json.dumps(planned.model_dump(mode="json")) + "\n")
    study = {"name": "real", "world": "robot.yaml", "tasks": [{"use": TASK, "time_limit": 1.0}]}
    study |= {"policies": {"dip": "dip.py:Dip"}, "scenarios": {"file": "scenarios.jsonl"}, "clocks": ["realtime"]}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(study))
    more = ("--camera", "third_view", "--frames", "180x240", "--camera-rate", "4")
    with rehearsing(TASK, "mujoco", *more) as rehearsal:
        rehearsal.write(tmp_path / "robot.yaml", overlay="mujoco", watchdog={"link": 1.0})
        for _ in range(4):
            with Careless(tmp_path, rehearsal, [planned], "run", "study.yaml") as person:
                assert person.play() in (0, 3), person.keyboard.screen
            (row,) = foretell.read("runs/real").to_pylist()
            if row["blame"] is None:
                break
            assert any(word in str(row["error"]) for word in BUSY), row
        else:
            pytest.skip("this machine is too busy for the clock `realtime`")
    main(["match", "trials", "runs/real", "--object", "carrot"])
    assert "1 trial: all objects measured in 1" in capsys.readouterr().out
    (line,) = (tmp_path / "runs/real/poses.jsonl").read_text().splitlines()
    pose, placed = json.loads(line), planned.placements["carrot"]
    carrot = pose["measured"]["carrot"]
    assert np.hypot(carrot["x"] - placed.pos[0] - BESIDE[0], carrot["y"] - placed.pos[1] - BESIDE[1]) < 0.003
    assert pose["episode"] == row["episode"] and pose["scenario"]["parent"] == planned.id == pose["planned"]
    assert foretell.read("runs/real").to_pylist() == [row]
    again = {**study, "name": "sim", "world": "mujoco", "scenarios": {"file": "runs/real/poses.jsonl"}}
    (tmp_path / "sim.yaml").write_text(yaml.safe_dump({**again, "clocks": ["sync"]}))
    main(["run", "sim.yaml", "--workers", "0"])
    (simulated,) = foretell.read("runs/sim").to_pylist()
    assert simulated["parent"] == row["scenario"]
