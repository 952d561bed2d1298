"""A rehearsal plays a robot in another process: real sockets, real time, and links that really fail."""

from __future__ import annotations

import math
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from rehearsals import Rehearsal, rehearsing

import foretell
from foretell import UsageError
from foretell.hardware.rehearsal import Hands
from foretell.hardware.rehearsal.__main__ import main
from foretell.hardware.remote import DriverFailed, RemoteRobot
from foretell.hardware.wire import LinkLost
from foretell.registry import resolve
from foretell.rooms import Room

TASK = "widowx_carrot_on_plate"


@pytest.fixture(scope="module")
def shared() -> Iterator[Rehearsal]:
    with rehearsing(TASK, "standin", "--robot", "widowx") as rehearsal:
        yield rehearsal


@pytest.fixture
def arm(shared: Rehearsal) -> Iterator[RemoteRobot]:
    shared.hands.mend()
    until = time.monotonic() + 5.0
    while True:
        try:  # the last test's link may be ending
            robot = shared.robot()
            break
        except (UsageError, LinkLost):
            assert time.monotonic() < until
            time.sleep(0.02)
    robot.connect()
    yield robot
    shared.hands.mend()
    robot.close()


@pytest.fixture(scope="module")
def base() -> Iterator[Rehearsal]:
    with rehearsing("pointnav", "planar", "--robot", "locobot", "--silent", "0.3") as rehearsal:
        yield rehearsal


def target(robot: RemoteRobot, **changes: float) -> dict[str, float]:
    seen = robot.get_observation()
    return {key: changes.get(key.partition(".")[0], seen[key]) for key in robot.action_features}


def settled(robot: RemoteRobot, key: str, goal: float, within: float) -> float:
    """Where a joint is, at the latest after some seconds."""
    until = time.monotonic() + 8.0
    while abs(robot.get_observation()[key] - goal) > within and time.monotonic() < until:
        time.sleep(0.05)
    return float(robot.get_observation()[key])


def ask_for_ever(robot: RemoteRobot) -> None:
    while True:
        robot.get_observation()


# -- an arm -------------------------------------------------------------------------------------------------------


def test_the_printed_world_file_reaches_it(shared: Rehearsal, arm: RemoteRobot) -> None:
    file = shared.file
    assert (file["kind"], file["robot"], list(file["joints"])) == ("robot", "widowx", ["arm", "gripper"])
    keys = [joint["key"] for joint in file["joints"]["arm"]] + [file["joints"]["gripper"]["key"]]
    assert list(arm.action_features) == keys == list(arm.observation_features)
    assert keys[0] == "waist.pos" and keys[-1] == "gripper.pos"


def test_joints_are_in_degrees_and_the_gripper_in_percent(shared: Rehearsal, arm: RemoteRobot) -> None:
    shared.hands.set(resolve("tasks", TASK)().layouts()[0], moved="home")
    home = resolve("robots", "widowx")().groups["arm"].home
    seen = arm.get_observation()
    assert [seen[key] for key in list(arm.action_features)[:6]] == pytest.approx(np.degrees(home), abs=0.5)
    assert seen["gripper.pos"] == pytest.approx(100.0, abs=2.0)
    assert arm.send_action(target(arm, waist=20.0, gripper=0.0))["waist.pos"] == 20.0
    assert settled(arm, "waist.pos", 20.0, 1.5) == pytest.approx(20.0, abs=1.5)
    assert settled(arm, "gripper.pos", 0.0, 3.0) == pytest.approx(0.0, abs=3.0)


def test_it_returns_what_it_sent_and_refuses_what_is_no_target(shared: Rehearsal, arm: RemoteRobot) -> None:
    sent = arm.send_action({"shoulder.pos": 500.0, "gripper.pos": -3.0})
    assert sent == {"shoulder.pos": pytest.approx(math.degrees(1.98967535)), "gripper.pos": 0.0}
    arm.send_action(target(arm))  # stay
    with pytest.raises(DriverFailed, match=r"'waste.pos' is no key of this arm; did you mean 'waist.pos'\?"):
        arm.send_action({"waste.pos": 1.0})
    with pytest.raises(DriverFailed, match=r"waist.pos is nan; it should be a finite number"):
        arm.send_action({"waist.pos": math.nan})
    assert arm.is_connected


def test_hands_set_the_table_and_leave_the_arm(shared: Rehearsal, arm: RemoteRobot) -> None:
    first, second = resolve("tasks", TASK)().layouts()[:2]
    shared.hands.set(first, moved="home")
    arm.send_action(target(arm, waist=60.0))
    settled(arm, "waist.pos", 60.0, 1.5)
    shared.hands.set(second)
    assert arm.get_observation()["waist.pos"] == pytest.approx(60.0, abs=3.0)
    truth = shared.hands.truth()
    assert (truth["success"], truth["score"], truth["scenario"]) == (False, 0.0, second.id)
    with pytest.raises(UsageError, match="the scenario is of task 'lift'"):
        shared.hands.set(resolve("tasks", "lift")().scenario(0))


def test_an_arm_in_the_way_is_named(shared: Rehearsal, arm: RemoteRobot) -> None:
    task = resolve("tasks", TASK)()
    layout = task.layouts()[0]
    shared.hands.set(layout, moved="home")
    arm.send_action(
        target(arm, shoulder=13.0, elbow=25.2, wrist_angle=55.0, gripper=0.0)
    )  # the fingers are 3 cm above the table
    for key, goal in (("shoulder.pos", 13.0), ("elbow.pos", 25.2), ("wrist_angle.pos", 55.0), ("gripper.pos", 0.0)):
        settled(arm, key, goal, 0.5)
    refused = []
    for y in (-0.055, -0.05, -0.02, -0.015):  # under a finger; where the carrot slips to is chance
        carrot = layout.placements["carrot"].model_copy(update={"pos": (0.145, y, 0.018)})
        try:
            shared.hands.set(layout.model_copy(update={"placements": {**layout.placements, "carrot": carrot}}))
        except UsageError as error:
            refused.append(str(error))
    assert refused
    for words in refused:
        assert re.fullmatch(r"set: the arm is in the way of (carrot|plate), which lies .* m off: move it home", words)
    shared.hands.set(layout, moved="home")


def test_its_time_is_that_of_the_wall(shared: Rehearsal, arm: RemoteRobot) -> None:
    shared.hands.set(resolve("tasks", TASK)().layouts()[0], moved="home")
    before, began = shared.hands.truth(), time.monotonic()
    time.sleep(0.7)
    after, wall = shared.hands.truth(), time.monotonic() - began
    lost = after["lost"] - before["lost"]  # a busy machine says how much it lost
    assert after["seconds"] - before["seconds"] + lost == pytest.approx(wall, abs=0.15)


# -- links that fail ------------------------------------------------------------------------------------------------


def test_answers_take_the_time_that_the_link_takes(shared: Rehearsal, arm: RemoteRobot) -> None:
    shared.hands.fault("delay", seconds=0.1, jitter=0.05)
    times = []
    for _ in range(8):
        began = time.monotonic()
        arm.get_observation()
        times.append(time.monotonic() - began)
    assert min(times) >= 0.1 and max(times) - min(times) > 0.01


def test_a_cut_link_is_lost_at_once_and_comes_back(shared: Rehearsal, arm: RemoteRobot) -> None:
    shared.hands.fault("cut", seconds=0.5)
    began = time.monotonic()
    with pytest.raises(LinkLost, match="get_observation: "):
        arm.get_observation()
    assert time.monotonic() - began < 0.5 and not arm.is_connected
    with pytest.raises(LinkLost):
        arm.connect()
    time.sleep(0.6)
    arm.connect()
    assert arm.get_observation().keys() == arm.observation_features.keys()


def test_a_frozen_link_costs_no_more_than_the_patience(shared: Rehearsal, arm: RemoteRobot) -> None:
    arm.patience = 0.2
    shared.hands.fault("freeze", seconds=30.0)
    began = time.monotonic()
    with pytest.raises(LinkLost, match=r"silent for too long \(0.2 s at most\)"):
        arm.get_observation()
    assert time.monotonic() - began < 1.0


def test_garbage_ends_the_link_in_words(shared: Rehearsal, arm: RemoteRobot) -> None:
    shared.hands.fault("garbage")
    with pytest.raises(LinkLost, match="get_observation: what came is no message"):
        arm.get_observation()
    assert not arm.is_connected


def test_wrong_numbers_come_through_for_others_to_judge(shared: Rehearsal, arm: RemoteRobot) -> None:
    for kind in ("nan", "shape", "missing"):
        shared.hands.fault(kind)
        seen = arm.get_observation()
        if kind == "nan":
            assert math.isnan(seen["waist.pos"])
        elif kind == "shape":
            assert np.shape(seen["waist.pos"]) == (2,)
        else:
            assert "waist.pos" not in seen
        assert isinstance(arm.get_observation()["waist.pos"], float)  # one only
    with pytest.raises(UsageError, match=r"fault: 'freez' is not known; did you mean 'freeze'\?"):
        shared.hands.fault("freez")


def test_one_at_a_time(shared: Rehearsal, arm: RemoteRobot) -> None:
    with pytest.raises(UsageError, match="somebody else is connected to this robot"):
        shared.robot()
    arm.get_observation()


def test_other_versions_are_refused(shared: Rehearsal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.hardware.wire.PROTOCOL", 2)
    with pytest.raises(UsageError, match=r"speaks version 2 of the link and the rehearsal .* version 1"):
        shared.robot()


def test_whoever_is_killed_leaves_the_robot_to_the_next(shared: Rehearsal, arm: RemoteRobot) -> None:
    arm.disconnect()
    options = shared.file["driver"]["options"]
    script = (
        "from foretell.hardware.remote import RemoteRobot\n"
        f"robot = RemoteRobot(**{options!r})\n"
        "robot.connect()\n"
        "print('ready', flush=True)\n"
        "while True: robot.send_action({'waist.pos': 5.0})\n"
    )
    path = str(Path(foretell.__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        time.sleep(random.uniform(0.0, 0.3))
        process.send_signal(signal.SIGKILL)
    killed = time.monotonic()
    arm.connect()
    log = shared.hands.log()
    assert any(call == "link ended" for _, call, _ in log[-10:])
    last = max(when for when, call, action in log if action == {"waist.pos": 5.0})
    assert last < killed + 0.2


def test_a_rehearsal_that_is_killed_is_lost_and_nobody_waits() -> None:
    with rehearsing(TASK, "mujoco") as rehearsal:
        robot = rehearsal.robot()
        robot.connect()
        until = time.monotonic() + random.uniform(0.05, 0.4)
        while time.monotonic() < until:
            robot.send_action(target(robot))
        rehearsal.process.send_signal(signal.SIGKILL)
        rehearsal.process.wait()
        began = time.monotonic()
        with pytest.raises(LinkLost):
            ask_for_ever(robot)
        assert time.monotonic() - began < 2.0
        with pytest.raises(LinkLost, match="nobody answers at 127"):
            robot.connect()
    with pytest.raises(UsageError, match="is the rehearsal running"):
        Hands("127.0.0.1:9")


# -- a base ---------------------------------------------------------------------------------------------------------


def test_a_base_drives_to_a_goal_and_the_truth_says_so(base: Rehearsal) -> None:
    assert base.file["base"]["theta"] == "theta.vel" and "joints" not in base.file
    task, room = resolve("tasks", "pointnav")(), Room.named("lab_easy")
    x, y, yaw = room.spots["A"]
    goal = (x + 0.35 * math.cos(yaw + 0.35), y + 0.35 * math.sin(yaw + 0.35))
    base.hands.set(task.between(room, (x, y, yaw), goal))
    robot = base.robot()
    robot.connect()
    assert base.hands.truth()["success"] is False
    until = time.monotonic() + 20.0
    while time.monotonic() < until:
        seen = robot.get_observation()
        dx, dy = goal[0] - seen["x.pos"], goal[1] - seen["y.pos"]
        turn = math.remainder(math.atan2(dy, dx) - math.radians(seen["theta.pos"]), math.tau)
        if math.hypot(dx, dy) < 0.1:
            break
        ahead = 0.2 if abs(turn) < 0.3 else 0.0
        robot.send_action({"x.vel": ahead, "theta.vel": max(-25.0, min(25.0, 2.0 * math.degrees(turn)))})
        time.sleep(0.02)
    robot.send_action({"x.vel": 0.0, "theta.vel": 0.0})
    robot.get_observation()
    time.sleep(0.1)
    truth = base.hands.truth()
    assert truth["success"] is True and "stop" in truth["stages"], truth
    assert 0.2 < truth["metrics"]["path_length"] < 0.5
    robot.disconnect()


def test_a_base_stops_by_itself_when_nothing_comes(base: Rehearsal) -> None:
    task, room = resolve("tasks", "pointnav")(), Room.named("lab_easy")
    base.hands.set(task.between(room, room.spots["A"], room.spots["B"]))
    robot = base.robot()
    robot.connect()
    start = robot.get_observation()
    assert robot.send_action({"theta.vel": 99.0}) == {"theta.vel": 30.0}
    time.sleep(1.0)
    end = robot.get_observation()
    turned = end["theta.pos"] - start["theta.pos"]
    assert end["theta.vel"] == 0.0 and 5.0 < turned < 18.0, turned  # 30 degrees/s for 0.3 s, and a round
    with pytest.raises(DriverFailed, match=r"'y\.vel' is no key of this base"):
        robot.send_action({"y.vel": 1.0})
    robot.disconnect()


@pytest.mark.gl
def test_its_cameras_show_the_table() -> None:
    with rehearsing(TASK, "mujoco", "--camera", "third_view", "--frames", "60x80") as rehearsal:
        robot = rehearsal.robot()
        assert robot.observation_features["third_view"] == (60, 80, 3)
        assert rehearsal.file["cameras"] == {"third_view": {"key": "third_view"}}
        robot.connect()
        first, second = resolve("tasks", TASK)().layouts()[:2]
        frames = []
        for layout in (first, second):
            rehearsal.hands.set(layout)
            frames.append(robot.get_observation()["third_view"])
        assert frames[0].dtype == np.uint8 and frames[0].std() > 10
        assert np.abs(frames[0].astype(int) - frames[1]).max() > 50  # the objects lie elsewhere
        rehearsal.hands.fault("shape")
        assert robot.get_observation()["third_view"].shape == (30, 80, 3)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--task", TASK, "--robot", "panda"), "robot: 'panda' is not the robot of task 'widowx_carrot_on_plate'"),
        (("--task", TASK, "--frames", "big"), "frames: 'big' should be written HEIGHTxWIDTH, such as 96x128"),
        (("--task", "pointnav"), "does not navigate|is no TabletopTask"),
        (("--task", TASK, "--camera", "third"), "camera: 'third' is not in this world"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused_in_words(
    flags: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--port", "0", *flags]) == 2
    printed = capsys.readouterr()
    assert re.search(words, printed.err) and printed.out == ""
