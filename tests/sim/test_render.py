"""Pictures: upright, of the asked size, of the slot that was asked for, and without a trace in the rows."""

from __future__ import annotations

import gc
import weakref
from collections import OrderedDict

import mujoco
import numpy as np
import pyarrow.parquet as pq
import pytest
from rollouts import episodes, reproducible

from foretell.factors.arms import expand
from foretell.policies.expert import Expert
from foretell.rollout import Job, run_sync
from foretell.rollout.video import every
from foretell.scenario import Scenario
from foretell.sim import render, variants
from foretell.sim.bench import Bench
from foretell.sim.render import FINE, View, _shapes, shared_renderer
from foretell.sim.textures import Textures
from foretell.sim.variants import Variants
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream
from foretell.study.plan import make_task

pytestmark = pytest.mark.gl


def shot(world: MujocoWorld, slot: int, view: View) -> np.ndarray:
    """What the renderer makes of a view."""
    return shared_renderer().render(Bench.on(world, slot).drawn, world.snapshot(slot), view)


def start(slots: int, name: str = "lift") -> tuple[MujocoWorld, np.ndarray]:
    task = make_task(name)
    world = MujocoWorld(task, slots=slots)
    ids = np.arange(slots, dtype=np.int32)
    world.reset(ids, [task.scenario(i) for i in range(slots)], [0] * slots)
    return world, ids


def red(image: np.ndarray) -> np.ndarray:
    """Where the cube or the can is."""
    r, g, b = np.moveaxis(image.astype(int), -1, 0)
    return (r > 90) & (r > 2 * g) & (r > 2 * b)


def test_images_are_upright_uint8_of_the_asked_size() -> None:
    world, ids = start(3)
    seen = world.observe(ids, {"front/rgb": Stream((84, 96, 3)), "panda/wrist/rgb": Stream((64, 64, 3))})
    assert seen["front/rgb"].shape == (3, 84, 96, 3) and seen["front/rgb"].dtype == np.uint8
    assert seen["panda/wrist/rgb"].shape == (3, 64, 64, 3)
    # the arm comes from above and far: the front image is busier at its top than at its bottom
    detail = np.abs(np.diff(seen["front/rgb"][0].astype(int), axis=1)).sum(axis=(1, 2))
    assert detail[:40].sum() > 3 * detail[-40:].sum()


def test_the_cube_is_drawn_where_it_is() -> None:
    bench = Bench("lift")
    columns = []
    for y in (-0.15, 0.0, 0.15):  # the camera faces the robot: the robot's left (+y) is on its right
        bench.put("cube", (0.1, y, 0.02))
        image = bench.see("front/rgb")["front/rgb"]
        columns.append(np.argwhere(red(image))[:, 1].mean())
    assert columns[0] + 10 < columns[1] < columns[2] - 10


def test_a_picture_does_not_depend_on_the_other_slots() -> None:
    world, ids = start(4)
    together = world.observe(ids, {"front/rgb": Stream((64, 64, 3))})["front/rgb"]
    for slot in (2, 0):
        alone = world.observe(ids[slot : slot + 1], {"front/rgb": Stream((64, 64, 3))})["front/rgb"][0]
        assert (alone == together[slot]).all()
    assert (together[0] != together[1]).any()


def test_a_video_changes_no_row_and_plays(tmp_path) -> None:
    av = pytest.importorskip("av", reason="videos need PyAV")
    task = make_task("lift")
    scenarios = [task.scenario(i) for i in range(2)]
    plain = [reproducible(o) for o in episodes(task, Expert(), scenarios, slots=2)]
    world, policy = MujocoWorld(task, slots=2), Expert()
    policy.bind(task, world.action)
    paths = [tmp_path / "a.mp4", tmp_path / "deep" / "b.mp4"]
    jobs = iter(
        [
            Job(policy="p", scenario=s, trial=0, key=str(i), video=path, steps=path.with_suffix(".parquet"))
            for i, (s, path) in enumerate(zip(scenarios, paths, strict=True))
        ]
    )
    done = {job.key: outcome for job, outcome in run_sync(world, {"p": policy}, lambda: next(jobs, None))}
    assert [reproducible(done[k]) for k in ("0", "1")] == plain
    for path, row in zip(paths, plain, strict=True):
        with av.open(str(path)) as film:
            frames = [f.to_ndarray(format="rgb24") for f in film.decode(video=0)]
        shown = row["steps"] + 1 + 20  # a second more, after success
        assert len(frames) == -(-shown // every(20.0, task.time_limit))
        trace = pq.read_table(path.with_suffix(".parquet"))
        assert trace["time"].to_pylist()[-1] == pytest.approx(row["sim_s"] + 1.0)
        height = trace["cube/z"].to_pylist()
        assert height[0] < 0.03 and height[-1] > 0.03, "the cube is up, and stays up"
        assert {name.split()[-1] for name in trace.column_names if name.startswith("action/")} >= {"gripper"}
        assert frames[0].shape == (480, 640, 3)
        assert np.abs(frames[0].astype(int) - frames[-1]).mean() > 1
    assert not list(tmp_path.rglob("*.part.mp4"))


def test_quality_is_a_parameter_of_the_world() -> None:
    task = make_task("lift")
    images = []
    for theta in ({}, {"shadows": 1024}, {"samples": 4}):
        world = MujocoWorld(task, {"name": "w", "theta": theta}, slots=1)
        ids = np.zeros(1, dtype=np.int32)
        world.reset(ids, [task.scenario(0)], [0])
        images.append(world.observe(ids, {"front/rgb": Stream((84, 84, 3))})["front/rgb"][0])
    assert (images[0] != images[1]).any() and (images[0] != images[2]).any()


def test_overview_shows_robot_and_table() -> None:
    for name in ("lift", "can", "square"):
        world, _ = start(1, name)
        image = world.picture(0, "overview", 240, 320)
        assert image.std() > 25


def perturbed(name: str, seeds: range) -> list[Scenario]:
    """Scenarios under various factors: each has textures, colours, lights and cameras of its own."""
    task = make_task(name)
    arms = expand(["all", "none", "Background_Texture", "MO_Texture+Light_Color", "Robot_Texture"], task)
    return [arms[i % len(arms)].on(task.scenario(i), task) for i in seeds]


def anew(world: MujocoWorld, slot: int, camera: View) -> np.ndarray:
    """The picture as a context and a scene made for it alone draw it."""
    shared_renderer()
    model = world.scene.dress(Bench.on(world, slot).scenario, 0)
    data = mujoco.MjData(model)
    data.qpos[:] = world.snapshot(slot)
    mujoco.mj_forward(model, data)
    if camera.fine:
        model.vis.quality.shadowsize, model.vis.quality.offsamples = FINE
    model.vis.global_.offwidth, model.vis.global_.offheight = camera.width, camera.height
    context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, context)
    scene, option, view = mujoco.MjvScene(model, maxgeom=2000), mujoco.MjvOption(), mujoco.MjvCamera()
    option.geomgroup[3] = 0
    view.type, view.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, model.camera(camera.name).id
    mujoco.mjv_updateScene(model, data, option, None, view, mujoco.mjtCatBit.mjCAT_ALL.value, scene)
    scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = camera.fine
    scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0
    whole, image = mujoco.MjrRect(0, 0, camera.width, camera.height), np.empty((camera.height, camera.width, 3), "u1")
    mujoco.mjr_render(whole, scene, context)
    mujoco.mjr_readPixels(image, None, whole, context)
    context.free()
    return image[::-1]


@pytest.mark.parametrize("room", [0, 2**21, 2**25])  # little: textures come and go all the time
def test_pictures_are_those_of_a_context_of_their_own(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was drawn before, in whatever order, of whatever task and in whatever quality."""
    monkeypatch.setattr(shared_renderer(), "_textures", Textures(room))
    worlds = {name: MujocoWorld(make_task(name), slots=5) for name in ("lift", "can", "square")}
    cameras = (
        View(name="front", height=84, width=84),
        View(name="panda/wrist", height=64, width=80),
        View(name="overview", height=90, width=120, fine=True),
    )
    views = []
    for name, world in worlds.items():
        world.reset(np.arange(5, dtype=np.int32), perturbed(name, range(5)), [0] * 5)
        views += [(name, slot, camera) for slot in range(5) for camera in cameras[: 2 if slot else 3]]
    expected = {(name, slot, camera): anew(worlds[name], slot, camera) for name, slot, camera in views}
    assert len({image.tobytes() for image in expected.values()}) == len(views)
    order = np.random.default_rng(0).permutation(2 * len(views)) // 2  # each twice
    for at in order:
        name, slot, camera = views[at]
        assert np.array_equal(shot(worlds[name], slot, camera), expected[views[at]]), views[at]


def test_a_scene_drawn_with_shared_textures_has_its_own_materials() -> None:
    """What a context knows of materials and textures is what one made for the model would."""
    world = MujocoWorld(make_task("square"), slots=5)
    world.reset(np.arange(5, dtype=np.int32), perturbed("square", range(5)), [0] * 5)
    for slot in (3, 0, 4, 1, 2):
        shot(world, slot, View(name="front", height=32, width=32))
        used = next(reversed(shared_renderer()._contexts.values())).context
        own = mujoco.MjrContext(Bench.on(world, slot).drawn, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        for field in ("mat_texid", "mat_texuniform", "mat_texrepeat"):
            assert np.array_equal(getattr(used, field), getattr(own, field)), field
        assert used.ntexture == own.ntexture > 0
        assert np.array_equal(used.textureType[: own.ntexture], own.textureType[: own.ntexture])
        own.free()


def test_what_is_kept_to_draw_with_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "_shared", Variants(0))
    renderer = shared_renderer()
    textures = Textures(2**20)
    monkeypatch.setattr(renderer, "_textures", textures)
    world = MujocoWorld(make_task("lift"), slots=1)
    ids = np.zeros(1, dtype=np.int32)
    most, models = 0, []
    for scenario in perturbed("lift", range(25)):
        world.reset(ids, [scenario], [0])
        shot(world, 0, View(name="front", height=32, width=32))
        models.append(weakref.ref(Bench.on(world).drawn))
        assert textures.bytes <= 2**20 and len(textures) <= 12
        most = max(most, len(textures))
    assert most > 6  # more than one scene's
    gc.collect()
    # the models themselves go: of each layout of MjData that was used, here two, the first and the last may stay
    assert sum(made() is not None for made in models) <= 4


def test_a_context_given_back_leaves_the_textures_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    renderer = shared_renderer()
    monkeypatch.setattr(renderer, "CONTEXTS", 1)
    monkeypatch.setattr(renderer, "_contexts", OrderedDict())
    world = MujocoWorld(make_task("lift"), slots=2)
    world.reset(np.arange(2, dtype=np.int32), perturbed("lift", range(2)), [0] * 2)
    plain, fine = View(name="front", height=48, width=64), View(name="front", height=48, width=64, fine=True)
    expected = {camera: anew(world, 0, camera) for camera in (plain, fine)}
    for camera in (plain, fine, plain, fine):
        assert np.array_equal(shot(world, 0, camera), expected[camera])
        assert len(renderer._contexts) == 1
    monkeypatch.undo()
    render._shared = None  # its own contexts were passed over: later tests get a new one


def room(*, floor: float = 3.0, repeat: float = 1.0, corner: float = 1.0, texture: int = 0, x: float = 0.0) -> bytes:
    """Names the shapes of a scene with a floor and a mesh."""
    spec = mujoco.MjSpec()
    spec.stat.extent = 1.0
    made = spec.add_texture(name="t", type=mujoco.mjtTexture.mjTEXTURE_2D, width=2, height=2, nchannel=3)
    made.data = bytes([texture] * 12)
    spec.add_material(name="m", texrepeat=[repeat, repeat]).textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "t"
    spec.add_mesh(name="wedge", uservert=[0, 0, 0, corner, 0, 0, 0, 1, 0, 0, 0, 1])
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[floor, floor, 0.1], material="m")
    body = spec.worldbody.add_body(pos=[x, 0, 0])
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="wedge", rgba=[1, 0, 0, 1])
    return _shapes(spec.compile())


def test_models_share_a_context_only_if_it_would_be_made_alike() -> None:
    assert room() == room(texture=9) == room(x=1.0) == room(repeat=2.0)
    assert len({room(), room(floor=2.0), room(corner=2.0), room(floor=0.0), room(floor=0.0, repeat=2.0)}) == 5
