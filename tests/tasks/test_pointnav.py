"""PointNav: its rules, its metrics by hand, and its scenarios."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import foretell
from foretell.errors import UsageError
from foretell.rooms import Room
from foretell.scenario import Placement, Scenario
from foretell.tasks.journey import Journey
from foretell.tasks.pointnav import PointNav, polar, soft_spl
from foretell.world_file import make_world

TASK = PointNav()


@pytest.fixture(scope="module")
def legs() -> list[Scenario]:
    return list(TASK.layouts())


def way(**fields: Any) -> Any:
    """One robot that stopped at the goal after the shortest way of 4 m, but for some fields."""
    usual = {"remaining": 0.1, "shortest": 4.0, "travelled": 4.0, "collisions": 0, "stopped": True, "subtask": 0}
    return Journey(**{name: np.array([value]) for name, value in (usual | fields).items()})


@pytest.mark.parametrize(
    ("fields", "solved"),
    [
        ({}, True),
        ({"remaining": 0.2}, False),
        ({"remaining": math.nextafter(0.2, 0)}, True),
        ({"stopped": False}, False),
        ({"collisions": 40}, True),
        ({"collisions": 41}, False),
    ],
)
def test_success(fields: dict[str, Any], solved: bool) -> None:
    assert TASK.solved(way(**fields))[0] == solved
    assert TASK.over(way(**fields))[0] == (fields.get("stopped", True) or fields.get("collisions", 0) > 40)


@pytest.mark.parametrize(
    ("fields", "spl", "soft"),
    [
        ({}, 1.0, 0.975),
        ({"travelled": 8.0}, 0.5, 0.975 / 2),
        ({"travelled": 3.0}, 1.0, 0.975),  # who slides may travel less than the shortest way
        ({"remaining": 2.0, "travelled": 2.0}, 0.0, 0.5),
        ({"remaining": 6.0, "travelled": 2.0}, 0.0, 0.0),
        ({"stopped": False}, 0.0, 0.975),
    ],
)
def test_metrics(fields: dict[str, Any], spl: float, soft: float) -> None:
    metrics = TASK.metrics(way(**fields))
    assert metrics["spl"][0] == pytest.approx(spl)
    assert metrics["softspl"][0] == pytest.approx(soft) == soft_spl(way(**fields))[0] == TASK.score(way(**fields))[0]
    assert metrics["path_length"][0] == fields.get("travelled", 4.0)


def test_a_start_at_the_goal_is_no_division_by_zero() -> None:
    assert TASK.metrics(way(shortest=0.0, travelled=0.0, remaining=0.0))["spl"][0] == 1.0


def test_stages_are_in_order() -> None:
    for remaining, names in ((3.0, ()), (1.9, ("halfway",)), (0.9, ("halfway", "close"))):
        reached = TASK.reached(way(remaining=remaining, stopped=False))
        assert tuple(name for name, now in reached.items() if now[0]) == names
    assert all(now[0] for now in TASK.reached(way()).values())
    assert list(TASK.reached(way())) == [stage.name for stage in TASK.stages]


def test_polar_is_habitats() -> None:
    """(rho, -phi): positive to the left. Habitat looks along -z and has x to the right."""
    assert polar((1.0, 1.0, 0.0), (2.0, 2.0)) == pytest.approx((math.sqrt(2), math.pi / 4))
    assert polar((0.0, 0.0, math.pi / 2), (1.0, 0.0)) == pytest.approx((1.0, -math.pi / 2))


def test_the_legs_of_the_lab(legs: list[Scenario]) -> None:
    assert len(legs) == TASK.layout_count() == 15 and len({leg.id for leg in legs}) == 15
    for leg, next_leg in pairwise(legs[:5]):  # from A to E, and back
        assert leg.placements["goal"].pos[:2] == next_leg.start["locobot"][:2]
    assert legs[4].placements["goal"].pos[:2] == legs[0].start["locobot"][:2]
    for leg in legs:
        x, y, _ = leg.start["locobot"]
        straight = math.dist((x, y), leg.placements["goal"].pos[:2])
        assert straight <= leg.facts["shortest"] < 2 * straight
        assert leg.instruction.startswith(f"go to the point {straight:.2f} m away, ")


def test_the_room_and_its_shortest_way_name_the_scenario(legs: list[Scenario]) -> None:
    other = legs[0].placements | {"room": Placement(asset="lab_hard", pos=(0.0, 0.0, 0.0))}
    moved = legs[0].model_copy(update={"placements": other})
    assert moved.id != legs[0].id and moved.base != legs[0].base
    without = legs[0].model_copy(update={"facts": {}})
    assert without.id != legs[0].id and without.base == legs[0].base
    assert Scenario.model_validate_json(legs[0].model_dump_json()) == legs[0]


def test_drawn_scenarios_are_in_apartments() -> None:
    drawn, again = TASK.scenario(3), TASK.scenario(3)
    assert drawn == again and drawn.placements["room"].asset.startswith("apartment:")
    assert 1.0 <= drawn.facts["shortest"] <= 30.0
    assert TASK.scenario(4).id != drawn.id


def test_bad_scenarios_are_refused(legs: list[Scenario]) -> None:
    def changed(**fields: Any) -> Scenario:
        return legs[0].model_copy(update=fields)

    def goal(x: float, y: float) -> dict[str, Placement]:
        return legs[0].placements | {"goal": Placement(asset="point", pos=(x, y, 0.0))}

    with pytest.raises(UsageError, match=r"start.locobot: a robot of radius 0.175 m cannot stand at \(2.9, 3\)"):
        TASK.check(changed(start={"locobot": (2.9, 3.0, 0.0)}))
    with pytest.raises(UsageError, match=r"placements.goal.pos: .* cannot stand at \(9.9, 6.4\) in room 'lab_easy'"):
        TASK.check(changed(placements=goal(9.9, 6.4)))
    with pytest.raises(
        UsageError, match=r"stand at \(90, 3\) in room 'lab_easy': the room reaches from \(0, 0\) to \(10,"
    ):
        TASK.check(changed(start={"locobot": (90.0, 3.0, 0.0)}))
    with pytest.raises(UsageError, match=r"start.locobot: should be x, y \(m\) and yaw \(rad\) \(given: None\)"):
        TASK.check(changed(start={}))
    with pytest.raises(UsageError, match="'goal' is missing"):
        TASK.check(changed(placements={"room": legs[0].placements["room"]}))
    with pytest.raises(UsageError, match="'lab_esay' is not known; did you mean 'lab_easy'"):
        TASK.check(changed(placements=legs[0].placements | {"room": Placement(asset="lab_esay", pos=(0.0, 0.0, 0.0))}))


def test_a_goal_behind_a_wall_is_refused() -> None:
    wall = np.array([[2.9, 0.0], [3.1, 0.0], [3.1, 4.0], [2.9, 4.0]])
    room = Room(name="two halves", outline=np.array([[0.0, 0], [6, 0], [6, 4], [0, 4]]), obstacles=(wall,))
    with pytest.raises(UsageError, match=r"no way leads from \(1, 1\) to \(5, 1\) in room 'two halves'"):
        TASK.between(room, (1.0, 1.0, 0.0), (5.0, 1.0))
    with pytest.raises(UsageError, match=r"start.locobot: yaw should be a finite number, in rad \(given: nan\)"):
        TASK.between(room, (1.0, 1.0, math.nan), (2.0, 1.0))


@pytest.mark.parametrize("given", [-3.0, 0.0, math.inf, math.nan])
def test_a_stored_length_that_is_none_is_refused(legs: list[Scenario], given: float) -> None:
    with pytest.raises(UsageError, match=r"facts.shortest: .* gives 6\.4"):
        PointNav().check(legs[0].model_copy(update={"facts": {"shortest": given}}))


def test_a_stored_length_is_that_of_the_map(legs: list[Scenario]) -> None:
    """Others measure with other meshes, so a hundredth is allowed. A start that was moved is noticed."""
    length = legs[0].facts["shortest"]
    TASK.check(legs[0].model_copy(update={"facts": {"shortest": 1.009 * length}}))
    with pytest.raises(UsageError, match=rf"facts.shortest: is 7 m, and the map of room 'lab_easy' gives {length:g} m"):
        TASK.check(legs[0].model_copy(update={"facts": {"shortest": 7.0}}))
    x, y, yaw = legs[0].start["locobot"]
    moved = legs[0].model_copy(update={"start": {"locobot": (x, y + 0.3, yaw)}})
    with pytest.raises(UsageError, match=r"facts\.shortest"):
        TASK.check(moved)
    TASK.check(moved.model_copy(update={"facts": {}}))
    make_world("planar", TASK, slots=1, threads=1).reset(np.array([0]), [moved], [0])  # a run refuses nothing anew


def test_a_room_in_a_file_is_named_with_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outline = np.array([[0.0, 0], [6, 0], [6, 4], [0, 4]])
    Room(name="den", outline=outline, spots={"A": (1.0, 1.0, 0.0), "B": (5.0, 3.0, 0.0)}).save("den.json")
    room = Room.named("den.json")
    leg = TASK.between(room, room.spots["A"], room.spots["B"])
    assert leg.placements["room"].asset == f"den.json@{room.digest}" and Room.named(room.asset) == room
    TASK.check(leg)
    bare = leg.placements | {"room": Placement(asset="den.json", pos=(0.0, 0.0, 0.0))}
    with pytest.raises(
        UsageError, match=rf"placements.room.asset: 'den.json' is a file.* write 'den.json@{room.digest}'"
    ):
        TASK.check(leg.model_copy(update={"placements": bare}))
    Path("legs.jsonl").write_text(leg.model_dump_json() + "\n")
    study = {"name": "den", "world": "planar", "tasks": ["pointnav"], "policies": ["oracle"]}
    foretell.run({**study, "scenarios": {"file": "legs.jsonl"}}, out="run", workers=0)
    assert foretell.read("run")["success"].to_pylist() == [True]
    Room(name="den", outline=outline + [0.0, 0.1]).save("den.json")
    with pytest.raises(UsageError, match=rf"room: den.json was changed: its digest is \w+ now, and {room.digest} is"):
        foretell.run({**study, "scenarios": {"file": "legs.jsonl"}}, out="again", workers=0)
