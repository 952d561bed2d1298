"""The link's thread: what it sends and when, in real time. Times are those that the fake driver wrote down."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fake_robots import ARM, BASE, HOME, FakeArm, FakeBase, HeldArm

from foretell.errors import WorldError
from foretell.hardware.file import RobotFile
from foretell.hardware.limits import make_limits
from foretell.hardware.link import Link
from foretell.hardware.mapping import make_map
from foretell.registry import resolve

SILENCE, RATE = 0.15, 50.0
START = np.array([*HOME, 1.0])
SLACK_S = 0.2
"""A busy machine may wake a thread so much later."""

opened: list[Link] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while opened:
        opened.pop().close()


def link(driver: Any, contents: dict[str, Any] = ARM, **limits: Any) -> Link:
    file = RobotFile.load({**contents, "limits": limits})
    robot = resolve("robots", file.robot)()
    keys = make_map(file, robot)
    made = Link(driver, mapping=keys, limits=make_limits(file, robot, keys), rate=RATE, silence=SILENCE)
    opened.append(made)
    return made


def drive(made: Link, seconds: float, speed: float = 0.5) -> np.ndarray:
    """Turn the waist, with a target every 10 ms. Returns the last target."""
    began, aim = time.monotonic(), START.copy()
    while (passed := time.monotonic() - began) < seconds:
        aim = START.copy()
        aim[0] += speed * passed
        made.aim(aim)
        time.sleep(0.01)
    return aim


def holds(driver: FakeArm) -> bool:
    """Whether the last thing sent was where the arm was."""
    (_, last), measured = driver.sent[-1], driver.measured[-1]
    return all(abs(last[key] - measured[key]) < 2.0 for key in last)  # degrees


def test_nothing_is_sent_before_start_and_after_stop() -> None:
    driver = FakeArm()
    made = link(driver)
    made.connect()
    time.sleep(0.1)
    assert not driver.sent and driver.looks > 2
    made.start()
    aim = drive(made, 0.4)
    assert made.stop()
    stopped, count = time.monotonic(), len(driver.sent)
    assert holds(driver) and made.reading.channels[0] == pytest.approx(aim[0], abs=0.05)
    for _ in range(10):
        made.aim(START)  # who aims at a robot that was stopped moves nothing
        time.sleep(0.01)
    assert len(driver.sent) == count and driver.sent[-1][0] <= stopped
    assert driver.looks > count  # and it is read all the time


def test_the_rate_is_kept() -> None:
    driver = FakeArm()
    made = link(driver)
    made.connect()
    made.start()
    drive(made, 1.0)
    made.stop()
    assert 40 <= len(driver.sent) <= 53


def test_a_world_that_falls_silent_stops_the_robot() -> None:
    driver = FakeArm()
    made = link(driver)
    made.connect()
    made.start()
    drive(made, 0.2)
    silent = time.monotonic()
    time.sleep(SILENCE + 0.4)
    assert made.quiet and holds(driver)
    assert driver.sent[-1][0] <= silent + SILENCE + SLACK_S
    count = len(driver.sent)
    time.sleep(0.2)
    assert len(driver.sent) == count


def test_a_base_that_is_stopped_gets_zero_once() -> None:
    driver = FakeBase()
    made = link(driver, BASE)
    made.connect()
    made.start()
    for _ in range(20):
        made.aim(np.array([0.2, 0.1]))
        time.sleep(0.01)
    made.stop()
    assert driver.sent[-1][1] == {"x.vel": 0.0, "theta.vel": 0.0, "y.vel": 0.0}
    assert driver.sent[-2][1]["x.vel"] == pytest.approx(0.2)
    count = len(driver.sent)
    time.sleep(0.1)
    assert len(driver.sent) == count


@pytest.mark.parametrize("kind", [FakeArm, FakeBase])
def test_a_driver_that_hangs_is_noticed_and_only_a_base_gets_its_stop_later(
    kind: type[FakeArm] | type[FakeBase],
) -> None:
    driver = kind(hang_at=20, hang_s=1.0)
    made = link(driver, ARM if kind is FakeArm else BASE)
    target = START + 0.01 if kind is FakeArm else np.array([0.2, 0.0])
    made.connect()
    made.start()
    began = time.monotonic()
    while driver.looks < 20:
        made.aim(target)
        time.sleep(0.005)
    time.sleep(0.3)
    count, heard = len(driver.sent), made.reading.at
    assert time.monotonic() - heard > 0.2  # what the watchdog of the world looks at
    assert made.stop(patience=0.1) is False  # and it does not wait for the driver
    assert time.monotonic() - began < 2.0
    time.sleep(1.0)
    late = [sent for _, sent in driver.sent[count:]]
    assert late == ([] if kind is FakeArm else [{"x.vel": 0.0, "theta.vel": 0.0, "y.vel": 0.0}])


def test_a_driver_that_can_hold_is_asked_to_even_while_it_hangs() -> None:
    driver = HeldArm(hang_at=20, hang_s=0.8)
    made = link(driver)
    made.connect()
    made.start()
    while driver.looks < 20:
        made.aim(START + 0.01)
        time.sleep(0.005)
    time.sleep(0.05)
    count = len(driver.sent)
    assert made.stop(patience=0.1) is True
    assert driver.held == 1 and len(driver.sent) == count


def test_a_driver_that_raises_loses_the_link_and_can_be_connected_again() -> None:
    driver = FakeArm(raise_at=15)
    made = link(driver)
    made.connect()
    made.start()
    drive(made, 0.6)
    assert made.fault is not None and made.fault.startswith("get_observation raised ConnectionError: the cable is out")
    assert not made.open and not driver.is_connected
    count = len(driver.sent)
    assert holds(driver)  # it still listened
    made.connect()
    assert made.open and driver.connects == 2
    time.sleep(0.1)
    assert len(driver.sent) == count  # nothing moves before the next start


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ({"nan_key": "waist.pos"}, "'waist.pos' is nan"),
        ({"lost_key": "gripper.pos"}, "no key 'gripper.pos'"),
        ({"flat_key": "front"}, "'front' should be a picture"),
        (
            {"at": [0.0, 30.0, 0.0, 0.0, 0.0, 0.0]},
            "joint 'shoulder' is measured at 30, outside its range of -1.88 to 1.99",
        ),
        ({"raise_at": 1}, "the cable is out"),
    ],
)
def test_what_is_wrong_with_the_first_observation_is_told_before_anything_moves(faults: Any, words: str) -> None:
    driver = FakeArm(**faults)
    with pytest.raises(WorldError, match=words):
        link(driver).connect()
    assert not driver.sent


def test_after_a_pause_the_robot_makes_no_leap() -> None:
    driver = FakeArm(slow_s=0.1)  # ten sends per second instead of fifty
    made = link(driver, velocity=1.0)
    made.connect()
    made.start()
    for _ in range(60):
        made.aim(START + np.array([1.0, 0, 0, 0, 0, 0, 0]))
        time.sleep(0.01)
    made.stop()
    turns = np.radians([sent["waist.pos"] for _, sent in driver.sent[:-1]])
    assert len(turns) >= 3 and np.diff([START[0], *turns]).max() <= 2 * 1.0 / RATE + 1e-9
    assert made.sends.clipped["velocity"] == len(turns)
