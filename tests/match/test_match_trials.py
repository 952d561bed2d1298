"""Trials of a run are measured in the frames that were kept of them, and what cannot be measured says why."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import made
import numpy as np
import pytest
import yaml
from fake_robots import ARM, arm_file

import foretell
from foretell.errors import UsageError
from foretell.hardware.record import start_path
from foretell.match import MeasuredTrials, trials
from foretell.match.picture import write_picture
from foretell.match.sight import open_bench, view_of
from foretell.registry import resolve
from foretell.rotation import turned
from foretell.scenario import Scenario
from foretell.study.lock import lock
from foretell.study.scenario_file import read_scenario_file

pytestmark = pytest.mark.gl

TASK = "widowx_carrot_on_plate"
SIZE = (180, 240)
PUT = {"carrot": (0.012, -0.009, 0.2), "plate": (-0.01, 0.006, 0.0)}
"""How far beside its place each object lies: m, m and rad."""
Measured = tuple[MeasuredTrials, list[Scenario], dict[str, bytes]]
BELOW = -3.0
"""Height at which no camera sees an object, m."""


def frame_of(planned: Scenario, *, hidden: str = "", size: tuple[int, int] = SIZE) -> np.ndarray:
    """What the camera saw of a scenario whose objects were put a little beside their places."""
    bench = open_bench(resolve("tasks", TASK)(), "mujoco", "third_view", planned)
    for name, (x, y, turn) in PUT.items():
        placed = planned.placements[name]
        height = BELOW if name == hidden else placed.pos[2]
        bench.put(name, (placed.pos[0] + x, placed.pos[1] + y, height), turned(placed.quat, turn))
    noise = np.random.default_rng(0).normal(0, 3, (*size, 3))
    return np.clip(view_of(bench, "third_view", size) + noise, 0, 255).astype(np.uint8)


def robot_file(folder: Path, **more: Any) -> Path:
    """The world file of a robot with one camera, and `lab.yaml` beside it, which is laid over its pictures."""
    (folder / "lab.yaml").write_text("kind: mujoco\n")
    camera = next(iter(ARM["cameras"].values()))
    return arm_file(folder, cameras={"third_view": camera}, **{"overlay": "lab.yaml", **more})


def lab(folder: Path, frames: dict[str, np.ndarray | None], **more: Any) -> tuple[Path, list[Scenario]]:
    """A run with a trial for each frame, two for each scenario; and its scenarios."""
    layouts = resolve("tasks", TASK)().layouts()
    rows = []
    for at, name in enumerate(frames):
        blame = "world" if name == "not set" else None
        changes = {
            "task": TASK,
            "robot": "widowx",
            "real": True,
            "judge": "person",
            "blame": blame,
            "trial": at % 2,
            "world_hash": "r" * 16,
        }
        rows.append(made.row("secret", layouts[at // 2], None if blame else at % 3 == 0, **{**changes, **more}))
    run = made.run(folder / "real", layouts[: 1 + at // 2], rows, world=str(robot_file(folder).resolve()))
    for row, frame in zip(rows, frames.values(), strict=True):
        path = start_path(run, row.episode, "third_view")
        path.parent.mkdir(exist_ok=True)
        if frame is not None:
            write_picture(path, frame)
    return run, layouts


def contents(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    first, second = resolve("tasks", TASK)().layouts()[:2]
    frames = {
        "shifted": frame_of(first),
        "hidden": frame_of(first, hidden="carrot"),
        "other shape": frame_of(second, size=(180, 180)),
        "none": None,
        "not set": frame_of(second),
    }
    run, layouts = lab(tmp_path_factory.mktemp("lab"), frames)
    before = contents(run)
    return trials(run), layouts, before


@pytest.mark.slow  # it makes the run of this file
def test_shifted_objects_are_found(measured: Measured) -> None:
    answer, layouts, _ = measured
    line = next(line for line in answer.trials if line.planned == layouts[0].id and line.trial == 0)
    assert not line.nominal and line.measured.keys() == PUT.keys()
    for name, (x, y, turn) in PUT.items():
        pose, placed = line.measured[name], layouts[0].placements[name]
        off = np.array([pose.x - placed.pos[0] - x, pose.y - placed.pos[1] - y])
        assert np.linalg.norm(off) < 0.003 < 0.01 < np.hypot(x, y)
        assert (np.abs(off) < 3 * np.array([pose.sd_x, pose.sd_y])).all()
        if name == "carrot":
            assert pose.yaw == pytest.approx(np.degrees(placed.yaw + turn), abs=2)
    assert line.measured["plate"].yaw is None  # it is round, and keeps its turn
    assert line.scenario.placements["plate"].quat == pytest.approx(layouts[0].placements["plate"].quat)


def test_a_hidden_object_keeps_its_place_and_the_answer_says_why(
    measured: Measured,
) -> None:
    answer, layouts, _ = measured
    line = next(line for line in answer.trials if line.planned == layouts[0].id and line.trial == 1)
    assert line.measured.keys() == {"plate"} and line.nominal.keys() == {"carrot"}
    assert line.scenario.placements["carrot"] == layouts[0].placements["carrot"]
    assert f"  carrot: as planned: {line.nominal['carrot']}" in answer.text()


def test_a_frame_of_another_shape_measures_nothing(
    measured: Measured,
) -> None:
    answer, layouts, _ = measured
    (line,) = [line for line in answer.trials if line.planned == layouts[1].id]
    assert not line.measured and line.scenario == layouts[1]
    assert all("180x180 pixels" in why and "another shape" in why for why in line.nominal.values())
    assert "3 trials: all objects measured in 1, some in 1, none in 1" in answer.text()
    left_out = {"they ended in an error of the world": 1, "no first frame of camera 'third_view' was kept": 1}
    assert answer.left_out == left_out


def test_nothing_that_was_there_changes_and_no_policy_is_named(
    measured: Measured,
) -> None:
    answer, _, before = measured
    after = contents(answer.run)
    new = sorted(after.keys() - before.keys())
    assert {name: after[name] for name in before} == before
    assert new[-1] == "poses.jsonl" and all(name.startswith("frames/") and "-located-" in name for name in new[:-1])
    assert b"secret" not in after["poses.jsonl"] and "secret" not in answer.text()


def test_a_study_simulates_the_measured_scenarios_and_they_pair(measured: Measured, tmp_path: Path) -> None:
    answer, layouts, _ = measured
    assert answer.path is not None
    children = read_scenario_file(answer.path).scenarios
    assert [child.pair for child in children] == [layouts[0].id, layouts[0].id, layouts[1].id]
    assert children[0].placements != layouts[0].placements
    rows = [made.row("secret", child, True, task=TASK, robot="widowx", parent=child.parent) for child in children]
    sim = made.run(tmp_path / "sim", children, rows, tasks=[{"use": TASK}])
    bound = foretell.bound(answer.run, sim, policy="secret", design="iid")
    assert "in all 2 pairs" in bound.text()


def test_two_trials_at_one_place_are_one_scenario(tmp_path: Path) -> None:
    line = json.dumps({"measured": {}, "scenario": resolve("tasks", TASK)().layouts()[0].model_dump(mode="json")})
    (tmp_path / "poses.jsonl").write_text(f"{line}\n{line}\n")
    assert len(read_scenario_file(tmp_path / "poses.jsonl").scenarios) == 1


def test_nothing_is_measured_while_a_robot_may_move(tmp_path: Path) -> None:
    run, _ = lab(tmp_path, {"none": None})
    fd = lock(run)
    with pytest.raises(UsageError, match="is being written by process"):
        trials(run)
    os.close(fd)
    assert trials(run).path is None and not (run / "poses.jsonl").exists()


def test_a_run_folder_runs_no_code(tmp_path: Path) -> None:
    run, _ = lab(tmp_path, {"none": None})
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    world = {"kind": "mujoco", "transforms": [{"use": "evil.py:Evil"}]}
    (tmp_path / "lab.yaml").write_text(yaml.safe_dump(world))
    with pytest.raises(UsageError, match="names code"):
        trials(run)
    (tmp_path / "own").mkdir()
    own, _ = lab(tmp_path / "own", {"none": None}, task=f"{tmp_path / 'evil.py'}:Evil")
    with pytest.raises(UsageError, match="is a task of your own"):
        trials(own)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"overlay": None}, "names no simulated world"), ({"cameras": {}}, "the run names no robot with cameras")],
)
def test_a_robot_without_a_matched_camera_is_asked_for_one(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    run, _ = lab(tmp_path, {"none": None})
    file = yaml.safe_load((tmp_path / "arm.yaml").read_text())
    (tmp_path / "arm.yaml").write_text(yaml.safe_dump({**file, **changes}))
    with pytest.raises(UsageError, match=words):
        trials(run)
