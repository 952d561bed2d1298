"""Arrays by what they hold. A shape stands in the docstring of whoever takes or returns one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bools", "Bytes", "Floats", "Ints"]

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]
"""Of any width: MuJoCo counts slots in 32 bits, numpy in 64."""
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
