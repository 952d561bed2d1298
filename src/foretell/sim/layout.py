"""A layout: the slots whose models give MjData one shape, stepped together by one `mujoco.batch.Batch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError

from foretell.arrays import Floats, Ints
from foretell.errors import UsageError
from foretell.robots import Group
from foretell.robots.controller import Controller
from foretell.rotation import from_matrix
from foretell.sim.coriolis import Coriolis
from foretell.sim.scene import Scene
from foretell.sim.timers import stop_timers
from foretell.tasks.events import EventCounter

__all__ = ["Layout", "forget"]

FATAL = {
    int(mujoco.mjtWarning.mjWARN_CONTACTFULL): "more contacts than the model has room for",
    int(mujoco.mjtWarning.mjWARN_CNSTRFULL): "more constraints than the model has room for",
    int(mujoco.mjtWarning.mjWARN_BADQPOS): "position became NaN or huge",
    int(mujoco.mjtWarning.mjWARN_BADQVEL): "velocity became NaN or huge",
    int(mujoco.mjtWarning.mjWARN_BADQACC): "acceleration became NaN or huge",
    int(mujoco.mjtWarning.mjWARN_BADCTRL): "control became NaN",
}
KEPT = 16
"""Layouts of a world that are kept, besides those with an episode."""
FREE, JOINT = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtTrn.mjTRN_JOINT)
TARGETS, FORCES = int(mujoco.mjtState.mjSTATE_CTRL), int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)


class Layout:
    """One batch with as many rows as the world has slots; row i belongs to slot i while its scenario fits here."""

    # views of the batch, with a row for each slot; names and shapes are those of MjData
    qpos: Floats
    qvel: Floats
    ctrl: Floats
    xpos: Floats
    xquat: Floats
    site_xpos: Floats
    site_xmat: Floats
    cam_xpos: Floats
    cam_xmat: Floats
    cvel: Floats
    subtree_com: Floats
    sensordata: Floats

    def __init__(self, model: mujoco.MjModel, *, slots: int, threads: int, scene: Scene, delay: int = 0):
        stop_timers()
        if mujoco.get_mju_user_warning() is None:
            # the reason goes into the row; MuJoCo would also write MUJOCO_LOG.TXT into the user's folder
            mujoco.set_mju_user_warning(lambda message: None)
        self.model, self.scene = model, scene
        self.models = [model] * slots
        # what sleeps is known to MjData alone, so that every slot keeps its own
        asleep = bool(model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_SLEEP)
        self.batch = Batch(model, nsim=slots, nthread=threads, persistent=asleep)
        bind = self.batch.bind
        self.qpos, self.qvel, self.ctrl = bind("qpos"), bind("qvel"), bind("ctrl")
        self.xpos, self.xquat = bind("xpos"), bind("xquat")
        self.site_xpos, self.site_xmat = bind("site_xpos"), bind("site_xmat")
        self.cam_xpos, self.cam_xmat = bind("cam_xpos"), bind("cam_xmat")
        self.cvel, self.subtree_com = bind("cvel"), bind("subtree_com")
        self.sensordata = bind("sensordata")
        self.start_xpos, self.start_xquat = np.array(self.xpos), np.array(self.xquat)  # when the episode began
        # what sensors show: the state some ticks ago
        self.delay = delay
        self._past = {"qpos": np.zeros((slots, delay + 1, model.nq)), "qvel": np.zeros((slots, delay + 1, model.nv))}
        self.bodies = {model.body(i).name: i for i in range(model.nbody)}
        self.sites = {model.site(i).name: i for i in range(model.nsite)}
        self.cameras = {model.camera(i).name: i for i in range(model.ncam)}
        self.address = {model.joint(i).name: int(model.jnt_qposadr[i]) for i in range(model.njnt)}
        self.speed = {model.joint(i).name: int(model.jnt_dofadr[i]) for i in range(model.njnt)}
        loose = [
            (i, model.body(int(model.jnt_bodyid[i])).name) for i in np.flatnonzero(model.jnt_type == FREE).tolist()
        ]
        # bodies that move freely -> where their position and their velocity begin
        self.free = {name: int(model.jnt_qposadr[i]) for i, name in loose}
        self.free_speed = {name: int(model.jnt_dofadr[i]) for i, name in loose}
        self.touch = _contacts(model, "touch")
        ends = model.sensor_adr + model.sensor_dim
        self.sensors = {
            model.sensor(i).name: slice(int(model.sensor_adr[i]), int(ends[i])) for i in range(model.nsensor)
        }
        self._watch(model, scene)
        groups = [(name, key, group) for name, robot in scene.robots.items() for key, group in robot.groups.items()]
        self.joints = {(n, k): np.array([self.address[f"{n}/{j}"] for j in g.joints]) for n, k, g in groups}
        self.speeds = {(n, k): np.array([self.speed[f"{n}/{j}"] for j in g.joints]) for n, k, g in groups}
        self.motors = {(n, k): np.array([model.actuator(f"{n}/{a}").id for a in g.motors]) for n, k, g in groups}
        # actuators that no target drives hold their joint where it starts; those that are no position servo rest
        servo = (model.actuator_trntype == JOINT) & (model.actuator_biasprm[:, 1] < 0)
        self.servos = np.flatnonzero(servo)
        self._gear = model.actuator_gear[self.servos, 0]
        self.held = np.array([int(model.jnt_qposadr[model.actuator_trnid[i, 0]]) for i in self.servos], dtype=int)
        self.hold = np.zeros((slots, model.nu))
        self._coriolis: Coriolis | None = None
        if (share := scene.world.physics.coriolis) > 0:
            own = [at for joint, at in self.speed.items() if joint.partition("/")[0] in scene.robots]
            self._coriolis = Coriolis(model, slots=slots, threads=threads, share=share, dofs=np.array(own, dtype=int))

    def _watch(self, model: mujoco.MjModel, scene: Scene) -> None:
        """Where that is which the events of an episode are judged by."""
        self.objects = tuple(name for name in self.free if name.partition("/")[0] not in scene.robots)
        self.object_bodies = np.array([self.bodies[name] for name in self.objects], dtype=int)
        furniture, robots, fists = (_contacts(model, kind) for kind in ("hit", "clash", "fist"))
        self.hits: dict[str, Ints] = {}
        self.clashes: dict[str, Ints] = {}
        self.fists: dict[str, Ints] = {}
        self.pads: dict[str, Ints] = {}
        self.grips: dict[str, tuple[Ints, Floats, float]] = {}
        self.tools: dict[str, int] = {}
        for name, robot in scene.robots.items():
            self.hits[name] = np.array([furniture[f"{name}/{part}"] for part in scene.furniture], dtype=int)
            self.clashes[name] = np.array([robots[f"{name}/{other}"] for other in scene.robots], dtype=int)
            parts = [*self.objects, *(part for part in scene.placed if part not in self.objects)]
            for key, group in robot.groups.items():
                if group.pads:
                    self._watch_grip(f"{name}/{key}", group, parts)
                    pairs = [f"{name}/{a}/{name}/{b}" for a, b in combinations(group.pads, 2)]
                    self.fists[f"{name}/{key}"] = np.array([fists[pair] for pair in pairs], dtype=int)
            if tools := [group.tool for group in robot.groups.values() if group.tool]:
                self.tools[name] = self.sites[f"{name}/{tools[0]}"]

    def _watch_grip(self, name: str, group: Group, parts: Sequence[str]) -> None:
        """A gripper, called `robot/group`."""
        robot = name.partition("/")[0]
        touches = [[self.touch[f"{robot}/{pad}/{part}"] for pad in group.pads] for part in parts]
        self.pads[name] = np.array(touches, dtype=int).reshape(len(parts), len(group.pads))
        # weights give the mean share of their ranges that the joints are open
        joints = [self.address[f"{robot}/{joint}"] for joint, *_ in group.spans]
        weights = [1 / (len(group.spans) * (wide - shut)) for _, shut, wide in group.spans]
        shut = sum(shut / (len(group.spans) * (wide - shut)) for _, shut, wide in group.spans)
        self.grips[name] = np.array(joints), np.array(weights), shut

    def gripper(self, name: str) -> str:
        """The gripper `robot/group` that is meant; a robot with one is called by its own name too."""
        known = [name] if name in self.grips else [grip for grip in self.grips if grip.startswith(f"{name}/")]
        if len(known) != 1:
            every = f"several grippers; name one of {', '.join(known)}" if known else "no gripper"
            raise UsageError(f"{name!r} has {every}")
        return known[0]

    def counter(self) -> EventCounter:
        """What counts the events of episodes that run here."""
        task, groups = self.scene.task, {name: robot.groups.values() for name, robot in self.scene.robots.items()}
        return EventCounter(
            len(self.models),
            tick=self.scene.steps.tick,
            objects=self.objects,
            targets=[name for name, role in task.roles.items() if role == "MO"],
            robots=list(groups),
            arms=[name for name, own in groups.items() if any(group.tool for group in own)],
            grippers=list(self.grips),
            lowest=task.lowest,
        )

    def start(self, slots: Ints, names: list[str], values: Floats) -> None:
        """Put joints (by full name) of some slots at values (n, joints), at rest."""
        self.qpos[slots[:, None], np.array([self.address[name] for name in names])] = values
        self.qvel[slots[:, None], np.array([self.speed[name] for name in names])] = 0.0

    def settle(self, slots: Ints) -> None:
        """The start is complete: actuators hold it."""
        self.hold[slots] = 0.0
        self.hold[slots[:, None], self.servos] = self._gear * self.qpos[slots[:, None], self.held]
        for (name, key), motors in self.motors.items():
            group = self.scene.robots[name].groups[key]
            measured = group.measured(self.qpos[slots[:, None], self.joints[name, key]])
            self.hold[slots[:, None], motors] = measured
        self.ctrl[slots] = self.hold[slots]

    def measured(self, slots: Ints, key: tuple[str, str]) -> tuple[Floats, Floats]:
        """(n, width) positions and velocities of a group (robot, group), as targets have them."""
        group, rows = self.scene.robots[key[0]].groups[key[1]], slots[:, None]
        return group.measured(self.qpos[rows, self.joints[key]]), group.measured(self.qvel[rows, self.speeds[key]])

    def load(self, slots: Ints, models: list[mujoco.MjModel]) -> None:
        """Give slots new models and put them at their start."""
        for slot, model in zip(slots, models, strict=True):
            self.models[slot] = model
        self.batch.set_models(self.models)
        self.batch.reset(slots, stage=mujoco.mjtStage.mjSTAGE_NONE)
        if self._coriolis is not None:
            self._coriolis.load(slots, models)

    def begin(self, slots: Ints) -> None:
        """An episode begins in the present state."""
        self.forward(slots)
        self.start_xpos[slots], self.start_xquat[slots] = self.xpos[slots], self.xquat[slots]

    def forward(self, slots: Ints) -> None:
        """Make poses, velocities and contacts those of the present state."""
        self.batch.forward(slots, stage=mujoco.mjtStage.mjSTAGE_VEL)
        if self.delay:
            for field, past in self._past.items():
                past[slots] = getattr(self, field)[slots][:, None]

    def sensed(self, field: str, slots: Ints) -> Floats:
        """(n, ...) `qpos` or `qvel` as sensors show them now."""
        values: Floats = self._past[field][slots, 0] if self.delay else getattr(self, field)[slots]
        return values

    def sensed_pose(self, slots: Ints, name: str) -> tuple[Floats, Floats]:
        """Position (n, 3) and orientation (n, 4) of a body or site as sensors show them now."""
        pos, quat = np.empty((len(slots), 3)), np.empty((len(slots), 4))
        for row, (slot, qpos) in enumerate(zip(slots.tolist(), self.sensed("qpos", slots), strict=True)):
            data = mujoco.MjData(self.models[slot])
            data.qpos[:] = qpos
            mujoco.mj_kinematics(self.models[slot], data)
            if name in self.bodies:
                pos[row], quat[row] = data.xpos[self.bodies[name]], data.xquat[self.bodies[name]]
            else:
                site = self.sites[name]
                pos[row], quat[row] = data.site_xpos[site], from_matrix(data.site_xmat[site].reshape(3, 3))
        return pos, quat

    def sensed_data(self, slots: Ints) -> Floats:
        """(n, nsensordata) what the sensors of the model show now."""
        if not self.delay:
            present: Floats = self.sensordata[slots]
            return present
        past = np.empty((len(slots), self.model.nsensordata))
        sensed = zip(slots.tolist(), self.sensed("qpos", slots), self.sensed("qvel", slots), strict=True)
        for row, (slot, qpos, qvel) in enumerate(sensed):
            data = mujoco.MjData(self.models[slot])
            data.qpos[:], data.qvel[:] = qpos, qvel
            mujoco.mj_forward(self.models[slot], data)
            past[row] = data.sensordata
        return past

    def plan(self, slots: Ints, moving: Mapping[tuple[str, str], Controller], ticks: Ints) -> None:
        """Controllers were commanded, for so many ticks (n,)."""
        if self._coriolis is not None:
            targets = np.repeat(self.hold[slots][:, None], int(np.max(ticks)), axis=1)
            for key, controller in moving.items():
                targets[:, :, self.motors[key]] = controller.ahead(slots, targets.shape[1])
            self._coriolis.plan(slots, self.qpos[slots], self.qvel[slots], targets)

    def advance(self, slots: Ints, targets: Floats) -> dict[int, str]:
        """Run physics under actuator targets (n, ticks, nu). Returns slot -> reason for those that failed."""
        failed: dict[int, str] = {}
        ticks = targets.shape[1]
        # arrays of our own: what neighbours of a slot that fails have seen is kept
        seen = {f: np.zeros((len(slots), ticks, past.shape[2])) for f, past in self._past.items()} if self.delay else {}
        inputs = TARGETS
        if self._coriolis is not None:
            forces = self._coriolis.coming(slots, ticks, self.model.nv)
            targets, inputs = np.concatenate([targets, forces], axis=2), TARGETS | FORCES
        try:
            self.batch.rollout(ticks, targets, inputs, record=tuple(seen), ids=slots, out=seen or None)
        except SimulationError as error:
            failed = {int(i): str(self.batch.error(int(i))) for i in error.ids}
        for field, fresh in seen.items():
            line = np.concatenate([self._past[field][slots], fresh], axis=1)
            self._past[field][slots] = line[:, -self.delay - 1 :]
        self.batch.forward(slots, stage=mujoco.mjtStage.mjSTAGE_VEL)
        warned = self.batch.warning[slots][:, list(FATAL), 1] > 0
        for row in np.flatnonzero(warned.any(axis=1)):
            reason = FATAL[list(FATAL)[int(np.argmax(warned[row]))]]
            failed.setdefault(int(slots[row]), reason)
        return failed


def forget(layouts: dict[Any, Layout], events: dict[int, EventCounter], used: Sequence[Layout | None]) -> None:
    """Give the memory of old layouts back: with imported objects, each object may have a layout of its own. events: by
    id of the layout. used: those with an episode."""
    for sizes, layout in list(layouts.items()):
        if len(layouts) <= KEPT:
            return
        if all(layout is not other for other in used):
            del layouts[sizes], events[id(layout)]


def _contacts(model: mujoco.MjModel, kind: str) -> dict[str, int]:
    """Sensors of a kind (see `Scene`): what touches what -> the address of the answer."""
    names = {i: model.sensor(i).name.partition("/") for i in range(model.nsensor)}
    return {rest: int(model.sensor_adr[i]) for i, (first, _, rest) in names.items() if first == kind}
