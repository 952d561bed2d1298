"""Comparing arrays bit for bit, and saying by how much they differ."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["agreement", "difference", "same"]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(a == b)


def difference(a: np.ndarray, b: np.ndarray) -> str:
    apart = (a != b).reshape(*a.shape[:2], -1).any(axis=2)
    return f"{int(apart.sum())} of {apart.size} answers differ, by up to {np.max(np.abs(a - b)):.3g}"


def agreement(a: np.ndarray, b: np.ndarray) -> str:
    if same(a, b):
        return f"{a.size} observed numbers are equal bit for bit"
    return f"{int((a != b).sum())} of {a.size} observed numbers differ, by up to {np.max(np.abs(a - b)):.3g}"
