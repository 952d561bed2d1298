"""A layout: the slots whose models give MjData one shape, stepped together by one `mujoco.batch.Batch`."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError

from foretell.sim.scene import Scene

__all__ = ["Layout", "Rows"]

FATAL = {
    int(mujoco.mjtWarning.mjWARN_CONTACTFULL): "more contacts than the model has room for",
    int(mujoco.mjtWarning.mjWARN_CNSTRFULL): "more constraints than the model has room for",
    int(mujoco.mjtWarning.mjWARN_BADQPOS): "position became NaN or huge",
    int(mujoco.mjtWarning.mjWARN_BADQVEL): "velocity became NaN or huge",
    int(mujoco.mjtWarning.mjWARN_BADQACC): "acceleration became NaN or huge",
    int(mujoco.mjtWarning.mjWARN_BADCTRL): "control became NaN",
}


class Layout:
    """One batch with as many rows as the world has slots; row i belongs to slot i while its scenario fits here."""

    def __init__(self, model: mujoco.MjModel, slots: int, threads: int, scene: Scene, delay: int = 0):
        if mujoco.get_mju_user_warning() is None:
            # the reason goes into the row; MuJoCo would also write MUJOCO_LOG.TXT into the user's folder
            mujoco.set_mju_user_warning(lambda message: None)
        self.model, self.scene = model, scene
        self.models = [model] * slots
        self.batch = Batch(model, nsim=slots, nthread=threads)
        bind = self.batch.bind
        self.qpos, self.qvel, self.ctrl = bind("qpos"), bind("qvel"), bind("ctrl")
        self.xpos, self.xquat = bind("xpos"), bind("xquat")
        self.site_xpos = bind("site_xpos")
        self.sensordata = bind("sensordata")
        # what sensors show: the state some ticks ago
        self.delay = delay
        self._past = {"qpos": np.zeros((slots, delay + 1, model.nq)), "qvel": np.zeros((slots, delay + 1, model.nv))}
        self.free = {
            model.body(model.jnt_bodyid[j]).name: int(model.jnt_qposadr[j])
            for j in range(model.njnt)
            if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE
        }
        self.bodies = {model.body(i).name: i for i in range(model.nbody)}
        self.ee = {name: model.site(f"{name}/ee").id for name in scene.robots}
        self.hand = {name: int(model.site_bodyid[site]) for name, site in self.ee.items()}
        self.arm, self.arm_speed, self.finger, self.actuators = {}, {}, {}, {}
        self.touch: dict[tuple[str, str], np.ndarray] = {}
        for name, robot in scene.robots.items():
            joints = [model.joint(f"{name}/{joint}") for joint in robot.joints]
            self.arm[name] = np.array([j.qposadr[0] for j in joints])
            self.arm_speed[name] = np.array([j.dofadr[0] for j in joints])
            self.finger[name] = np.array([model.joint(f"{name}/{f}").qposadr[0] for f in robot.fingers])
            self.actuators[name] = np.array([model.actuator(f"{name}/{a}").id for a in (*robot.joints, "gripper")])
            for i in range(model.nsensor):
                kind, _, rest = model.sensor(i).name.partition(f"/{name}/")
                if kind == "touch" and rest:
                    obj = rest.partition("/")[2]
                    known = self.touch.get((name, obj), np.empty(0, dtype=int))
                    self.touch[name, obj] = np.append(known, model.sensor_adr[i])

    def load(self, slots: np.ndarray, models: list[mujoco.MjModel]) -> None:
        """Give slots new models and put them at their start."""
        for slot, model in zip(slots, models, strict=True):
            self.models[slot] = model
        self.batch.set_models(self.models)
        self.batch.reset(slots, stage=mujoco.mjtStage.mjSTAGE_NONE)

    def forward(self, slots: np.ndarray) -> None:
        """Make poses, velocities and contacts those of the present state."""
        self.batch.forward(slots, stage=mujoco.mjtStage.mjSTAGE_VEL)
        if self.delay:
            for field, past in self._past.items():
                past[slots] = getattr(self, field)[slots][:, None]

    def sensed(self, field: str, slots: np.ndarray) -> np.ndarray:
        """(n, ...) `qpos` or `qvel` as sensors show them now."""
        return self._past[field][slots, 0] if self.delay else getattr(self, field)[slots]

    def advance(self, slots: np.ndarray, targets: np.ndarray) -> dict[int, str]:
        """Run physics under actuator targets (n, ticks, nu). Returns slot -> reason for those that failed."""
        failed: dict[int, str] = {}
        ticks = targets.shape[1]
        # arrays of our own: what neighbours of a slot that fails have seen is kept
        seen = {f: np.zeros((len(slots), ticks, past.shape[2])) for f, past in self._past.items()} if self.delay else {}
        try:
            self.batch.rollout(ticks, targets, record=tuple(seen), ids=slots, out=seen or None)
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


class Rows:
    """The true state of some slots of a layout: what tasks look at (`tasks.State`)."""

    def __init__(self, layout: Layout, slots: np.ndarray, sizes: Mapping[str, np.ndarray]):
        self._layout, self._slots, self._sizes = layout, slots, sizes

    def pos(self, name: str) -> np.ndarray:
        return self._layout.xpos[self._slots, self._layout.bodies[name]]

    def quat(self, name: str) -> np.ndarray:
        return self._layout.xquat[self._slots, self._layout.bodies[name]]

    def ee_pos(self, robot: str) -> np.ndarray:
        return self._layout.site_xpos[self._slots, self._layout.ee[robot]]

    def holding(self, robot: str, name: str) -> np.ndarray:
        found = self._layout.sensordata[self._slots[:, None], self._layout.touch[robot, name]]
        return (found > 0).all(axis=1)

    def size(self, name: str) -> np.ndarray:
        known = self._sizes.get(name)  # of objects that have a role, and so may be resized
        return np.ones(len(self._slots)) if known is None else known[self._slots]
