"""Mistakes in conventions, as adapters: what reaches the robot, or the policy, when two sides disagree."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from foretell.adapters import Adapter
from foretell.adapters.adapter import columns
from foretell.adapters.formats import FORMATS
from foretell.adapters.gripper import ends
from foretell.arrays import Floats, Ints
from foretell.policy import Chunk, PolicySpec
from foretell.spec import ActionSpec, DimSpec

__all__ = ["Misheard", "Misordered", "Opening", "Overheard", "Whole", "flipped", "halved", "misread", "rescaled"]


@dataclasses.dataclass(eq=False)
class Misheard(Adapter):
    """Actions that are taken for others: `change` gets (n, chunk, dim) and the action's spec."""

    change: Callable[[Floats, ActionSpec], Floats]

    name = "misheard"

    def changed(self, slots: Ints, chunk: Chunk, observations: Mapping[str, Any]) -> Chunk:
        return Chunk(self.change(chunk.actions, self.inner.action), chunk.terminate)

    @property
    def options(self) -> dict[str, Any]:
        return {}


class Overheard(Misheard):
    """Keeps what passes, and changes nothing."""

    name = "watched"

    def __init__(self, policy: Any):
        super().__init__(policy, self._keep)
        self.actions: list[Floats] = []

    def _keep(self, actions: Floats, action: ActionSpec) -> Floats:
        self.actions.append(actions[:, : self.spec.executes].reshape(-1, action.size))
        return actions


def _parts(
    actions: Floats,
    action: ActionSpec,
    change: Callable[[Floats, DimSpec], Floats],
    kind: Literal["rotation", "gripper"],
) -> Floats:
    """Actions with a change in the parts of a kind: `rotation` or `gripper`."""
    changed = actions.copy()
    for dim, at in zip(action.dims, columns(action), strict=True):
        if (dim.rotation if kind == "rotation" else dim.grips) is not None:
            changed[..., at] = change(actions[..., at], dim)
    return changed


def misread(spoken: str, heard: str) -> Callable[[Floats, ActionSpec], Floats]:
    """Rotations that are written in one format and read in another of the same size."""

    def change(values: Floats, dim: DimSpec) -> Floats:
        quat = FORMATS[str(dim.rotation)].to_quat(values * dim.scale)
        again = FORMATS[heard].to_quat(FORMATS[spoken].from_quat(quat))
        read: Floats = FORMATS[str(dim.rotation)].from_quat(again) / dim.scale
        return read

    return lambda actions, action: _parts(actions, action, change, "rotation")


def flipped(actions: Floats, action: ActionSpec) -> Floats:
    """Open for closed."""
    return _parts(actions, action, lambda values, dim: sum(ends(dim)) - values, "gripper")


def halved(actions: Floats, action: ActionSpec) -> Floats:
    """0 for closed and 1 for open, sent to a gripper that takes another range."""

    def change(values: Floats, dim: DimSpec) -> Floats:
        closed, opened = ends(dim)
        share: Floats = (values - closed) / (opened - closed)
        return share

    return _parts(actions, action, change, "gripper")


def rescaled(actions: Floats, by: Floats) -> Callable[[Floats, ActionSpec], Floats]:
    """Actions normalised by the 1st and 99th percentile of `actions` (k, dim), the gripper left alone, and then
    multiplied and shifted `by` (2, dim): ones and zeros where nobody undoes it."""
    low, high = np.quantile(actions, [0.01, 0.99], axis=0)
    half = np.maximum(0.5 * (high - low), 1e-9)

    def change(values: Floats, action: ActionSpec) -> Floats:
        normal = np.clip((values - 0.5 * (high + low)) / half, -1.0, 1.0) * by[0] + by[1]
        fingers = np.concatenate([np.full(dim.size, dim.grips is not None) for dim in action.dims])
        return np.where(fingers, values, normal)

    return change


@dataclasses.dataclass(eq=False)
class Opening(Adapter):
    """Says how far a gripper should be open, for a policy that gives changes: the adapter `sticky_gripper` backwards.
    A positive change closes."""

    truth: DimSpec
    """The part of the action that the policy gives."""

    name = "opening"

    def __post_init__(self) -> None:
        self._after: dict[int, tuple[int, Floats]] = {}

    def takes(self, action: ActionSpec) -> ActionSpec:
        (at,) = [i for i, dim in enumerate(action.dims) if dim.grips == "opening"]
        self._at = columns(action)[at].start
        changes = dataclasses.replace(self.truth, robot=action.dims[at].robot, group=action.dims[at].group)
        return ActionSpec(action.name, (*action.dims[:at], changes, *action.dims[at + 1 :]))

    @property
    def options(self) -> dict[str, Any]:
        return {}

    def start(self, slots: Ints) -> None:
        for slot in slots.tolist():
            self._after[slot] = (0, np.ones(self.inner.chunk + 1))

    def changed(self, slots: Ints, chunk: Chunk, observations: Mapping[str, Any]) -> Chunk:
        actions, now = chunk.actions.copy(), self.now(observations).tolist()
        for row, slot in enumerate(slots.tolist()):
            began, openings = self._after[slot]
            opening = openings[min(max(now[row] - began, 0), len(openings) - 1)]
            kept = [opening]
            for step, change in enumerate(actions[row, :, self._at].tolist()):
                opening = opening if change == 0 else float(change < 0)
                actions[row, step, self._at] = opening
                kept.append(opening)
            self._after[slot] = (now[row], np.array(kept))
        return Chunk(actions, chunk.terminate)


@dataclasses.dataclass(eq=False)
class Whole(Adapter):
    """Runs every action of a chunk."""

    name = "whole"

    def gives(self, spec: PolicySpec) -> PolicySpec:
        return dataclasses.replace(spec, execute=None)


@dataclasses.dataclass(eq=False)
class Misordered(Adapter):
    """Shows samples of a history newest first."""

    name = "misordered"

    def seen(self, slots: Ints, observations: dict[str, Any]) -> dict[str, Any]:
        for name, stream in self.inner.reads.items():
            if stream.history > 1:
                observations[name] = np.asarray(observations[name])[:, ::-1]
        return observations
