"""The true state of some slots of a layout: what tasks look at (`tasks.State`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from foretell.arrays import Bools, Floats, Ints
from foretell.errors import UsageError, suggest
from foretell.objects import Round, asset
from foretell.rotation import from_matrix
from foretell.scenario import Scenario
from foretell.sim.layout import Layout
from foretell.sim.scene import root
from foretell.tasks.state import Volume, within

__all__ = ["Rows"]


class Rows:
    """Some slots of a layout, as a task's `State`."""

    def __init__(
        self,
        *,
        layout: Layout,
        slots: Ints,
        sizes: Mapping[str, Floats],
        subtask: Ints | None = None,
        memory: Floats | None = None,
        assets: Mapping[str, Sequence[str]] | None = None,
        scenarios: Sequence[Scenario | None] = (),
    ):
        self._layout, self._slots, self._sizes = layout, slots, sizes
        self._subtask, self._memory, self._assets = subtask, memory, assets or {}
        self._scenarios = scenarios

    @property
    def subtask(self) -> Ints:
        return np.zeros(len(self._slots), dtype=int) if self._subtask is None else self._subtask[self._slots]

    @property
    def memory(self) -> Floats:
        memory: Floats = np.zeros((len(self._slots), 0)) if self._memory is None else self._memory[self._slots]
        return memory

    @property
    def instruction(self) -> list[str]:
        return [s.instruction if (s := self._scenarios[slot]) else "" for slot in self._slots.tolist()]

    def pos(self, name: str) -> Floats:
        layout = self._layout
        kind, at = self._find(name)
        where = {"body": layout.xpos, "site": layout.site_xpos, "camera": layout.cam_xpos}[kind]
        pos: Floats = where[self._slots, at]
        return pos

    def quat(self, name: str) -> Floats:
        layout = self._layout
        kind, at = self._find(name)
        if kind == "body":
            quat: Floats = layout.xquat[self._slots, at]
            return quat
        turned = layout.site_xmat if kind == "site" else layout.cam_xmat
        return from_matrix(turned[self._slots, at].reshape(-1, 3, 3))

    def _find(self, name: str) -> tuple[str, int]:
        """Which body, site or camera a part is; a robot is where its foot is."""
        layout = self._layout
        name = root(layout.bodies, name, layout.scene.robots)
        for kind, known in (("body", layout.bodies), ("site", layout.sites), ("camera", layout.cameras)):
            if name in known:
                return kind, known[name]
        every = [*layout.bodies, *layout.sites, *layout.cameras]
        raise UsageError(f"the scene has no part {name!r}; {suggest(name, every)}")

    def start_pos(self, name: str) -> Floats:
        start: Floats = self._layout.start_xpos[self._slots, self._body(name)]
        return start

    def start_quat(self, name: str) -> Floats:
        start: Floats = self._layout.start_xquat[self._slots, self._body(name)]
        return start

    def _body(self, name: str) -> int:
        kind, at = self._find(name)
        if kind != "body":
            raise UsageError(f"{name!r} is a {kind}; only the start of bodies is known")
        return at

    def joint(self, name: str) -> Floats:
        try:
            position: Floats = self._layout.qpos[self._slots, self._layout.address[name]]
            return position
        except KeyError:
            raise UsageError(f"the scene has no joint {name!r}; {suggest(name, self._layout.address)}") from None

    def speed(self, name: str) -> Floats:
        layout, slots = self._layout, self._slots
        at = layout.free_speed.get(name)
        if at is not None:
            free: Floats = np.linalg.norm(layout.qvel[slots, at : at + 3], axis=1)
            return free
        kind, at = self._find(name)
        fixed = {"site": layout.model.site_bodyid, "camera": layout.model.cam_bodyid}
        body = int(fixed[kind][at]) if kind in fixed else at
        # MuJoCo has the velocity of the point of the body that is now at the centre of mass of its whole tree
        offset = self.pos(name) - layout.subtree_com[slots, int(layout.model.body_rootid[body])]
        turning, moving = np.split(layout.cvel[slots, body], 2, axis=1)
        speed: Floats = np.linalg.norm(moving + np.cross(turning, offset), axis=1)
        return speed

    def touching(self, a: str, b: str) -> Bools:
        touches: Bools = self.contacts(a, b) > 0
        return touches

    def contacts(self, a: str, b: str) -> Ints:
        touch = self._layout.touch
        at = touch.get(f"{a}/{b}", touch.get(f"{b}/{a}"))
        if at is None:
            raise UsageError(f"nothing senses whether {a!r} touches {b!r}: add the pair to the task's `touch`")
        points: Ints = self._layout.sensordata[self._slots, at].astype(np.int64)
        return points

    def inside(self, name: str, volume: Volume) -> Bools:
        return within(self, name, volume)

    def ee_pos(self, robot: str) -> Floats:
        try:
            tip: Floats = self._layout.site_xpos[self._slots, self._layout.tools[robot]]
            return tip
        except KeyError:
            raise UsageError(f"robot {robot!r} has no group with a tool") from None

    def holding(self, robot: str, name: str) -> Bools:
        touch = self._layout.touch
        made = self._layout.scene.robots[robot]
        grips = [[f"{robot}/{pad}" for pad in group.pads] for group in made.groups.values() if group.pads]
        pads = [pad for grip in grips for pad in grip]
        if not pads or f"{pads[0]}/{name}" not in touch:
            known = [k.removeprefix(f"{pads[0]}/") for k in touch if k.startswith(f"{pads[0]}/")] if pads else []
            raise UsageError(f"{robot!r} cannot hold {name!r}; {suggest(name, known)}")
        held = np.zeros(len(self._slots), dtype=bool)
        for grip in grips:
            at = np.array([touch[f"{pad}/{name}"] for pad in grip])
            held |= (self._layout.sensordata[self._slots[:, None], at] > 0).all(axis=1)
        return held

    @property
    def objects(self) -> tuple[str, ...]:
        return self._layout.objects

    def object_pos(self) -> Floats:
        pos: Floats = self._layout.xpos[self._slots[:, None], self._layout.object_bodies]
        return pos

    def object_quat(self) -> Floats:
        quat: Floats = self._layout.xquat[self._slots[:, None], self._layout.object_bodies]
        return quat

    def object_rolls(self) -> list[list[str]]:
        unknown = [""] * (int(self._slots.max(initial=0)) + 1)  # what a factor or the task itself puts down
        names = [self._assets.get(name, unknown) for name in self._layout.objects]
        return [[_about(own[slot]) for own in names] for slot in self._slots.tolist()]

    def pads(self, robot: str) -> Bools:
        return self._layout.sensordata[self._slots[:, None, None], self._layout.pads[self._layout.gripper(robot)]] > 0

    def opening(self, robot: str) -> Floats:
        at, weight, shut = self._layout.grips[self._layout.gripper(robot)]
        opened: Floats = self._layout.qpos[self._slots[:, None], at] @ weight - shut
        return opened

    def clenched(self, robot: str) -> Bools:
        fist: Bools = self._points(self._layout.fists[self._layout.gripper(robot)]) > 0
        return fist

    def hits(self, robot: str) -> Bools:
        touches = self._layout.sensordata[self._slots[:, None], self._layout.hits[robot]] > 0
        hitting: Bools = np.logical_or.reduce(touches, axis=1)
        return hitting

    def clashes(self, robot: str) -> Bools:
        points = self._points(self._layout.clashes[robot])
        for grip, at in self._layout.fists.items():
            if grip.partition("/")[0] == robot:
                points = points - self._points(at)
        clashing: Bools = points > 0
        return clashing

    def _points(self, sensors: Ints) -> Floats:
        """(n,) points at which any of these sensors sees a touch."""
        points: Floats = self._layout.sensordata[self._slots[:, None], sensors].sum(axis=1)
        return points

    def size(self, name: str) -> Floats:
        known = self._sizes.get(name)  # of objects that have a role, and so may be resized
        return np.ones(len(self._slots)) if known is None else known[self._slots]

    def asset(self, name: str) -> Sequence[str]:
        if name not in self._assets:
            raise UsageError(f"no scenario places {name!r}; {suggest(name, self._assets)}")
        return [self._assets[name][slot] for slot in self._slots.tolist()]


def _about(name: str) -> str:
    """What an asset of this name is round about."""
    return kind.about if name and isinstance(kind := asset(name), Round) else ""
