"""Scenes: a task's furniture, its robots, and the objects of one scenario, composed with MjSpec and compiled."""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import cached_property
from itertools import combinations
from typing import Any

import mujoco
import numpy as np

from foretell import factors
from foretell.camera import Intrinsics, camera_features
from foretell.errors import UsageError, suggest
from foretell.objects import Asset, Fixture, ObjectPhysics, arena, asset
from foretell.registry import names
from foretell.robots import Robot
from foretell.robots.lens import set_lens
from foretell.robots.menagerie import WAYS
from foretell.robots.transmission import check_transmission
from foretell.rotation import from_axis_angle, from_yaw, multiply, rotate, yaw
from foretell.scenario import Scenario
from foretell.seeding import generator
from foretell.sim.params import MujocoFile
from foretell.sim.parts import Parts
from foretell.spec import Feature
from foretell.tasks.starts import Startable, check_start, robot_kinds, startable
from foretell.tasks.tabletop import TabletopTask
from foretell.tasks.task import Mount
from foretell.terminal import brief

__all__ = ["Scene", "lens_of", "root", "set_lens", "signature"]

INTEGRATORS = {
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
    "euler": mujoco.mjtIntegrator.mjINT_EULER,
    "rk4": mujoco.mjtIntegrator.mjINT_RK4,
}
FREE = int(mujoco.mjtJoint.mjJNT_FREE)
CONES = {"elliptic": mujoco.mjtCone.mjCONE_ELLIPTIC, "pyramidal": mujoco.mjtCone.mjCONE_PYRAMIDAL}


class Scene:
    """What all scenarios of one task in one world have in common; `compile` adds the rest."""

    def __init__(self, task: TabletopTask, world: MujocoFile):
        self.task, self.world = task, world
        kinds = robot_kinds(task)
        self.steps = world.steps(kinds.values())
        self.robots: dict[str, Robot] = {name: kind(world.robot(kind, self.steps)) for name, kind in kinds.items()}
        known = [*names("robots"), *(robot.name for robot in self.robots.values())]
        if unknown := next((name for name in world.theta.robots if name not in known), None):
            raise UsageError(f"{world.name}: theta.robots.{unknown}: there is no such robot; {suggest(unknown, known)}")
        for robot in self.robots.values():
            check_transmission(robot)
        self._bolted: dict[str, str] = {}
        self._spec = self._base(visuals=False)
        self._dressed: mujoco.MjSpec | None = None

    def _base(self, visuals: bool) -> mujoco.MjSpec:
        physics = self.world.physics
        spec = mujoco.MjSpec()
        spec.modelname = self.task.name
        spec.option.timestep = self.steps.tick
        spec.option.integrator = INTEGRATORS[self.steps.integrator]
        if self.steps.sleep and not visuals:  # a renderer puts every joint where it likes
            spec.option.enableflags |= mujoco.mjtEnableBit.mjENBL_SLEEP
        spec.option.cone = CONES[physics.cone]
        spec.option.impratio = physics.impratio
        spec.default.geom.solref = [physics.contact_time, 1.0]
        spec.visual.map.znear = 0.005
        spec.visual.quality.shadowsize = max(self.world.theta.shadows, 1)
        spec.visual.quality.offsamples = self.world.theta.samples
        self.task.build(spec)
        self.furniture = tuple(body.name for body in (spec.worldbody, *spec.worldbody.bodies))
        bits = {name: 8 << number if number else ROBOT for number, name in enumerate(self.robots)}
        every = sum(bits.values())
        for geom in spec.geoms:
            if geom.conaffinity & ROBOT:  # what one robot touches, all do
                geom.conaffinity |= every
        for name, robot in self.robots.items():
            mount = self.task.robots[name]
            frame = spec.worldbody.add_frame(pos=list(mount.pos), quat=list(mount.quat))
            own = robot.spec(visuals)
            for geom in own.geoms:
                if geom.contype == ROBOT:  # a bit of its own, so that robots touch each other but not themselves
                    geom.contype = bits[name]
                    geom.conaffinity |= every & ~bits[name]
            spec.attach(own, frame=frame, prefix=f"{name}/")
            _add_stand(spec, name, mount)
            self._bolted |= {f"{name}/{geom.name}": name for geom in own.worldbody.geoms}
        for name, camera in self.task.cameras.items():
            eye = spec.worldbody.add_camera(name=name, pos=camera.pos, quat=camera.orientation, fovy=camera.fovy)
            if (lens := camera.intrinsics) is not None:
                set_lens(eye, lens)
        return spec

    @property
    def params(self) -> dict[str, Any]:
        """Those of the world, with the steps of this scene."""
        params, steps = self.world.params, {"timestep": self.steps.tick, "integrator": self.steps.integrator}
        sleep = {"sleep": True} if self.steps.sleep else {}
        return {**params, "physics": params["physics"] | steps | sleep}

    @property
    def cameras(self) -> list[str]:
        """Names of all cameras: the task's, then those the robots carry."""
        return [c.name for c in self._spec.cameras]

    @cached_property
    def pads(self) -> list[str]:
        """Full names of the bodies that robots hold things with."""
        groups = [(name, group) for name, robot in self.robots.items() for group in robot.groups.values()]
        return [f"{name}/{pad}" for name, group in groups for pad in group.pads]

    @cached_property
    def placed(self) -> dict[str, Asset]:
        """Object or fixture -> its asset."""
        return {name: asset(p.asset) for name, p in self.task.scenario(0).placements.items()}

    @cached_property
    def parts(self) -> dict[str, dict[str, Feature]]:
        """Part -> its features."""
        parts = {name: robot.features for name, robot in self.robots.items()}
        parts |= {name: part.features for name, part in self.placed.items()}
        return parts | {camera: camera_features(camera, legend=self.segments.names) for camera in self.cameras}

    @cached_property
    def segments(self) -> Parts:
        """The parts that a segmentation tells apart."""
        return Parts(self.robots, self.placed, self._spec, self._bolted)

    @cached_property
    def features(self) -> dict[str, Feature]:
        """`part/name` -> what can be observed in this scene."""
        return {
            f"{part}/{name}": feature for part, features in self.parts.items() for name, feature in features.items()
        }

    @cached_property
    def owner(self) -> dict[str, str]:
        """`part/name` -> the part."""
        return {f"{part}/{name}": part for part, features in self.parts.items() for name in features}

    @cached_property
    def startable(self) -> dict[str, Startable]:
        """What has joints, by the names of `Scenario.start`."""
        return startable(self.robots, self.placed)

    def start(self, scenario: Scenario) -> dict[str, np.ndarray]:
        """Where every joint starts under a scenario and its factors, by the names of `Scenario.start`. Raises
        UsageError for a start that the scene does not have or that is out of range. What factors move stays in range.
        """
        known = self.startable
        check_start(scenario, known)
        begins = factors.starts(scenario, {name: part.home for name, part in known.items()}, self.task)
        return {name: np.clip(begins[name], part.low, part.high) for name, part in known.items()}

    def compile(self, scenario: Scenario, trial: int) -> mujoco.MjModel:
        """The model of one scenario, bare: the shells of the robots cost 8 ms to compile and carry no physics.
        The trial matters only where the world puts objects down inexactly."""
        return self._compose(self._spec.copy(), scenario, trial, self.world.objects(), seen=False)

    def dress(self, scenario: Scenario, trial: int) -> mujoco.MjModel:
        """The model to draw: the same joints in the same order, with the robots' shells on."""
        model = self._compose(self._clothed(), scenario, trial, ObjectPhysics(), seen=True)
        for transform in self.world.transforms:
            transform.finish(model)
        return model

    def require_looks(self) -> None:
        """Raises UsageError where meshes that the world asks for are missing or broken."""
        if self.world.looks != "own":
            self._compiled(self._clothed())

    def _clothed(self) -> mujoco.MjSpec:
        """A copy of the scene without objects, with the robots' shells on."""
        if self._dressed is None:
            self._dressed = self._base(visuals=True)
        return self._dressed.copy()

    def _compiled(self, spec: mujoco.MjSpec) -> mujoco.MjModel:
        """What is drawn. Files that are not ours are read here, and MuJoCo names the one that it cannot read."""
        try:
            return spec.compile()
        except ValueError as error:
            if self.world.looks == "own":
                raise
            raise UsageError(f"looks: {self.world.looks}: {brief(str(error))}; {WAYS}") from None

    def _compose(
        self, spec: mujoco.MjSpec, scenario: Scenario, trial: int, physics: ObjectPhysics, seen: bool
    ) -> mujoco.MjModel:
        spread = self.world.physics.placement_noise
        slip = generator(scenario.base, trial, "placement") if spread > 0 else None
        placed = factors.place(scenario, self.task)
        for name, placement in placed.items():
            kind = asset(placement.asset)
            pos, quat = np.array(placement.pos), np.array(placement.quat)
            if slip is not None and kind.free:
                pos[:2] += spread * slip.standard_normal(2)
                turn = 5.0 * spread * slip.standard_normal()  # 2 mm of slip goes with about half a degree
                quat = multiply(from_axis_angle(np.array([0.0, 0.0, turn])), quat)
            body = spec.worldbody.add_body(name=name, pos=pos, quat=quat)
            if kind.free:
                body.add_freejoint(name=f"{name}/free")
            kind.add(spec, body, np.array(placement.scale), physics)
            _check_units(spec, name, kind)
            for pad in self.pads:
                _add_touch(spec, pad, name, whole=not kind.free)
                for part in _bodies(spec, name, kind):
                    _add_touch(spec, pad, part, whole=True)
        bodies = [body.name for body in spec.bodies]
        for a, b in self.task.touch:
            if unknown := next((part for part in (a, b) if part not in {*bodies, *self.robots, ANYTHING}), None):
                raise UsageError(f"touch: the scene has no part {unknown!r}; {suggest(unknown, bodies)}")
            first, second = (part if part == ANYTHING else root(bodies, part, self.robots) for part in (a, b))
            _add_touch(spec, first, second, whole=True, name=f"{a}/{b}")
        for transform in self.world.transforms if seen else ():
            transform.dress(spec)
            transform.dress_objects(spec, placed)
        factors.apply(factors.Setting(spec=spec, task=self.task, scenario=scenario, seen=seen, physics=physics))
        self._watch(spec, scenario)
        return self._compiled(spec) if seen else spec.compile()

    def _watch(self, spec: mujoco.MjSpec, scenario: Scenario) -> None:
        """Add what the events of an episode are judged by. Sensors take no part in physics."""
        for body in spec.worldbody.bodies:
            loose = any(int(joint.type) == FREE for joint in body.joints)
            if loose and body.name not in scenario.placements and body.name.partition("/")[0] not in self.robots:
                for pad in self.pads:  # put down by a factor
                    _add_touch(spec, pad, body.name, whole=False)
        bodies = [body.name for body in spec.bodies]
        roots = {name: root(bodies, name, self.robots) for name in self.robots}
        for name, own in roots.items():
            for part in self.furniture:
                _add_touch(spec, own, part, whole=part != "world", name=f"{name}/{part}", kind="hit")
            for other, its in roots.items():
                _add_touch(spec, own, its, whole=True, name=f"{name}/{other}", kind="clash")
            for group in self.robots[name].groups.values():
                for a, b in combinations(group.pads, 2):  # a gripper that closes does not hit itself
                    _add_touch(spec, f"{name}/{a}", f"{name}/{b}", whole=True, kind="fist")


ANYTHING = "*"
"""In a task's `touch`: whatever there is."""
ROBOT = 2
"""Contype of a robot's geoms: they touch the world and its objects (contype 1, MuJoCo's default), never the robot."""


def _add_stand(spec: mujoco.MjSpec, robot: str, mount: Mount) -> None:
    """A pedestal from the floor to the robot's foot, where there is room for one; only seen."""
    half = (mount.pos[2] - arena.FLOOR) / 2
    if not mount.stand or half <= 0.01:
        return
    turn = from_yaw(yaw(np.asarray(mount.quat)))
    back = rotate(turn, np.array([-0.03, 0.0, 0.0]))
    spec.worldbody.add_geom(
        name=f"{robot}/pedestal",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=[mount.pos[0] + back[0], mount.pos[1] + back[1], arena.FLOOR + half],
        quat=turn,
        size=[0.11, 0.10, half],
        rgba=[0.25, 0.26, 0.28, 1],
        contype=0,
        conaffinity=0,
        group=2,
    )


def root(bodies: Iterable[str], part: str, robots: Container[str]) -> str:
    """The body that everything of a part belongs to: of a robot, its first."""
    return next(name for name in bodies if name.startswith(f"{part}/")) if part in robots else part


def _check_units(spec: mujoco.MjSpec, name: str, made: Asset) -> None:
    """Raises UsageError where a joint of a fixture turns and is declared in m, or slides and is declared in rad."""
    for joint, declared in made.joints.items() if isinstance(made, Fixture) else ():
        if (built := spec.joint(f"{name}/{joint}")) is None:
            raise UsageError(f"asset {made.name!r}: `add` builds no joint {name}/{joint}, which `joints` lists")
        turns = int(built.type) == int(mujoco.mjtJoint.mjJNT_HINGE)
        if declared.unit != (unit := "rad" if turns else "m"):
            raise UsageError(
                f"asset {made.name!r}: joint {joint!r} {'turns' if turns else 'slides'}, and its unit is "
                f"{declared.unit!r}: declare Joint({declared.low:g}, {declared.high:g}, unit={unit!r})"
            )


def _bodies(spec: mujoco.MjSpec, name: str, made: Asset) -> list[str]:
    """Bodies of a fixture that can be held by themselves, such as a handle."""
    known = {body.name for body in spec.bodies} if isinstance(made, Fixture) else set()
    return [f"{name}/{part}" for part in (made.sites if isinstance(made, Fixture) else ()) if f"{name}/{part}" in known]


def _add_touch(
    spec: mujoco.MjSpec, part: str, other: str, whole: bool, name: str | None = None, kind: str = "touch"
) -> None:
    """A sensor of whether two bodies touch, with all that hangs on the first; `whole`: also on the second. The second
    may be `ANYTHING`."""
    body, tree = mujoco.mjtObj.mjOBJ_BODY, mujoco.mjtObj.mjOBJ_XBODY
    spec.add_sensor(
        name=f"{kind}/{name or f'{part}/{other}'}",
        type=mujoco.mjtSensor.mjSENS_CONTACT,
        objtype=tree,
        objname=part,
        **({} if other == ANYTHING else {"reftype": tree if whole else body, "refname": other}),
        intprm=[1 << int(mujoco.mjtConDataField.mjCONDATA_FOUND), 0, 1],
    )


def lens_of(model: mujoco.MjModel, camera: str, height: int, width: int) -> Intrinsics:
    """The lens of a camera of a model, for pictures of a size."""
    at = model.camera(camera).id
    across, up = model.cam_sensorsize[at]
    if not up > 0:
        return Intrinsics.of_fovy(float(model.cam_fovy[at]), height, width)
    fx, fy, x, y = (model.cam_intrinsic[at] / [across, up, across, up] * [width, height, width, height]).tolist()
    return Intrinsics(fx=fx, fy=fy, cx=width / 2 - x, cy=height / 2 - y, width=width, height=height)


# sizes that say nothing of MjData's layout: they may differ between the models of one batch
_FREE = (
    "nmesh",
    "ntex",
    "nmat",
    "nname",
    "npath",
    "nkey",
    "nnumeric",
    "ntuple",
    "nhfield",
    "nskin",
    "nuser_",
)
_FREE_EXACT = {"ngravcomp", "nexclude", "npair", "nbuffer"}


_SIZES: list[str] = []


def signature(model: mujoco.MjModel) -> tuple[tuple[str, int], ...]:
    """The sizes that decide MjData's layout: models with equal signatures can share a batch."""
    if not _SIZES:
        fields = (n for n in dir(model) if n.startswith("n") and not n.startswith(_FREE) and n not in _FREE_EXACT)
        _SIZES.extend(name for name in fields if isinstance(getattr(model, name), int))
    return tuple((name, getattr(model, name)) for name in _SIZES)
