"""SIMPLER's variants as arms, under their published names.

SIMPLER calls them scenes, lightings, tables and environments; here each is an arm made of factors with fixed values.
The darker light, the tilt of the head and the kinds of distractors are SIMPLER's. Its brighter light, twice as bright,
would leave our pictures white: ours is 1.3 times. Its other rooms, tables and cabinets are scans; ours have a texture.
So an arm shows whether a policy bears another look, not that very one.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from foretell.tasks.task import Task

__all__ = ["AGGREGATES", "APART", "SHIFTS", "VARIANTS", "aggregated", "members", "published"]

_LIGHT = {"slightly_darker_lighting": {"Light_Color": 0.5}, "slightly_brighter_lighting": {"Light_Color": 1.3}}
_TABLETOP: dict[str, dict[str, Any]] = {
    "google_pick_coke_can_1_v4_alt_background": {"Background_Texture": "brick-01"},
    "google_pick_coke_can_1_v4_alt_background_2": {"Background_Texture": "wood-14"},
    **_LIGHT,
    "less_distractor": {"Distractor": [["pepsi-can", "toy-apple", "kitchen-sponge", "toy-orange"]]},
    "more_distractor": {
        "Distractor": [["kitchen-sponge", "bridge-spoon", "7up-can", "sprite-can", "toy-orange", "fanta-can"]]
    },
    "Baked_sc1_staging_objaverse_cabinet1_h870": {"Table_Texture": "marble-12"},
    "Baked_sc1_staging_objaverse_cabinet2_h870": {"Table_Texture": "wood-11"},
    "AltGoogleCamera": {"Head_Tilt": 0.15},
    "AltGoogleCamera2": {"Head_Tilt": -0.12},
}
_NEAR: dict[str, dict[str, Any]] = {
    **{name: values for name, values in _TABLETOP.items() if "Distractor" not in values},
    "no_distractor": {"Fewer_Objects": {"severity": 1.0}},
}
_DRAWERS: dict[str, dict[str, Any]] = {
    "frl_apartment_stage_simple": {"Background_Texture": "fabric-06"},
    "modern_bedroom_no_roof": {"Background_Texture": "wood-00"},
    "modern_office_no_roof": {"Background_Texture": "tile-15"},
    **_LIGHT,
    "mk_station2": {"RO_Texture": "wood-03"},
    "mk_station3": {"RO_Texture": "marble-11"},
}
_ARMS: dict[str, dict[str, Any]] = {
    "recolor_tabletop_visual_matching_1": {"Robot_Texture": "plain-graphite"},
    "recolor_tabletop_visual_matching_2": {"Robot_Texture": "plain-slate"},
    "recolor_cabinet_visual_matching_1": {"Robot_Texture": "plain-sand"},
}
VARIANTS: dict[str, dict[str, Any]] = {**_TABLETOP, **_NEAR, **_DRAWERS, **_ARMS}
"""Published name -> factors and values, as a study would write them."""
_SHIFT_OF = {
    "Background_Texture": "background",
    "Light_Color": "lighting",
    "Distractor": "distractors",
    "Fewer_Objects": "distractors",
    "Table_Texture": "table texture",
    "RO_Texture": "table texture",  # the cabinet of the drawers
    "Head_Tilt": "camera pose",
    "Robot_Texture": "arm colour",
}
SHIFTS: dict[str, str] = {name: _SHIFT_OF[next(iter(values))] for name, values in VARIANTS.items()}
"""Variant -> the shift that it is one of, as SIMPLER's Table VI has them."""
APART = "camera pose"
"""The shift that SIMPLER runs and leaves out of its aggregate."""


def _clean_and(scenes: Collection[str], *without: str) -> tuple[str, ...]:
    return ("none", *(name for name in scenes if SHIFTS[name] not in (APART, *without)))


AGGREGATES: dict[str, tuple[tuple[str, ...], ...]] = {
    "aggregate": (
        _clean_and(_TABLETOP),
        _clean_and(_NEAR),
        _clean_and(_DRAWERS),
        _clean_and(_TABLETOP, "distractors"),
    ),
    "arm_colours": (_clean_and(_ARMS),),
}
"""Aggregate -> the sets of arms that it may be the mean of, which depend on the task; the largest first."""


def published(task: Task) -> list[str]:
    """The variants that SIMPLER publishes for a task; none for tasks that are not SIMPLER's."""
    scenes = {"tabletop": _TABLETOP, "near": _NEAR, "drawers": _DRAWERS}
    return [*scenes[task.variants], *_ARMS] if task.variants else []


def aggregated(name: str, task: Task) -> list[str]:
    """The arms that an aggregate runs on a task: the clean control and SIMPLER's variants, those of the camera too.
    Tasks for which SIMPLER publishes none get those of its tabletop tasks; beside the things of the WidowX tasks there
    is no room for distractors."""
    names = published(task) or [*_TABLETOP, *_ARMS]
    wanted = [n for n in names if not (task.crowded and SHIFTS[n] == "distractors")]
    return ["none", *(n for n in wanted if (SHIFTS[n] == "arm colour") == (name == "arm_colours"))]


def members(name: str, arms: Collection[str]) -> tuple[str, ...]:
    """The arms whose mean is an aggregate, of rows that have these arms; none where one of them is missing."""
    return next((each for each in AGGREGATES[name] if set(each) <= set(arms)), ())
