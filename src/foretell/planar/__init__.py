"""The planar world: mobile robots among walls, batched in numpy."""

from foretell.planar.params import PlanarFile, PlanarPhysics, PlanarTheta

__all__ = ["PlanarFile", "PlanarPhysics", "PlanarTheta"]
