"""Which vector instructions the processor has: last bits of sums depend on them."""

from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def simd() -> frozenset[str]:
    """Flags of the processor, such as `avx2`; none where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.split(":", 1)[1].split() for line in lines if line.startswith("flags")), []))
