"""Recorded motion, replayed and compared: with files of our own, and with the original engine's."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from reference import simpler

from foretell.cli import main
from foretell.errors import UsageError
from foretell.identify import identify, read_recordings, replay
from foretell.identify.motion import Motions
from foretell.identify.recording import Recording
from foretell.identify.replay import free_space
from foretell.robots.widowx import WidowX
from foretell.sim.params import load_world

Q0 = (*WidowX.groups["arm"].home, 0.037, 0.037)


def write(path: Path, **fields: object) -> Path:
    """A file with one sequence of three actions at rest."""
    whole = {"actions": np.tile([0, 0, 0, 0, 0, 0, 1.0], (3, 1)), "qpos": np.tile(Q0, (4, 1))} | fields
    np.savez(path, **{f"rest/{name}": value for name, value in whole.items() if value is not None})
    return path


def test_a_robot_at_rest_is_like_itself(tmp_path: Path) -> None:
    (rest,) = identify(write(tmp_path / "rest.npz"), "widowx", fit=False).sequences
    assert rest.sequence == "rest"
    assert rest.joint_rms < 1e-6
    assert rest.ee_mm_max is None
    assert rest.ik_failures == 0
    assert rest.ik_agree is None


def test_a_recording_of_another_motion_is_not(tmp_path: Path) -> None:
    moved = np.tile(Q0, (4, 1))
    moved[1:, 0] += 0.05
    pose = np.tile([0.29207, -0.00609, 0.13532, 0.68671, 0.00526, 0.72687, -0.00808], (4, 1))
    (found,) = identify(write(tmp_path / "moved.npz", qpos=moved, ee_base=pose), "widowx", fit=False).sequences
    assert found.joint_rms == pytest.approx(0.05 * np.sqrt(3 / 4 / 8), rel=1e-3)
    assert found.joint_max == pytest.approx(0.05, rel=1e-3)
    assert found.ee_mm_max < 0.1
    assert found.ee_deg_max < 0.1


def test_fine_steps_are_compared_where_their_number_fits(tmp_path: Path) -> None:
    fits, other = np.tile(Q0, (301, 1)), np.tile(Q0, (31, 1))
    (one,) = identify(write(tmp_path / "a.npz", sub_qpos=fits), "widowx", fit=False).sequences
    (two,) = identify(write(tmp_path / "b.npz", sub_qpos=other), "widowx", fit=False).sequences
    assert one.step_rms is not None
    assert one.step_rms < 1e-6
    assert two.step_rms is None


@pytest.mark.parametrize(("fields", "words"), [
    ({"actions": None}, "sequence 'rest' has no actions"),
    ({"qpos": None}, "sequence 'rest' has no qpos"),
    ({"actions": np.zeros((3, 6))}, r"rest/actions has shape \(3, 6\).*\(T, 7\)"),
    ({"qpos": np.zeros((4, 11))}, r"rest/qpos has shape \(4, 11\).*\(T, 8\)"),
    ({"qpos": np.tile(Q0, (3, 1))}, r"rest/qpos has shape \(3, 8\).*\(4, 8\)"),
    ({"ee_base": np.zeros((4, 6))}, r"rest/ee_base has shape \(4, 6\).*\(4, 7\)"),
    ({"sub_qpos": np.zeros((300, 8))}, r"rest/sub_qpos has shape \(300, 8\)"),
    ({"actions": np.full((3, 7), np.nan)}, "rest/actions holds NaN"),
    ({"actions": np.full((3, 7), "x")}, "rest/actions has shape"),
])  # fmt: skip
def test_a_wrong_field_is_named(tmp_path: Path, fields: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        identify(write(tmp_path / "f.npz", **fields), "widowx", fit=False)


def test_wrong_files_and_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        identify(tmp_path / "none.npz", "widowx", fit=False)
    (tmp_path / "text.npz").write_text("no array")
    with pytest.raises(UsageError, match="is no NumPy file with named arrays"):
        identify(tmp_path / "text.npz", "widowx", fit=False)
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(UsageError, match="is no NumPy file with named arrays"):
        identify(tmp_path / "one.npy", "widowx", fit=False)
    np.savez(tmp_path / "flat.npz", actions=np.zeros((3, 7)))
    with pytest.raises(UsageError, match="sequence 'flat' has no qpos"):
        identify(tmp_path / "flat.npz", "widowx", fit=False)
    np.savez(tmp_path / "other.npz", motion=np.zeros((3, 7)))
    with pytest.raises(UsageError, match="no arrays named actions and qpos, or SEQUENCE/actions"):
        identify(tmp_path / "other.npz", "widowx", fit=False)
    with pytest.raises(UsageError, match="did you mean 'widowx'"):
        identify(tmp_path / "none.npz", "widow", fit=False)


@pytest.mark.parametrize("rows", [10**10, 10**8])
def test_a_small_archive_that_stands_for_more_than_memory_holds_is_refused(tmp_path: Path, rows: int) -> None:
    claim = io.BytesIO()
    np.lib.format.write_array_header_1_0(claim, {"descr": "<f8", "fortran_order": False, "shape": (rows, 7)})
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("actions.npy", claim.getvalue() + bytes(1000))
    with pytest.raises(UsageError, match=r"bomb.npz(: an array in it claims more than the memory| is no NumPy file)"):
        identify(tmp_path / "bomb.npz", "widowx", fit=False)


def test_the_command_prints_a_list_of_objects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(write(tmp_path / "rest.npz"))
    main(["identify", file, "--robot", "widowx", "--no-fit", "--json"])
    (rest,) = json.loads(capsys.readouterr().out)
    assert {"sequence", "joint_rms", "ee_mm_max", "ee_deg_max"} <= set(rest)
    main(["identify", file, "--robot", "widowx", "--no-fit"])
    assert "rest" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["widowx", "google_robot"])
def test_the_robot_moves_as_in_the_original_engine(robot: str) -> None:
    """No number was fitted for this: joints, tool and the failures of inverse kinematics."""
    sequences = identify(simpler(f"openloop_{robot}.npz"), robot, fit=False).sequences
    assert len(sequences) == 6
    for found in sequences:
        assert found.ik_agree, found
        assert found.joint_rms <= 0.002, found
        assert found.step_rms is not None
        assert found.step_rms <= 0.003, found
        assert found.ee_mm_max is not None
        assert found.ee_deg_max is not None
        if found.ik_failures_recorded:  # fast ways to the edge of reach: force limits act
            assert found.ee_mm_max <= 1.5, found
            assert found.ee_deg_max <= 0.3, found
        else:
            assert found.ee_mm_max <= 0.3, found
            assert found.ee_deg_max <= 0.05, found


def test_the_tool_alone_shows_how_the_robot_moves(tmp_path: Path) -> None:
    """The original engine's recording without its joints, whose start inverse kinematics finds."""
    name = "trans_steps_axis"
    with np.load(simpler("openloop_widowx.npz")) as arrays:
        kept = {field: arrays[f"{name}/{field}"] for field in ("actions", "ee_base", "ik_failed")}
    np.savez(tmp_path / "tool.npz", **kept)
    (found,) = identify(tmp_path / "tool.npz", "widowx", fit=False).sequences
    assert found.joint_rms is None
    assert found.ee_mm_max is not None and found.ee_mm_max <= 0.3
    assert found.ee_deg_max is not None and found.ee_deg_max <= 0.05


def test_inverse_kinematics_fails_at_the_same_actions() -> None:
    """Not only as often: each failure leaves the target where the arm is."""
    recordings = read_recordings(simpler("openloop_widowx.npz"), WidowX, 7, WidowX.controller)
    (hard,) = [r for r in recordings if r.name == "mixed_ar1_large_grip_seed11"]
    assert hard.ik_failed is not None
    for count in (10, 20, 40):
        part = type(hard)(
            name="part", actions=hard.actions[:count], q=hard.q[: count + 1], ee=None,
            ik_failed=hard.ik_failed[:count], fine=None,
        )  # fmt: skip
        (found,) = replay([part], free_space("widowx", WidowX))
        assert found.ik_failures == hard.ik_failed[:count].sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "least"), [("simpler_worse_1", 20.0), pytest.param("simpler_worse_2", 50.0, marks=pytest.mark.daily)]
)
def test_worse_gains_are_worse(world: str, least: float) -> None:
    sequences = identify(simpler("openloop_google_robot.npz"), "google_robot", world=world, fit=False).sequences
    assert max(found.ee_mm_max or 0.0 for found in sequences) > least


def swing(folder: Path, dropped: int | None) -> Path:
    """A recording of the world itself, which moves to and fro, and may lack a row."""
    actions = np.zeros((24, 7))
    actions[:, 0], actions[:, 6] = 0.02 * np.cos(np.arange(24) / 4), 1.0
    still = Recording(name="s", actions=actions, q=np.tile(Q0, (25, 1)))
    ((motion,),) = Motions([still], free_space("widowx", WidowX), most_delay=0.0).run([load_world("mujoco")])
    q = motion.q + np.random.default_rng(0).normal(0, 2e-4, motion.q.shape)
    if dropped is not None:
        actions, q = np.delete(actions, dropped, axis=0), np.delete(q, dropped + 1, axis=0)
    np.savez(folder / f"{dropped}.npz", actions=actions, qpos=q)
    return folder / f"{dropped}.npz"


def test_a_missing_row_makes_the_motion_jump(tmp_path: Path) -> None:
    whole, lacking = (identify(swing(tmp_path, dropped), "widowx", fit=False) for dropped in (None, 13))
    (untimed,) = whole.notes
    assert untimed.startswith("None: no times are recorded")
    _, jump = lacking.notes
    assert jump.startswith("13: in action 13 the robot leaves the world's motion by 0.0")
    assert f"note: {jump}" in lacking.text()


def test_inverse_kinematics_that_failed_otherwise_is_said(tmp_path: Path) -> None:
    failed = identify(write(tmp_path / "x.npz", ik_failed=np.array([True, False, False])), "widowx", fit=False)
    assert any("failed in 0 actions of the replay, and in 1 recorded ones" in note for note in failed.notes)
