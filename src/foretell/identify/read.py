"""Recorded motion from a file or folder.

| what | |
|---|---|
| `FILE.npz` | arrays SEQUENCE/actions, SEQUENCE/qpos and others: see `foretell.identify.recording` |
| `FILE.csv` | a row for each action: see `foretell.identify.table` |
| a LeRobot dataset (folder with `meta/info.json`) | `action` and `observation.state`: see `foretell.identify.table` |
| a run folder of a native world | episodes with recorded steps (`record: {steps: all}`) |
"""

from __future__ import annotations

from pathlib import Path

from foretell.errors import UsageError
from foretell.identify.plausible import require_actions
from foretell.identify.recording import Recording, read_npz
from foretell.identify.steps import read_steps
from foretell.identify.table import read_csv, read_lerobot
from foretell.robots import Robot

__all__ = ["read_recordings"]


def read_recordings(data: str | Path, kind: type[Robot], size: int, controller: str) -> list[Recording]:
    """All sequences, for a kind of robot whose controller takes actions of `size` numbers."""
    path = Path(data)
    joints = [joint for group in kind.groups.values() for joint in group.joints]
    if path.is_dir():
        if (path / "meta" / "info.json").is_file():
            recordings = read_lerobot(path, joints, size, kind.action_rate)
            require_actions(recordings, kind, controller)
            return recordings
        if (path / "study.yaml").is_file():
            return read_steps(path, kind, size, controller)
        raise UsageError(f"identify: {path} is neither a run folder nor a LeRobot dataset (no meta/info.json)")
    if not path.is_file():
        raise UsageError(f"identify: there is no file {path}")
    if path.suffix == ".csv":
        recordings = read_csv(path, joints, size, kind.action_rate)
    else:
        recordings = read_npz(path, len(joints), size, kind.action_rate)
    require_actions(recordings, kind, controller)
    return recordings
