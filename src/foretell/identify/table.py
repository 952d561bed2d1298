"""Recorded motion as a table: a row holds the state before an action, and the action. The action of a sequence's last
row is not used: nobody recorded where it led.

Columns of a CSV file: `sequence` (optional), `time` (s, optional), `action_0`, `action_1`, ..., the joints by their
names in the robot, or `q_0`, `q_1`, ... in its order, and the pose of the tool in the base frame: `x`, `y`, `z`, `qw`,
`qx`, `qy`, `qz`. Joints or poses may be left out. A LeRobot dataset has `action`, `observation.state` (the joints, in
the robot's order), `episode_index` and `timestamp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from foretell.arrays import Floats
from foretell.datasets import LeRobotData
from foretell.errors import UsageError
from foretell.identify.recording import Recording, require_times

__all__ = ["read_csv", "read_lerobot"]

STATE = "observation.state"
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")


def read_csv(path: Path, joints: Sequence[str], size: int, rate: float) -> list[Recording]:
    """All sequences of a file. `rate`: actions per second."""
    from pyarrow import csv

    try:
        table = csv.read_csv(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageError(f"identify: {path} is no CSV file: {str(error).splitlines()[0]:.200}") from None
    if len(set(table.column_names)) < table.num_columns:
        twice = next(name for name in table.column_names if table.column_names.count(name) > 1)
        raise UsageError(f"identify: {path} has two columns {twice!r:.100}; every column needs a name of its own")
    columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    pose = list(POSE) if set(POSE) <= set(columns) else []
    named = list(joints) if set(joints) <= set(columns) else [f"q_{i}" for i in range(len(joints))]
    alone = bool(pose) and not {*joints, *named} & set(columns)
    wanted = [f"action_{i}" for i in range(size)] + ([] if alone else named)
    if missing := [name for name in wanted if name not in columns]:
        raise UsageError(
            f"identify: {path} has no column {missing[0]!r}; it should have action_0 to action_{size - 1} and the "
            f"joints {', '.join(joints)} (or q_0 to q_{len(joints) - 1})"
        )
    for name in [*wanted, *pose, *(["time"] if "time" in columns else [])]:
        _require_numbers(path, name, columns[name])
    labels = columns.get("sequence", np.zeros(table.num_rows, dtype=int))
    if table.num_rows == 0:
        raise UsageError(f"identify: {path} has no rows")
    if "sequence" in columns and any(label in (None, "") or label != label for label in labels.tolist()):
        raise UsageError(f"identify: {path}: column 'sequence' is empty in some rows; give each row its sequence")
    recordings = []
    for label in dict.fromkeys(labels.tolist()):
        rows = labels == label
        times = columns["time"][rows].astype(float) if "time" in columns else None
        actions, ee = _stack(columns, wanted[:size], rows), _stack(columns, pose, rows) if pose else None
        q = np.full((len(actions), len(joints)), np.nan) if alone else _stack(columns, named, rows)
        recordings.append(_recording(path, str(label), actions, q, ee, times, rate))
    return recordings


def read_lerobot(path: Path, joints: Sequence[str], size: int, rate: float) -> list[Recording]:
    """All episodes of a dataset, in the layouts of versions 2 and 3."""
    data = LeRobotData(path)
    table = data.table(["action", "observation.state", "episode_index", "timestamp"])
    fps = data.fps
    if fps is not None and not abs(fps - rate) <= 1e-6 * rate:
        raise UsageError(
            f"identify: {path} has {fps:g} actions a second, and the robot's controller takes {rate:g}; "
            "record at that rate, or name a robot or controller with the dataset's"
        )
    actions, q = (_rows(data, table, name, width) for name, width in (("action", size), (STATE, len(joints))))
    times = data.numbers(table, "timestamp")[:, 0]
    return [
        _recording(path, f"episode_{number}", actions[rows], q[rows], None, times[rows], rate)
        for number, rows in data.episodes(table).items()
    ]


def _rows(data: LeRobotData, table: pa.Table, name: str, width: int) -> Floats:
    """(rows, width) of a column of lists."""
    values = data.numbers(table, name)
    if values.shape[1] != width:
        raise UsageError(
            f"identify: {data.path}: {name} has {values.shape[1]} numbers in a row, and the robot needs {width}"
        )
    return values


def _stack(columns: dict[str, np.ndarray], names: Sequence[str], rows: np.ndarray) -> Floats:
    return np.stack([columns[name][rows].astype(float) for name in names], axis=1)


def _require_numbers(path: Path, name: str, values: np.ndarray) -> None:
    if values.dtype.kind not in "fiu":
        raise UsageError(f"identify: {path}: column {name!r} holds {values.dtype}, it should hold numbers")
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise UsageError(f"identify: {path}: column {name!r} is empty or not finite in row {row + 1}")


def _recording(
    path: Path, name: str, actions: Floats, q: Floats, ee: Floats | None, times: Floats | None, rate: float
) -> Recording:
    if len(q) < 2:
        raise UsageError(f"identify: {path}: sequence {name!r:.100} has one row; a motion has two or more")
    if times is not None:
        require_times(path, name, times, rate)
    return Recording(name=name, actions=actions[:-1], q=q, ee=ee, timed=times is not None, source=f"{path.name}/{name}")
