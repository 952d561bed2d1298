"""Recorded motion of a robot: a NumPy file (.npz) with arrays named `SEQUENCE/FIELD`.

| field | shape | |
|---|---|---|
| `actions` | (T, size) | as the robot's controller takes them |
| `qpos` | (T + 1, joints) | before the first action and after each: the joints of all groups, in the robot's order; may
be left out where there is `ee_base`: then inverse kinematics gives the start, as in SIMPLER |
| `ee_base` | (T + 1, 7) | position and quaternion (w, x, y, z) of the tool in the base frame; optional beside `qpos` |
| `ik_failed` | (T,) | optional: whether inverse kinematics failed |
| `sub_qpos` | (T n + 1, joints) | optional: joints after every physics step, n of them in an action |
| `time` | (T + 1,) | optional: seconds, as the rows of `qpos`; it tells where rows are missing |

A file of one sequence may leave out `SEQUENCE/`. `action` and `observation` are `actions` and `qpos` with a row for
each step, as RLDS has them: the last action is not used. Other fields are not read.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foretell.arrays import Bools, Floats
from foretell.errors import UsageError
from foretell.files import size as size_of

__all__ = ["Recording", "read_npz", "require_times"]

GAP = 1.5
"""Action periods between two rows from which on something is missing."""
MOST = 1 << 29
"""Bytes that a file may unpack to; an hour of joints at 500 Hz has 120 million."""
OFF = 0.2
"""Share by which the usual time between rows may differ from an action's."""


@dataclass(frozen=True, kw_only=True)
class Recording:
    """One sequence of actions, and what the robot did."""

    name: str
    actions: Floats
    q: Floats
    """(T + 1, joints); NaN where only the tool was recorded, but for the start that inverse kinematics gives."""
    ee: Floats | None = None
    ik_failed: Bools | None = None
    fine: Floats | None = None
    """Joints after every physics step, where they were recorded."""
    timed: bool = True
    """Whether it is known when rows were recorded, so that none is missing."""
    source: str = ""
    """What a world that is fitted to it says of it: the id of a scenario, or file and sequence."""

    @property
    def has_joints(self) -> bool:
        """Whether the joints were recorded, and not the tool alone."""
        return bool(np.isfinite(self.q).all())

    @property
    def ticks(self) -> int | None:
        """Physics steps in an action, where they were recorded."""
        return None if self.fine is None else (len(self.fine) - 1) // len(self.actions)


def require_times(path: Path, name: str, times: Floats, rate: float) -> None:
    """Raises UsageError where times (s) do not increase, have gaps, or are those of another rate."""
    steps = np.diff(times)
    if (steps <= 0).any():
        row = int(np.argmax(steps <= 0)) + 1
        raise UsageError(f"identify: {path}: sequence {name!r:.100}: time does not increase at row {row + 1}")
    if abs((usual := float(np.quantile(steps, 0.5, method="lower"))) * rate - 1) > OFF:
        raise UsageError(
            f"identify: {path}: sequence {name!r:.100} has a row every {usual:.3g} s, and the robot's controller takes "
            f"an action every {1 / rate:.3g} s; time should be in seconds, and the rows at that rate"
        )
    if (steps > GAP / rate).any():
        row = int(np.argmax(steps > GAP / rate))
        raise UsageError(
            f"identify: {path}: sequence {name!r:.100} has a gap of {steps[row]:.3g} s after row {row + 1}, and an "
            f"action takes {1 / rate:.3g} s; make it two sequences that begin at rest, or leave it out"
        )


def read_npz(path: Path, joints: int, size: int, rate: float) -> list[Recording]:
    """All sequences of a file, for a robot with so many joints that takes so many numbers in an action, so many actions
    a second."""
    try:
        if not zipfile.is_zipfile(path):
            raise ValueError("it is no archive")
        with np.load(path, allow_pickle=False) as arrays:
            wanted = [key for key in arrays.files if key.rpartition("/")[2] in (*FIELDS, *STEPS)]
            unpacked = {name.removesuffix(".npy"): arrays.zip.getinfo(name).file_size for name in arrays.zip.namelist()}
            count = sum(unpacked[key] for key in wanted)
            if count > MOST:  # a few bytes of an archive can stand for terabytes
                raise ValueError(f"it holds {size_of(count)}, more than {size_of(MOST)}")
            fields = {key: arrays[key] for key in wanted}
    except MemoryError:  # an array claims to be longer than it is
        raise UsageError(f"identify: {path}: an array in it claims more than the memory there is") from None
    except (OSError, ValueError, zipfile.BadZipFile, EOFError, NotImplementedError, zlib.error) as error:
        raise UsageError(f"identify: {path} is no NumPy file with named arrays (.npz): {error}") from None
    fields = {(key if "/" in key else f"{path.stem}/{key}"): array for key, array in fields.items()}
    _use_steps(path, fields)
    names = list(dict.fromkeys(key.rpartition("/")[0] for key in fields))
    if not names:
        raise UsageError(f"identify: {path} has no arrays named actions and qpos, or SEQUENCE/actions and so on")
    return [_recording(path, name, fields, joints, size, rate) for name in names]


FIELDS = ("actions", "qpos", "ee_base", "ik_failed", "sub_qpos", "time")
STEPS = {"action": "actions", "observation": "qpos"}


def _use_steps(path: Path, fields: dict[str, np.ndarray]) -> None:
    """Give what has a row for each step the names and rows of actions and the states around them."""
    for key in [key for key in fields if key.rpartition("/")[2] in STEPS]:
        name, _, which = key.rpartition("/")
        array = fields.pop(key)
        if f"{name}/{STEPS[which]}" in fields:
            raise UsageError(f"identify: {path}: sequence {name!r:.100} has both {which} and {STEPS[which]}")
        fields[f"{name}/{STEPS[which]}"] = array[:-1] if which == "action" and array.ndim else array


def _recording(path: Path, name: str, fields: dict[str, np.ndarray], joints: int, size: int, rate: float) -> Recording:
    def field(which: str, rows: int | None, columns: int | None) -> np.ndarray | None:
        array = fields.get(f"{name}/{which}")
        if array is None:
            return None
        want = tuple(n for n in (rows, columns) if n is not None)
        shape = array.shape if rows is not None else array.shape[1:]
        if shape != want or array.dtype.kind not in "fiub":
            raise UsageError(
                f"identify: {path}: {name}/{which} has shape {array.shape} and type {array.dtype}, "
                f"it should be numbers of shape ({', '.join(map(str, ('T' if rows is None else rows, *want[-1:])))})"
            )
        if not np.isfinite(array).all():
            raise UsageError(f"identify: {path}: {name}/{which} holds NaN or infinite values")
        return array

    actions, q = field("actions", None, size), field("qpos", None, joints)
    if actions is None or len(actions) == 0:
        raise UsageError(f"identify: {path}: sequence {name!r:.100} has no actions")
    count = len(actions)
    failed, ee = field("ik_failed", count, None), field("ee_base", count + 1, 7)
    if q is None and ee is None:
        raise UsageError(f"identify: {path}: sequence {name!r:.100} has no qpos, and no ee_base in its place")
    q = np.full((count + 1, joints), np.nan) if q is None else field("qpos", count + 1, joints)
    times = field("time", count + 1, None)
    if times is not None:
        require_times(path, name, times.astype(float), rate)
    fine = fields.get(f"{name}/sub_qpos")
    if fine is not None and (fine.ndim != 2 or fine.shape[1] != joints or (len(fine) - 1) % count):
        raise UsageError(
            f"identify: {path}: {name}/sub_qpos has shape {fine.shape}, it should be (n * {count} + 1, {joints})"
        )
    assert q is not None
    return Recording(
        name=name,
        actions=actions.astype(float),
        q=q.astype(float),
        ee=None if ee is None else ee.astype(float),
        ik_failed=None if failed is None else failed.astype(bool),
        fine=None if fine is None else fine.astype(float),
        timed=times is not None,
        source=f"{path.name}/{name}",
    )
