"""World files of other simulators: in which environment they run, and what of them runs."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from foretell.bridges.simulators.environment import KNOWN
from foretell.world_file import WorldFile

__all__ = ["GymnasiumFile", "RobosuiteFile", "SimulatorFile"]


class SimulatorFile(WorldFile):
    """What all have."""

    env: str
    """A name that `foretell env create` takes, or the folder of a Python environment."""
    patience: float = Field(default=60.0, gt=0, le=3600)
    """Wall seconds that the simulator may take for an answer."""
    opening: float = Field(default=300.0, gt=0, le=3600)
    """Wall seconds for it to start, and to begin an episode."""

    def decides(self) -> list[Any]:
        (whole,) = super().decides()
        return [{key: value for key, value in whole.items() if key not in ("env", "patience", "opening")}]

    @property
    def params(self) -> dict[str, Any]:
        params = super().params
        return {key: value for key, value in params.items() if key not in ("patience", "opening")}

    @property
    def packages(self) -> dict[str, str | None]:
        """Package -> the version that is expected; None where any will do."""
        return dict(KNOWN[self.env].pins) if self.env in KNOWN else {"numpy": None, "mujoco": None}


class GymnasiumFile(SimulatorFile):
    """An environment that is registered with Gymnasium."""

    kind: str = "gymnasium"
    id: str = ""
    """The name that it is registered under; without one, that of the task `own:ID`."""
    make: dict[str, Any] = {}
    """Options of `gymnasium.make`."""
    task_option: str = "env_name"
    """The option of `gymnasium.make` that names the task, where `id` names a family of tasks."""
    imports: tuple[str, ...] | None = None
    """Modules that register it; None: those of a known environment."""
    success: str | None = None
    """The entry of `info` that tells success; None: `success` or `is_success`."""
    keep: Literal["all"] | tuple[int, ...] = "all"
    """While a policy is late, these numbers of its last action stay, and the others are 0."""
    seed_by: Literal["reset", "make"] | None = None
    """What listens to a seed; None: as the known environment needs it, else `reset`."""
    tick: float | None = Field(default=None, gt=0, le=10)
    """Simulated seconds of a step; None: as the environment says, by `dt` or `render_fps`."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, given: Any) -> Any:
        """`gymnasium:ID` is short for `kind: gymnasium` with this `id`."""
        if isinstance(given, dict) and str(given.get("kind", "")).startswith("gymnasium:"):
            given = {**given, "kind": "gymnasium", "id": str(given["kind"]).partition(":")[2]}
        return {"name": given.get("id") or "gymnasium", **given} if isinstance(given, dict) else given

    @property
    def packages(self) -> dict[str, str | None]:
        return {"gymnasium": None, **super().packages}

    def options(self, asked: str, render: bool) -> dict[str, Any]:
        """What the worker is told, for a task that is called so."""
        known = KNOWN.get(self.env)
        make = dict(self.make)
        if self.id and asked:
            make[self.task_option] = asked
        imports = self.imports if self.imports is not None else (known.imports if known else ())
        return {
            "id": self.id or asked,
            "make": make,
            "imports": list(imports),
            "success": self.success,
            "keep": self.keep if isinstance(self.keep, str) else list(self.keep),
            "seed_by": self.seed_by or (known.seed_by if known else "reset"),
            "tick": self.tick,
            "render": render,
        }


class RobosuiteFile(SimulatorFile):
    """robosuite."""

    kind: str = "robosuite"
    env: str = "robosuite"
    robots: tuple[str, ...] = ()
    """robosuite's names of the robots, of its own tasks; none: one Panda, or two for a task of two arms."""

    @property
    def packages(self) -> dict[str, str | None]:
        return {"robosuite": None, **super().packages}
