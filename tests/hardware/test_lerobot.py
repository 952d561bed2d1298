"""The real LeRobot in an environment of its own: its own classes drive servos that we emulate, on a serial line."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from feetech import GOAL, MODE, SPEED, TORQUE, ServoBus
from keyboard import Keyboard

import foretell
from foretell.hardware.remote import DriverFailed, HostedRobot
from foretell.registry import resolve
from foretell.rooms import Room

PYTHON = os.environ.get("FORETELL_LEROBOT", "")
pytestmark = [
    pytest.mark.daily,
    pytest.mark.skipif(not PYTHON, reason="FORETELL_LEROBOT is not set: the Python of an environment with lerobot"),
]
ARM = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
WHEELS = ("base_left_wheel", "base_back_wheel", "base_right_wheel")
ODOMETRY = '''
import math, time

from lerobot.robots.lekiwi import LeKiwi


class Odometer(LeKiwi):
    """LeKiwi with a place: what its wheels say, added up."""

    def __init__(self, config):
        super().__init__(config)
        self.place, self.since = [0.0, 0.0, 0.0], None

    @property
    def observation_features(self):
        return {**super().observation_features, "x.pos": float, "y.pos": float, "theta.pos": float}

    def get_observation(self):
        seen, now = super().get_observation(), time.monotonic()
        passed = 0.0 if self.since is None else now - self.since
        self.since = now
        x, y, theta = self.place
        heading = math.radians(theta)
        x += passed * (seen["x.vel"] * math.cos(heading) - seen["y.vel"] * math.sin(heading))
        y += passed * (seen["x.vel"] * math.sin(heading) + seen["y.vel"] * math.cos(heading))
        self.place = [x, y, theta + passed * seen["theta.vel"]]
        return {**seen, **dict(zip(("x.pos", "y.pos", "theta.pos"), self.place))}
'''


def calibrate(folder: Path, names: tuple[str, ...]) -> dict[str, Any]:
    """Options of a robot whose calibration lies in a folder."""
    whole = {"drive_mode": 0, "homing_offset": 0, "range_min": 0, "range_max": 4095}
    (folder / "ours.json").write_text(json.dumps({name: {"id": i + 1, **whole} for i, name in enumerate(names)}))
    return {"id": "ours", "calibration_dir": str(folder)}


def test_its_own_arm_reads_and_moves_servos(tmp_path: Path) -> None:
    with ServoBus(range(1, 7)) as bus:
        options = {"port": bus.port, **calibrate(tmp_path, ARM)}
        robot = HostedRobot("lerobot.robots.so_follower:SO101Follower", options, python=PYTHON)
        assert list(robot.observation_features) == [f"{name}.pos" for name in ARM] == list(robot.action_features)
        assert not bus.writes
        robot.connect()
        seen = robot.get_observation()
        assert [seen[f"{name}.pos"] for name in ARM[:5]] == pytest.approx([0.0] * 5, abs=0.1)
        assert seen["gripper.pos"] == pytest.approx(50.0, abs=0.1)
        goal = {**dict.fromkeys(seen, 0.0), "shoulder_pan.pos": 30.0, "gripper.pos": 75.0}
        assert robot.send_action(goal) == goal
        until = time.monotonic() + 5.0
        while abs((seen := robot.get_observation())["gripper.pos"] - 75.0) > 0.2 and time.monotonic() < until:
            time.sleep(0.02)
        assert seen == pytest.approx(goal, abs=0.2)
        assert bus.servos[1].at == pytest.approx(2048 + 30 / 360 * 4096, abs=3)
        with pytest.raises(DriverFailed, match="send_action: "):
            robot.send_action({"no_such_joint.pos": 1.0})
        robot.disconnect()
        assert [servo.registers[TORQUE] for servo in bus.servos.values()] == [0] * 6


def test_its_own_arm_is_held_when_the_link_ends(tmp_path: Path) -> None:
    with ServoBus(range(1, 7)) as bus:
        options = {"port": bus.port, "disable_torque_on_disconnect": False, **calibrate(tmp_path, ARM)}
        robot = HostedRobot("lerobot.robots.so_follower:SO101Follower", options, python=PYTHON)
        robot.connect()
        robot.send_action({**robot.get_observation(), "shoulder_pan.pos": 170.0})  # takes 0.65 s
        time.sleep(0.2)
        robot.close()
        held = bus.servos[1].get(GOAL)
        assert 2048 + 200 < held < 2048 + 1700  # where it was, and not where it was to go
        assert bus.servos[1].at == pytest.approx(held, abs=120)


def test_a_study_runs_on_its_own_mobile_robot(tmp_path: Path) -> None:
    (tmp_path / "odometry.py").write_text(ODOMETRY)
    task, room = resolve("tasks", "pointnav")(), Room.named("lab_easy")
    x, y, yaw = room.spots["A"]
    near = task.between(room, (x, y, yaw), (x + 0.6 * math.cos(yaw + 0.5), y + 0.6 * math.sin(yaw + 0.5)))
    (tmp_path / "near.jsonl").write_text(json.dumps(near.model_dump(mode="json")) + "\n")
    study = {"name": "kiwi", "world": "kiwi.yaml", "tasks": ["pointnav"], "policies": {"follow": "goal-follower"}}
    study |= {"scenarios": {"file": "near.jsonl"}, "clocks": ["realtime"]}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(study))
    with ServoBus(range(1, 10)) as bus:
        options = {"port": bus.port, "cameras": {}, **calibrate(tmp_path, (*(f"arm_{n}" for n in ARM), *WHEELS))}
        world = {
            "name": "kiwi",
            "kind": "robot",
            "driver": {"use": "odometry.py:Odometer", "python": PYTHON, "options": options},
            "robot": "locobot",
            "rate": 20,
            "base": {"x": "x.vel", "theta": "theta.vel", "pose": ["x.pos", "y.pos", "theta.pos"], "frame": "start"},
            "hold": {"y.vel": 0.0, **{f"arm_{name}.pos": None for name in ARM}},
            "watchdog": {"link": 1.0},
            "rehearsal": True,
        }
        (tmp_path / "kiwi.yaml").write_text(yaml.safe_dump(world))
        with Keyboard("-m", "foretell", "run", "study.yaml", folder=tmp_path, patience=240.0) as keyboard:
            keyboard.see("Set this scene.")
            keyboard.press("\n")
            assert keyboard.end() == 0, keyboard.screen
        assert {bus.servos[wheel].registers[MODE] for wheel in (7, 8, 9)} == {1}
        speeds = [int.from_bytes(data, "little") for _, wheel, data in bus.written(SPEED) if wheel in (7, 8, 9)]
        assert any(speeds) and speeds[-3:] == [0, 0, 0]  # it stands at the end
        turned = bus.servos[7].at - bus.servos[9].at
    (row,) = foretell.read(tmp_path / "runs/kiwi").to_pylist()
    assert (row["success"], row["blame"], row["real"], row["stands_in"]) == (True, None, True, True), row
    assert 0.35 < dict(row["metrics"])["path_length"] < 0.9
    assert abs(turned) > 500
