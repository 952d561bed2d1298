"""Names of studies: any letters, and nothing that means something in a path. A run folder is called so."""

from __future__ import annotations

import unicodedata

__all__ = ["BYTES", "clean_name"]

BYTES = 200
"""Bytes of a name in UTF-8. File systems allow 255, and the ending of a file needs some."""


def clean_name(text: str) -> str:
    """The nearest name that a study may have: letters and digits of any script, dots, dashes, underscores and single
    spaces, the first a letter or digit. Empty where nothing is left. A name that may be used is its own."""
    clean = "".join(c if _may(c) else "-" for c in unicodedata.normalize("NFC", text))
    clean = clean.lstrip("-._ ").rstrip(" ")
    while len(clean.encode("utf-8", "replace")) > BYTES or len(clean) > 100:
        clean = clean[:-1].rstrip(" ")
    while clean and unicodedata.category(clean[0])[0] not in "LN":  # a mark with no letter before it
        clean = clean[1:].lstrip("-._ ")
    return clean


def _may(character: str) -> bool:
    return character in "._- " or unicodedata.category(character)[0] in "LNM"
