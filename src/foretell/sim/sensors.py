"""Sensors: a feature's value as the world shows it, with the age and noise that θ and factors give it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.errors import UsageError, suggest
from foretell.robots.kinematics import Kinematics
from foretell.rotation import from_axis_angle, multiply, rotate
from foretell.sim.layout import Layout
from foretell.sim.noise import Noise
from foretell.sim.scene import Scene
from foretell.sim.state import Rows
from foretell.spec import Feature

__all__ = ["Sensors"]

READABLE = ("joint", "scalar", "position", "orientation", "rays")
"""Kinds of features that are no pictures and that MuJoCo's models have."""
SOURCES = (
    "`source` names joints of the part (joint, scalar), one of its sites or bodies (position, orientation), or sensors "
    "of its model (scalar, rays)"
)


class Sensors:
    """Reads the features of a scene, but for its cameras."""

    def __init__(self, scene: Scene, noise: Noise, slots: int):
        self.scene, self.noise = scene, noise
        theta, physics = scene.world.theta, scene.world.physics
        # with free play in the joints, encoders and hand disagree: the robot reports what its encoders say
        self._encoders = (
            {
                (name, key): Kinematics(robot, slots, key)
                for name, robot in scene.robots.items()
                for key, group in robot.groups.items()
                if group.tool
            }
            if physics.backlash or theta.sensor_delay
            else {}
        )

    def feature(self, name: str) -> Feature:
        """The feature that a stream asks for."""
        try:
            return self.scene.features[name]
        except KeyError:
            raise UsageError(f"stream {name!r} is not in this world; {suggest(name, self.scene.features)}") from None

    def read(self, layout: Layout, slots: Ints, name: str, sizes: Mapping[str, Floats]) -> Floats:
        """(n, ...) a feature as sensors show it now."""
        feature, part, theta = self.scene.features[name], self.scene.owner[name], self.scene.world.theta
        if feature.kind not in READABLE or not (feature.source or part in self.scene.placed):
            raise UsageError(
                f"feature {name!r}: kind {feature.kind!r} with source {list(feature.source)} cannot be read in MuJoCo: "
                f"{SOURCES}"
            )
        if feature.kind == "joint":
            at = self._at(layout.speed if feature.rate else layout.address, name)
            values = layout.sensed("qvel" if feature.rate else "qpos", slots)[:, at]
            return self.noise.blur(slots, name, feature, values, theta.joint_noise) if feature.noise else values
        if feature.kind == "scalar" and not feature.source:
            return Rows(layout=layout, slots=slots, sizes=sizes).size(part)[:, None]
        if feature.kind in ("scalar", "rays"):
            if feature.kind == "rays" or f"{part}/{feature.source[0]}" not in layout.address:
                return self._measured(layout, slots, name)
            at = self._at(layout.address, name)
            total: Floats = layout.sensed("qpos", slots)[:, at].sum(axis=1, keepdims=True)
            return total
        pos, quat = self._pose(layout, slots, part, feature)
        if not feature.noise:
            return pos if feature.kind == "position" else quat
        if feature.kind == "position":
            return self.noise.blur(slots, name, feature, pos, theta.pose_noise)
        quat = self.noise.blur(slots, name, feature, quat, 0.0)  # θ's noise turns it, so that it stays a rotation
        if theta.turn_noise > 0:
            turn = np.zeros((len(slots), 3))
            turn[:, 2:] = theta.turn_noise * self.noise.normal(slots, f"sensor/{name}", 1)
            quat = multiply(from_axis_angle(turn), quat)
        return quat

    def _at(self, known: Mapping[str, int], name: str) -> Ints:
        """Where the sources of a feature are."""
        feature, part = self.scene.features[name], self.scene.owner[name]
        wanted = [f"{part}/{source}" for source in feature.source]
        if missing := next((source for source in wanted if source not in known), None):
            raise UsageError(f"feature {name!r}: source {missing!r} is not in the model; {SOURCES}")
        return np.array([known[source] for source in wanted])

    def _measured(self, layout: Layout, slots: Ints, name: str) -> np.ndarray:
        """(n, shape) what sensors of the model measure."""
        feature = self.scene.features[name]
        self._at({sensor: where.start for sensor, where in layout.sensors.items()}, name)
        own = [layout.sensors[f"{self.scene.owner[name]}/{source}"] for source in feature.source]
        at = np.concatenate([np.arange(where.start, where.stop) for where in own])
        if len(at) != int(np.prod(feature.shape)):
            raise UsageError(
                f"feature {name!r}: its sensors {list(feature.source)} give {len(at)} numbers, and its shape is "
                f"{feature.shape}"
            )
        values: Floats = layout.sensed_data(slots)[:, at].reshape(-1, *feature.shape).astype(feature.dtype)
        return values

    def _pose(self, layout: Layout, slots: Ints, part: str, feature: Feature) -> tuple[Floats, Floats]:
        """Measured position and orientation in the task frame."""
        if part in self.scene.robots and self._is_tool(part, feature):
            return self._tool(layout, slots, part, feature)
        if feature.source:  # a body or site of a fixture or robot
            name = f"{part}/{feature.source[0]}"
            if name not in layout.bodies and name not in layout.sites:
                raise UsageError(f"feature of {part!r}: source {name!r} is not in the model; {SOURCES}")
            if layout.delay:
                return layout.sensed_pose(slots, name)
            state = Rows(layout=layout, slots=slots, sizes={})
            return state.pos(name), state.quat(name)
        if layout.delay and part in layout.free:
            at = layout.free[part]
            pos, quat = np.split(layout.sensed("qpos", slots)[:, at : at + 7], [3], axis=1)
            return pos, quat
        return layout.xpos[slots, layout.bodies[part]], layout.xquat[slots, layout.bodies[part]]

    def _is_tool(self, robot: str, feature: Feature) -> bool:
        group = self.scene.robots[robot].groups.get(feature.group or "")
        return group is not None and feature.source == (group.tool,)

    def _tool(self, layout: Layout, slots: Ints, part: str, feature: Feature) -> tuple[Floats, Floats]:
        assert feature.group is not None
        if not self._encoders:
            site = layout.sites[f"{part}/{feature.source[0]}"]
            return layout.site_xpos[slots, site], layout.xquat[slots, int(layout.model.site_bodyid[site])]
        key = part, feature.group
        chain, sensed = self._encoders[key], layout.sensed("qpos", slots)
        if chain.carriers:
            chain.carry(slots, sensed[:, [layout.address[f"{part}/{joint}"] for joint in chain.carriers]])
        pos, quat = chain.forward(slots, sensed[:, layout.joints[key]])
        mount = self.scene.task.robots[part]
        base = np.broadcast_to(np.asarray(mount.quat), quat.shape)
        return np.asarray(mount.pos) + rotate(base, pos), multiply(base, quat)
