"""Make a world look as a real camera sees it: cameras, backgrounds, textures and light from pictures."""

from foretell.match.background import Plate, background
from foretell.match.camera import MatchedView, camera
from foretell.match.check import Resemblance, check

__all__ = ["MatchedView", "Plate", "Resemblance", "background", "camera", "check"]
