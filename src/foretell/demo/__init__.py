"""The demonstration: the whole story once, in a few minutes, with pictures. `foretell demo` tells it."""

from foretell.demo.demo import Demo, demo
from foretell.demo.story import Chapter

__all__ = ["Chapter", "Demo", "demo"]
