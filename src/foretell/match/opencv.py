"""OpenCV, imported when it is needed: it is an extra, and slow to import."""

from __future__ import annotations

from typing import Any

from foretell.errors import UsageError

__all__ = ["opencv"]


def opencv() -> Any:
    """The module cv2, or an error that says how to get it."""
    try:
        import cv2
    except ImportError:
        raise UsageError("match needs OpenCV, which is not installed: pip install 'foretell[match]'") from None
    return cv2
