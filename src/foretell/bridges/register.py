"""Makes foretell's tasks known to Gymnasium, without importing them: it happens on `import foretell`."""

from __future__ import annotations

import gymnasium

__all__ = ["IDS", "register"]

IDS = {"foretell/Lift-v0": "lift", "foretell/Can-v0": "can", "foretell/Square-v0": "square"}
"""Environment -> task. The version is raised together with the task's, which began at 1."""
ACTIONS = 400
"""Time limit times action rate of these tasks."""


def register() -> None:
    """Register the environments. Does nothing for those that Gymnasium knows already."""
    for name, task in IDS.items():
        if name not in gymnasium.registry:  # registering twice would warn
            gymnasium.register(
                name,
                entry_point="foretell.bridges.gymnasium:TaskEnv",
                vector_entry_point="foretell.bridges.gymnasium:TaskVectorEnv",
                max_episode_steps=ACTIONS,
                kwargs={"task": task},
            )
