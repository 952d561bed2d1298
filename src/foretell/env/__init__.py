"""Python environments of other simulators: make them, and see which there are."""

from foretell.bridges.simulators.environment import Made
from foretell.env.create import create
from foretell.env.list import KnownEnvironment, list

__all__ = ["KnownEnvironment", "Made", "create", "list"]
