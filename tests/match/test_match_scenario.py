"""Objects are found where a rendered picture shows them, and what cannot be told is said."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from reference import ASSETS

import foretell
from foretell.cli import main
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import UsageError
from foretell.match import picture, scenario, texture
from foretell.match.mask import small_frame
from foretell.match.pose import locate
from foretell.match.sight import Sight, layout_of, open_bench
from foretell.registry import resolve
from foretell.rotation import turned
from foretell.study.scenario_file import read_scenario_file

pytestmark = pytest.mark.gl

CARROT = {"task": "widowx_carrot_on_plate", "camera": "third_view", "layout": 3}
LIFT = {"task": "lift", "camera": "front"}


def sight_of(part: str, *, task: str, camera: str, layout: int | None = None, height: int = 480) -> Sight:
    made = resolve("tasks", task)()
    return Sight(open_bench(made, "mujoco", camera, layout_of(made, layout)), part, camera, (height, 640))


def save(folder: Path, name: str, image: np.ndarray) -> Path:
    Image.fromarray(image.astype(np.uint8) * 255 if image.dtype == bool else image).save(folder / name)
    return folder / name


@pytest.fixture(scope="module")
def carrot(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Sight, np.ndarray]:
    """A folder with a frame and a mask, what sees it, and where the carrot is."""
    folder = tmp_path_factory.mktemp("carrot")
    sight = sight_of("carrot", **CARROT)
    true = np.array([0.17, -0.05, 2.0])
    noise = np.random.default_rng(0).normal(0, 3, (480, 640, 3))
    save(folder, "frame.png", np.clip(sight.picture(true) + noise, 0, 255).astype(np.uint8))
    save(folder, "mask.png", sight.silhouette(true))
    return folder, sight, true


def off(pose: np.ndarray, true: np.ndarray) -> tuple[float, float]:
    """mm and degrees."""
    turn = math.degrees(math.remainder(float(pose[2] - true[2]), 2 * math.pi))
    return 1000 * float(np.linalg.norm(pose[:2] - true[:2])), abs(turn)


def test_a_mask_tells_place_and_turn(carrot: tuple[Path, Sight, np.ndarray]) -> None:
    folder, sight, true = carrot
    out = folder / "trial.json"
    (measured,) = scenario(folder / "frame.png", **CARROT, object=("carrot",), mask=(folder / "mask.png",), out=out)
    located = measured.objects["carrot"]
    mm, degrees = off(located.pose, true)
    assert mm < 0.3 and degrees < 0.3
    assert located.overlap > 0.98 and located.by == "silhouette" and not located.turns
    placed = measured.scenario.placements
    start = layout_of(resolve("tasks", CARROT["task"])(), 3).placements
    assert placed["plate"] == start["plate"] and placed["carrot"].pos[2] == start["carrot"].pos[2]
    assert np.allclose(placed["carrot"].quat, turned(start["carrot"].quat, 2.0), atol=0.005)
    (read,) = read_scenario_file(out).scenarios
    assert read == measured.scenario  # a study can name the file
    drawn, frame = (np.asarray(Image.open(folder / name)) for name in ("trial_located.png", "frame.png"))
    changed = (drawn != frame).any(axis=-1)
    assert 50 < changed.sum() < 600  # an outline
    rows, columns = np.nonzero(sight.silhouette(true))
    assert not changed[: rows.min() - 2].any() and not changed[:, columns.max() + 3 :].any()


def test_a_box_will_do(carrot: tuple[Path, Sight, np.ndarray]) -> None:
    folder, sight, true = carrot
    rows, columns = np.nonzero(sight.silhouette(true))
    box = [int(v) for v in (columns.min() - 6, rows.min() - 6, columns.max() + 7, rows.max() + 7)]
    (measured,) = scenario(folder / "frame.png", **CARROT, object=("carrot",), box=box)
    mm, degrees = off(measured.objects["carrot"].pose, true)
    assert mm < 2 and degrees < 2


def test_a_large_picture_is_shrunk_with_its_masks_and_boxes(
    carrot: tuple[Path, Sight, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _, true = carrot
    frame = np.asarray(Image.open(folder / "frame.png")).repeat(3, 0).repeat(3, 1)
    shrunk, hints = small_frame(frame, {"carrot": (30, 31, 600, 602)})
    assert shrunk.shape == (960, 1280, 3)
    assert hints["carrot"] == (20, 20, 400, 402)
    monkeypatch.setattr(picture, "Renderer", SimpleNamespace(TALLEST=240, WIDEST=320))
    (one,) = scenario(folder / "frame.png", **CARROT, object=("carrot",), mask=(folder / "mask.png",))
    assert one.picture.shape == (240, 320, 3)
    distance, angle = off(one.objects["carrot"].pose, true)
    assert distance < 1.0 and angle < 1.0


def test_a_rough_mask_is_less_sure_and_says_so(carrot: tuple[Path, Sight, np.ndarray]) -> None:
    _, sight, true = carrot
    image, fine = sight.picture(true), sight.silhouette(true)
    rough = fine.copy()
    rows, _ = np.nonzero(fine)
    rough[rows.min() : rows.min() + 12] = False  # an end is missing
    sharp, vague = locate(sight, fine, image), locate(sight, rough, image)
    assert off(vague.pose, true)[0] > 5 * off(sharp.pose, true)[0]
    assert (vague.sd[:2] > 2 * sharp.sd[:2]).any()
    assert (np.abs(vague.pose - true) < 3 * vague.sd).all()
    assert vague.overlap < sharp.overlap - 0.03


@pytest.mark.daily
def test_several_objects_at_once(carrot: tuple[Path, Sight, np.ndarray]) -> None:
    folder, _, true = carrot
    plate = sight_of("plate", **CARROT)
    mask = plate.silhouette(
        np.array([*layout_of(resolve("tasks", CARROT["task"])(), 3).placements["plate"].pos[:2], 0])
    )
    masks = (folder / "mask.png", save(folder, "plate.png", mask))
    (measured,) = scenario(folder / "frame.png", **CARROT, object=("carrot", "plate"), mask=masks)
    assert off(measured.objects["carrot"].pose, true)[0] < 0.5
    around = measured.objects["plate"]
    assert not around.turn_known and around.by == "nothing" and around.pose[2] == 0
    assert "plate" in measured.text() and "turn unknown" in measured.text()
    assert measured.frame.measured["plate"].yaw is None


def test_a_cube_has_four_turns_and_the_nearest_is_taken() -> None:
    sight = sight_of("cube", **LIFT)
    true = np.array([0.02, -0.01, math.radians(100)])
    located = locate(sight, sight.silhouette(true), sight.picture(true))
    assert math.degrees(located.pose[2]) == pytest.approx(10, abs=0.7)
    others = sorted(round(math.degrees(turn)) for turn in located.turns)
    assert others == pytest.approx([-170, -80, 100], abs=1)
    assert 1000 * np.linalg.norm(located.pose[:2] - true[:2]) < 0.3


@pytest.mark.daily
def test_the_print_tells_the_turn_of_a_round_can() -> None:
    how: dict[str, Any] = {
        "task": "google_robot_pick_standing_coke_can",
        "camera": "google_robot/overhead",
        "layout": 12,
    }
    sight = sight_of("can", **how, height=512)
    x, y, _ = layout_of(resolve("tasks", how["task"])(), 12).placements["can"].pos
    true = np.array([x + 0.02, y, 1.0])
    mask = sight.silhouette(true)
    by_print = locate(sight, mask, sight.picture(true))
    assert off(by_print.pose, true)[0] < 0.5 and off(by_print.pose, true)[1] < 6 and by_print.turn_known
    assert by_print.by == "layout"  # it is printed on both sides alike
    assert [round(math.degrees(turn)) for turn in by_print.turns] == pytest.approx([57 - 180], abs=6)
    blank = locate(sight, mask, np.full((512, 640, 3), 90, dtype=np.uint8))
    assert blank.by == "nothing" and not blank.turn_known
    assert 0.2 < off(blank.pose, true)[0] < 2  # its origin is 1 mm off its axis
    assert (np.abs(blank.pose - true)[:2] < 2 * blank.sd[:2]).all()


def problem(*arguments: Any, **options: Any) -> str:
    with pytest.raises(UsageError) as caught:
        scenario(*arguments, **options)
    return str(caught.value)


def test_what_a_picture_cannot_be(carrot: tuple[Path, Sight, np.ndarray], tmp_path: Path) -> None:
    folder, _, _ = carrot
    frame, mask = folder / "frame.png", folder / "mask.png"
    good: dict[str, Any] = {**CARROT, "object": ("carrot",), "mask": (mask,)}
    small = save(tmp_path, "small.png", np.zeros((100, 100), dtype=bool))
    empty = save(tmp_path, "empty.png", np.zeros((480, 640), dtype=bool))
    lines = np.zeros((480, 640), dtype=bool)
    lines[300:420:8, 50:600] = True
    wrong = save(tmp_path, "wrong.png", lines)
    far = np.zeros((480, 640), dtype=bool)
    far[200:215, 200:300] = True
    cut = save(tmp_path, "cut.png", np.zeros((400, 640, 3), dtype=np.uint8))
    for options, words in (
        ({"mask": (small,)}, "small.png has 100x100 pixels, and the picture 640x480"),
        ({"mask": (empty,)}, "empty.png marks 0 pixels"),
        ({"mask": (wrong,)}, "no pose on its support looks like the mask"),
        ({"mask": (tmp_path / "none.png",)}, "cannot read"),
        ({"mask": ()}, "give a mask (--mask) or a box (--box)"),
        ({"box": (0, 0, 9, 9)}, "and not both"),
        ({"mask": (), "box": (0, 0, 700, 9)}, "0 0 700 9 is no box"),
        ({"mask": (), "box": (0, 0, 640, 480)}, "covers the whole picture"),
        ({"mask": (), "box": (1, 2, 3)}, "4 numbers are needed for each of carrot, and 3 are given"),
        ({"mask": (mask, mask)}, "one is needed for each of carrot, and 2 are given"),
        ({"object": ("carot",)}, "'carot' is not in task 'widowx_carrot_on_plate'; did you mean 'carrot'?"),
        ({"object": ()}, "has 2: name those to locate (carrot, plate)"),
        ({"camera": "third"}, "'third' is not in this world; did you mean 'third_view'"),
        ({"layout": 99}, "layout: 99"),
    ):
        assert words in problem(frame, **{**good, **options}), words
    assert "camera 'third_view' takes 640x480: another shape" in problem(cut, **good)
    assert "cannot read" in problem(tmp_path / "none.mp4", **good)
    assert "at least one picture" in problem([], **good)
    assert "should be a folder with a mask for each picture" in problem([frame, mask], **good)
    above = np.zeros((480, 640), dtype=bool)
    above[0, 300:400] = True
    high: dict[str, Any] = {"task": "lift", "camera": "overview", "mask": (save(tmp_path, "above.png", above),)}
    assert "above the horizon of camera 'overview'" in problem(frame, **high)


def test_the_command_line_and_a_sheet_of_trials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames of two trials, measured, become the positions of a sheet: no ruler."""
    monkeypatch.chdir(tmp_path)
    sight = sight_of("cube", **LIFT)
    truth = {"one": np.array([0.02, -0.01, 0.3]), "two": np.array([-0.015, 0.02, -0.4])}
    for folder in ("frames", "masks"):
        (tmp_path / folder).mkdir()
    for name, true in truth.items():
        save(tmp_path / "frames", f"{name}.png", sight.picture(true))
        save(tmp_path / "masks", f"{name}.png", sight.silhouette(true))
    arguments = ["--task", "lift", "--camera", "front", "--mask", "masks", "-o", "frames", "--json"]
    main(["match", "scenario", "frames/one.png", "frames/two.png", *arguments])
    told = json.loads(capsys.readouterr().out)
    assert [len(frame["measured"]["cube"]["other_yaws"]) for frame in told] == [3, 3]
    sheet = tmp_path / "lab.csv"
    sheet.write_text("policy,task,frame,success\nbc,lift,one.png,yes\nbc,lift,two,no\n")
    done = foretell.import_(sheet, frames="frames")
    assert done.added == 2 and "positions of 2 trials are those of their frames" in done.notes
    rows = {row["success"]: row for row in foretell.read(done.path).to_pylist()}
    scenarios = {s.id: s for s in read_scenarios(done.path)}
    for success, true in zip((True, False), truth.values(), strict=True):
        placed = scenarios[rows[success]["scenario"]].placements["cube"]
        assert math.dist(placed.pos[:2], true[:2]) < 0.0005
        assert math.degrees(placed.yaw) == pytest.approx(math.degrees(true[2]), abs=1)
        metrics = dict(rows[success]["metrics"])
        assert metrics["cube.x"] == placed.pos[0] and metrics["cube.y"] == placed.pos[1]
    again = foretell.import_(sheet, frames="frames")
    assert (again.added, again.skipped) == (0, 2)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ("bc,lift,none.png,yes", "expected a frame with its measured scenario none.json"),
        ("bc,lift,../outside.png,yes", "expected a frame with its measured scenario ../outside.json"),
        ("bc,lift,broken.png,yes", "broken.json is no measured scenario"),
        ("bc,can,good.png,yes", "expected a frame of task 'can'; given: 'good.png (lift)'"),
        ("bc,lift,missed.png,yes", "mask and silhouette of 'cube' have an overlap of 57%, below 85%"),
    ],
)
def test_frames_that_cannot_be_used(tmp_path: Path, cells: str, words: str) -> None:
    (tmp_path / "frames").mkdir()
    made = layout_of(resolve("tasks", "lift")(), None).model_dump(mode="json")
    pose = {"x": 0.0, "y": 0.0, "yaw": 0.0, "sd_x": 0.001, "sd_y": 0.001, "sd_yaw": 1.0, "overlap": 0.9}
    text = json.dumps({"measured": {"cube": pose}, "image": "good.png", "scenario": made})
    for name in ("frames/good.json", "outside.json"):
        (tmp_path / name).write_text(text)
    (tmp_path / "frames/missed.json").write_text(text.replace('"overlap": 0.9', '"overlap": 0.57'))
    (tmp_path / "frames/broken.json").write_text('{"measured": {}')
    (tmp_path / "lab.csv").write_text(f"policy,task,frame,success\n{cells}\n")
    with pytest.raises(UsageError, match="one problem") as caught:
        foretell.import_(tmp_path / "lab.csv", frames=tmp_path / "frames", out=tmp_path / "run")
    assert words in str(caught.value)


def test_a_mask_that_misses_is_refused_unless_somebody_insists(
    carrot: tuple[Path, Sight, np.ndarray], tmp_path: Path
) -> None:
    folder, sight, true = carrot
    half = sight.silhouette(true).copy()
    rows, _ = np.nonzero(half)
    half[: int(np.quantile(rows, 0.35))] = False
    options: dict[str, Any] = {**CARROT, "object": ("carrot",), "mask": (save(tmp_path, "half.png", half),)}
    out = tmp_path / "trial.json"
    why = "carrot: mask and silhouette do not agree (overlap "
    assert why in problem(folder / "frame.png", **options, out=out) and not out.exists()
    (measured,) = scenario(folder / "frame.png", **options, insist=True, out=out)
    written = json.loads(out.read_text())
    assert why in written["notes"][0] and written["insisted"] and why in measured.text()
    assert len(read_scenario_file(out).scenarios) == 1
    with pytest.raises(UsageError, match="mask and silhouette do not agree"):
        texture(folder / "frame.png", **CARROT, object="carrot", mask=tmp_path / "half.png")


def test_a_pose_beside_the_table_is_refused(tmp_path: Path) -> None:
    how = {"task": "lift", "camera": "overview"}
    sight = sight_of("cube", **how)
    sunk = np.array([-0.02, 0.75, 0.0])  # in the air beside the table
    mask = save(tmp_path, "mask.png", sight.silhouette(sunk))
    frame = save(tmp_path, "frame.png", sight.picture(sunk))
    assert "nothing is under the object at x -0.02" in problem(frame, **how, mask=(mask,))


@pytest.mark.parametrize("text", ['{"measured": {}}', '{"measured": {}, "scenario": 3}', '{"measured"'])
def test_a_broken_file_is_no_scenario(tmp_path: Path, text: str) -> None:
    (tmp_path / "trial.json").write_text(text)
    with pytest.raises(UsageError, match=r"trial.json, line 1"):
        read_scenario_file(tmp_path / "trial.json")


def test_a_sheet_without_frames_needs_no_folder(tmp_path: Path) -> None:
    (tmp_path / "lab.csv").write_text("policy,task,success\nbc,lift,yes\n")
    with pytest.raises(UsageError, match="has no column 'frame'"):
        foretell.import_(tmp_path / "lab.csv", frames=tmp_path, out=tmp_path / "run")


def test_what_a_person_measured_comes_before_a_frame(tmp_path: Path) -> None:
    made = layout_of(resolve("tasks", "lift")(), None).model_dump(mode="json")
    pose = {"x": 0.0, "y": 0.0, "yaw": 0.0, "sd_x": 0.004, "sd_y": 0.001, "sd_yaw": 1.0, "overlap": 0.9}
    text = json.dumps({"measured": {"cube": pose}, "image": "a.png", "scenario": made})
    (tmp_path / "a.json").write_text(text)
    (tmp_path / "lab.csv").write_text(
        "policy,task,frame,cube.x,cube.y,success\nbc,lift,a.png,0.02,0.01,yes\nbc,lift,a.png,,,yes\n"
    )
    done = foretell.import_(tmp_path / "lab.csv", out=tmp_path / "run")
    places = {s.placements["cube"].pos[:2] for s in read_scenarios(done.path)}
    assert places == {(0.02, 0.01), (0.0, 0.0)}
    assert any("1 position of a frame has a standard deviation above 2 mm" in note for note in done.notes)


@pytest.mark.daily
def test_a_real_photograph_of_a_can() -> None:
    """The model is not the can that was filmed, and the camera is SIMPLER's own match."""
    video = ASSETS / "simpler/debug/rt1_real_standing_coke_can_1.mp4"
    if not video.exists():
        pytest.skip("the videos of SIMPLER are not there; set FORETELL_ASSETS")
    (measured,) = scenario(
        video,
        task="google_robot_pick_standing_coke_can",
        camera="google_robot/overhead",
        box=(214, 88, 260, 150),
        insist=True,
    )
    assert measured.objects["can"].overlap > 0.8
