"""A real frame beside the simulated one: silhouettes, colours, and the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from studies import cli, refused

from foretell.errors import UsageError
from foretell.match import check
from foretell.match.colour import ciede2000, lab
from foretell.sim.bench import Bench
from foretell.spec import Stream
from foretell.tasks.lift import Lift

SIZE = (240, 320)

SHARMA = [
    # pairs of Sharma, Wu and Dalal (2005), table 1: L, a, b; L, a, b; the difference
    (50.0, 2.6772, -79.7751, 50.0, 0.0, -82.7485, 2.0425),
    (50.0, -1.3802, -84.2814, 50.0, 0.0, -82.7485, 1.0000),
    (50.0, 2.4900, -0.0010, 50.0, -2.4900, 0.0011, 7.2195),
    (50.0, -0.0010, 2.4900, 50.0, 0.0011, -2.4900, 4.7461),
    (50.0, 2.5000, 0.0000, 73.0, 25.0000, -18.0000, 27.1492),
    (50.0, 2.5000, 0.0000, 58.0, 24.0000, 15.0000, 19.4535),
    (60.2574, -34.0099, 36.2677, 60.4626, -34.1751, 39.4387, 1.2644),
    (22.7233, 20.0904, -46.6940, 23.0331, 14.9730, -42.5619, 2.0373),
    (90.8027, -2.0831, 1.4410, 91.1528, -1.6435, 0.0447, 1.4441),
    (2.0776, 0.0795, -1.1350, 0.9033, -0.0636, -0.5514, 0.9082),
]


@pytest.mark.parametrize("row", SHARMA)
def test_the_published_differences_of_colours(row: tuple[float, ...]) -> None:
    assert float(ciede2000(np.array(row[:3]), np.array(row[3:6]))) == pytest.approx(row[6], abs=1e-4)
    assert float(ciede2000(np.array(row[3:6]), np.array(row[:3]))) == pytest.approx(row[6], abs=1e-4)


def test_lab_of_known_colours() -> None:
    known = lab(np.array([[255, 255, 255], [255, 0, 0], [0, 0, 0], [128, 128, 128]]))
    truth = [[100, 0, 0], [53.24, 80.09, 67.20], [0, 0, 0], [53.59, 0, 0]]
    assert known == pytest.approx(np.array(truth), abs=0.02)


def frames(folder: Path) -> Path:
    """What the camera `front` of lift shows, as the real frame; its plate without robot and cube; and the mask."""
    bench = Bench("lift")
    world = bench.world
    seen = world.observe(np.zeros(1, dtype=np.int32), {
        "front/rgb": Stream((*SIZE, 3)), "front/segmentation": Stream((*SIZE, 1)),
    })  # fmt: skip
    image, ids = seen["front/rgb"][0], seen["front/segmentation"][0, ..., 0]
    mask = np.isin(ids, [world.legend["panda"], world.legend["cube"]])
    plate = np.broadcast_to(np.array([30, 140, 60], dtype=np.uint8), image.shape)
    frame = np.where(mask[..., None], image, plate)
    for name, pixels in (("real", frame), ("plate", plate), ("mask", mask.astype(np.uint8) * 255)):
        Image.fromarray(pixels).save(folder / f"{name}.png")
    (folder / "lab.yaml").write_text("transforms:\n  - {use: background, image: plate.png, cameras: [front]}\n")
    return folder


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return frames(tmp_path_factory.mktemp("shots"))


@pytest.mark.gl
def test_a_world_is_like_itself(shots: Path) -> None:
    same = check(shots / "real.png", task="lift", camera="front", world=shots / "lab.yaml", mask=shots / "mask.png")
    assert same.overlap == 1.0 and same.colour == 0.0 and same.colour_elsewhere == 0.0
    assert set(same.parts) >= {"panda", "cube"} and not same.notes
    told = check(shots / "real.png", task="lift", camera="front", world=shots / "lab.yaml")  # by its own background
    assert told.known_from == "plate" and told.overlap is not None and told.overlap > 0.9


@pytest.mark.gl
def test_a_frame_is_compared_with_the_scenario_that_was_measured(tmp_path: Path) -> None:
    """Objects of a lab stand where no published layout has them."""
    bench = Bench("lift", scenario=Lift().scenario(7))
    seen = bench.world.observe(np.zeros(1, dtype=np.int32), {
        "front/rgb": Stream((*SIZE, 3)), "front/segmentation": Stream((*SIZE, 1)),
    })  # fmt: skip
    cube = seen["front/segmentation"][0, ..., 0] == bench.world.legend["cube"]
    for name, pixels in (("real", seen["front/rgb"][0]), ("mask", cube.astype(np.uint8) * 255)):
        Image.fromarray(pixels).save(tmp_path / f"{name}.png")
    (tmp_path / "trial.json").write_text(Lift().scenario(7).model_dump_json() + "\n")
    given: Any = {"task": "lift", "camera": "front", "mask": tmp_path / "mask.png", "keep": ["cube"]}
    assert check(tmp_path / "real.png", scenario=tmp_path / "trial.json", **given).overlap == 1.0
    assert check(tmp_path / "real.png", **given).overlap < 0.5
    with pytest.raises(UsageError, match="either `layout` or `scenario`"):
        check(tmp_path / "real.png", scenario=tmp_path / "trial.json", layout=0, **given)
    with pytest.raises(UsageError, match="0 scenarios of task 'can'"):
        check(tmp_path / "real.png", scenario=tmp_path / "trial.json", **{**given, "task": "can"})


@pytest.mark.gl
def test_a_shadow_on_the_plate_is_no_silhouette(shots: Path, tmp_path: Path) -> None:
    real = np.asarray(Image.open(shots / "real.png")).copy()
    empty = np.asarray(Image.open(shots / "mask.png")) == 0
    empty[:, : SIZE[1] // 2] = False
    real[empty] = (real[empty] * [0.60, 0.63, 0.66]).astype(np.uint8)
    Image.fromarray(real).save(tmp_path / "shadow.png")
    shaded = check(tmp_path / "shadow.png", task="lift", camera="front", world=shots / "lab.yaml")
    assert shaded.known_from == "plate" and shaded.overlap is not None and shaded.overlap > 0.85


@pytest.mark.gl
def test_another_pose_and_another_colour_are_seen(shots: Path, tmp_path: Path) -> None:
    real = np.asarray(Image.open(shots / "real.png")).copy()
    mask = np.asarray(Image.open(shots / "mask.png"))
    Image.fromarray(np.roll(real, 12, axis=1)).save(tmp_path / "moved.png")
    Image.fromarray(np.roll(mask, 12, axis=1)).save(tmp_path / "moved_mask.png")
    asked: dict[str, Any] = {"task": "lift", "camera": "front", "world": shots / "lab.yaml"}
    moved = check(tmp_path / "moved.png", mask=tmp_path / "moved_mask.png", **asked)
    assert moved.overlap is not None and 0.3 < moved.overlap < 0.9
    tinted = np.where(mask[..., None] > 0, (real * [1.0, 0.8, 0.6]).astype(np.uint8), real)
    Image.fromarray(tinted).save(tmp_path / "tinted.png")
    warm = check(tmp_path / "tinted.png", mask=shots / "mask.png", **asked)
    assert warm.overlap == 1.0 and 3 < warm.colour < 30 and warm.colour_elsewhere == 0.0
    unknown = check(shots / "real.png", task="lift", camera="front")
    assert unknown.overlap is None and unknown.to_dict()["overlap"] is None and "match background" in unknown.notes[0]


@pytest.mark.gl
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--camera", "font"], "camera: 'font' is not in task 'lift'; did you mean 'front'"),
        (["--camera", "front", "--mask", "small.png"], "mask: small.png has 10x8 pixels, and the picture 320x240"),
        (["--camera", "front", "--plate", "small.png"], "plate: small.png has 10x8 pixels, and the real frame 320x240"),
        (["--camera", "front", "--layout", "99"], "layout: 99; task 'lift' has"),
        (["--camera", "front", "--keep", "cub"], "keep: 'cub' is not a part of this scene; did you mean 'cube'"),
        (["--camera", "front", "-o", "check.pdf"], "out: check.pdf should end in .html"),
    ],
)
def test_what_is_wrong_is_said(shots: Path, arguments: list[str], told: str) -> None:
    Image.new("RGB", (10, 8)).save(shots / "small.png")
    assert told in refused("match", "check", "real.png", "--task", "lift", *arguments, cwd=shots)


@pytest.mark.gl
def test_a_mask_that_misses_is_said(shots: Path, tmp_path: Path) -> None:
    empty = np.zeros(SIZE, dtype=np.uint8)
    Image.fromarray(empty).save(tmp_path / "empty.png")
    simulated = np.asarray(Image.open(shots / "mask.png")) > 0
    corner = empty.copy()
    corner[-20:, :30] = 255
    assert not simulated[-20:, :30].any()
    Image.fromarray(corner).save(tmp_path / "corner.png")
    asked: dict[str, Any] = {"task": "lift", "camera": "front"}
    missed = check(shots / "real.png", mask=tmp_path / "corner.png", **asked)
    assert "the silhouettes share no pixel: is the mask of this frame" in missed.to_dict()["notes"][0]
    assert "colour distance     not known" in missed.text() and "nan" not in missed.text()
    assert check(shots / "real.png", mask=tmp_path / "empty.png", **asked).notes[0].startswith("the mask is empty")
    assert "where the simulated silhouette is;" in check(shots / "real.png", **asked).text()


@pytest.mark.gl
def test_a_frame_of_another_shape_is_refused(tmp_path: Path) -> None:
    Image.new("RGB", (500, 480)).save(tmp_path / "odd.png")
    why = "odd.png has 500x480 pixels, and camera 'third_view' takes 640x480: another shape"
    asked = ("--task", "widowx_stack_cube", "--camera", "third_view")
    assert why in refused("match", "check", "odd.png", *asked, cwd=tmp_path)


@pytest.mark.gl
def test_the_page_shows_both_frames(shots: Path, browser: Any) -> None:
    done = cli(
        "match", "check", "real.png", "--task", "lift", "--camera", "front", "--world", "lab.yaml", "--mask",
        "mask.png", "-o", "check.html", "--json", cwd=shots,
    )  # fmt: skip
    assert json.loads(done.stdout)["overlap"] == 1.0
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    heard: list[str] = []
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("console", lambda said: heard.append(said.text) if said.type in ("error", "warning") else None)
    page.goto((shots / "check.html").as_uri())
    page.wait_for_selector("html[data-ready=true]")
    figure = page.locator("[data-compared=frames]")

    def seen() -> list[str]:
        return [node.get_attribute("data-label") for node in figure.locator(".pictures > div:visible").all()]

    assert seen() == ["real", "simulated"]
    figure.get_by_role("button", name="Flicker").click()
    assert seen() == ["real"]
    figure.locator("[data-label=simulated]:visible").wait_for()  # in turn
    figure.get_by_role("button", name="Difference").click()
    assert seen() == ["Difference"]
    figure.get_by_role("button", name="Silhouettes").click()
    assert seen() == ["Silhouettes"]
    figure.get_by_role("button", name="Slide").click()
    assert seen() == ["real", "simulated"] and figure.locator("input").is_visible()
    assert "silhouette overlap" in page.locator("[data-sheet=likeness]").inner_text()
    assert heard == []
