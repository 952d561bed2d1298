"""Operator cards: every value of every factor can be told to a person."""

from __future__ import annotations

import pytest

from foretell.factors import draw, factor, perturb
from foretell.factors.arms import expand
from foretell.factors.factor import Factor
from foretell.registry import names
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
        ({"Camera_FOV": 3}, "zoom camera 'front': +3.0°"),
        ({"Action_Noise": 0.1}, "10% of half their range"),
    ],
)
def test_values_of_ones_own_have_a_card(item: dict[str, object], said: str) -> None:
    task = make_task("square")
    (arm,) = expand([item], task)
    assert said in arm.on(task.scenario(0), task).card()
