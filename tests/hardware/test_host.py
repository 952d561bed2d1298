"""A driver in an environment of its own: real processes, one of which has neither foretell nor numpy."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Any

import pytest

import foretell
from foretell import UsageError
from foretell.hardware import remote, wire
from foretell.hardware.remote import DriverFailed, HostedRobot
from foretell.hardware.wire import LinkLost

DRIVER = '''
import json, sys, time
from pathlib import Path

LOG = Path(__file__).with_name("log.jsonl")


def note(*words):
    with LOG.open("a") as log:
        log.write(json.dumps([time.monotonic(), *words]) + "\\n")


class Arm:
    """An arm without numpy: its picture is a view of bytes."""

    name = "plain"
    observation_features = {"waist.pos": float, "front": (2, 2, 3)}
    action_features = {"waist.pos": float}
    is_connected = False

    def __init__(self, port="none"):
        self.port, self.at = port, 10.0

    def connect(self, calibrate=True):
        note("connect", calibrate, "foretell" in sys.modules, "numpy" in sys.modules)
        print("connecting to", self.port)  # must not get into the answers
        self.is_connected = True

    def get_observation(self):
        if self.at == 66.0:
            time.sleep(60)
        return {"waist.pos": self.at, "front": memoryview(bytes(range(12))).cast("B", (2, 2, 3))}

    def send_action(self, action):
        note("send", action)
        if action["waist.pos"] == 13.0:
            raise RuntimeError("the servo is too hot")
        self.at = min(action["waist.pos"], 90.0)
        return {"waist.pos": self.at}

    def disconnect(self):
        note("disconnect")
        self.is_connected = False


class Base(Arm):
    action_features = {"x.vel": float}

    def send_action(self, action):
        note("send", action)
        return action


class Stopping(Arm):
    def stop(self):
        note("stop")


class Configured(Arm):
    """As LeRobot's own robots: it takes a configuration."""

    class config_class:
        def __init__(self, port):
            self.port = port

    def __init__(self, config):
        super().__init__(f"configured {config.port}")

    def send_action(self, action):
        return {"waist.pos": len(self.port)}
'''


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment without any package."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin" / "python"


@pytest.fixture
def driver(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(DRIVER)
    return tmp_path / "mine.py"


def noted(driver: Path) -> list[Any]:
    log = driver.with_name("log.jsonl")
    return [json.loads(line)[1:] for line in log.read_text().splitlines()] if log.exists() else []


def test_a_driver_runs_where_there_is_neither_foretell_nor_numpy(driver: Path, bare: Path) -> None:
    robot = HostedRobot(f"{driver}:Arm", {"port": "ttyACM0"}, python=bare)
    assert robot.observation_features == {"waist.pos": float, "front": (2, 2, 3)}
    assert robot.action_features == {"waist.pos": float} and robot.name == "plain"
    assert not robot.is_connected and not callable(robot.stop) and noted(driver) == []
    robot.connect()
    assert robot.is_connected and noted(driver) == [["connect", False, False, False]]
    seen = robot.get_observation()
    assert seen["waist.pos"] == 10.0 and seen["front"].tolist()[1][1] == [9, 10, 11]
    assert robot.send_action({"waist.pos": 100.0}) == {"waist.pos": 90.0}
    process = robot._process
    robot.disconnect()
    assert not robot.is_connected and noted(driver)[-1] == ["disconnect"]
    assert process is not None and process.returncode == 0
    robot.connect()  # in a new process
    assert robot.get_observation()["waist.pos"] == 10.0
    robot.close()


def test_what_a_driver_raises_is_told_and_the_link_stays(driver: Path, bare: Path) -> None:
    robot = HostedRobot(f"{driver}:Arm", python=bare)
    robot.connect()
    with pytest.raises(DriverFailed, match="send_action: RuntimeError: the servo is too hot") as failed:
        robot.send_action({"waist.pos": 13.0})
    assert failed.value.trace is not None and "mine.py" in failed.value.trace
    assert robot.get_observation()["waist.pos"] == 10.0
    robot.disconnect()


def test_options_become_a_configuration_where_a_class_has_one(driver: Path, bare: Path) -> None:
    robot = HostedRobot(f"{driver}:Configured", {"port": "abc"}, python=bare)
    robot.connect()
    assert robot.send_action({"waist.pos": 1.0}) == {"waist.pos": len("configured abc")}
    robot.disconnect()


def test_a_driver_that_hangs_costs_no_more_than_the_patience(driver: Path, bare: Path) -> None:
    robot = HostedRobot(f"{driver}:Arm", python=bare)
    robot.patience = 0.4
    robot.connect()
    robot.send_action({"waist.pos": 66.0})
    process, began = robot._process, time.monotonic()
    with pytest.raises(LinkLost, match=r"get_observation: .* silent for too long \(0.4 s at most\)"):
        robot.get_observation()
    assert time.monotonic() - began < 3.0 and not robot.is_connected
    with pytest.raises(LinkLost, match="no link to the robot; connect again"):
        robot.get_observation()
    robot.close()
    assert process is not None
    assert process.wait(10.0) is not None  # it is killed, and keeps no port


@pytest.mark.parametrize(
    ("kind", "rest", "held"),
    [
        ("Arm", {}, ["send", {"waist.pos": 42.0}]),
        ("Base", {"x.vel": 0.0}, ["send", {"x.vel": 0.0}]),
        ("Stopping", {}, ["stop"]),
    ],
)
def test_a_robot_is_held_when_foretell_is_killed(
    driver: Path, bare: Path, kind: str, rest: dict[str, float], held: list[Any]
) -> None:
    script = (
        "import sys, time\n"
        "from foretell.hardware.remote import HostedRobot\n"
        f"robot = HostedRobot({f'{driver}:{kind}'!r}, python={str(bare)!r}, rest={rest!r})\n"
        "robot.connect()\n"
        "robot.send_action({key: 42.0 for key in robot.action_features})\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    path = str(Path(foretell.__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
    until = time.monotonic() + 5.0
    while noted(driver)[-1] != ["disconnect"] and time.monotonic() < until:
        time.sleep(0.02)
    assert noted(driver)[-2:] == [held, ["disconnect"]]


def test_a_robot_is_held_once_when_foretell_freezes(driver: Path, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "FROZEN_S", 0.2)
    robot = HostedRobot(f"{driver}:Base", python=bare, rest={"x.vel": 0.0})
    robot.connect()
    time.sleep(0.5)
    assert not any(entry[0] == "send" for entry in noted(driver))  # it was never told to move
    robot.send_action({"x.vel": 42.0})
    time.sleep(0.8)
    assert [entry for entry in noted(driver) if entry[0] == "send"] == [
        ["send", {"x.vel": 42.0}],
        ["send", {"x.vel": 0.0}],
    ]
    assert robot.get_observation()  # and the link is as it was
    robot.close()


def test_other_versions_are_refused_with_both(driver: Path, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "PROTOCOL", 99)
    version = foretell.__version__
    with pytest.raises(UsageError) as refused:
        HostedRobot(f"{driver}:Arm", python=bare)
    assert f"(foretell {version}) speaks version 99 of the link and host.py (foretell {version}) version 1" in str(
        refused.value
    )


@pytest.mark.parametrize(
    ("use", "python", "words"),
    [
        ("mine.py:Leg", None, "has no class 'Leg'"),
        ("yours.py:Arm", None, "there is no file"),
        ("no_such_package:Arm", None, "No module named 'no_such_package'"),
        ("mine.py:Arm", "/no/such/python", "driver.python: /no/such/python cannot be run"),
    ],
)
def test_what_cannot_be_loaded_is_named(
    driver: Path, bare: Path, use: str, python: str | None, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    where = use if use.startswith("no_") else f"{driver.parent}/{use}"
    with pytest.raises(UsageError) as refused:
        HostedRobot(where, python=python or bare)
    assert words in str(refused.value)


def test_a_program_that_is_no_host_is_refused(driver: Path) -> None:
    with pytest.raises(LinkLost, match="/bin/true did not say what it is"):
        HostedRobot(f"{driver}:Arm", python="/bin/true")
