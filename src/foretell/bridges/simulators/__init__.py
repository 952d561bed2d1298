"""Other simulators, each in a Python environment of its own, as worlds.

`worker.py`, `gymnasium_side.py` and `robosuite_side.py` run there. They need numpy and the simulator, nothing of
foretell.
"""
