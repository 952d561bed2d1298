"""Data from outside that some tests compare with. They lie beside the repository, or where FORETELL_DATA and
FORETELL_ASSETS say, and are no part of it: without them these tests are skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[2] / "shared"
DATA = Path(os.environ.get("FORETELL_DATA", BESIDE / "data"))
ASSETS = Path(os.environ.get("FORETELL_ASSETS", BESIDE / "assets"))


def simpler(name: str) -> Path:
    """A file measured on SIMPLER's own engine."""
    path = DATA / "simpler_reference" / name
    if not path.exists():
        pytest.skip(f"the measurements of SIMPLER's own engine are not there ({name}); set FORETELL_DATA")
    return path


def lbm() -> Path:
    """Rollouts of Toyota's study of large behaviour models (Dryad, CC0)."""
    path = DATA / "tri_lbm"
    if not path.exists():
        pytest.skip("the rollouts of Toyota's LBM study are not there (tri_lbm); set FORETELL_DATA")
    return path


def menagerie() -> Path:
    """A copy of MuJoCo Menagerie with SIMPLER's two robots."""
    path = ASSETS / "menagerie"
    if not path.exists():
        pytest.skip("there is no copy of MuJoCo Menagerie; set FORETELL_ASSETS")
    return path
