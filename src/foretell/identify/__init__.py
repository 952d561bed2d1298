"""Does a world's robot move as a recorded one does? Actions are replayed and compared, and θ is fitted to them."""

from foretell.identify.certainty import Certainty
from foretell.identify.fit import WAYS
from foretell.identify.fitted import Fitted
from foretell.identify.identify import Identified, identify
from foretell.identify.parameter import VARIES
from foretell.identify.read import read_recordings
from foretell.identify.recording import Recording
from foretell.identify.replay import Likeness, replay

__all__ = [
    "VARIES",
    "WAYS",
    "Certainty",
    "Fitted",
    "Identified",
    "Likeness",
    "Recording",
    "identify",
    "read_recordings",
    "replay",
]
