"""Studies of the puck of docs/add_a_world.md whose outcomes depend on its θ."""

from __future__ import annotations

from typing import Any

GAINS = (1.2, 2.0, 3.0, 4.0, 6.0, 10.0)
SCENARIOS = 16


def puck(world: Any, gains: tuple[float, ...] = GAINS, **more: Any) -> dict[str, Any]:
    """A study of the puck."""
    return {
        "name": "puck",
        "world": world,
        "tasks": [{"use": "puck.py:Reach", "time_limit": 1.4}],
        "policies": {f"gain-{g:g}": {"use": "puck.py:Seek", "gain": g} for g in gains},
        "scenarios": SCENARIOS,
        **more,
    }
