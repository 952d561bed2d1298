"""Names for values: the text of a JSON-able value, and a hash of that text."""

from __future__ import annotations

import hashlib
import json
from typing import Any

__all__ = ["as_json", "digest"]

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def as_json(value: Any) -> str:
    """The text of a JSON-able value, the same on every machine and in every process."""
    return _ENCODER.encode(value)


def digest(value: Any) -> str:
    """16 hex digits that name a JSON-able value, the same on every machine and in every process."""
    return hashlib.sha256(as_json(value).encode()).hexdigest()[:16]
