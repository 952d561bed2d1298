"""The benchmark of tests in the order of a forecast: on drawn policies, and on TRI's rollouts where they are."""

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

from foretell.stats.compare import compare

HOME = Path(__file__).resolve().parents[2] / "benchmarks" / "ranking.py"
WHERE = "FORETELL_TRI_LBM"


@pytest.fixture(scope="module")
def ranking():
    spec = importlib.util.spec_from_file_location("ranking", HOME)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_good_forecast_saves_and_a_useless_one_costs_little(ranking):
    found = {
        kind: np.mean([ranking.told_apart(real, said, True) for real, said in ranking.drawn(kind, 5, 25, 40)], axis=0)
        for kind in ("good", "useless")
    }
    assert found["good"][2] > 1.15 * found["good"][0]
    assert found["useless"][2] > 0.95 * found["useless"][0]
    assert all(free >= plain for plain, free, _ in found.values())


def test_looks_are_those_of_the_public_test(ranking):
    # The p-value after every trial is that of `compare` with a horizon, on the trials so far.
    rng = np.random.default_rng(3)
    a, b = (rng.random(24) < 0.8).astype(float), (rng.random(24) < 0.4).astype(float)
    for toward in (None, "greater", "less"):
        looks = ranking.p_values(a, b, 0.01, toward)
        for n in (3, 10, 24):
            public = compare(a[:n], b[:n], paired=True, aim=0.01, expected=toward, horizon=24)
            assert public.p_value == pytest.approx(looks[n - 1], rel=1e-12)


def test_a_good_forecast_saves_trials_that_come_one_by_one(ranking):
    looks = [ranking.looked_at(real, forecast) for real, forecast in ranking.drawn("good", 4, 25, 12)]
    told, trials = np.mean([counts for counts, _ in looks], axis=0), np.mean([spent for _, spent in looks], axis=0)
    assert (np.diff(told, axis=0) >= 0.0).all(), "what was decided stays decided"
    assert told[-1][2] > told[-1][0] and trials[2] < trials[0] < 4 * 25


def test_tri_rollouts(ranking):
    folder = os.environ.get(WHERE)
    if not folder or not (Path(folder) / "Fig2.csv").exists():
        pytest.skip(f"no rollouts here: set {WHERE} to the folder with Fig2.csv of Dryad 10.5061/dryad.xd2547dxc")
    families = ranking.toyota(Path(folder))
    assert len(families) == 8 and {x.size for real, _ in families for x in real.values()} == {50}
    told = np.sum([ranking.told_apart(real, said, False) for real, said in families], axis=0)
    assert told.tolist() == [13, 13, 13]
