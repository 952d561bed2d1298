"""Does a world's robot move as a recorded one does? Sequences of actions are replayed and compared."""

from foretell.identify.identify import Identified, identify
from foretell.identify.recording import Recording, read_recordings
from foretell.identify.replay import Likeness, replay

__all__ = ["Identified", "Likeness", "Recording", "identify", "read_recordings", "replay"]
