"""Make a world look as a real camera sees it: cameras, backgrounds, textures and light from pictures."""

from foretell.match.background import Plate, background
from foretell.match.camera import MatchedView, camera
from foretell.match.check import Resemblance, check
from foretell.match.light import Lit, light
from foretell.match.measured import MeasuredScenario
from foretell.match.scenario import scenario
from foretell.match.texture import Textured, texture
from foretell.match.trials import MeasuredTrials, TrialFrame, trials

__all__ = [
    "Lit",
    "MatchedView",
    "MeasuredScenario",
    "MeasuredTrials",
    "Plate",
    "Resemblance",
    "Textured",
    "TrialFrame",
    "background",
    "camera",
    "check",
    "light",
    "scenario",
    "texture",
    "trials",
]
