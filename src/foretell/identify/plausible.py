"""Recordings whose numbers cannot be what they should be: degrees, millimetres, another order of quaternions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foretell.arrays import Floats
from foretell.errors import UsageError
from foretell.identify.recording import Recording
from foretell.identify.tool import Tool, require_quaternions
from foretell.robots import Robot, controllers
from foretell.rotation import conjugate, multiply, rotate, to_axis_angle

__all__ = ["require_actions", "require_plausible"]

BEYOND = 0.2
"""Share of a joint's range that a recorded position may lie outside."""
NEAR, FAR = 0.02, 0.05
"""m between the recorded tool and that of the model at the same joints."""
ALIKE, OTHER = np.radians(3.0), np.radians(10.0)
"""Angles between them."""
STRAY = 0.02
"""m by which the recorded tool may stray from where the recorded joints put it, in 95 % of the rows, beyond what they
are apart throughout."""
WIDE = 1.5
"""Times the range of an action that a recorded one may reach: controllers clip what is a little beyond."""
FAST = 1.5
"""Times a joint's largest speed that its recorded motion may have."""


def require_actions(recordings: Sequence[Recording], kind: type[Robot], controller: str) -> None:
    """Raises UsageError for actions that are far outside what the controller takes."""
    _, spec = controllers(controller, {"robot": kind()}, 1, 0.002)
    middle, half = (spec.high + spec.low) / 2, (spec.high - spec.low) / 2
    dims = [dim for dim in spec.dims for _ in range(dim.size)]
    times = {"m": (1000.0, "millimetres"), "rad": (180 / np.pi, "degrees")}
    for recording in recordings:
        outside = np.abs(recording.actions - middle) > WIDE * half
        if not outside.any():
            continue
        row, column = np.argwhere(outside)[0].tolist()
        dim = dims[column]
        unit, word = times.get(dim.unit, (np.inf, ""))
        alike = [i for i, other in enumerate(dims) if other.unit == dim.unit]
        fits = (np.abs(recording.actions[:, alike] / unit - middle[alike]) <= WIDE * half[alike]).all()
        hint = f"these look like {word}" if word and fits else "check units and order of the numbers"
        raise UsageError(
            f"identify: {recording.name}: action {row} has {recording.actions[row, column]:.4g} for {dim.meaning} "
            f"(number {column}), and {controller!r} takes {spec.low[column]:.4g} to {spec.high[column]:.4g} "
            f"{dim.unit}: {hint}"
        )


def require_plausible(recordings: Sequence[Recording], kind: type[Robot], *, tool: bool) -> None:
    """Raises UsageError with the reason where numbers do not fit the robot. `tool`: recorded poses will be used."""
    low = np.concatenate([group.low for group in kind.groups.values()])
    high = np.concatenate([group.high for group in kind.groups.values()])
    names = [joint for group in kind.groups.values() for joint in group.joints]
    slack = BEYOND * (high - low)
    for recording in recordings:
        outside = (recording.q < low - slack) | (recording.q > high + slack)
        if not outside.any():
            continue
        row, joint = np.argwhere(outside)[0].tolist()
        where = f"identify: {recording.name}: joint {names[joint]} is {recording.q[row, joint]:.4g} after action {row}"
        turns = np.array([group.unit == "rad" for group in kind.groups.values() for _ in group.joints])
        degrees = np.where(turns, np.radians(recording.q), recording.q)
        if ((degrees >= low - slack) & (degrees <= high + slack)).all():
            raise UsageError(
                f"{where}, and its limits are {low[joint]:.4g} to {high[joint]:.4g} rad: these are degrees"
            )
        raise UsageError(
            f"{where}, and its limits are {low[joint]:.4g} to {high[joint]:.4g}: check units and order of the joints, "
            f"which is {', '.join(names)}"
        )
    _require_slow(recordings, kind, names)
    if tool:
        for recording in recordings:
            if recording.ee is not None and recording.has_joints:
                _require_tool(recording, kind)


def _require_slow(recordings: Sequence[Recording], kind: type[Robot], names: Sequence[str]) -> None:
    """Raises UsageError for joints that move faster than they can: rows are missing, or were taken at another rate."""
    speed = np.concatenate([group.speed for group in kind.groups.values()])
    for recording in recordings:
        if not recording.has_joints:
            continue
        fast = np.abs(np.diff(recording.q, axis=0)) * kind.action_rate / speed
        if fast.max() > FAST:
            row, joint = divmod(int(fast.argmax()), fast.shape[1])
            raise UsageError(
                f"identify: {recording.name}: joint {names[joint]} moves at {fast.max():.1f} times its largest speed "
                f"in action {row}, which takes {1 / kind.action_rate:.3g} s: are rows missing, or is it another rate?"
            )


def _require_tool(recording: Recording, kind: type[Robot]) -> None:
    assert recording.ee is not None
    where = f"identify: {recording.name}: ee_base"
    require_quaternions(recording)
    pos, quat = Tool(kind).poses(recording.q)
    apart = float(np.median(np.linalg.norm(pos - recording.ee[:, :3], axis=1)))
    thousandth = float(np.median(np.linalg.norm(pos - recording.ee[:, :3] / 1000, axis=1)))
    if apart > FAR and thousandth < NEAR:
        raise UsageError(f"{where}: positions look like millimetres; they should be metres")
    angle, rolled = _angle(quat, recording.ee[:, 3:]), _angle(quat, np.roll(recording.ee[:, 3:], 1, axis=1))
    if angle > OTHER and rolled < ALIKE:
        raise UsageError(f"{where}: quaternions look like x, y, z, w; they should be w, x, y, z")
    if apart > FAR or angle > OTHER:
        raise UsageError(
            f"{where}: at the recorded joints the tool of {kind.name} is {1000 * apart:.0f} mm and "
            f"{np.degrees(angle):.0f} degrees from the recorded pose: another tool frame or base; use --to joints"
        )
    off = pos - recording.ee[:, :3]
    ways = [off, rotate(conjugate(quat), off)]  # a wrong base stays the same in the base's frame, a tool in its own
    stray = min((np.linalg.norm(way - np.median(way, axis=0), axis=1) for way in ways), key=lambda s: float(s.mean()))
    if np.quantile(stray, 0.95) > STRAY:
        row = int(stray.argmax())
        raise UsageError(
            f"{where}: joints and tool do not move together: after action {row} the tool is {1000 * stray[row]:.0f} mm "
            "from where the joints put it. Were joints recorded that stood still, or at other times? Use --to joints "
            "only if the joints are right"
        )


def _angle(quat: Floats, recorded: Floats) -> float:
    """Median angle between orientations (T, 4), rad."""
    return float(np.median(np.linalg.norm(to_axis_angle(multiply(quat, conjugate(recorded))), axis=1)))
