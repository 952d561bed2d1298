"""Recordings come as tables, datasets and run folders; numbers that cannot be right are refused with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from test_identify import Q0, write

import foretell
from foretell.errors import UsageError
from foretell.identify import identify, read_recordings, recording
from foretell.robots.panda import Panda
from foretell.robots.widowx import WidowX

JOINTS = [joint for group in WidowX.groups.values() for joint in group.joints]
POSE = np.array([0.29207, -0.00609, 0.13532, 0.68671, 0.00526, 0.72687, -0.00808])


def table(path: Path, joints: list[str] = JOINTS, times: list[float] | None = None, **more: object) -> Path:
    """A CSV file of two sequences, at rest."""
    columns: dict[str, object] = {"sequence": ["a"] * 3 + ["b"] * 3}
    columns |= {"time": times} if times else {}
    columns |= {f"action_{i}": [1.0 if i == 6 else 0.0] * 6 for i in range(7)}
    columns |= {name: [value] * 6 for name, value in zip(joints, Q0, strict=False)}
    pc.write_csv(pa.table(columns | more), path)
    return path


def alone(folder: Path, pose: np.ndarray) -> Path:
    """A file of the tool alone, at rest."""
    return write(folder / "tool.npz", qpos=None, ee_base=np.tile(pose, (4, 1)))


def read(path: Path) -> list:
    return read_recordings(path, WidowX, 7, WidowX.controller)


def test_a_table_by_joint_names_and_by_numbers(tmp_path: Path) -> None:
    a, b = read(table(tmp_path / "x.csv"))
    assert (a.name, b.name, a.source) == ("a", "b", "x.csv/a")
    assert a.actions.shape == (2, 7)
    assert a.q.shape == (3, 8)
    assert a.ee is None
    numbered = read(table(tmp_path / "y.csv", [f"q_{i}" for i in range(8)], **{
        name: [float(value)] * 6 for name, value in zip(("x", "y", "z", "qw", "qx", "qy", "qz"), POSE, strict=True)
    }))  # fmt: skip
    assert np.array_equal(numbered[0].q, a.q)
    assert numbered[1].ee.shape == (3, 7)


def test_the_tool_alone_will_do(tmp_path: Path) -> None:
    """As in SIMPLER's recordings: inverse kinematics gives the start."""
    identified = identify(alone(tmp_path, POSE), "widowx", fit=False)
    (rest,) = identified.sequences
    assert rest.joint_rms is None
    assert rest.ee_mm_max is not None
    assert rest.ee_mm_max < 0.1
    assert "nearest to home" in identified.notes[-1]
    columns = {
        name: [float(value)] * 6 for name, value in zip(("x", "y", "z", "qw", "qx", "qy", "qz"), POSE, strict=True)
    }
    (a, _) = read(table(tmp_path / "x.csv", [], **columns))
    assert not a.has_joints
    with pytest.raises(UsageError, match=r"recording 'rest' has no joints; compare the tool"):
        identify(alone(tmp_path, POSE), "widowx", fit=False, to=("joints",))


@pytest.mark.parametrize(("pose", "words"), [
    (POSE * ([1000] * 3 + [1] * 4), "positions look like millimetres"),
    (np.array([*POSE[:3], *POSE[4:], POSE[3]]), "quaternions look like x, y, z, w"),
    (POSE + [2.0, 0, 0, 0, 0, 0, 0], "no joints of widowx put its tool at the first pose"),
    (POSE * 2, "the quaternion after action 0 has length 2"),
])  # fmt: skip
def test_a_pose_that_no_joints_reach_is_explained(tmp_path: Path, pose: np.ndarray, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        identify(alone(tmp_path, pose), "widowx", fit=False)


def test_a_small_file_may_not_unpack_to_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "zeros.npz", actions=np.zeros((1000, 7)), qpos=np.zeros((1001, 8)))
    monkeypatch.setattr(recording, "MOST", 100_000)
    with pytest.raises(UsageError, match="it holds 120 kB, more than 100 kB"):
        read(tmp_path / "zeros.npz")


@pytest.mark.parametrize(("change", "words"), [
    ({"times": [0.0, 0.2, 0.4, 0.0, 0.2, 1.4]}, r"'b' has a gap of 1.2 s after row 2, and an action takes 0.2 s"),
    ({"times": [0.0, 0.02, 0.04] * 2}, r"'a' has a row every 0.02 s, and the robot's controller takes an action every"),
    ({"times": [0.0, 0.2, 0.1, 0.0, 0.2, 0.4]}, "sequence 'a': time does not increase at row 3"),
    ({"joints": [*JOINTS[:-1], "other"]}, "no column 'q_0'; it should have action_0 to action_6 and the joints waist"),
    ({"waist": ["x"] * 6}, "column 'waist' holds object, it should hold numbers"),
    ({"sequence": ["a"] * 5 + [None]}, "column 'sequence' is empty in some rows"),
    ({"waist": [0.0, None, 0.0, 0.0, 0.0, 0.0]}, "column 'waist' is empty or not finite in row 2"),
])  # fmt: skip
def test_a_wrong_table_is_explained(tmp_path: Path, change: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read(table(tmp_path / "x.csv", **change))


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "x.csv")
    first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([f"{first},note,note", *(f"{line},1,2" for line in rest)]))
    with pytest.raises(UsageError, match="has two columns 'note'"):
        read(path)


def test_a_finger_that_reads_beyond_its_stop_starts_at_it(tmp_path: Path) -> None:
    beyond = np.tile([*Q0[:6], 0.0375, 0.037], (4, 1))
    (rest,) = identify(write(tmp_path / "f.npz", qpos=beyond), "widowx", fit=False).sequences
    assert rest.joint_max < 0.001


def dataset(folder: Path, fps: float = 5, width: int = 8, **change: object) -> Path:
    (folder / "meta").mkdir(parents=True)
    (folder / "meta" / "info.json").write_text(json.dumps({"fps": fps, "codebase_version": "v3.0"}))
    (folder / "data" / "chunk-000").mkdir(parents=True)
    rows = {
        "action": [[0.0] * 6 + [1.0]] * 6,
        "observation.state": [list(Q0[:width])] * 6,
        "episode_index": [0, 0, 0, 1, 1, 1],
        "timestamp": [0.0, 0.2, 0.4] * 2,
    }
    pq.write_table(pa.table(rows | change), folder / "data" / "chunk-000" / "file-000.parquet")
    return folder


def test_a_lerobot_dataset(tmp_path: Path) -> None:
    first, second = read(dataset(tmp_path / "set"))
    assert first.name == "episode_0"
    assert first.actions.shape == (2, 7)
    assert np.allclose(second.q, Q0)
    with pytest.raises(UsageError, match="has 30 actions a second, and the robot's controller takes 5"):
        read(dataset(tmp_path / "fast", fps=30))
    with pytest.raises(UsageError, match=r"observation\.state has 7 numbers in a row, and the robot needs 8"):
        read(dataset(tmp_path / "narrow", width=7))
    (tmp_path / "fast" / "meta" / "info.json").write_text("{")
    with pytest.raises(UsageError, match="is no LeRobot dataset"):
        read(tmp_path / "fast")
    with pytest.raises(UsageError, match="is neither a run folder nor a LeRobot dataset"):
        read(tmp_path)


@pytest.mark.parametrize(("change", "words"), [
    ({"timestamp": [0.0, None, 0.4] * 2}, "column 'timestamp' is empty or not finite in row 2"),
    ({"timestamp": ["0", "1", "2"] * 2}, "timestamp should hold numbers"),
    ({"timestamp": [0.0, 0.2, 0.8] * 2}, "'episode_0' has a gap of 0.6 s after row 2"),
    ({"episode_index": [0, 0, None, 1, 1, 1]}, "column 'episode_index' is empty or not finite in row 3"),
    ({"action": [["x"] * 7] * 6}, "action should hold numbers"),
    ({"fps": float("nan")}, "fps is nan, it should be a number above 0"),
])  # fmt: skip
def test_a_wrong_dataset_is_explained(tmp_path: Path, change: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read(dataset(tmp_path / "set", **change))


def test_a_run_folder_with_steps(tmp_path: Path) -> None:
    study = {"name": "moves", "tasks": [{"use": "lift", "time_limit": 1.0}], "policies": {"expert": "expert"},
             "scenarios": {"count": 2, "seed": 0}, "record": {"steps": "all"}}  # fmt: skip
    foretell.run(study, out=tmp_path / "run", workers=0)
    identified = identify(tmp_path / "run", "panda", fit=False)
    assert len(identified.sequences) == 2
    # the arm is in free space for a second, so that the same world follows itself
    assert max(s.joint_rms for s in identified.sequences) < 1e-9
    recordings = read_recordings(tmp_path / "run", Panda, 7, "ee_delta")
    table = foretell.read(tmp_path / "run")
    assert {r.source for r in recordings} == set(table["scenario"].to_pylist())
    with pytest.raises(UsageError, match="has no episode with recorded steps"):
        read(tmp_path / "run")


def test_one_sequence_needs_no_name(tmp_path: Path) -> None:
    actions, q = np.tile([0, 0, 0, 0, 0, 0, 1.0], (3, 1)), np.tile(Q0, (4, 1))
    np.savez(tmp_path / "flat.npz", actions=actions, qpos=q)
    np.savez(tmp_path / "steps.npz", action=np.vstack([actions, actions[:1]]), observation=q)
    for name in ("flat", "steps"):
        (sequence,) = read(tmp_path / f"{name}.npz")
        assert sequence.name == name
        assert np.array_equal(sequence.actions, actions)
        assert np.array_equal(sequence.q, q)


@pytest.mark.parametrize(("fields", "words"), [
    ({"qpos": np.tile([*np.degrees(Q0[:6]), *Q0[6:]], (4, 1))}, "these are degrees"),
    ({"qpos": np.tile(Q0[::-1], (4, 1)) * 9}, "check units and order of the joints, which is waist"),
    ({"ee_base": np.tile(POSE * ([1000] * 3 + [1] * 4), (4, 1))}, "positions look like millimetres"),
    ({"ee_base": np.tile([*POSE[:3], *POSE[4:], POSE[3]], (4, 1))}, "quaternions look like x, y, z, w"),
    ({"actions": np.tile([30.0, 0, 0, 0, 0, 0, 1], (3, 1))},
     r"action 0 has 30 for translation \(number 0\), and '.+' takes -0.2 to 0.2 m: these look like millimetres"),
    ({"actions": np.tile([0.03, 0, 0, 0, -5.7, 0, 1], (3, 1))}, "for rotation .* these look like degrees"),
    ({"actions": np.tile([0.03, 0, 0, 0, 0, 0, 255.0], (3, 1))}, "255 for gripper.* check units and order"),
    ({"time": np.array([0.0, 0.2, 1.8, 2.0, 2.2])[[0, 1, 2, 3]]}, "'rest' has a gap of 1.6 s after row 2"),
    ({"time": np.arange(4) * 0.02}, "has a row every 0.02 s, and the robot's controller takes an action every 0.2 s"),
    ({"qpos": np.array([Q0, Q0, [1.5, *Q0[1:]], [1.5, *Q0[1:]]])}, "joint waist moves at .* times its largest speed"),
    ({"qpos": np.array([Q0] * 2 + [[0.3, *Q0[1:]]] * 2), "ee_base": np.tile(POSE, (4, 1))},
     "joints and tool do not move together: after action [0123] the tool is [0-9]+ mm"),
    ({"ee_base": np.tile(POSE * 2, (4, 1))}, "the quaternion after action 0 has length 2"),
    ({"ee_base": np.tile(POSE + [0.2, 0, 0, 0, 0, 0, 0], (4, 1))}, "another tool frame or base; use --to joints"),
])  # fmt: skip
def test_wrong_units_and_orders_are_recognised(tmp_path: Path, fields: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        identify(write(tmp_path / "f.npz", **fields), "widowx", fit=False)
