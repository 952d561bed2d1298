"""Scenes: a task's furniture, its robots, and the objects of one scenario, composed with MjSpec and compiled."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from foretell import factors
from foretell.objects import ObjectPhysics, arena, asset
from foretell.registry import resolve
from foretell.rotation import from_axis_angle, from_matrix, multiply
from foretell.scenario import Scenario
from foretell.seeding import generator
from foretell.sim.params import WorldFile
from foretell.tasks.task import Camera, Task

__all__ = ["Scene", "signature"]

INTEGRATORS = {
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
    "euler": mujoco.mjtIntegrator.mjINT_EULER,
    "rk4": mujoco.mjtIntegrator.mjINT_RK4,
}
CONES = {"elliptic": mujoco.mjtCone.mjCONE_ELLIPTIC, "pyramidal": mujoco.mjtCone.mjCONE_PYRAMIDAL}


class Scene:
    """What all scenarios of one task in one world have in common; `compile` adds the rest."""

    def __init__(self, task: Task, world: WorldFile):
        self.task, self.world = task, world
        self.robots: dict[str, Any] = {
            name: resolve("robots", mount.robot)(world.arm()) for name, mount in task.robots.items()
        }
        self._spec = self._base(visuals=False)
        self._dressed: mujoco.MjSpec | None = None

    def _base(self, visuals: bool) -> mujoco.MjSpec:
        physics = self.world.physics
        spec = mujoco.MjSpec()
        spec.modelname = self.task.name
        spec.option.timestep = physics.timestep
        spec.option.integrator = INTEGRATORS[physics.integrator]
        spec.option.cone = CONES[physics.cone]
        spec.option.impratio = physics.impratio
        spec.default.geom.solref = [physics.contact_time, 1.0]
        spec.visual.map.znear = 0.005
        spec.visual.quality.shadowsize = max(self.world.theta.shadows, 1)
        spec.visual.quality.offsamples = self.world.theta.samples
        self.task.build(spec)
        for name, robot in self.robots.items():
            mount = self.task.robots[name]
            frame = spec.worldbody.add_frame(pos=list(mount.pos), quat=list(mount.quat))
            spec.attach(robot.spec(visuals), frame=frame, prefix=f"{name}/")
            half = (mount.pos[2] - arena.FLOOR) / 2
            spec.worldbody.add_geom(
                name=f"{name}/pedestal",
                type=mujoco.mjtGeom.mjGEOM_BOX,
                pos=[mount.pos[0] - 0.03, mount.pos[1], arena.FLOOR + half],
                size=[0.11, 0.10, half],
                rgba=[0.25, 0.26, 0.28, 1],
                contype=0,
                conaffinity=0,
                group=2,
            )
        for name, camera in self.task.cameras.items():
            spec.worldbody.add_camera(name=name, pos=camera.pos, quat=look_at(camera), fovy=camera.fovy)
        return spec

    @property
    def cameras(self) -> list[str]:
        """Names of all cameras: the task's, then those the robots carry."""
        return [c.name for c in self._spec.cameras]

    def compile(self, scenario: Scenario, trial: int) -> mujoco.MjModel:
        """The model of one scenario, bare: the shells of the robots cost 8 ms to compile and carry no physics.
        The trial matters only where the world puts objects down inexactly."""
        return self._compose(self._spec.copy(), scenario, trial, self.world.objects(), seen=False)

    def dress(self, scenario: Scenario, trial: int) -> mujoco.MjModel:
        """The model to draw: the same joints in the same order, with the robots' shells on."""
        if self._dressed is None:
            self._dressed = self._base(visuals=True)
        return self._compose(self._dressed.copy(), scenario, trial, ObjectPhysics(), seen=True)

    def _compose(
        self, spec: mujoco.MjSpec, scenario: Scenario, trial: int, physics: ObjectPhysics, seen: bool
    ) -> mujoco.MjModel:
        spread = self.world.physics.placement_noise
        slip = generator(scenario.base, trial, "placement") if spread > 0 else None
        for name, placement in factors.place(scenario, self.task).items():
            pos, quat = np.array(placement.pos), np.array(placement.quat)
            if slip is not None:
                pos[:2] += spread * slip.standard_normal(2)
                turn = 5.0 * spread * slip.standard_normal()  # 2 mm of slip goes with about half a degree
                quat = multiply(from_axis_angle(np.array([0.0, 0.0, turn])), quat)
            body = spec.worldbody.add_body(name=name, pos=pos, quat=quat)
            body.add_freejoint(name=f"{name}/free")
            asset(placement.asset).add(spec, body, np.array(placement.scale), physics)
            for robot_name, robot in self.robots.items():
                for finger in robot.fingers:
                    spec.add_sensor(
                        name=f"touch/{robot_name}/{finger}/{name}",
                        type=mujoco.mjtSensor.mjSENS_CONTACT,
                        objtype=mujoco.mjtObj.mjOBJ_BODY,
                        objname=f"{robot_name}/{finger}",
                        reftype=mujoco.mjtObj.mjOBJ_BODY,
                        refname=name,
                        intprm=[1 << int(mujoco.mjtConDataField.mjCONDATA_FOUND), 0, 1],
                    )
        factors.apply(factors.Setting(spec, self.task, scenario, seen, physics))
        return spec.compile()


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


def look_at(camera: Camera) -> np.ndarray:
    """Quaternion of a camera that looks at its target with the horizon level (it looks along its own -z)."""
    back = np.asarray(camera.pos, dtype=float) - np.asarray(camera.target, dtype=float)
    back /= np.linalg.norm(back)
    right = np.cross([0.0, 0.0, 1.0], back)
    if np.linalg.norm(right) < 1e-9:  # straight down: let the image's top point away from the robot
        right = np.array([0.0, -1.0, 0.0])
    right /= np.linalg.norm(right)
    return from_matrix(np.column_stack([right, np.cross(back, right), back]))
