"""Operator cards: every value of every factor can be told to a person."""

from __future__ import annotations

import pytest

from foretell.factors import draw, factor, perturb
from foretell.factors.arms import expand
from foretell.factors.factor import Factor
from foretell.registry import names
from foretell.sim.params import load_world
from foretell.sim.scene import Scene
from foretell.study.plan import make_task

TASKS = ("lift", "can", "square")
PAIRS = [(t, f) for t in TASKS for f in names("factors") if factor(f).applies(make_task(t)) is None]


@pytest.mark.parametrize("name", names("factors"))
def test_every_factor_has_words_of_its_own(name: str) -> None:
    assert type(factor(name)).card is not Factor.card


@pytest.mark.parametrize(("task", "name"), PAIRS)
def test_every_severity_has_a_card(task: str, name: str) -> None:
    made = make_task(task)
    for seed in range(3):
        clean = made.scenario(seed)
        for severity in (0.0, 0.5, 1.0, factor(name).most):
            value = draw(name, clean, made, severity)
            said = factor(name).card(value)
            assert said == said.strip() and len(said) > 8
            assert not set("{}[]") & set(said), said  # words, not the value as Python prints it
            assert f"  {name}: {said}" in perturb(clean, {name: value}).card()


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({"MO_Color": "teal"}, "paint or wrap the object to handle teal"),
        ({"MO_Size": 1.1}, "print the object to handle at 110.0% of its size"),
        ({"RO_Size": 0.9}, "print the receiving object at 90.0% of its size"),
        ({"Object_Mass": 2.0}, "make the object weigh 2.00 times as much"),
        ({"Object_Friction": 0.5}, "until its sliding friction is 50% of before"),
        ({"Light_Color": 0.5}, "set the lamps to 50 % red, 50 % green, 50 % blue"),
        ({"Table_Color": "white"}, "cover the table with plain colour #ffffff"),
        ({"Table_Texture": "wood-00"}, "cover the table with a print of texture 'wood-00'"),
        ({"Distractor": "mug"}, "put down mug at x "),
        ("Sensor_Noise", "24 of 255 on images, 5.0 mm on poses and depth, 5.0 mrad on joints"),
        ({"Camera_FOV": 3}, "zoom camera 'front': +3.0°"),
        ({"Action_Noise": 0.1}, "10% of half their range"),
    ],
)
def test_values_of_ones_own_have_a_card(item: object, said: str) -> None:
    task = make_task("square")
    (arm,) = expand([item], task)
    assert said in arm.on(task.scenario(0), task).card()


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (
            {"MO_Color": "teal", "MO_Texture": "wood-00"},
            "  MO_Texture: cover the object to handle with a print of texture 'wood-00', tinted teal (RGB 0, 0.5, 0.5) "
            "as in simulation: its red, green and blue times 0.40, 0.70, 0.70",
        ),
        (
            {"RO_Color": {"severity": 0.5}, "RO_Texture": "wood-00"},
            "  RO_Texture: cover the receiving object with a print of texture 'wood-00', tinted by 50% towards ",
        ),
        (
            {"Table_Color": "red", "Table_Texture": "wood-00"},
            "  Table_Texture: cover the table with a print of texture 'wood-00', tinted #ff0000 as in simulation: its "
            "red, green and blue times 1.00, 0.40, 0.40",
        ),
    ],
)
def test_colour_and_texture_together_are_one_line(item: dict[str, object], said: str) -> None:
    task = make_task("square")
    (arm,) = expand([item], task)
    card = arm.on(task.scenario(0), task).card()
    assert said in card and "_Color:" not in card


def test_a_colour_keeps_its_line_where_no_texture_hides_it() -> None:
    task = make_task("square")
    for item in ({"MO_Color": "teal", "MO_Texture": {"severity": 0}}, {"MO_Color": "teal", "Table_Texture": "wood-00"}):
        (arm,) = expand([item], task)
        assert "  MO_Color: paint or wrap the object to handle teal" in arm.on(task.scenario(0), task).card()


def test_the_card_says_what_simulation_does() -> None:
    """The tint on the card is the colour that multiplies the texture in the model that images are made with."""
    task = make_task("lift")
    (arm,) = expand([{"MO_Color": "teal", "MO_Texture": "wood-00"}], task)
    scenario = arm.on(task.scenario(0), task)
    model = Scene(task, load_world("mujoco")).dress(scenario, 0)
    tints = {
        tuple(model.geom_rgba[i, :3].round(2))
        for i in range(model.ngeom)
        if model.geom_bodyid[i] == model.body("cube").id
    }
    assert ", ".join(f"{c:.2f}" for c in tints.pop()) in scenario.card() and not tints
