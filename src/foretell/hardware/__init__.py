"""Robots as worlds: `world: robot` runs a study on hardware, with a person who sets the scene and judges."""
