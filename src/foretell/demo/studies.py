"""The studies of the demonstration, and what in them was chosen for teaching."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["CHOSEN", "LATENCY_S", "LIFTS", "LIMIT_S", "PART", "RANKED", "SEES", "THINKS", "WRONG", "studies"]

PART = "part"
"""The policy that was trained on a part of the bin."""
SEES = "sees"
LIFTS = "lifts"
"""The policy that a wrong simulator is tried on."""
RANKED: dict[str, str] = {"bc": "zoo:bc", "dp": "zoo:dp", "gaussian": "zoo:bc-gaussian"}
"""Ranked beside `PART`."""
THINKS = "gaussian"
"""Of those ranked, the one that is made slow."""
LATENCY_S = 0.1
LIMIT_S = {"lift": 4.0, "can": 12.0}
"""Time limits, so that failures do not take most of the demonstration's time. Nearly all successes are faster."""
WRONG: dict[str, Any] = {"name": "wrong", "theta": {"kp_scale": 0.05}}
"""A simulator that is wrong on purpose: an arm with a twentieth of the stiffness."""
CHOSEN = (
    "By rule: the scenarios are the first ones of seed 0, every method is the default, and the text follows the "
    "outcomes. Chosen for teaching, after looking at outcomes: the policies, the table cloth, the stiffness of the "
    "wrong simulator, the latency and the policy that has it, the time limits, and the numbers of scenarios. The "
    "stand-in is another simulated world with other physics, and it plays reality. All of this shows how foretell "
    "works; none of it is evidence about robots."
)


def studies(folder: Path, *, trials: int, more: int, ranked: int, seen: int) -> dict[str, dict[str, Any]]:
    """Run folder -> study. `trials`: episodes of `PART` in the stand-in, and as many paired with them in simulation;
    `more`: simulated scenarios of `PART` besides, and of `LIFTS` in a wrong simulator; `ranked`: episodes
    of each other policy in each world; `seen`: scenarios with and without a table cloth."""
    part, both = {PART: "zoo:bc-part"}, {"tasks": [{"use": "can", "time_limit": LIMIT_S["can"]}]}
    lift = {"tasks": [{"use": "lift", "time_limit": LIMIT_S["lift"]}], "policies": {LIFTS: "zoo:bc-gaussian"}}
    again = {"like": str(folder / "demo-part")}
    return {
        "demo-cloth": {
            "tasks": [{"use": "lift", "time_limit": LIMIT_S["lift"]}],
            "policies": {SEES: "zoo:bc-vision"},
            "scenarios": {"count": seen},
            "arms": ["none", "Table_Texture"],
            "record": {"video": 1},
        },
        "demo": {**both, "policies": RANKED, "scenarios": {"count": ranked}},
        "demo-part": {**both, "policies": part, "scenarios": {"count": trials + more}, "record": {"video": 2}},
        "demo-standin": {**both, "world": "standin", "policies": RANKED, "scenarios": {**again, "count": ranked}},
        "demo-standin-part": {**both, "world": "standin", "policies": part, "scenarios": {**again, "count": trials}},
        "demo-wrong": {**lift, "world": WRONG, "scenarios": {"count": trials + more}},
        "demo-standin-lift": {**lift, "world": "standin", "scenarios": {"count": trials}},
        "demo-latency": {
            **both,
            "policies": {THINKS: RANKED[THINKS]},
            "scenarios": {"count": 2 * ranked},
            "clocks": ["sync", {"virtual": {"latency": LATENCY_S}}],
        },
    }
