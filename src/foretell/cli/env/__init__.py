"""Make Python environments for other simulators.

One file for each part: `foretell env create` is create.py, and the Python function `foretell.env.create`.
"""
