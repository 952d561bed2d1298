"""Makes foretell's tasks known to Gymnasium as soon as both are imported, in whichever order.

Gymnasium loads no plug-ins by itself, and importing it from here would double the time of `import foretell`.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["IDS", "OLD", "OWN", "register", "register_when_imported"]

IDS = {
    "foretell/Lift-v2": "lift",
    "foretell/Can-v2": "can",
    "foretell/Square-v3": "square",
    "foretell/google_robot_pick_coke_can-v2": "google_robot_pick_coke_can",
    "foretell/google_robot_pick_horizontal_coke_can-v2": "google_robot_pick_horizontal_coke_can",
    "foretell/google_robot_pick_vertical_coke_can-v2": "google_robot_pick_vertical_coke_can",
    "foretell/google_robot_pick_standing_coke_can-v2": "google_robot_pick_standing_coke_can",
    "foretell/google_robot_pick_object-v2": "google_robot_pick_object",
    "foretell/google_robot_move_near-v2": "google_robot_move_near",
    "foretell/google_robot_move_near_v0-v2": "google_robot_move_near_v0",
    "foretell/google_robot_move_near_v1-v2": "google_robot_move_near_v1",
    "foretell/google_robot_open_drawer-v3": "google_robot_open_drawer",
    "foretell/google_robot_open_top_drawer-v3": "google_robot_open_top_drawer",
    "foretell/google_robot_open_middle_drawer-v3": "google_robot_open_middle_drawer",
    "foretell/google_robot_open_bottom_drawer-v3": "google_robot_open_bottom_drawer",
    "foretell/google_robot_close_drawer-v3": "google_robot_close_drawer",
    "foretell/google_robot_close_top_drawer-v3": "google_robot_close_top_drawer",
    "foretell/google_robot_close_middle_drawer-v3": "google_robot_close_middle_drawer",
    "foretell/google_robot_close_bottom_drawer-v3": "google_robot_close_bottom_drawer",
    "foretell/google_robot_place_in_closed_drawer-v3": "google_robot_place_in_closed_drawer",
    "foretell/google_robot_place_in_closed_top_drawer-v3": "google_robot_place_in_closed_top_drawer",
    "foretell/google_robot_place_in_closed_middle_drawer-v3": "google_robot_place_in_closed_middle_drawer",
    "foretell/google_robot_place_in_closed_bottom_drawer-v3": "google_robot_place_in_closed_bottom_drawer",
    "foretell/google_robot_place_apple_in_closed_top_drawer-v3": "google_robot_place_apple_in_closed_top_drawer",
    "foretell/widowx_spoon_on_towel-v2": "widowx_spoon_on_towel",
    "foretell/widowx_carrot_on_plate-v2": "widowx_carrot_on_plate",
    "foretell/widowx_stack_cube-v2": "widowx_stack_cube",
    "foretell/widowx_put_eggplant_in_basket-v2": "widowx_put_eggplant_in_basket",
}
"""Environment -> task. The version is the task's."""
OLD = {
    "foretell/Lift-v1": "lift",
    "foretell/Can-v1": "can",
    "foretell/Square-v2": "square",
    "foretell/google_robot_open_drawer-v1": "google_robot_open_drawer",
    "foretell/google_robot_open_top_drawer-v1": "google_robot_open_top_drawer",
    "foretell/google_robot_open_middle_drawer-v1": "google_robot_open_middle_drawer",
    "foretell/google_robot_open_bottom_drawer-v1": "google_robot_open_bottom_drawer",
    "foretell/google_robot_pick_coke_can-v1": "google_robot_pick_coke_can",
    "foretell/google_robot_pick_horizontal_coke_can-v1": "google_robot_pick_horizontal_coke_can",
    "foretell/google_robot_pick_vertical_coke_can-v1": "google_robot_pick_vertical_coke_can",
    "foretell/google_robot_pick_standing_coke_can-v1": "google_robot_pick_standing_coke_can",
    "foretell/google_robot_pick_object-v1": "google_robot_pick_object",
    "foretell/google_robot_move_near-v1": "google_robot_move_near",
    "foretell/google_robot_move_near_v0-v1": "google_robot_move_near_v0",
    "foretell/google_robot_move_near_v1-v1": "google_robot_move_near_v1",
    "foretell/google_robot_open_drawer-v2": "google_robot_open_drawer",
    "foretell/google_robot_open_top_drawer-v2": "google_robot_open_top_drawer",
    "foretell/google_robot_open_middle_drawer-v2": "google_robot_open_middle_drawer",
    "foretell/google_robot_open_bottom_drawer-v2": "google_robot_open_bottom_drawer",
    "foretell/google_robot_close_drawer-v1": "google_robot_close_drawer",
    "foretell/google_robot_close_drawer-v2": "google_robot_close_drawer",
    "foretell/google_robot_close_top_drawer-v1": "google_robot_close_top_drawer",
    "foretell/google_robot_close_top_drawer-v2": "google_robot_close_top_drawer",
    "foretell/google_robot_close_middle_drawer-v1": "google_robot_close_middle_drawer",
    "foretell/google_robot_close_middle_drawer-v2": "google_robot_close_middle_drawer",
    "foretell/google_robot_close_bottom_drawer-v1": "google_robot_close_bottom_drawer",
    "foretell/google_robot_close_bottom_drawer-v2": "google_robot_close_bottom_drawer",
    "foretell/google_robot_place_in_closed_drawer-v1": "google_robot_place_in_closed_drawer",
    "foretell/google_robot_place_in_closed_drawer-v2": "google_robot_place_in_closed_drawer",
    "foretell/google_robot_place_in_closed_top_drawer-v1": "google_robot_place_in_closed_top_drawer",
    "foretell/google_robot_place_in_closed_top_drawer-v2": "google_robot_place_in_closed_top_drawer",
    "foretell/google_robot_place_in_closed_middle_drawer-v1": "google_robot_place_in_closed_middle_drawer",
    "foretell/google_robot_place_in_closed_middle_drawer-v2": "google_robot_place_in_closed_middle_drawer",
    "foretell/google_robot_place_in_closed_bottom_drawer-v1": "google_robot_place_in_closed_bottom_drawer",
    "foretell/google_robot_place_in_closed_bottom_drawer-v2": "google_robot_place_in_closed_bottom_drawer",
    "foretell/google_robot_place_apple_in_closed_top_drawer-v1": "google_robot_place_apple_in_closed_top_drawer",
    "foretell/google_robot_place_apple_in_closed_top_drawer-v2": "google_robot_place_apple_in_closed_top_drawer",
    "foretell/widowx_spoon_on_towel-v1": "widowx_spoon_on_towel",
    "foretell/widowx_carrot_on_plate-v1": "widowx_carrot_on_plate",
    "foretell/widowx_stack_cube-v1": "widowx_stack_cube",
    "foretell/widowx_put_eggplant_in_basket-v1": "widowx_put_eggplant_in_basket",
}
"""Names of the same environments under lower numbers. Gymnasium warns of old ones."""
OWN = "foretell/Task-v1"
"""Any task, given by the argument `task`: a name, or "file.py:Class"."""
ACTIONS = 400
"""Time limit times action rate of most tasks."""
FEWER = {
    "widowx_spoon_on_towel": 60,
    "widowx_carrot_on_plate": 60,
    "widowx_stack_cube": 60,
    "widowx_put_eggplant_in_basket": 120,
    "google_robot_pick_coke_can": 80,
    "google_robot_pick_horizontal_coke_can": 80,
    "google_robot_pick_vertical_coke_can": 80,
    "google_robot_pick_standing_coke_can": 80,
    "google_robot_pick_object": 80,
    "google_robot_move_near": 80,
    "google_robot_move_near_v0": 80,
    "google_robot_move_near_v1": 80,
    "google_robot_open_drawer": 113,
    "google_robot_open_top_drawer": 113,
    "google_robot_open_middle_drawer": 113,
    "google_robot_open_bottom_drawer": 113,
    "google_robot_close_drawer": 113,
    "google_robot_close_top_drawer": 113,
    "google_robot_close_middle_drawer": 113,
    "google_robot_close_bottom_drawer": 113,
    "google_robot_place_in_closed_drawer": 200,
    "google_robot_place_in_closed_top_drawer": 200,
    "google_robot_place_in_closed_middle_drawer": 200,
    "google_robot_place_in_closed_bottom_drawer": 200,
    "google_robot_place_apple_in_closed_top_drawer": 200,
}
"""That of the others."""


def register() -> None:
    """Register the environments. Does nothing for those that Gymnasium knows already."""
    import gymnasium

    own: dict[str, Any] = {"kwargs": {"time_limit": True}}  # the task says how long, which is not known yet
    ours = {
        name: {"max_episode_steps": FEWER.get(task, ACTIONS), "kwargs": {"task": task}}
        for name, task in {**OLD, **IDS}.items()
    }
    for name, more in {**ours, OWN: own}.items():
        if name not in gymnasium.registry:  # registering twice would warn
            gymnasium.register(
                name,
                entry_point="foretell.bridges.gymnasium:TaskEnv",
                vector_entry_point="foretell.bridges.gymnasium:TaskVectorEnv",
                **more,
            )


def register_when_imported() -> None:
    """Register now if Gymnasium is imported, else right after it will be."""
    if "gymnasium" in sys.modules:
        register()
    else:
        sys.meta_path.insert(0, _Waiting())


class _Waiting(MetaPathFinder):
    """Lets the usual finders find Gymnasium, and registers once it is executed."""

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                register()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
