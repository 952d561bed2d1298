"""How far a replayed motion is from the recorded one: SIMPLER's losses (its equations 3 to 5), and residuals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.identify.motion import Motion
from foretell.identify.recording import Recording
from foretell.rotation import conjugate, multiply, to_axis_angle

__all__ = ["Losses", "losses", "residual"]

Losses = dict[str, float]
"""`translation` (m, equation 3), `rotation` (rad, equation 4: half the angle), `sysid` (their sum, equation 5), and
`joints` (the root mean square, rad or m). What was not recorded, tool or joints, is left out."""


def _turn(recording: Recording, motion: Motion) -> Floats:
    """(T + 1, 3) rotation vectors from recorded to replayed orientations."""
    assert recording.ee is not None
    return to_axis_angle(multiply(motion.quat, conjugate(recording.ee[:, 3:])))


def losses(recording: Recording, motion: Motion, moved: Bools) -> Losses:
    """Of one recording. `moved` (joints,): those that actions move. All are infinite where physics diverged."""
    if motion.failed:
        return dict.fromkeys(("joints", "translation", "rotation", "sysid"), float("inf"))
    apart = (motion.q - recording.q)[:, moved]
    result = {"joints": float(np.sqrt(np.mean(apart * apart)))} if recording.has_joints else {}
    if recording.ee is not None:
        result["translation"] = float(np.linalg.norm(motion.pos - recording.ee[:, :3], axis=1)[1:].mean())
        # arcsin(|R - R'| / (2 sqrt 2)) is half the angle between R and R'
        result["rotation"] = float(0.5 * np.linalg.norm(_turn(recording, motion), axis=1)[1:].mean())
        result["sysid"] = result["translation"] + result["rotation"]
    return result


def residual(recording: Recording, motion: Motion, moved: Bools, to: Sequence[str]) -> Floats:
    """(T, outputs) differences after each action: of the tool in m and half radians (`tool` in `to`), of the joints in
    rad or m (`joints`)."""
    parts = []
    if "tool" in to and recording.ee is not None:
        parts += [motion.pos - recording.ee[:, :3], 0.5 * _turn(recording, motion)]
    if "joints" in to:
        parts.append((motion.q - recording.q)[:, moved])
    return np.concatenate(parts, axis=1)[1:]
