"""Benchmarks reach into the native world, so a change there must not leave them behind."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import menagerie, simpler

FOLDER = Path(__file__).parents[1] / "benchmarks"


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


def test_bare_physics_runs_under_the_controls_of_a_run() -> None:
    bare, model = load("throughput").bare_foretell("lift", 2, actions=4, every=2)
    assert bare.rate(0.05) > 0 and model["nv"] == 15


@pytest.mark.gl
def test_a_photograph_is_timed_beside_the_picture_without() -> None:
    figures = load("green_screen").measure("lift", "front", (60, 80), 2)
    assert list(figures) == ["plain", "photograph", "robots alone", "soft edges", "contact shadow"]
    assert figures["plain"] > 0


@pytest.mark.gl
@pytest.mark.daily
@pytest.mark.parametrize("name", ["widowx_stack_cube", "google_robot_pick_coke_can"])
def test_matched_light_brings_pictures_to_the_originals(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer than 3 % of the pixels differ by more than 10 grey levels."""
    monkeypatch.setenv("MENAGERIE_ROOT", str(menagerie()))
    simpler(f"images/{name}_ep0_seg.npz")
    compared = load("originals").Compared(name, tmp_path)
    assert compared.differing()["> 10"] > 0.04
    compared.match_light()
    assert compared.differing()["> 10"] < 0.03


def test_a_plain_loop_of_the_rules_of_navigation_ends_at_the_same_poses() -> None:
    """30 steps with noise, of which some collide and slide."""
    bench = load("navigation")
    scenario = bench.PointNav().layouts()[bench.LEG]
    _, poses, seen = bench.batched(scenario, 30)
    _, other, looks = bench.plain(scenario, 30, 2)
    assert np.abs(poses[:2] - np.array(other)).max() < 1e-9
    assert np.abs(seen[:2] - np.array(looks)).max() < 1e-5
