"""A puck whose real lag is 0.3 s and whose simulated one is 0.1 s, and policies whose success depends on it."""

from __future__ import annotations

from pathlib import Path

import numpy_world
import pytest
from pucks import puck

import foretell


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the puck and a real run."""
    with pytest.MonkeyPatch.context() as patch:
        folder = numpy_world.enter(tmp_path_factory.mktemp("lab"), patch)
        world = {"name": "real-puck", "kind": "puck.py:Puck", "theta": {"lag": 0.3}}
        foretell.run(puck(world), out="runs/real", workers=0)
    return folder


@pytest.fixture
def here(lab: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder, as the working folder."""
    return numpy_world.enter(lab, monkeypatch)
