"""Policies with keys of their own, whoever runs them: what each key is made of, and what their actions mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from foretell.bridges.conventions import Convention, declared, filled
from foretell.bridges.sources import Source, read_sources
from foretell.errors import PolicyError, UsageError
from foretell.policy import Policy, PolicySpec, observed
from foretell.spec import ActionSpec, Feature, Stream
from foretell.tasks.task import Task

__all__ = ["Mapped", "as_actions"]


class Mapped(Policy):
    """What is declared about a policy elsewhere, checked before the first episode."""

    who: str
    """What errors call it."""
    camera: str | None = None
    wrist: str | None = None
    elsewhere = True
    """Whether another process or a server holds it: `foretell check policy` then probes its conventions."""

    def agree(
        self, how: Convention, task: Task, action: ActionSpec, *, batch: int | None = 1, seeded: bool = False
    ) -> None:
        """Make `spec` of what is declared. Raises UsageError."""
        self._sources: dict[str, Source] = read_sources(filled(how.observation, self._names(task)))
        reads: dict[str, Stream] = {}
        for source in self._sources.values():
            for name, stream in source.reads().items():
                if name in reads and reads[name] != stream:
                    raise UsageError(
                        f"observation: {name!r} is read in two sizes, {reads[name].shape} and {stream.shape}"
                    )
                reads[name] = stream
        self.spec = PolicySpec(
            reads=reads,
            action=declared(how.action, action, task),
            action_rate=how.action_rate,
            chunk=how.chunk,
            execute=min(how.execute, how.chunk),
            batch=batch,
            seeded=seeded,
        )

    def _names(self, task: Task) -> dict[str, str]:
        """What `{robot}`, `{camera}` and `{wrist}` of a preset are."""
        robot = next(iter(task.robots), "robot")
        camera = next(iter(task.cameras), f"{robot}/overhead")
        named = {"robot": robot, "camera": camera, "wrist": f"{robot}/wrist"}
        chosen = {"camera": self.camera, "wrist": self.wrist}
        return named | {name: value for name, value in chosen.items() if value is not None}

    def question(self, seen: Mapping[str, Any], row: int) -> dict[str, Any]:
        """What the policy is sent for a row of the observations."""
        return {name: source.value(seen, row) for name, source in self._sources.items()}

    def inform(self, features: Mapping[str, Feature]) -> None:
        """Ask one question with an empty scene: what is wrong with the answer shows before the first episode."""
        for source in self._sources.values():
            source.inform(features)
        if (seen := empty_scene(self.spec, features)) is not None:
            try:
                self.try_out(seen)
            except PolicyError as error:
                raise UsageError(f"{self.who}, asked once before the first episode: {error}") from None

    def try_out(self, seen: Mapping[str, Any]) -> None:
        """Put the question of `inform`. Raises PolicyError."""
        raise NotImplementedError


def empty_scene(spec: PolicySpec, features: Mapping[str, Feature]) -> dict[str, Any] | None:
    """Observations of one slot where everything is zero; None where a stream is not known."""
    seen: dict[str, Any] = {"time": np.zeros(1), "instruction": ["do nothing"]}
    for name, stream in observed(spec.reads).items():
        if name not in features:
            return None
        shape = stream.shape or features[name].shape
        value = np.zeros(shape, dtype=features[name].dtype)
        if features[name].kind == "orientation" and shape == (4,):
            value[0] = 1.0
        history = (stream.history,) if stream.history > 1 else ()
        seen[name] = np.broadcast_to(value, (1, *history, *shape))
    return seen


def as_actions(given: Any, spec: PolicySpec, who: str) -> np.ndarray:
    """(chunk, dim) of one answer, which may have more actions than are needed. Raises PolicyError."""
    try:
        actions = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise PolicyError(f"{who} `actions` are no array of numbers") from None
    actions = actions[None] if actions.ndim == 1 else actions
    if actions.ndim != 2 or actions.shape[1] != spec.action.size or len(actions) < spec.chunk:
        raise PolicyError(
            f"{who} `actions` have shape {actions.shape}; {spec.chunk} or more actions of {spec.action.size} "
            "numbers are expected (chunk, action)"
        )
    return actions[: spec.chunk]
