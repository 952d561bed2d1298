"""The driver's numbers and ours: every unit, sign, offset and range, and the words for what does not fit."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from fake_robots import ARM, BASE, HOME, JOINTS, FakeArm, FakeBase

from foretell.errors import UsageError, WorldError
from foretell.hardware.cameras import scaled
from foretell.hardware.file import RobotFile
from foretell.hardware.mapping import make_map
from foretell.registry import resolve


def mapped(contents: dict[str, Any]) -> Any:
    file = RobotFile.load(contents)
    return make_map(file, resolve("robots", file.robot)())


def changed(contents: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """`joints__arm__2__unit="m"` changes one value deep inside."""
    new = copy.deepcopy(contents)
    for path, value in changes.items():
        *way, last = [int(step) if step.isdigit() else step for step in path.split("__")]
        holder: Any = new
        for step in way:
            holder = holder[step]
        holder[last] = value
    return new


def connected(driver: Any) -> Any:
    driver.connect(calibrate=False)
    return driver


def test_an_arm_in_degrees_with_a_joint_the_other_way_round() -> None:
    robot = connected(FakeArm())
    reading = mapped(ARM).read(robot.get_observation())
    assert np.allclose(reading.channels, [*HOME, 1.0])
    sent = mapped(ARM).write(np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 0.25]))
    assert sent["waist.pos"] == pytest.approx(math.degrees(0.1))
    assert sent["elbow.pos"] == pytest.approx(10.0 - math.degrees(0.3))
    assert sent["gripper.pos"] == pytest.approx(25.0)
    robot.send_action(sent)
    assert np.allclose(robot.goal, [0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 0.25])


def test_units_of_ones_own() -> None:
    # -100 to 100 over a turn and a half, as some servos have it
    keys = mapped(changed(ARM, joints__arm__0={"key": "waist.pos", "scale": 200 / (3 * math.pi), "offset": 50.0}))
    assert keys.write(np.array([math.pi, *HOME[1:], 0.0]))["waist.pos"] == pytest.approx(50.0 + 200 / 3)


def test_fingers_of_the_embodiment_and_the_number_of_the_driver() -> None:
    keys = mapped(ARM)
    for share, width in ((0.0, 0.015), (0.5, 0.026), (1.0, 0.037)):
        channels = np.array([*HOME, share])
        assert np.allclose(keys.joints("gripper", channels), [width, width])
        assert keys.targets("gripper", np.array([width, width])) == pytest.approx([share])


def test_what_the_driver_says_it_sent_counts_and_nonsense_does_not() -> None:
    keys, wanted = mapped(ARM), np.array([0.5, *HOME[1:], 1.0])
    assert keys.back({"waist.pos": math.degrees(0.4)}, wanted)[0] == pytest.approx(0.4)
    for nonsense in (None, {}, {"waist.pos": math.nan}, {"waist.pos": "far"}):
        assert np.allclose(keys.back(nonsense, wanted), wanted)


def test_a_base_in_degrees() -> None:
    robot = connected(FakeBase(at=[1.0, 2.0, math.pi / 2]))
    keys = mapped(BASE)
    assert np.allclose(keys.read(robot.get_observation()).channels, [1.0, 2.0, math.pi / 2])
    assert keys.write(np.array([0.2, math.pi / 6])) == pytest.approx({"x.vel": 0.2, "theta.vel": 30.0, "y.vel": 0.0})


def test_what_is_held_as_measured() -> None:
    class Wristed(FakeBase):
        observation_features = {**FakeBase.observation_features, "arm.pos": float}
        action_features = {**FakeBase.action_features, "arm.pos": float}

    keys = mapped(changed(BASE, hold={"y.vel": 0.0, "arm.pos": None}))
    keys.check(Wristed())
    reading = keys.read({"x.pos": 0.0, "y.pos": 0.0, "theta.pos": 0.0, "bump": 0.0, "arm.pos": 12.5})
    keys.begin(reading)
    assert keys.write(np.zeros(2))["arm.pos"] == 12.5


def test_cameras_are_cropped() -> None:
    keys = mapped(changed(ARM, cameras__third={"key": "front", "crop": [4, 2, 20, 10]}))
    robot = connected(FakeArm())
    keys.check(robot)
    assert keys.read(robot.get_observation()).frames["third"].shape == (10, 20, 3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"joints__arm__0__key": "wist.pos"},
            r"joints.waist: the driver's observation has no key 'wist.pos'; did you mea",
        ),
        (
            {"joints__arm__0__key": "front"},
            r"joints.waist: key 'front' of the driver's observation has shape \(48, 64, 3",
        ),
        ({"joints__arm__1__key": "waist.pos"}, r"joints.waist: key 'waist.pos' is that of joints.shoulder too"),
        ({"cameras__third__key": "back"}, r"cameras.third: the driver's observation has no key 'back'"),
        (
            {"cameras__third__key": "waist.pos"},
            r"cameras.third: key 'waist.pos' has shape \(\), and it should be a pict",
        ),
        (
            {"cameras__third__crop": [60, 0, 20, 20]},
            r"cameras.third.crop: \[60, 0, 20, 20\] does not lie within the pict",
        ),
        (
            {"joints": {"arm": ARM["joints"]["arm"]}},
            r"hold: the driver's action also has 'gripper.pos': give each a numb",
        ),
        ({"hold": {"head.pos": 0.0}}, r"hold.head.pos: the driver's action has no key 'head.pos'"),
        (
            {"joints": {"arm": ARM["joints"]["arm"]}, "hold": {"gripper.pos": 5.0}},
            r"hold.gripper.pos: 5 is sent at once, without limits, and the robot would jump there: use null",
        ),
    ],
)
def test_a_file_and_a_driver_that_do_not_fit(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        mapped(changed(ARM, **changes)).check(FakeArm())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"joints__arm": ARM["joints"]["arm"][:5]},
            r"joints.arm: 5 joints are given, and the group has 6, in this order: wa",
        ),
        (
            {"joints__arm__1__unit": "mm"},
            r"joints.arm: key 'shoulder.pos' has unit 'mm', and the group takes rad or deg",
        ),
        ({"joints__hand": ARM["joints"]["gripper"]}, r"joints.hand: robot 'widowx' has no such group"),
        (
            {"joints__arm": {"key": "a", "open": 1, "closed": 0}},
            r"joints.arm: this group is no gripper; list its joints: wa",
        ),
    ],
)
def test_a_file_and_an_embodiment_that_do_not_fit(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        mapped(changed(ARM, **changes))


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ({"lost_key": "elbow.pos"}, r"returned no key 'elbow.pos'"),
        ({"nan_key": "waist.pos"}, r"'waist.pos' is nan, which is no position; is the sensor connected\?"),
        ({"flat_key": "waist.pos"}, r"'waist.pos' should be a single number"),
        ({"flat_key": "front"}, r"'front' should be a picture \(height, width, 3\) of bytes \(given: shape \(3,\)"),
        ({"lost_key": "front"}, r"returned no key 'front'"),
    ],
)
def test_an_observation_that_is_not_what_was_declared(faults: dict[str, Any], words: str) -> None:
    with pytest.raises(WorldError, match=words):
        mapped(ARM).read(connected(FakeArm(**faults)).get_observation())


def test_joints_are_in_our_order_whatever_the_drivers_order() -> None:
    robot = connected(FakeArm())
    seen = robot.get_observation()
    backwards = dict(reversed(seen.items()))
    assert np.array_equal(mapped(ARM).read(seen).channels, mapped(ARM).read(backwards).channels)
    assert list(mapped(ARM).channels) == [*JOINTS, "gripper"]


def test_a_picture_in_another_size_is_the_mean_of_what_it_covers() -> None:
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)
    means = image.reshape(12, 4, 16, 4, 3).mean(axis=(1, 3))
    assert np.abs(scaled(image, 12, 16) - means).max() <= 0.51
    assert np.array_equal(scaled(image, 48, 64), image)
    assert np.array_equal(scaled(image, 96, 128)[::2, ::2], image)
    assert abs(float(scaled(image, 33, 21).mean()) - float(image.mean())) < 1.0
