"""The one way of an image: rgb, depth and segmentation, transforms of the world file, then noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from PIL import Image
from rollouts import episodes, reproducible

import foretell
from foretell.camera import Camera, Intrinsics, point_cloud
from foretell.factors.arms import expand
from foretell.policy import Policy, PolicySpec
from foretell.sim import Shot, Transform
from foretell.sim.bench import Bench
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream
from foretell.study.plan import make_task
from foretell.tasks.lift import Lift

pytestmark = pytest.mark.gl

SLOT = np.zeros(1, dtype=np.int32)
SIZE = (120, 160)
KINDS = {"rgb": Stream((*SIZE, 3)), "depth": Stream((*SIZE, 1)), "segmentation": Stream((*SIZE, 1))}


def look(world: MujocoWorld, camera: str = "front", slots: np.ndarray = SLOT) -> dict[str, np.ndarray]:
    """All that a camera gives."""
    seen = world.observe(slots, {f"{camera}/{kind}": stream for kind, stream in KINDS.items()})
    return {kind: seen[f"{camera}/{kind}"] for kind in KINDS}


def start(task: Any = "lift", world: Any = "mujoco", arm: str = "none", seed: int = 0) -> MujocoWorld:
    """A world with one episode."""
    made = make_task(task) if isinstance(task, str) else task
    built = MujocoWorld(made, world, slots=1)
    (chosen,) = expand([arm], made)
    built.reset(SLOT, [chosen.on(made.scenario(seed), made)], [0])
    return built


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    """A photograph of our own: each pixel has a colour of its own."""
    rows, columns = np.mgrid[:120, :160]
    Image.fromarray(np.stack([rows, columns, 200 + 0 * rows], axis=-1).astype("uint8")).save(tmp_path / "lab.png")
    return tmp_path / "lab.png"


def world_file(folder: Path, *transforms: str, name: str = "lab.yaml") -> Path:
    path = folder / name
    path.write_text("transforms:\n" + "".join(f"  - {one}\n" for one in transforms))
    return path


# -- depth and segmentation -----------------------------------------------------------------------------------


def test_kinds_have_their_types_and_shapes() -> None:
    world = start()
    seen = look(world)
    for kind, image in seen.items():
        feature = world.features[f"front/{kind}"]
        assert (image.shape, image.dtype) == ((1, *KINDS[kind].shape), np.dtype(feature.dtype)), kind


@pytest.mark.parametrize("camera", ["front", "panda/wrist", "overview"])
@pytest.mark.parametrize("arm", ["none", "Camera_FOV", "Camera_Pose"])
def test_depth_and_lens_recover_where_the_cube_is(camera: str, arm: str) -> None:
    """The top of the cube within 2 mm, from any camera, wherever a factor moves it."""
    bench = Bench("lift")
    (chosen,) = expand([arm], bench.task)
    world = bench.world
    world.reset(SLOT, [chosen.on(bench.scenario, bench.task)], [0])
    bench.put("cube", (0.02, 0.03, 0.05))
    size = world.task.scenario(0).placements["cube"].scale[2] * 0.021
    seen = look(world, camera)
    mask = seen["segmentation"][0, ..., 0] == world.legend["cube"]
    assert mask.sum() > 20
    points = point_cloud(seen["depth"][0], world.intrinsics(camera, *SIZE, 0))[mask] * [1, -1, -1]
    model = Bench.on(world).drawn
    data = mujoco.MjData(model)
    data.qpos[:] = world.snapshot(0)
    mujoco.mj_forward(model, data)
    placed = points @ data.camera(camera).xmat.reshape(3, 3).T + data.camera(camera).xpos
    assert placed[:, 2].max() == pytest.approx(0.05 + size, abs=0.002)
    assert np.abs(placed[:, :2].mean(axis=0) - [0.02, 0.03]).max() < 0.03


def test_a_lens_follows_the_episode() -> None:
    world = start(arm="Camera_FOV")
    (widened,) = [Bench.on(world).scenario.factors["Camera_FOV"]]
    for name, wider in widened.items():
        nominal, now = world.intrinsics(name, *SIZE), world.intrinsics(name, *SIZE, 0)
        assert now.fovy - nominal.fovy == pytest.approx(wider)
    assert world.intrinsics("panda/wrist", *SIZE) == world.intrinsics("panda/wrist", *SIZE, 0)
    with pytest.raises(foretell.errors.UsageError, match="'font' is not in this world; did you mean 'front'"):
        world.intrinsics("font", *SIZE)


class OffCentre(Lift):
    """Seen by a camera with the intrinsics of a calibration."""

    cameras = {
        **Lift.cameras,
        "front": Camera(
            pos=(0.5, 0, 0.55),
            target=(0, 0, 0),
            intrinsics=Intrinsics(fx=300, fy=310, cx=90, cy=50, width=160, height=120),
        ),
    }


def test_full_intrinsics_and_the_factor_that_widens_them() -> None:
    world = start(OffCentre())
    lens = world.intrinsics("front", *SIZE)
    assert [lens.fx, lens.fy, lens.cx, lens.cy] == pytest.approx([300, 310, 90, 50])
    wide = start(OffCentre(), arm="Camera_FOV")
    wider = wide._scenario[0].factors["Camera_FOV"]["front"]
    now = wide.intrinsics("front", *SIZE, 0)
    assert [now.cx, now.cy] == pytest.approx([90, 50])
    angle = [2 * np.degrees(np.arctan(60 / fy)) for fy in (lens.fy, now.fy)]
    assert angle[1] - angle[0] == pytest.approx(wider) and now.fx / now.fy == pytest.approx(300 / 310)
    assert (look(world)["rgb"] != look(wide)["rgb"]).any()


def test_every_part_has_one_id_in_every_scenario() -> None:
    clean, crowded = start("can"), start("can", arm="Distractor")
    assert clean.legend == crowded.legend == MujocoWorld(make_task("can"), slots=2).legend
    names = clean.features["front/segmentation"].legend
    assert {name: number for number, name in enumerate(names)} == clean.legend
    ids = {n: set(np.unique(look(w, "overview")["segmentation"])) for n, w in (("clean", clean), ("crowded", crowded))}
    expected = {clean.legend[name] for name in ("panda", "can", "panda/pedestal", "floor")}
    assert expected <= ids["clean"] <= {-1, *clean.legend.values()}
    assert ids["crowded"] - ids["clean"] == {clean.legend["other"]}


@pytest.mark.parametrize("theta", [{}, {"samples": 4, "shadows": 1024}])
def test_segmentation_knows_no_edges_between_parts(theta: dict[str, Any]) -> None:
    """Multisampling would blend ids into those of other parts, and depths into air."""
    plain, fine = look(start()), look(start(world={"name": "w", "theta": theta}))
    assert (plain["segmentation"] == fine["segmentation"]).all() and (plain["depth"] == fine["depth"]).all()


def test_kinds_do_not_disturb_each_other() -> None:
    world = start()
    alone = {kind: look(start())[kind] for kind in KINDS}
    for kind in ("depth", "rgb", "segmentation", "rgb", "depth", "segmentation", "rgb"):
        seen = world.observe(SLOT, {f"front/{kind}": KINDS[kind]})[f"front/{kind}"]
        assert seen.tobytes() == alone[kind].tobytes(), kind
        world.picture(0, "overview", 48, 64)


def test_sensor_noise_is_for_rgb_and_depth() -> None:
    clean, noisy = look(start()), look(start(arm="Sensor_Noise"))
    assert (clean["rgb"] != noisy["rgb"]).any()
    assert (clean["segmentation"] == noisy["segmentation"]).all()
    there = clean["depth"] > 0
    error = (noisy["depth"] - clean["depth"])[there]
    assert noisy["depth"].dtype == np.float32 and (noisy["depth"][~there] == 0).all()
    assert 0.004 < error.std() < 0.006 and abs(error.mean()) < 2e-4  # m
    brighter = (noisy["rgb"].astype(float) - clean["rgb"]).mean(axis=-1, keepdims=True)[there]
    assert abs(np.corrcoef(error, brighter)[0, 1]) < 0.05, "the noise of depth is not that of rgb"


class Reads(Policy):
    """Acts on what depth and segmentation show."""

    spec = PolicySpec(reads={f"front/{kind}": Stream((24, 32, 1), history=2) for kind in ("depth", "segmentation")})

    def inform(self, features: Any) -> None:
        self.cube = features["front/segmentation"].legend.index("cube")

    def act(self, slots: np.ndarray, observations: Any) -> np.ndarray:
        depth, parts = observations["front/depth"], observations["front/segmentation"]
        assert (depth.dtype, parts.dtype) == (np.float32, np.int32)
        assert depth.shape == parts.shape == (len(slots), 2, 24, 32, 1)
        cube = parts == self.cube
        assert cube.any() and 0.3 < depth[cube].mean() < 1.0
        actions = np.zeros((len(slots), 7))
        actions[:, 0] = depth[cube].mean() - 0.6
        return actions


def test_a_policy_reads_depth_and_segmentation_whatever_the_slots() -> None:
    class Short(Lift):
        time_limit = 0.3

    scenarios = [Short().scenario(i) for i in range(3)]
    rows = [[reproducible(o) for o in episodes(Short(), Reads(), scenarios, slots=slots)] for slots in (1, 3)]
    assert rows[0] == rows[1] and all(row["end"] == "time_limit" for row in rows[0])


def test_a_check_of_a_policy_that_reads_depth_passes() -> None:
    report = foretell.check("policy", Reads())
    assert report.ok, report.to_dict()


# -- transforms -----------------------------------------------------------------------------------------------


def test_a_photograph_is_behind_the_robot_and_the_objects(photo: Path) -> None:
    file = world_file(photo.parent, "{use: background, image: lab.png, cameras: [front]}")
    plain, green = start(), start(world=file)
    before, after = look(plain), look(green)
    kept = np.isin(before["segmentation"][..., 0], [plain.legend["panda"], plain.legend["cube"]])
    assert kept.any() and not kept.all()
    assert (after["rgb"][kept] == before["rgb"][kept]).all()
    assert (after["rgb"][~kept] == np.asarray(Image.open(photo))[None][~kept]).all(), "not a pixel of the table is left"
    assert (after["depth"] == before["depth"]).all(), "depth tells of the simulated scene"
    assert (look(green, "overview")["rgb"] == look(plain, "overview")["rgb"]).all(), "of no other camera"


def test_a_photograph_is_resized_and_other_parts_can_be_kept(photo: Path) -> None:
    Image.open(photo).resize((320, 240), Image.Resampling.NEAREST).save(photo)
    file = world_file(photo.parent, "{use: background, image: lab.png, keep: [furniture, cube]}")
    world, plain = start(world=file), start()
    seen, before = look(world), look(plain)
    parts = before["segmentation"][..., 0]
    table = parts == world.legend["table"]
    arm = parts == world.legend["panda"]
    assert (seen["rgb"][table] == before["rgb"][table]).all() and arm.any()
    rows, columns = np.nonzero(arm[0])
    assert np.abs(seen["rgb"][0, rows, columns, 0].astype(int) - rows).max() <= 1
    assert np.abs(seen["rgb"][0, rows, columns, 1].astype(int) - columns).max() <= 1


def test_noise_comes_after_transforms(photo: Path) -> None:
    file = world_file(photo.parent, "{use: background, image: lab.png, keep: []}")
    picture = np.asarray(Image.open(photo)).astype(float)
    clean, noisy = look(start(world=file))["rgb"][0], look(start(world=file, arm="Sensor_Noise"))["rgb"][0]
    assert (clean == picture).all()
    assert 15 < (noisy - picture)[20:100, 30:130].std() < 30


def test_films_take_the_same_way_without_noise(photo: Path) -> None:
    picture = np.asarray(Image.open(photo))
    every = world_file(photo.parent, "{use: background, image: lab.png, keep: []}")
    world = start(world=every, arm="Sensor_Noise")
    assert (world.picture(0, "front", 120, 160) == picture).all()
    assert (world.picture(0, Lift.film, 120, 160) != picture).any(), "the film's own camera is elsewhere"
    film = start(world=world_file(photo.parent, "{use: background, image: lab.png, keep: [], cameras: [film]}"))
    assert (film.picture(0, Lift.film, 120, 160) == picture).all()
    assert (film.picture(0, "front", 120, 160) != picture).any()


def test_the_photograph_is_part_of_the_world(photo: Path) -> None:
    """Its bytes, wherever they are; and worlds without transforms are what they were."""
    assert MujocoWorld(make_task("lift")).hash == MujocoWorld(make_task("lift"), {"name": "w", "transforms": []}).hash
    here = world_file(photo.parent, "{use: background, image: lab.png}")
    first = MujocoWorld(make_task("lift"), here)
    assert "transforms" not in MujocoWorld(make_task("lift")).params
    (said,) = first.params["transforms"]
    assert said["use"] == "background" and said["image"].startswith("sha256:")
    elsewhere = photo.parent / "deeper"
    elsewhere.mkdir()
    (elsewhere / "same.png").write_bytes(photo.read_bytes())
    inline = {"name": "w", "folder": str(elsewhere), "transforms": [{"use": "background", "image": "same.png"}]}
    assert MujocoWorld(make_task("lift"), inline).hash == first.hash != MujocoWorld(make_task("lift")).hash
    Image.fromarray(255 - np.asarray(Image.open(photo))).save(photo)
    assert MujocoWorld(make_task("lift"), here).hash != first.hash


@pytest.mark.parametrize(
    ("transform", "said"),
    [
        (
            "{use: background, image: lost.png}",
            r"transforms.0: background: image: cannot read .*lost.png: No such file",
        ),
        ("{use: background, image: .}", r"background: image: cannot read .*: Is a directory"),
        ("{use: background, image: lab.yaml}", r"background: image: .*lab.yaml: it is neither a PNG nor a JPEG"),
        ("{use: background}", r"transforms.0: background: image: Field required"),
        ("{use: background, image: lab.png, kep: []}", r"background: kep is not a field; did you mean 'keep'"),
        ("{use: backgrund, image: lab.png}", r"transforms: 'backgrund' is not known; did you mean 'background'"),
        ("{image: lab.png}", r"transforms.0: a transform should be a mapping with `use`"),
        (
            "{use: background, image: lab.png, keep: [cub]}",
            r"lab: transforms.0: background: keep: 'cub' is not a part of",
        ),
        (
            "{use: background, image: lab.png, cameras: [font]}",
            r"background: cameras: 'font' is not in this world; did",
        ),
        ("{use: 'foretell.sim:Theta'}", r"should be a subclass of foretell.sim.Transform"),
    ],
)
def test_errors_name_the_field_and_the_file(photo: Path, transform: str, said: str) -> None:
    with pytest.raises(foretell.errors.UsageError, match=said):
        MujocoWorld(make_task("lift"), world_file(photo.parent, transform))


def test_a_study_file_finds_the_photograph_beside_it(photo: Path, tmp_path: Path, monkeypatch: Any) -> None:
    study = photo.parent / "study.yaml"
    study.write_text(
        "tasks: [lift]\npolicies: {expert: expert}\nscenarios: {count: 1}\n"
        "world: {name: lab, transforms: [{use: background, image: lab.png}]}\n"
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    done = foretell.run(study, workers=1)
    (row,) = foretell.read(done.path).to_pylist()
    assert row["success"] and row["world"] == "lab"
    assert foretell.run(study, workers=1).path == done.path


OWN = """
from foretell.sim import Transform

class Tint(Transform):
    '''Less of everything but red; and the cube is green before that.'''

    strength: float = {strength}

    def dress(self, spec):
        for geom in spec.body("cube").geoms:
            geom.rgba = [0.1, 0.9, 0.1, 1]

    def apply(self, image, shot):
        dark = image * [1.0, self.strength, self.strength]
        return dark.astype("uint8")
"""


def test_a_transform_of_ones_own_sits_beside_the_world_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN.format(strength=0.5))
    file = world_file(tmp_path, "{use: 'mine.py:Tint'}")
    plain, tinted = start(), start(world=file)
    before, after = look(plain)["rgb"][0].astype(int), look(tinted)["rgb"][0].astype(int)
    parts = look(plain)["segmentation"][0, ..., 0]
    table = parts == plain.legend["table"]
    assert (after[table] == (before[table] * [1.0, 0.5, 0.5]).astype(int)).all()
    cube = after[parts == plain.legend["cube"]].mean(axis=0)
    assert cube[1] > cube[0], "the scene that is drawn was changed first"
    (tmp_path / "mine.py").write_text(OWN.format(strength=0.4))
    assert start(world=file).hash != tinted.hash, "an edited transform is another"


def test_a_transform_sees_where_parts_are() -> None:
    """And draws the segmentation once, however many ask."""
    drawn: list[str] = []

    class Blank(Transform):
        def apply(self, image: np.ndarray, shot: Shot) -> np.ndarray:
            drawn.append(shot.camera)
            return np.where(shot.showing(["objects"])[..., None], 0, image).astype(np.uint8)

    world = start(world={"name": "w", "transforms": [Blank(use="blank", cameras=("front",))]})
    seen = look(world)
    assert (seen["rgb"][seen["segmentation"][..., 0] == world.legend["cube"]] == 0).all() and drawn == ["front"]
