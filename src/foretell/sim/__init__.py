"""The native world: batched MuJoCo."""

from foretell.sim.params import Physics, Theta, WorldFile, load_world
from foretell.sim.world import MujocoWorld

__all__ = ["MujocoWorld", "Physics", "Theta", "WorldFile", "load_world"]
