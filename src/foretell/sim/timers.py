"""MuJoCo's timers, which nobody reads here."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import mujoco

__all__ = ["stop_timers"]


@cache
def stop_timers() -> bool:
    """Keep MuJoCo from looking at the clock some twenty times in every step, which takes 1 microsecond. Its bindings
    offer no way, so the callback of the library is cleared. Returns whether it was; rows do not depend on it."""
    library = next(Path(mujoco.__file__).parent.glob("*mujoco*.so*"), None)  # Linux alone
    try:
        ctypes.c_void_p.in_dll(ctypes.CDLL(str(library)), "mjcb_time").value = None
    except (OSError, ValueError):
        return False
    return True
