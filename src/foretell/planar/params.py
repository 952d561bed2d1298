"""What a planar world is made of: θ, which may be fitted, and its physics, which may not. Read from a world file."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from foretell.planar.actuation import Actuation, Spread
from foretell.world_file import WorldFile

__all__ = ["PlanarFile", "PlanarPhysics", "PlanarTheta"]

VERSION = 2
"""Raised whenever a change to the planar simulation could alter an outcome; part of every world's hash."""


class PlanarTheta(BaseModel):
    """θ: what this world believes."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    sliding: bool = False
    """Whether a robot that meets a wall slides along it. Otherwise it stops there."""
    actuation: Actuation = "locobot_ilqr"
    """Whose actuation noise the base has: robot and controller."""
    noise_multiplier: float = Field(default=0.0, ge=0, le=3)
    """Multiplies its means and spreads; 0: the base does exactly what it is told."""
    spread: Spread = "variance"
    """What the spreads of the table are. Habitat takes them for variances."""
    localisation: float = Field(default=0.0, ge=0, le=2)
    """How far the robot is from where it believes to be, root mean square in the long run, m: 0.07 for lidar SLAM,
    0.40 for odometry."""
    damage: float = Field(default=0.0, ge=0, lt=1)
    """Share of the walls (of their length) that the reconstruction of the room lacks."""
    depth_noise: float = Field(default=0.0, ge=0, le=1)
    """Standard deviation of depth at 1 m, m. It grows with the square of the distance."""
    lidar_noise: float = Field(default=0.0, ge=0, le=1)
    """Standard deviation of the lidar's distances, m."""


class PlanarPhysics(BaseModel):
    """How this world differs from others in ways that no θ can express."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    wander: float = Field(default=0.0, ge=0, le=0.5)
    """The base pulls to one side by so many rad per step ahead, root mean square, and keeps to that side for a while:
    errors of neighbouring actions go together."""
    slip: float = Field(default=0.0, ge=0, lt=1)
    """The share of actions in which the wheels slip."""
    slip_loss: float = Field(default=0.0, ge=0, le=1)
    """The share of such a motion that is lost, at most."""
    walls: float = Field(default=0.0, ge=0, le=0.2)
    """Obstacles stand so far from where the map has them, root mean square, m."""


class PlanarFile(WorldFile):
    """A planar world as a file. What is left out is the world `planar`'s."""

    kind: str = "planar"
    theta: PlanarTheta = PlanarTheta()
    physics: PlanarPhysics = PlanarPhysics()

    def decides(self) -> list[Any]:
        return [VERSION, self.theta.model_dump(mode="json"), self.physics.model_dump(mode="json")]
