"""Probes: what in a policy's answers looks like another convention, in words and with a stable code.

The scripted expert solves some scenarios, and the policy is asked at each action what it would do. Its answers are
compared with what the expert did, and asked again with one thing changed. A policy that is unlike the expert in every
way gives nothing to compare: then the probes say that they cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from foretell.adapters.adapter import columns
from foretell.adapters.gripper import ends
from foretell.arrays import Floats
from foretell.checks.likeness import agreement_of, axes, correlations, exchanged, magnitude, normalised
from foretell.checks.report import Report
from foretell.checks.situations import SideBySide, gather
from foretell.policies.make import BoundPolicy
from foretell.spec import DimSpec
from foretell.world import World

__all__ = ["CODES", "probe"]

Finding = tuple[bool, str] | tuple[bool, str, str]
LARGE = 4.0
"""How many times larger or smaller than the expert's actions look like another unit."""
LIKE, UNLIKE = 0.3, 0.25
"""Correlation with the expert from which on actions are compared; share of agreement below which a gripper is wrong."""
AGAINST = -0.6
"""Correlation along one axis that is no chance."""
CODES = {
    "output-constant": "the answer is the same whatever the policy sees",
    "output-saturated": "nearly all numbers are at the end of their range",
    "image-ignored": "other pictures change nothing",
    "state-ignored": "other numbers change nothing",
    "instruction-ignored": "another instruction changes nothing",
    "axis-sign": "the hand moves the other way along an axis",
    "frame": "axes are exchanged",
    "units": "actions are too large or too small by the factor of another unit",
    "normalisation": "every axis has a spread near 1: nobody undid the normalisation",
    "rotation-format": "the hand turns about another axis",
    "rotation-sign": "the hand turns the other way",
    "gripper-sign": "the gripper opens when it should close",
    "gripper-range": "the gripper's numbers are of another range",
    "rate": "deltas are meant for another rate of actions",
}
"""Code -> what it means."""
NAMES = "xyz"


def probe(report: Report, bound: BoundPolicy, world: World) -> None:
    """Add what the probes find to a report."""
    gathered: list[SideBySide] = []

    def asked() -> Finding:
        gathered.append(gather(bound, world))
        calls = sum(len(tape) for tape in gathered[0].tape.values())
        beside = "beside the scripted expert" if gathered[0].expert is not None else "without an expert to compare with"
        return True, f"{calls} questions in {len(gathered[0].tape)} episodes, {beside}."

    if not report.look("situations", asked):
        return
    seen = gathered[0]
    report.look("output", lambda: _output(seen))
    report.look("rate", lambda: _rate(bound, world))
    for name, kind, code in (("pictures", True, "image-ignored"), ("numbers", False, "state-ignored")):
        streams = [n for n in seen.bound.spec.reads if n in world.features and world.features[n].image is kind]
        if streams:
            report.look(name, lambda streams=streams, code=code: _ignored(seen, streams, code))  # type: ignore[misc]
    report.look("instruction", lambda: _instruction(seen, world))
    if seen.expert is None:
        return
    for dim, at in zip(bound.spec.action.dims, columns(bound.spec.action), strict=True):
        p, e = seen.answers[:, at], seen.expert[:, at]
        ok = np.isfinite(p).all(axis=1)
        if look := _part(dim):
            name, check = look
            report.look(name, lambda p=p[ok], e=e[ok], dim=dim, check=check: check(p, e, dim))  # type: ignore[misc]


def _part(dim: DimSpec) -> tuple[str, Callable[[Floats, Floats, DimSpec], Finding]] | None:
    if dim.grips is not None:
        return "gripper", _gripper
    if dim.rotation is not None and dim.size == 3:
        return "rotation", _rotation
    if dim.unit == "m" and dim.size == 3:
        return "translation", _translation
    return None


def _output(seen: SideBySide) -> Finding:
    spec, p = seen.bound.spec.action, seen.answers
    moving = np.isfinite(p).all(axis=1)
    if len(p) > 1 and moving.any() and np.ptp(p[moving], axis=0).max() <= 1e-6:
        return False, "all its answers are the same, whatever it sees.", "output-constant"
    free = np.concatenate([np.full(dim.size, dim.grips is None) for dim in spec.dims])
    edge = 0.02 * (spec.high - spec.low)
    at_end = ((p <= spec.low + edge) | (p >= spec.high - edge))[:, free] & np.isfinite(p)[:, free]
    share = float(at_end.mean()) if free.any() else 0.0
    words = f"{share:.0%} of its numbers, without the gripper's, are at an end of their range or beyond"
    if share > 0.8:
        return False, f"{words}: they look like another unit, or not normalised back.", "output-saturated"
    return True, f"{words}."


def _rate(bound: BoundPolicy, world: World) -> Finding:
    own, task = bound.spec.action_rate, world.task.action_rate
    words = f"{own:g} actions a second; the task is meant for {task:g}"
    deltas = any(dim.mode == "delta" for dim in bound.spec.action.dims)
    if deltas and not 2 / 3 <= own / task <= 1.5:
        return False, f"{words}, and its actions are deltas: the robot moves {own / task:.2g} times as fast.", "rate"
    return True, f"{words}."


def _ignored(seen: SideBySide, streams: list[str], code: str) -> Finding:
    """Ask again with noise in place of pictures, or with other numbers."""
    draws = np.random.default_rng(0)

    def change(shown: dict[str, Any]) -> None:
        for name in streams:
            if name in shown:
                value = shown[name]
                if value.dtype == np.uint8:
                    shown[name] = draws.integers(0, 256, value.shape).astype(value.dtype)
                else:
                    shown[name] = (value + draws.normal(0, 0.1, value.shape)).astype(value.dtype)

    what = "pictures" if code == "image-ignored" else "numbers"
    share, steady = _changed(seen, change)
    if not steady:
        return True, f"cannot be told apart: its answers differ from call to call by {share:.0%} of their spread."
    if share <= 1e-4:
        return False, f"it reads {', '.join(streams)}, and other {what} change its answers by nothing.", code
    return True, f"other {what} change its answers by {share:.0%} of their spread."


def _instruction(seen: SideBySide, world: World) -> Finding:
    """Told, and judged only where the task has more than one thing to ask for."""

    def change(shown: dict[str, Any]) -> None:
        shown["instruction"] = ["do not move at all"] * len(shown["instruction"])

    share, steady = _changed(seen, change)
    if not steady:
        return True, "cannot be told apart: its answers differ from call to call."
    if share > 1e-4:
        return True, f"another instruction changes its answers by {share:.0%} of their spread."
    several = len({text for text, _ in seen.starts.values()}) > 1
    words = "another instruction changes nothing: it ignores the instruction"
    if several:
        return False, f"{words}, and this task has several.", "instruction-ignored"
    return True, f"{words}, and this task has only one."


def _changed(seen: SideBySide, change: Callable[[dict[str, Any]], None]) -> tuple[float, bool]:
    """By how much answers change, as a share of their spread, and whether they stay the same without a change."""
    once, again, other = seen.again(), seen.again(), seen.again(change)
    spread = max(float(np.nanstd(seen.answers, axis=0).mean()), 1e-9)
    if float(np.nanmean(np.abs(once - again))) > 1e-4 * spread:
        return float(np.nanmean(np.abs(once - again))) / spread, False
    return float(np.nanmean(np.abs(other - once))) / spread, True


def _translation(p: Floats, e: Floats, dim: DimSpec) -> Finding:
    own, best, order = axes(p, e)
    ratio = magnitude(p, e)
    words = f"it moves as the expert does with a correlation of {own:.2f}, {ratio:.2g} times as far"
    if exchanged(own, best):
        if [i for i, _ in order] == [0, 1, 2]:
            turned = ", ".join(NAMES[i] for i, sign in order if sign < 0)
            return False, f"it moves the other way along {turned} ({words}).", "axis-sign"
        listed = ", ".join(f"{'-' if s < 0 else ''}{NAMES[i]} for {NAMES[j]}" for j, (i, s) in enumerate(order))
        return False, f"its axes look exchanged: {listed} ({words}). Is it another frame?", "frame"
    alike, used = correlations(p, e).diagonal(), e.std(axis=0)
    if best > LIKE and len(against := np.flatnonzero((alike < AGAINST) & (used > 0.1 * used.max()))):
        return False, f"it moves the other way along {', '.join(NAMES[i] for i in against)} ({words}).", "axis-sign"
    if max(own, best) < LIKE:
        return True, f"{words}: too unlike to tell axes, signs and units."
    if normalised(p, e):
        return False, f"every axis has a spread near 1, and the expert's do not ({words}).", "normalisation"
    if not 1 / LARGE <= ratio <= LARGE:
        return False, f"{words}: the actions {_unit(ratio, dim)}.", "units"
    return True, f"{words}."


def _unit(ratio: float, dim: DimSpec) -> str:
    """The unit that explains a size best."""
    known = {"metres": dim.scale, "centimetres": 100 * dim.scale, "millimetres": 1000 * dim.scale}
    if dim.unit == "rad":
        known = {"radians": dim.scale, "degrees": float(np.rad2deg(dim.scale))}
    known |= {"numbers that are 10 times too large": 10.0, "numbers that are 10 times too small": 0.1}
    known = {name: factor for name, factor in known.items() if factor != 1.0}
    name = min(known, key=lambda name: abs(np.log(ratio / known[name])))
    if name.startswith("numbers"):
        return f"look {name.removeprefix('numbers that are ')}"
    return f"look like {name}, and 1 means {dim.scale:g} {dim.unit} here"


def _rotation(p: Floats, e: Floats, dim: DimSpec) -> Finding:
    """About the axis that the expert turns about most; others are too still to tell."""
    used = e.std(axis=0)
    main = int(np.argmax(used))
    if used[main] * dim.scale < 0.01:
        return True, "the expert hardly turns the hand here, so its format cannot be told."
    alike = np.array([_alike(p[:, i], e[:, main]) for i in range(3)])
    other = int(np.argmax(np.abs(alike)))
    words = f"it turns as the expert does with a correlation of {alike[main]:.2f}"
    if other != main and abs(alike[other]) > 0.6 and alike[main] < 0.3:
        return (
            False,
            (
                f"it turns about {NAMES[other]} where the expert turns about {NAMES[main]} ({words}): is it another "
                "order of angles, or another frame?"
            ),
            "rotation-format",
        )
    if alike[main] < -0.5:
        return False, f"it turns the other way ({words}).", "rotation-sign"
    ratio = magnitude(p[:, main], e[:, main])
    if alike[main] > 0.5 and ratio > 2 * LARGE:
        return False, f"{words}, {ratio:.2g} times as far: the actions {_unit(ratio, dim)}.", "units"
    return True, f"{words}."


def _alike(a: Floats, b: Floats) -> float:
    spread = float(a.std() * b.std())
    return float(((a - a.mean()) * (b - b.mean())).mean() / spread) if spread > 1e-12 else 0.0


def _gripper(p: Floats, e: Floats, dim: DimSpec) -> Finding:
    closed, opened = ends(dim)
    middle, side = 0.5 * (closed + opened), 1.0 if closed > opened else -1.0
    shuts, should = (side * (p[:, 0] - middle) > 0), (side * (e[:, 0] - middle) > 0)
    if dim.mode == "delta" or should.all() or not should.any():
        return True, "the expert's gripper does only one thing here, so its sign cannot be told."
    share = agreement_of(shuts, should)
    words = f"it does as the expert's gripper in {share:.0%} of the situations"
    low, high = np.quantile(p[:, 0], [0.02, 0.98])
    if min(closed, opened) < 0 and low >= -0.05 and high <= 1.05 and np.ptp(p[:, 0]) > 0.5:
        return (
            False,
            f"its gripper stays between {low:.2g} and {high:.2g}, and the controller takes {dim.low:g} to "
            f"{dim.high:g}; it is {p[should, 0].mean():.2g} where the expert closes the gripper.",
            "gripper-range",
        )
    if share < UNLIKE:
        return False, f"the gripper opens when it should close: {words}.", "gripper-sign"
    if shuts.all() or not shuts.any():
        return (
            False,
            f"the gripper never {'opens' if shuts.all() else 'closes'}, and the expert's does.",
            "gripper-still",
        )
    return True, f"{words}."
