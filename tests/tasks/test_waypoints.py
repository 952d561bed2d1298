"""Waypoints: lines, paths and arcs, grip and rotation, and robots that wait for one another."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from foretell.errors import UsageError
from foretell.factors import factor
from foretell.robots.controller import Grip
from foretell.rotation import multiply, rotate, to_axis_angle
from foretell.sim.bench import SLOT, Bench
from foretell.spec import Stream
from foretell.tasks import Mount, TabletopTask
from foretell.tasks.lift import Lift
from foretell.tasks.waypoints import Arc, Leg, Path, Shift, To, Waypoints, pointing

DOWN = pointing((0, 0, -1), (0, 1, 0))
SEEN = {"cube/pos": np.array([0.1, 0.2, 0.3]), "cube/quat": np.array([math.sqrt(0.5), 0, 0, math.sqrt(0.5)])}
HAND = np.array([0.5, 0.0, 0.2]), np.array(DOWN)


def driven(bench: Bench, policy: Waypoints, actions: int) -> list[dict[str, np.ndarray]]:
    """What was seen before each action, and the action itself."""
    policy.bind(bench.task, bench.world.action)
    policy.reset(SLOT, [""], [0])
    found = []
    for _ in range(actions):
        seen = bench.world.observe(SLOT, {n: Stream() for n in policy.spec.reads})
        action = policy.act(SLOT, seen)
        found.append({**{n: seen[n][0].copy() for n in policy.spec.reads}, "action": action[0]})
        bench.run(1 / bench.task.action_rate, action[0])
    return found


def angle(a: Any, b: Any) -> float:
    return float(np.linalg.norm(to_axis_angle(multiply(np.asarray(a), np.asarray(b) * [1, -1, -1, -1]))))


def test_a_tool_points_along_its_approach_and_opens_along_y() -> None:
    quat = np.array(pointing((1, 0, -1), (0.2, 1, 0)))
    assert rotate(quat, np.array([0.0, 0, 1])) == pytest.approx(np.array([1, 0, -1]) / math.sqrt(2))
    opening = rotate(quat, np.array([0.0, 1, 0]))
    assert opening[1] > 0.9 and opening @ [1, 0, -1] == pytest.approx(0)
    with pytest.raises(UsageError, match="cannot open along"):
        pointing((0, 0, 1), (0, 0, -2))


def test_a_pose_lies_in_the_frame_of_its_part() -> None:
    ((pos, quat),) = To("cube", (0.1, 0, 0), DOWN).points(HAND, SEEN)
    assert pos == pytest.approx([0.1, 0.3, 0.3])  # the cube is turned by 90 degrees
    assert rotate(quat, np.array([0.0, 0, 1])) == pytest.approx([0, 0, -1])
    ((pos, quat),) = To("cube").points(HAND, SEEN)
    assert pos == pytest.approx(SEEN["cube/pos"]) and quat == pytest.approx(HAND[1])


def test_of_like_poses_the_hand_takes_the_nearest() -> None:
    """Fingers may change places, and a cube looks the same after a quarter turn."""
    ((_, quat),) = To("cube", (0, 0, 0), DOWN, symmetry=math.pi / 2).points(HAND, SEEN)
    assert angle(quat, HAND[1]) < 1e-6
    ((_, quat),) = To(None, (0, 0, 0), pointing((0, 0, -1), (0, -1, 0))).points(HAND, SEEN)
    assert angle(quat, HAND[1]) < 1e-6


def test_an_arc_keeps_its_radius_and_turns_the_hand() -> None:
    arc = Arc(part=None, axis=(0, 0, 1), angle=math.pi / 2, centre=(0.2, 0, 0))
    points = arc.points(HAND, {})
    assert len(points) == 16 and points[-1][0] == pytest.approx([0.2, 0.3, 0.2])
    assert all(np.hypot(p[0] - 0.2, p[1]) == pytest.approx(0.3) for p, _ in points)
    assert angle(points[-1][1], HAND[1]) == pytest.approx(math.pi / 2)
    assert angle(
        Arc(part=None, axis=(0, 0, 1), angle=1.0, turns=False).points(HAND, {})[-1][1], HAND[1]
    ) == pytest.approx(0, abs=1e-6)


def test_a_path_goes_on_where_its_last_way_ended() -> None:
    points = Path((Shift((0, 0, 0.1)), Shift((0.1, 0, 0)))).points(HAND, {})
    assert [p.round(6).tolist() for p, _ in points] == [[0.5, 0.0, 0.3], [0.6, 0.0, 0.3]]


def test_a_real_arm_follows_an_arc_with_its_hand_turned() -> None:
    """As with a door: round a point 10 cm beside the hand, by 60 degrees, the hand turning with it."""
    bench = Bench("lift")
    before = bench.see("panda/ee_pos", "panda/ee_quat")
    centre = before["panda/ee_pos"] + [0, -0.10, 0]
    way = Arc(part=None, axis=(0, 0, 1), angle=math.pi / 3, centre=tuple(centre.tolist()))
    policy = Waypoints(
        {"panda": (Leg(name="turn", way=way, grip=0.0, speed=0.5), Leg(name="stay", way=Shift(), grip=0.0))}
    )
    seen = driven(bench, policy, 60)
    radius = [np.linalg.norm((s["panda/ee_pos"] - centre)[:2]) for s in seen]
    assert max(abs(r - 0.10) for r in radius) < 0.01
    after = bench.see("panda/ee_pos", "panda/ee_quat", "panda/gripper")
    assert angle(after["panda/ee_quat"], before["panda/ee_quat"]) == pytest.approx(math.pi / 3, abs=0.1)
    assert after["panda/ee_pos"] == pytest.approx(way.points((before["panda/ee_pos"], HAND[1]), {})[-1][0], abs=0.015)
    assert after["panda/gripper"] == pytest.approx(0.04, abs=0.01)  # half open


class Pair(Lift):
    """The second arm is turned round: what is ahead of it lies behind the first."""

    name = "pair"
    robots = {"panda": Mount("panda", (-0.56, 0.0, 0.112)), "other": Mount("panda", (0.8, 0.0, 0.112), (0, 0, 0, 1))}


def test_robots_wait_for_one_another_and_move_in_their_own_frames() -> None:
    bench = Bench(Pair())
    legs = {
        "panda": (Leg(name="up", way=Shift((0.05, 0, 0.05))), Leg(name="hold", way=Shift(), hold=3)),
        "other": (Leg(name="then", way=Shift((0.05, 0, 0.05)), grip=1.0, after=("panda", "up")),),
    }
    seen = driven(bench, Waypoints(legs), 25)
    assert bench.world.action.size == 14
    moves = {r: np.array([s[f"{r}/ee_pos"] for s in seen]) for r in legs}
    began = {r: int(np.argmax(np.linalg.norm(m - m[0], axis=1) > 0.005)) for r, m in moves.items()}
    assert 0 < began["panda"] < began["other"]
    for robot, m in moves.items():
        assert m[-1] - m[0] == pytest.approx([0.05, 0, 0.05], abs=0.012), robot
    assert seen[0]["action"][13] == -1 and seen[-1]["action"][13] == 1


def test_a_leg_that_waits_for_nothing_is_refused() -> None:
    with pytest.raises(
        UsageError, match="leg 'b' of panda waits for 'panda/clsoe', which is no leg; did you mean 'panda/close'"
    ):
        Waypoints({"panda": (Leg(name="close", way=Shift()), Leg(name="b", way=Shift(), after=("panda", "clsoe")))})


def test_an_arm_that_is_not_moved_by_ee_delta_is_refused() -> None:
    bench = Bench("lift", controller="joint")
    with pytest.raises(UsageError, match="the arm of 'panda' needs `ee_delta`, it has 'joint'"):
        Waypoints({"panda": (Leg(name="a", way=Shift()),)}).bind(bench.task, bench.world.action)


def test_every_robot_of_the_task_needs_legs() -> None:
    bench = Bench(Pair())
    with pytest.raises(UsageError, match="robot 'other' of task 'pair' has no legs"):
        Waypoints({"panda": (Leg(name="a", way=Shift()),)}).bind(bench.task, bench.world.action)
    assert isinstance(bench.task, TabletopTask)


class Fingers(Grip):
    """As `grip`, in words of one's own."""

    dims = (replace(Grip.dims[0], meaning="finger command"),)


class Turned(Fingers):
    """A larger number opens."""

    dims = (replace(Grip.dims[0], meaning="jaw", grips="opening"),)


class Mute(Fingers):
    """It does not declare that it grips."""

    dims = (replace(Grip.dims[0], meaning="gripper", mode="delta", grips=None),)


@pytest.mark.parametrize(("kind", "sign"), [("Fingers", 1.0), ("Turned", -1.0)])
def test_a_gripper_is_known_by_its_declaration_whatever_it_is_called(kind: str, sign: float) -> None:
    bench = Bench("lift", controller=f"ee_delta+gripper:{__name__}:{kind}")
    policy = Waypoints({"panda": (Leg(name="close", way=Shift(), grip=1, hold=12),)})
    assert driven(bench, policy, 1)[0]["action"][6] == sign
    noisy = factor("Action_Noise").act(0.5, np.zeros(7), bench.world.action, np.random.default_rng(0))
    assert noisy[6] == 0 and (noisy[:6] != 0).all(), "noise is for the arm"


def test_what_waypoints_cannot_give_is_refused_by_name() -> None:
    bench = Bench("lift", controller=f"ee_delta+gripper:{__name__}:Mute")
    with pytest.raises(UsageError, match=r"cannot give the action's 'gripper' \(1 in 1\); a gripper declares `grips`"):
        driven(bench, Waypoints({"panda": (Leg(name="close", way=Shift(), hold=12),)}), 1)
