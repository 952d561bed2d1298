"""Make a world look as a real camera sees it: cameras, backgrounds, textures and light from pictures."""

from foretell.match.background import Plate, background
from foretell.match.camera import MatchedView, camera
from foretell.match.check import Resemblance, check
from foretell.match.scenario import Measured, scenario

__all__ = ["MatchedView", "Measured", "Plate", "Resemblance", "background", "camera", "check", "scenario"]
