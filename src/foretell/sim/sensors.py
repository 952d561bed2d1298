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
        if feature.kind == "joint":
            where = layout.speed if feature.rate else layout.address
            at = np.array([where[f"{part}/{joint}"] for joint in feature.source])
            values = layout.sensed("qvel" if feature.rate else "qpos", slots)[:, at]
            return self.noise.blur(slots, name, feature, values, theta.joint_noise) if feature.noise else values
        if feature.kind == "scalar":
            if not feature.source:  # the size of a part
                return Rows(layout=layout, slots=slots, sizes=sizes).size(part)[:, None]
            at = np.array([layout.address[f"{part}/{joint}"] for joint in feature.source])
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

    def _pose(self, layout: Layout, slots: Ints, part: str, feature: Feature) -> tuple[Floats, Floats]:
        """Measured position and orientation in the task frame."""
        if part in self.scene.robots:
            return self._tool(layout, slots, part, feature)
        if feature.source:  # a body or site of a fixture
            name = f"{part}/{feature.source[0]}"
            if layout.delay:
                return layout.sensed_pose(slots, name)
            state = Rows(layout=layout, slots=slots, sizes={})
            return state.pos(name), state.quat(name)
        if layout.delay and part in layout.free:
            at = layout.free[part]
            pos, quat = np.split(layout.sensed("qpos", slots)[:, at : at + 7], [3], axis=1)
            return pos, quat
        return layout.xpos[slots, layout.bodies[part]], layout.xquat[slots, layout.bodies[part]]

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
