"""Python environments of other simulators: make them, and see which there are."""

from foretell.bridges.simulators.environment import Made
from foretell.env.create import create
from foretell.env.list import Listed, list

__all__ = ["Listed", "Made", "create", "list"]
