"""A robot's world file: what it refuses, what names its world, and `foretell check world`, which moves nothing."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from fake_robots import ARM, BASE, arm_file, sends
from studies import cli

from foretell import UsageError, check
from foretell.hardware.file import RobotFile

TASK = "widowx_carrot_on_plate"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"joints": {}}, "a robot has either `joints` or a `base`"),
        ({"base": BASE["base"]}, r"a robot has either `joints` or a `base` \(both are given\)"),
        ({"driver": {"use": "arm"}}, r'driver.use: should look like "package.module:Class" or "file.py:Class"'),
        ({"driver": {"used": "a.py:A"}}, r"driver.used is not a field; did you mean 'use'\?"),
        ({"rate": 0}, r"rate: Input should be greater than or equal to 1 \(given: 0\)"),
        ({"limits": {"velocity": -1}}, r"limits.velocity: Input should be greater than 0 \(given: -1\)"),
        (
            {"limits": {"workspace": {"low": [0, 0, 1], "high": [1, 1, 1]}}},
            "each number of low should be below that of",
        ),
        ({"watchdog": {"link": 0}}, r"watchdog.link: Input should be greater than 0"),
        ({"joints": {"gripper": {"key": "g", "open": 1, "closed": 1}}}, "open and closed should differ"),
        ({"joints": {"arm": [{"key": "a", "sign": 2}]}}, r"joints.arm.list.0.sign: Input should be 1 or -1"),
        ({"judge": "nobody"}, 'judge: should be person, task, "file.py:Class" or an .onnx file'),
        ({"judge": "a.py:A", "cameras": {}}, "judge: a detector looks at pictures: name a camera"),
        ({"speed": 3}, "speed is not a field"),
    ],
)
def test_a_file_that_cannot_be_read(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        RobotFile.load({**ARM, **changes})


def test_a_port_names_no_world_and_a_limit_does() -> None:
    def hash_of(**changes: Any) -> str:
        return RobotFile.load({**copy.deepcopy(ARM), **changes}).hash

    here = {
        "driver": {**ARM["driver"], "options": {"log": "a"}},
        "name": "another",
        "about": "words",
        "overlay": "mujoco",
    }
    assert hash_of() == hash_of(**here)
    others = [{"limits": {"velocity": 0.5}}, {"rate": 20}, {"watchdog": {"policy": 2.0}}, {"cameras": {}}]
    assert len({hash_of(), *(hash_of(**other) for other in others)}) == 5


def test_an_edited_driver_is_another_world(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("class Arm: ...\n")
    file = arm_file(tmp_path, driver={"use": "mine.py:Arm"})
    before = RobotFile.load(file).hash
    (tmp_path / "mine.py").write_text("class Arm: ports = 2\n")
    assert RobotFile.load(file).hash != before
    assert RobotFile.load(file).params["driver"] == {"use": "mine.py:Arm"}


def test_a_check_without_connect_does_not_even_connect(tmp_path: Path) -> None:
    report = check("world", arm_file(tmp_path, options={"log": str(tmp_path / "log"), "raise_at": 1}), task=TASK)
    assert report.ok, report.to_dict()
    assert [finding.name for finding in report.findings] == ["file", "task", "limits", "frames", "driver", "keys"]
    assert "the robot is stopped after 1 s without an action" in report["limits"].detail


def test_a_check_that_connects_reads_and_sends_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    report = check("world", arm_file(tmp_path, options={"log": str(log)}), task=TASK, connect=True)
    assert report.ok, report.to_dict()
    assert [f.name for f in report.findings][6:] == ["connects", "measures", "rate", "still", "leaves"]
    assert not sends(log)


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ({"robot": "panda"}, "task", "is for 'widowx'"),
        ({"robot": "widowz"}, "task", "is for 'widowx'"),
        ({"driver": {"use": "nowhere.py:Arm"}}, "driver", "there is no file"),
        ({"driver": {**ARM["driver"], "options": {"colour": 1}}}, "driver", "could not be made: TypeError"),
        ({"cameras": {"third": {"key": "back"}}}, "keys", "has no key 'back'"),
        ({"options": {"nan_key": "waist.pos"}}, "measures", "'waist.pos' is nan"),
        ({"options": {"at": [0, 9.0, 0, 0, 0, 0]}}, "measures", "joint 'shoulder' is measured at 9"),
        ({"options": {"slow_s": 0.03}}, "rate", "fewer than 50 sends per second are possible; lower `rate`"),
        ({"options": {"raise_at": 1}}, "measures", "the cable is out"),
    ],
)
def test_what_is_missing_has_a_stable_name(tmp_path: Path, more: dict[str, Any], code: str, words: str) -> None:
    report = check("world", arm_file(tmp_path, **more), task=TASK, connect=True)
    failed = [finding for finding in report.findings if not finding.passed]
    assert [finding.name for finding in failed] == [code] and words in failed[0].detail, report.to_dict()


def test_the_command_line_checks_a_robot(tmp_path: Path) -> None:
    done = cli("check", "world", arm_file(tmp_path), "--task", TASK, "--connect", cwd=tmp_path)
    assert "leaves" in done.stdout and "all 11 passed" in done.stdout
    done = cli("check", "world", "mujoco", "--connect", cwd=tmp_path, code=2)
    assert "`connect` is for a world of kind robot, and mujoco is none" in done.stderr
