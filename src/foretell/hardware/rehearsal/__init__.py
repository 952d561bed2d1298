"""A rehearsal: a process that plays a robot. One of our own worlds runs there in real time, and is served over a socket
as a LeRobot `Robot`, with the delays and the failures of a real link. See `docs/real_robots.md`.

    python -m foretell.hardware.rehearsal --task widowx_carrot_on_plate --world standin > rehearsal.yaml
"""

from foretell.hardware.rehearsal.hands import Hands

__all__ = ["Hands"]
