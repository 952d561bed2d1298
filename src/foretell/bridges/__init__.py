"""Other simulators as worlds, other interfaces to ours, and policies over the wire."""
