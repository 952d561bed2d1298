"""Scenarios: their names, their children, and the words a person sets a table by."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from foretell.scenario import Placement, Scenario
from foretell.seeding import generator, seed
from foretell.study.plan import make_task

TASK = make_task("can")


def test_id_names_everything_and_base_only_the_layout() -> None:
    clean = TASK.scenario(5)
    perturbed = clean.model_copy(update={"factors": {"Light_Color": [1, 0, 0]}, "instruction": "take the can"})
    assert perturbed.id != clean.id
    assert perturbed.base == clean.base
    assert clean.model_copy(update={"seed": 6}).base != clean.base


def test_id_survives_json() -> None:
    scenario = TASK.scenario(11)
    again = Scenario.model_validate_json(scenario.model_dump_json())
    assert again == scenario and again.id == scenario.id


def test_old_scenarios_keep_their_names() -> None:
    """`start` was called `robot_start`: the names are those that foretell gave before."""
    cube = {"asset": "cube", "pos": [0.01, -0.02, 0.021]}
    about = {"task": "lift", "seed": 3, "placements": {"cube": cube}, "instruction": "lift the cube"}
    for field in ("robot_start", "start"):
        scenario = Scenario.model_validate({**about, field: {"panda": [0.1, 0.2]}})
        assert (scenario.id, scenario.base) == ("4a73628217f4e191", "f8fa3ea46a7617f8")
        assert scenario.start == {"panda": (0.1, 0.2)}


def test_children_lie_near_and_know_their_parent() -> None:
    parent = TASK.scenario(0)
    children = parent.near(40, radius=0.02)
    x, y, z = parent.placements["can"].pos
    distances = [math.dist((x, y), c.placements["can"].pos[:2]) for c in children]
    assert max(distances) <= 0.02 and max(distances) > 0.015
    assert all(c.parent == parent.id == c.pair and c.placements["can"].pos[2] == z for c in children)
    assert len({c.id for c in children}) == 40
    assert parent.near(40, 0.02) == children


@given(st.integers(0, 2**31), st.integers(0, 5), st.sampled_from(["policy", "sensor/x", "placement"]))
def test_draws_depend_on_base_trial_and_purpose_alone(number: int, trial: int, purpose: str) -> None:
    base = f"{number:x}"
    assert generator(base, trial, purpose).random() == generator(base, trial, purpose).random()
    assert seed(base, trial, purpose) == seed(base, trial, purpose)
    others = {seed(base + "0", trial, purpose), seed(base, trial + 1, purpose), seed(base, trial, purpose + "!")}
    assert seed(base, trial, purpose) not in others and 0 <= seed(base, trial, purpose) < 2**63


@pytest.mark.parametrize(
    "wrong",
    [
        {"pos": (0, 0, float("nan"))},
        {"pos": (0, 0)},
        {"quat": (1, 1, 0, 0)},
        {"scale": (1, 0, 1)},
        {"colour": "red"},
    ],
)
def test_impossible_placements_are_refused(wrong: dict) -> None:
    with pytest.raises(ValidationError):
        Placement.model_validate({"asset": "can", "pos": (0, 0, 0), **wrong})


def test_card_tells_a_person_what_to_do() -> None:
    card = TASK.scenario(3).card()
    assert "can (can)" in card and "°" in card and TASK.instruction in card
    placed = Placement(asset="can", pos=(-0.0061, 0.0209, 0.1))
    lines = Scenario(task="can", seed=0, placements={"can": placed}).card().splitlines()
    assert lines == ["can", "  can (can): x -0.006 m, y +0.021 m, turned +0°"], (
        "metres, as a sheet of trials takes them"
    )
