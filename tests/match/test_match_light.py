"""Direction, colour and strength of a light come back from a rendered picture."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from foretell.errors import UsageError
from foretell.match import light
from foretell.match.light import Lit, simulated, surface
from foretell.match.shading import Fit, Surface, fit_along, fit_light, spread
from foretell.match.sight import Sight, layout_of, open_bench, view_of
from foretell.objects.chart import charts, picture_size
from foretell.registry import resolve

TASK, CAMERA, LAYOUT, SIZE = "widowx_carrot_on_plate", "third_view", 3, (240, 320)
LAMP = {"ambient": [0.30, 0.40, 0.45], "colour": [0.50, 0.45, 0.35], "direction": [0.45, 0.35, -0.82]}


def apart(first: np.ndarray, second: Any) -> float:
    """Degrees between two directions."""
    second = np.asarray(second) / np.linalg.norm(second)
    return math.degrees(math.acos(min(1.0, float(first @ second))))


def ball(seed: int, shadowed: float = 0.0) -> tuple[Surface, np.ndarray, np.ndarray]:
    """Pixels of a ball in three colours under a light, with noise, and where the light shines."""
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal((2000, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    look = rng.integers(3, size=2000)
    colour = np.array([[0.8, 0.2, 0.2], [0.3, 0.6, 0.3], [0.7, 0.7, 0.7]])[look]
    way = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
    lit = np.maximum(normal @ way, 0) * (rng.uniform(size=2000) >= shadowed)
    real = colour * (np.array([0.3, 0.35, 0.4]) + lit[:, None] * [0.6, 0.5, 0.4])
    known = Surface(colour=colour, normal=normal, look=look, part=np.arange(2000) % 6)
    return known, np.clip(real + rng.normal(0, 0.01, real.shape), 0, 1), -way


def test_a_light_on_a_ball() -> None:
    known, real, way = ball(0)
    fit = fit_light(known, real)
    assert apart(fit.direction, way) < 1
    assert fit.ambient == pytest.approx([0.3, 0.35, 0.4], abs=0.02)
    assert fit.colour == pytest.approx([0.6, 0.5, 0.4], abs=0.02)
    assert 0 < spread(known, real, fit) < 2


def test_an_error_of_the_direction_is_never_nothing() -> None:
    """One look is not what the world believes: it is brighter on one side. Without noise the fit is steady."""
    known, real, way = ball(3)
    bright = np.where((known.look == 1) & (known.normal[:, 0] > 0), 1.25, 1.0)[:, None]
    fit = fit_light(known, real * bright)
    off = apart(fit.direction, way)
    assert off > 2 and off < 3 * spread(known, real * bright, fit)
    still = Surface(**{**vars(known), "part": np.zeros(2000, dtype=int)})
    assert math.isinf(spread(still, real, fit))


def test_a_light_that_grazes_is_bounded() -> None:
    known, _, _ = ball(4)
    flat = known.only(known.normal[:, 2] > 0.99)
    graze = fit_along(flat, np.ones((len(flat.look), 3)), np.array([-1.0, 0.0, -0.001]))
    assert max(graze.colour.max(), graze.ambient.max()) <= 4  # what a world file takes


@pytest.mark.daily
def test_shadows_make_it_less_sure() -> None:
    known, real, way = ball(1, shadowed=0.2)
    fit = fit_light(known, real)
    assert apart(fit.direction, way) < 4
    clear = ball(1)
    assert spread(known, real, fit) > spread(*clear[:2], fit_light(*clear[:2]))


def test_parts_may_be_brighter_than_the_world_believes() -> None:
    known, real, way = ball(2)
    dark = np.where(known.look == 2, 0.6, 1.0)[:, None]
    fit = fit_light(known, np.clip(real * dark, 0, 1))
    assert apart(fit.direction, way) < 1.5


@pytest.mark.gl
@pytest.mark.slow
def test_the_light_of_a_rendered_picture(tmp_path: Path) -> None:
    task = resolve("tasks", TASK)()
    real = open_bench(task, {"name": "real", "transforms": [{"use": "light", **LAMP}]}, CAMERA, layout_of(task, LAYOUT))
    noise = np.random.default_rng(0).normal(0, 3, (*SIZE, 3))
    frame = np.clip(view_of(real, CAMERA, SIZE) + noise, 0, 255).astype(np.uint8)
    Image.fromarray(frame).save(tmp_path / "frame.png")
    world, out = tmp_path / "lab.yaml", tmp_path / "out.png"
    lit = light(tmp_path / "frame.png", task=TASK, camera=CAMERA, layout=LAYOUT, world=world, out=out)
    off = apart(lit.fit.direction, LAMP["direction"])
    assert off < 3 and off < 3 * lit.sd
    assert lit.fit.ambient == pytest.approx(LAMP["ambient"], abs=0.03)
    assert lit.fit.colour == pytest.approx(LAMP["colour"], abs=0.06)
    assert lit.before > 3 * lit.after
    (transform,) = yaml.safe_load(world.read_text())["transforms"]
    assert transform["use"] == "light" and transform["direction"] == pytest.approx(lit.fit.direction, abs=1e-3)
    matched = view_of(open_bench(task, world, CAMERA, layout_of(task, LAYOUT)), CAMERA, SIZE).astype(float)
    shown = np.asarray(Image.open(out))[:, 2 * SIZE[1] :]
    assert np.abs(matched - shown).max() <= 2  # the picture is that of the world that was written
    unmatched = view_of(open_bench(task, "mujoco", CAMERA, layout_of(task, LAYOUT)), CAMERA, SIZE).astype(float)
    assert np.abs(matched - frame).mean() < 0.4 * np.abs(unmatched - frame).mean()


def test_a_light_that_explains_little_is_said() -> None:
    fit = Fit(ambient=np.array([1.43, 0.9, 0.8]), colour=np.zeros(3), direction=np.array([0.0, 0.0, -1.0]), error=0.2)
    lit = Lit(fit=fit, sd=3.0, before=54.0, after=48.5, pixels=1000)
    little, bright = lit.to_dict()["notes"]
    assert little.startswith("the light explains little: 48.5 of 54.0 grey levels remain")
    assert bright.startswith("a light of 1.43 is brighter than white (1)")
    assert f"note: {little}" in lit.text()
    dim = Fit(ambient=np.full(3, 0.4), colour=np.full(3, 0.5), direction=fit.direction, error=0.0)
    assert not Lit(fit=dim, sd=3.0, before=33.4, after=0.2, pixels=1000).notes


@pytest.mark.gl
def test_a_light_above_1_brightens_pictures_too(tmp_path: Path) -> None:
    """OpenGL would cut it at 1. Lights that are not above it leave them as they are, and keep their hash."""
    size = picture_size(charts("coke-can"))
    Image.fromarray(np.full((*size, 3), 100, dtype=np.uint8)).save(tmp_path / "grey.png")

    def can(strength: float) -> tuple[np.ndarray, dict[str, Any]]:
        task = resolve("tasks", "google_robot_pick_standing_coke_can")()
        lamp = {"use": "light", "ambient": [strength] * 3, "colour": [0.0] * 3, "direction": [0, 0, -1]}
        paint = {"use": "painted", "asset": "coke-can", "image": "grey.png"}
        world = {"name": "lit", "folder": str(tmp_path), "transforms": [lamp, paint]}
        bench = open_bench(task, world, "google_robot/overhead", layout_of(task, 12))
        sight = Sight(bench, "can", "google_robot/overhead", (128, 160))
        pose = np.array([*bench.scenario.placements["can"].pos[:2], 0.0])
        (light_, _) = bench.world.scene.world.transforms
        return np.median(sight.picture(pose)[sight.silhouette(pose)], axis=0), light_.decides()

    (dim, one), (bright, two) = can(0.8), can(1.5)
    assert dim == pytest.approx([80] * 3, abs=2)
    assert bright == pytest.approx([150] * 3, abs=2)
    assert "brightens" not in one and two["brightens"]


@pytest.mark.gl
@pytest.mark.daily
def test_a_poor_light_is_not_written(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (*SIZE, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "frame.png")
    world = tmp_path / "lab.yaml"
    given: dict[str, Any] = {"task": TASK, "camera": CAMERA, "layout": LAYOUT, "parts": ("carrot", "plate")}
    with pytest.raises(UsageError, match=r"the light explains little: .* is left as it is; .* with --insist"):
        light(tmp_path / "frame.png", **given, world=world)
    assert not world.exists()


@pytest.mark.gl
def test_light_is_fitted_to_what_stands_before_a_photograph(tmp_path: Path) -> None:
    Image.new("RGB", (160, 120), (200, 40, 200)).save(tmp_path / "plate.png")
    task = resolve("tasks", TASK)()
    photo = {"use": "background", "image": "plate.png"}
    world = {"name": "w", "folder": str(tmp_path), "transforms": [photo]}
    bench = open_bench(task, world, CAMERA, layout_of(task, LAYOUT))
    assert {"carrot", "plate", "widowx"} <= simulated(bench, CAMERA)
    rows = surface(bench, CAMERA, *SIZE)[1]
    alone = surface(open_bench(task, "mujoco", CAMERA, layout_of(task, LAYOUT)), CAMERA, *SIZE)[1]
    assert len(np.unique(rows)) < len(np.unique(alone))  # the table is that of the photograph


@pytest.mark.gl
def test_what_has_no_light(tmp_path: Path) -> None:
    Image.fromarray(np.zeros((480, 640, 3), dtype=np.uint8)).save(tmp_path / "frame.png")
    Image.fromarray(np.zeros((300, 640, 3), dtype=np.uint8)).save(tmp_path / "cut.png")
    Image.fromarray(np.full((480, 640, 3), 255, dtype=np.uint8)).save(tmp_path / "white.png")
    good: dict[str, Any] = {"task": TASK, "camera": CAMERA}
    for image, options, words in (
        ("frame.png", {"parts": ("carot",)}, "parts: 'carot' is not seen by camera 'third_view'"),
        ("frame.png", {"object": "carrot"}, "give a mask (--mask) or a box (--box)"),
        ("frame.png", {"camera": "third"}, "did you mean 'third_view'"),
        ("cut.png", {}, "another shape"),
        ("frame.png", {}, "100% of the pixels of these parts are black"),
        ("white.png", {}, "100% of the pixels of these parts are white"),
        ("none.png", {}, "cannot read"),
    ):
        with pytest.raises(UsageError) as caught:
            light(tmp_path / image, **{**good, **options})
        assert words in str(caught.value), words
    lamp = {"use": "light", **LAMP}
    for wrong, words in (
        ({"direction": [0, 0, 0]}, "should not be 0 0 0"),
        ({"colour": [-1, 0, 0]}, "greater than or equal to 0"),
        ({"cameras": ["third_view"]}, "a light shines for all cameras"),
    ):
        with pytest.raises(UsageError) as caught:
            open_bench(
                resolve("tasks", TASK)(),
                {"name": "x", "transforms": [{**lamp, **wrong}]},
                CAMERA,
                layout_of(resolve("tasks", TASK)(), 0),
            )
        assert words in str(caught.value), words
