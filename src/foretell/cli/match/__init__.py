"""Match a world's pictures to those of a real camera.

One file for each part: `foretell match camera` is camera.py, and the Python function `foretell.match.camera`.
"""
