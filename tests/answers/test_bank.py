"""Several simulators at once: from files and run folders, with what is refused, and what is told."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from studies import cli

import foretell
from foretell.errors import UsageError


def write(path: Path, scenarios: list[str], scores: np.ndarray) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["scenario", "score"], *zip(scenarios, scores.tolist(), strict=True)])
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Real scores of 40 scenarios, and three simulators of 440: two fair ones and one that knows nothing."""
    folder, rng = tmp_path_factory.mktemp("bank"), np.random.default_rng(0)
    names = [f"s{i}" for i in range(440)]
    real = rng.binomial(4, rng.random(440)) / 4
    fair = [np.where(rng.random(440) < 0.7, real, rng.integers(0, 5, 440) / 4) for _ in range(2)]
    blind = rng.integers(0, 5, 440) / 4
    return {
        "real": write(folder / "real.csv", names[:40], real[:40]),
        "first": write(folder / "first.csv", names, fair[0]),
        "second": write(folder / "second.csv", names, fair[1]),
        "useless": write(folder / "useless.csv", names, blind),
        "few": write(folder / "few.csv", names[:300], fair[1][:300]),
        "lacking": write(folder / "lacking.csv", names[5:], fair[1][5:]),
    }


def test_several_simulators_make_one_bound(files: dict[str, Path]) -> None:
    one = foretell.bound(files["real"], files["first"])
    two = foretell.bound(files["real"], [files["first"], files["second"]])
    interval = two.intervals[0]
    assert (interval.method, interval.guarantee, interval.n_extra) == ("bank", "finite-sample", 400)
    assert interval.width < foretell.bound(files["real"]).intervals[0].width
    assert two.to_dict() == foretell.bound(files["real"], [files["first"], files["second"]]).to_dict()
    assert foretell.bound(files["real"], [files["first"]]).to_dict() == one.to_dict()


def test_the_answer_names_the_weights(files: dict[str, Path], tmp_path: Path) -> None:
    said = cli(
        "bound", "--real", files["real"], "--sim", files["first"], "--sim", files["useless"], cwd=tmp_path
    ).stdout
    assert "(bank, finite-sample)" in said and "weights of the simulators after the last trial: " in said
    assert "useless.csv 0%" in said


def test_scenarios_that_not_every_simulator_ran_are_left_out(files: dict[str, Path]) -> None:
    bound = foretell.bound(files["real"], [files["first"], files["few"]])
    assert bound.intervals[0].n_extra == 260
    assert any("140 scenarios are left out that not every simulator ran" in note for note in bound.notes)


def test_what_a_bank_refuses(files: dict[str, Path]) -> None:
    real, sims = files["real"], [files["first"], files["second"]]
    with pytest.raises(UsageError, match="has no simulated partner"):
        foretell.bound(real, [files["first"], files["lacking"]])
    with pytest.raises(UsageError, match="method: 'strata' takes one simulator; several are used by `bank`"):
        foretell.bound(real, sims, method="strata")
    with pytest.raises(UsageError, match="extra: 1 given for 2 simulators: give one for each"):
        foretell.bound(real, sims, files["useless"])
    with pytest.raises(UsageError, match="horizon with several sim needs an extra for each"):
        foretell.bound(real, sims, horizon=60)
    with pytest.raises(UsageError, match="extra: 2 sources are given, and sim is one"):
        foretell.bound(real, files["first"], [files["second"], files["useless"]])
