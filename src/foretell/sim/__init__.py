"""The native world: batched MuJoCo."""

from foretell.sim.params import MujocoFile, Physics, Theta, load_world
from foretell.sim.transforms import Shot, Transform
from foretell.sim.world import MujocoWorld

__all__ = ["MujocoFile", "MujocoWorld", "Physics", "Shot", "Theta", "Transform", "load_world"]
