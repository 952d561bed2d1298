"""Make a world look as a real camera sees it: cameras, backgrounds, textures and light from pictures."""

from foretell.match.background import Plate, background

__all__ = ["Plate", "background"]
