"""The photograph behind the foreground: pixel by pixel, with soft edges or a contact shadow on request, and beside the
pictures of SIMPLER's own engine."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from reference import ASSETS, menagerie, simpler

from foretell.registry import resolve
from foretell.sim.bench import Bench
from foretell.sim.green_screen import contact, darkened, faded, pasted
from foretell.sim.params import load_world
from foretell.sim.photo import decode
from foretell.sim.render import View, shared_renderer
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream

SLOT = np.zeros(1, dtype=np.int32)


def pictures() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    image, photo = rng.integers(0, 255, (2, 60, 80, 3), dtype=np.uint8)
    kept = np.zeros((60, 80), dtype=bool)
    kept[20:40, 30:60] = True
    return image, photo, kept


def test_every_pixel_is_one_of_the_two() -> None:
    image, photo, kept = pictures()
    for drawn in (image, image[::-1][::-1], image[:, ::-1][:, ::-1]):  # as renderers give it: upside down
        assert np.array_equal(pasted(drawn, photo, kept), np.where(kept[..., None], image, photo))
    before = photo.copy()
    pasted(image, photo, kept)
    assert np.array_equal(photo, before)


def test_soft_edges_are_soft_and_nothing_else_changes() -> None:
    image, photo, kept = np.full((60, 80, 3), 200, np.uint8), np.zeros((60, 80, 3), np.uint8), pictures()[2]
    soft, hard = faded(image, photo, kept, 4), pasted(image, photo, kept)
    row = soft[30, :, 0].astype(int)
    assert row[29] == 0 < row[30] < 150 and row[34] == 200 and (np.diff(row[25:40]) >= 0).all()
    away = np.ones_like(kept)
    away[15:45, 25:65] = False
    away[26:34, 36:54] = True
    assert np.array_equal(soft[away], hard[away])


def test_a_shadow_falls_where_things_touch() -> None:
    """The lower edge of a block stands on the table; the upper one is half a metre in front of the wall."""
    _, _, kept = pictures()
    depth = np.full((60, 80), 1.5, dtype=np.float32)
    depth[40:] = 1.0
    depth[kept] = 1.0
    touching = contact(kept, depth)
    assert touching[39, 30:60].all() and touching.sum() == 30
    photo = np.full((60, 80, 3), 200, dtype=np.uint8)
    dark = darkened(photo, touching, 0.5)
    assert dark[40, 45].max() < 180 and (dark[:36] == 200).all() and (dark[46:] == 200).all()
    depth[kept] = 0.4  # an arm in the air touches nothing
    assert not contact(kept, depth).any()
    assert not contact(kept, np.zeros_like(depth)).any()


def test_worlds_without_them_keep_their_names(tmp_path: Path) -> None:
    """Their hash is written out: it must not change with new fields."""
    Image.new("RGB", (8, 6), (10, 20, 30)).save(tmp_path / "lab.png")

    def decided(**fields: float) -> dict[str, object]:
        transform = {"use": "background", "image": "lab.png", **fields}
        (made,) = load_world({"name": "w", "folder": str(tmp_path), "transforms": [transform]}).transforms
        return made.decides()

    assert set(decided()) == {"use", "cameras", "image", "keep"} == set(decided(soft_edges=0, contact_shadow=0))
    assert decided(soft_edges=1.5)["soft_edges"] == 1.5 and decided(contact_shadow=0.3)["contact_shadow"] == 0.3


@pytest.mark.gl
@pytest.mark.parametrize(
    ("task", "camera"), [("widowx_carrot_on_plate", "third_view"), ("lift", "panda/wrist"), ("can", "overview")]
)
def test_depth_tells_the_foreground_as_a_segmentation_does(task: str, camera: str) -> None:
    """Without a second pass, pixel by pixel, also while robot and camera move."""
    bench, renderer = Bench(task), shared_renderer()
    parts, model, view = bench.parts, bench.drawn, View(name=camera, height=240, width=320)
    for _ in range(3):
        seen = bench.world.snapshot(0)
        split = renderer.split(model, seen, view, parts.still(model))
        assert split is not None
        numbers, things = renderer.segment(model, seen, view)
        front = np.isin(parts.of(model, things).take(numbers), [parts.ids[name] for name in parts.foreground])
        assert 0.01 < front.mean() < 0.9 and np.array_equal(front, split[1])
        assert np.array_equal(renderer.render(model, seen, view), split[0])
        bench.run(0.3, np.full(bench.world.action.size, 0.4))


@pytest.mark.gl
def test_where_depth_cannot_tell_a_segmentation_does() -> None:
    """Edges of several samples have no depth of their own, nor has glass."""
    smooth = Bench("lift", world={"name": "w", "theta": {"samples": 4}})
    view = View(name="front", height=120, width=160)
    assert (
        shared_renderer().split(smooth.drawn, smooth.world.snapshot(0), view, smooth.parts.still(smooth.drawn)) is None
    )
    glass = Bench("lift")
    model = glass.drawn
    assert shared_renderer().split(model, glass.world.snapshot(0), view, glass.parts.still(model)) is not None
    solid = model.mat_rgba.copy()
    try:
        model.mat_rgba[:, 3] = 0.4
        assert shared_renderer().split(model, glass.world.snapshot(0), view, glass.parts.still(model)) is None
    finally:
        model.mat_rgba[:] = solid  # other tests draw the same model


@pytest.mark.gl
def test_a_world_with_a_shadow_and_soft_edges(tmp_path: Path) -> None:
    Image.new("RGB", (160, 120), (200, 200, 200)).save(tmp_path / "lab.png")

    def seen(**fields: float) -> np.ndarray:
        task = resolve("tasks", "lift")()
        transform = {"use": "background", "image": "lab.png", **fields}
        world = MujocoWorld(task, {"name": "w", "folder": str(tmp_path), "transforms": [transform]}, slots=1)
        world.reset(SLOT, [task.scenario(0)], [0])
        return world.observe(SLOT, {"front/rgb": Stream((120, 160, 3))})["front/rgb"][0].astype(int)

    hard, shaded, soft = seen(), seen(contact_shadow=0.6), seen(soft_edges=2)
    changed = (hard != shaded).any(axis=2)
    assert 20 < changed.sum() < 3000 and (shaded <= hard).all()
    assert (hard[changed] == 200).all()  # the photograph alone
    assert 50 < (hard != soft).any(axis=2).sum() < 6000


# -- beside the original --------------------------------------------------------------------------------------

GOOGLE, WIDOWX = ("google_robot/overhead", (512, 640)), ("third_view", (480, 640))
TABLE, KEPT = "bridge_real_eval_1", ("robots", "objects")
ORIGINALS = {
    # the original's task: ours, its layout, camera, photograph, what is kept. As in SIMPLER, sink and basket are those
    # of the photograph.
    "widowx_spoon_on_towel": ("widowx_spoon_on_towel", 0, WIDOWX, TABLE, KEPT),
    "widowx_carrot_on_plate": ("widowx_carrot_on_plate", 0, WIDOWX, TABLE, KEPT),
    "widowx_stack_cube": ("widowx_stack_cube", 0, WIDOWX, TABLE, KEPT),
    "widowx_put_eggplant_in_basket": (
        "widowx_put_eggplant_in_basket", 0, WIDOWX, "bridge_sink", ("robots", "eggplant"),
    ),
    "google_robot_pick_coke_can": (
        "google_robot_pick_standing_coke_can", 11, GOOGLE, "google_coke_can_real_eval_1", KEPT,
    ),
    "google_robot_move_near": ("google_robot_move_near", 0, GOOGLE, "google_move_near_real_eval_1", KEPT),
}  # fmt: skip
BEHIND = ("arena", "sink", "dummy_sink_target_plane", "ground", "")
"""What the original shows the photograph of."""
MOST = {"widowx": {"outline": 0.002, 10: 0.09, 30: 0.015}, "google": {"outline": 0.004, 10: 0.09, 30: 0.08}}
"""Shares of pixels that may differ: in whether they are photograph or simulation, and by so many grey levels. The
original's lights are other ones, so that the foreground differs in brightness."""


def differing(original: str) -> dict[str | int, float]:
    """What differs -> share of the pixels of our picture over SIMPLER's photograph and the original's."""
    task, layout, (camera, size), photo, keep = ORIGINALS[original]
    file = ASSETS / "simpler" / "real_inpainting" / f"{photo}.png"
    if not file.exists():
        pytest.skip("SIMPLER's photographs and scans are not there; set FORETELL_ASSETS")
    name = f"images/{original}_ep0_overlay_{'overhead' if camera == GOOGLE[0] else '3rd_view'}_camera.png"
    picture, segments = decode(simpler(name).read_bytes()), np.load(simpler(f"images/{original}_ep0_seg.npz"))
    names = json.loads(str(segments["actor_ids"]))
    front = ~np.isin(segments["seg"], [0, *(int(number) for number, name in names.items() if name in BEHIND)])
    transforms = [{"use": "asset_pack", "folder": str(ASSETS)}, {"use": "background", "image": str(file), "keep": keep}]
    built = resolve("tasks", task)()
    world = MujocoWorld(built, {"name": "w", "looks": "menagerie", "transforms": transforms}, slots=1)
    world.reset(SLOT, [built.layouts()[layout]], [0])
    streams = {f"{camera}/{kind}": Stream((*size, depth)) for kind, depth in (("rgb", 3), ("segmentation", 1))}
    seen = world.observe(SLOT, streams)
    parts = Bench.on(world).parts
    ours = np.isin(seen[f"{camera}/segmentation"][0, ..., 0], [parts.ids[part] for part in parts.named(keep)])
    apart = np.abs(seen[f"{camera}/rgb"][0].astype(int) - picture).max(axis=2)
    return {"outline": (front != ours).mean(), **{grey: (apart > grey).mean() for grey in (10, 30)}}


@pytest.mark.gl
@pytest.mark.daily
@pytest.mark.parametrize("original", ORIGINALS)
def test_composed_pictures_are_like_the_originals(original: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie()))
    for what, share in differing(original).items():
        assert share < MOST[original.partition("_")[0]][what], f"{what}: {share:.2%}"
