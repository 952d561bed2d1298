"""Events are counted when their definitions say so, from the true state alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rollouts import episodes

from foretell.policy import Chunk, Policy, PolicySpec
from foretell.robots import controllers
from foretell.robots.panda import Panda
from foretell.rotation import from_axis_angle, multiply
from foretell.scenario import Placement
from foretell.sim.bench import SLOT, Bench
from foretell.tasks.can import Can
from foretell.tasks.events import EVENTS, ended_early
from foretell.tasks.lift import Lift
from foretell.tasks.pick_object import PickObject
from foretell.tasks.task import Mount

PERIOD = 25
"""Ticks of an action."""
OPEN, SHUT = {"panda/gripper": (0.04, 0.04)}, {"panda/gripper": (0.0, 0.0)}


class Seen:
    """A bench whose moments are looked at one after the other, an action apart."""

    def __init__(self, task: Any, **more: Any):
        self.bench, self.tick = Bench(task, **more), 0

    def look(self, actions: int = 1) -> Seen:
        for _ in range(actions):
            self.tick += PERIOD
            self.bench.world.restore(0, self.bench.world.state(0), self.tick)
            self.bench.world.progress(SLOT)
        return self

    def hold(self, name: str, up: float = 0.0, within: float = 0.02) -> None:
        """An object between the fingers, which touch it."""
        self.bench.put(name, self.bench.state.ee_pos("panda")[0] + [0, 0, up])
        self.bench.set(**{"panda/gripper": (within, within)})

    @property
    def events(self) -> dict[str, float]:
        return self.bench.world.verdict(SLOT)[0].events


class TwoCubes(Lift):
    """One of them is not to be touched."""

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        return {name: Placement(asset="cube", pos=(0.0, y, 0.02)) for name, y in {"cube": -0.2, "other": 0.2}.items()}


class TwoArms(Lift):
    """Face to face."""

    robots = {"left": Mount("panda", (-0.56, 0.0, 0.112)), "right": Mount("panda", (0.56, 0.0, 0.112), (0, 0, 0, 1))}

    def reached(self, state: Any) -> dict[str, np.ndarray]:
        return {stage.name: np.zeros(len(state.subtask), dtype=bool) for stage in self.stages}


def test_who_does_nothing_never_moved_and_nothing_else() -> None:
    assert Seen("lift").look(50).events == {"never_moved": 1.0}


def test_an_object_is_grasped_at_the_third_action_and_once() -> None:
    seen = Seen("lift")
    seen.hold("cube")
    assert "grasped" not in seen.look(2).events
    assert seen.look().events["grasped"] == 1
    assert seen.look(20).events["grasped"] == 1  # it is held all the time


def test_a_grasp_that_begins_anew_counts_again() -> None:
    seen = Seen(TwoCubes())
    for _ in range(2):
        seen.hold("cube")
        seen.look(3)
        seen.bench.put("cube", (0.0, -0.2, 0.02))
        seen.look(3)
    assert seen.events["grasped"] == 2


def test_judging_twice_at_one_tick_counts_once() -> None:
    seen = Seen("lift")
    seen.hold("cube")
    for _ in range(5):
        seen.bench.world.progress(SLOT)
        seen.bench.world.verdict(SLOT)
    assert "grasped" not in seen.events
    seen.look(2)
    assert "grasped" not in seen.events


def test_the_wrong_object_is_one_that_is_not_to_be_moved() -> None:
    seen = Seen(TwoCubes())
    seen.hold("other")
    assert {k: v for k, v in seen.look(4).events.items() if k != "never_moved"} == {"grasped": 1.0, "wrong_object": 1.0}


def test_things_that_a_factor_puts_down_are_wrong_objects_too() -> None:
    thing = {"asset": "matchbox", "pos": [0.0, 0.2], "yaw": 0.0}
    seen = Seen("lift", factors={"Distractor": [thing]})
    assert seen.bench.state.objects == ("cube", "distractor0")
    seen.hold("distractor0", within=0.0155)
    assert seen.look(4).events["wrong_object"] == 1


@pytest.mark.parametrize(("fall", "dropped"), [(0.2, 1), (0.01, 0)])
def test_what_falls_out_of_the_pads_is_dropped(fall: float, dropped: int) -> None:
    seen = Seen(Can())
    seen.hold("can", within=0.0235)
    seen.look(4)
    at = seen.bench.state.pos("can")[0]
    seen.bench.set(**OPEN)
    seen.look()
    seen.bench.put("can", at - [0, 0, fall])
    seen.look()
    assert seen.events.get("dropped", 0) == dropped  # where the episode ends here, nothing more can save it
    assert seen.look(19).events.get("dropped", 0) == dropped
    assert seen.look(40).events.get("dropped", 0) == dropped


def test_what_is_caught_again_is_not_dropped() -> None:
    seen = Seen(Can())
    seen.hold("can", within=0.0235)
    seen.look(4)
    at = seen.bench.state.pos("can")[0]
    seen.bench.set(**OPEN)
    seen.look()
    seen.bench.put("can", at - [0, 0, 0.2])
    seen.look(5)
    seen.hold("can", within=0.0235)
    assert "dropped" not in seen.look(40).events


def test_what_is_put_where_it_belongs_is_not_dropped() -> None:
    seen = Seen(Can())
    seen.hold("can", within=0.0235)
    seen.look(4)
    seen.bench.set(**OPEN)
    seen.look()
    seen.bench.put("can", (0.2, 0.4, 0.08))
    assert seen.bench.solved()
    assert "dropped" not in seen.look(40).events


def test_a_gripper_closes_on_nothing_once_each_time() -> None:
    seen = Seen("lift")
    for times in (1, 2):
        seen.bench.set(**OPEN)
        seen.look(2)
        seen.bench.set(**SHUT)
        assert seen.look(2).events["closed_on_nothing"] == times


def test_a_gripper_that_closes_on_something_does_not_close_on_nothing() -> None:
    seen = Seen("lift")
    seen.hold("cube", within=0.001)
    assert "closed_on_nothing" not in seen.look(3).events


@pytest.mark.parametrize(("degrees", "over"), [(40, 0), (60, 1), (180, 1)])
def test_an_object_is_knocked_over_from_45_degrees_on(degrees: float, over: int) -> None:
    seen = Seen(Can())
    place, quat = seen.bench.state.pos("can")[0] + [0, 0, 0.1], from_axis_angle(np.array([np.radians(degrees), 0, 0]))
    seen.bench.put("can", place, quat)
    assert seen.look(3).events.get("knocked_over", 0) == over


@pytest.mark.parametrize(("start", "turn", "over"), [
    ((0, 90), (0, 0, 1), 0),  # it lies, and rolls
    ((0, 90), (0, 1, 0), 1),  # it lies, and stands up
    ((0, 0), (0, 0, 1), 0),  # it stands, and spins
    ((0, 0), (1, 0, 0), 1),  # it stands, and falls
])  # fmt: skip
def test_what_is_round_may_roll(start: Sequence[float], turn: Sequence[float], over: int) -> None:
    """`turn`: the axis of the can's own frame that it turns about, by 80 degrees; its own axis is z."""
    task = Can()
    began = from_axis_angle(np.radians([*start, 0.0]))
    scenario = task.scenario(0)
    lying = scenario.placements["can"].model_copy(update={"quat": tuple(began.tolist())})
    scenario = scenario.model_copy(update={"placements": {**scenario.placements, "can": lying}})
    seen = Seen(task, scenario=scenario)
    turned = multiply(began, from_axis_angle(np.radians(80.0) * np.asarray(turn, dtype=float)))
    seen.bench.put("can", seen.bench.state.pos("can")[0] + [0, 0, 0.1], turned)
    assert seen.look(3).events.get("knocked_over", 0) == over


def test_nobody_knocks_a_ball_over() -> None:
    task = PickObject()
    apple = next(s for s in task.layouts() if s.placements["object"].asset == "ripe-apple")
    seen = Seen(task, scenario=apple)
    seen.bench.put("object", (0.0, 0.0, 0.3), from_axis_angle(np.array([np.radians(120), 0, 0])))
    assert "knocked_over" not in seen.look(3).events


def test_what_is_put_where_it_belongs_may_lie_as_it_likes() -> None:
    seen = Seen(Can())
    over = from_axis_angle(np.array([np.radians(80), 0, 0]))
    seen.hold("can", within=0.0235)
    seen.look(4)
    seen.bench.put("can", (0.2, 0.4, 0.08), over)
    assert seen.bench.solved()
    assert "knocked_over" not in seen.look(3).events
    seen.bench.put("can", (0.0, 0.0, 0.2), over)
    assert not seen.bench.solved()
    assert seen.look(3).events["knocked_over"] == 1


def test_what_no_hand_put_there_is_knocked_over_wherever_it_lies() -> None:
    seen = Seen(Can())
    seen.bench.put("can", (0.2, 0.4, 0.08), from_axis_angle(np.array([np.radians(80), 0, 0])))
    assert seen.bench.solved()
    assert seen.look(3).events["knocked_over"] == 1


def test_an_object_that_is_turned_in_the_hand_is_not_knocked_over() -> None:
    seen = Seen("lift")
    seen.hold("cube")
    seen.look(4)
    seen.bench.put("cube", seen.bench.state.ee_pos("panda")[0], from_axis_angle(np.array([0, np.radians(80), 0])))
    assert "knocked_over" not in seen.look(3).events


def test_an_object_that_falls_over_after_the_hand_let_go_is_knocked_over() -> None:
    seen = Seen("lift")
    seen.hold("cube")
    seen.look(4)
    seen.bench.put("cube", (0.2, 0.2, 0.02), from_axis_angle(np.array([0, np.radians(80), 0])))
    assert seen.look(3).events["knocked_over"] == 1


@pytest.mark.parametrize(("pos", "left"), [((0, 0, -0.3), 1), ((1.6, 0, 0.02), 1), ((0.3, 0, 0.02), 0)])
def test_an_object_leaves_the_scene_once(pos: Sequence[float], left: int) -> None:
    seen = Seen("lift")
    seen.bench.put("cube", pos)
    assert seen.look(5).events.get("left_scene", 0) == left


def test_an_arm_that_presses_on_the_table_hits_it_once() -> None:
    bench = Bench("lift")
    bench.put("cube", (0.0, 0.35, 0.02))
    for _ in range(40):
        bench.run(0.05, (0, 0, -1, 0, 0, 0, -1))
        bench.world.progress(SLOT)
    assert bench.world.verdict(SLOT)[0].events == {"hit_table": 1.0}


@pytest.mark.parametrize(("up", "stuck"), [(1.0, 1), (0.05, 0)])
def test_an_arm_is_stuck_that_stays_for_two_seconds_though_it_is_told_to_move(up: float, stuck: int) -> None:
    seen = Seen("lift")
    seen.bench.world.command(SLOT, np.array([[0, 0, up, 0, 0, 0, -1]]), np.array([PERIOD]))
    assert "stuck" not in seen.look(39).events
    assert seen.look().events.get("stuck", 0) == stuck
    assert seen.look(100).events.get("stuck", 0) == stuck  # it has not moved since


def test_robots_that_run_into_each_other_collide() -> None:
    seen = Seen(TwoArms())
    assert "self_collision" not in seen.look().events
    reaching = (0.0, 1.2, 0.0, -0.8, 0.0, 2.0, 0.8)
    seen.bench.set(left=reaching, right=reaching)
    assert seen.bench.state.clashes("left")[0]
    assert seen.look(3).events["self_collision"] == 2  # each of the two robots has hit another


def test_fingers_that_touch_each_other_close_on_nothing_and_do_not_hit_the_robot() -> None:
    seen = Seen("google_robot_pick_standing_coke_can")
    layout = seen.bench.layout
    seen.look()
    seen.bench.set(**{"google_robot/gripper": (1.1, 1.1)})
    assert layout.sensordata[0, layout.clashes["google_robot"]].sum() > 0  # the finger tips touch
    assert seen.bench.state.opening("google_robot")[0] > 0.1
    assert not seen.bench.state.clashes("google_robot")[0]
    assert seen.look(3).events == {"closed_on_nothing": 1.0, "never_moved": 1.0}


@pytest.mark.parametrize(("scheme", "still", "going"), [("ee_delta", [0.05] * 6, [0, 0, 0.2, 0, 0, 0])])
def test_deltas_tell_an_arm_to_move_from_a_tenth_of_their_range_on(scheme: str, still: Any, going: Any) -> None:
    made, _ = controllers(scheme, {"panda": Panda()}, 1, 0.002)
    joints = np.array([Panda.groups["arm"].home])
    assert made["panda", "arm"].moves(np.array([still, going]), joints.repeat(2, 0)).tolist() == [False, True]


def test_joint_targets_tell_an_arm_to_move_where_it_is_not() -> None:
    made, _ = controllers("joint", {"panda": Panda()}, 1, 0.002)
    joints = np.array([Panda.groups["arm"].home])
    away = joints + [0.2, 0, 0, 0, 0, 0, 0]
    assert made["panda", "arm"].moves(np.concatenate([joints, away]), joints.repeat(2, 0)).tolist() == [False, True]


class Quitter(Policy):
    """Done at once."""

    spec = PolicySpec(reads={}, batch=None)

    def act(self, slots: np.ndarray, observations: Any) -> Chunk:
        return Chunk(np.zeros((len(slots), 1, 7)), np.ones((len(slots), 1), dtype=bool))


def test_a_policy_that_gives_up_ended_too_early() -> None:
    (outcome,) = episodes(Lift(), Quitter(), [Lift().scenario(0)], slots=1)
    assert (outcome.end, outcome.failure_reason) == ("terminated", "no reach")
    assert outcome.events == {"never_moved": 1.0, "ended_early": 1.0}
    assert ended_early("terminated", False) and not ended_early("terminated", True)
    assert not ended_early("time_limit", False)


def test_counts_do_not_depend_on_neighbours_or_what_ran_before() -> None:
    from foretell.policies.expert import NoisyExpert

    task = Lift()
    task.time_limit = 4.0
    scenarios = [task.scenario(i) for i in range(5)]
    together = episodes(task, NoisyExpert(0.6), scenarios, slots=4)
    alone = episodes(task, NoisyExpert(0.6), scenarios, slots=1)
    assert [o.events for o in together] == [o.events for o in alone]
    assert any(o.events for o in alone)


def test_every_event_says_what_it_is() -> None:
    assert list(EVENTS) == [
        "grasped", "wrong_object", "dropped", "closed_on_nothing", "knocked_over", "hit_table", "hit_wall",
        "self_collision", "left_scene", "stuck", "never_moved", "ended_early",
    ]  # fmt: skip
    assert all(event.words and event.definition.endswith(".") for event in EVENTS.values())
    assert [name for name, event in EVENTS.items() if not event.wrong] == ["grasped"]


def test_the_page_defines_them_in_the_same_words() -> None:
    page = (Path(__file__).parents[2] / "docs" / "events.md").read_text()
    for name, event in EVENTS.items():
        assert f"| `{name}` | {event.words} | {event.definition} |" in page
