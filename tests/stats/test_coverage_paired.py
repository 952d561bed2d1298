"""The harness of paired changes: its truths, and that it prints all tables."""

import numpy as np
import pytest

from foretell.stats.coverage import main
from foretell.stats.coverage_paired import BUDGETS, REGIMES, print_paired


@pytest.mark.parametrize("world", REGIMES, ids=lambda world: world.name)
def test_truths_are_the_means_of_what_is_drawn(world):
    after, before = world.draw(np.random.default_rng(0), 20_000)
    assert (np.mean(after), np.mean(before)) == pytest.approx(world.truth, abs=0.012)


def test_budgets_are_read_off_the_true_curve():
    assert [world.truth for world in BUDGETS[:3]] == [pytest.approx(0.1 + 0.1 * 2 / 7), -np.inf, np.inf]


def test_it_prints_every_table(capsys):
    assert print_paired(2, 0.05, 1, sizes=(5,)) == 0
    said = capsys.readouterr().out
    assert all(world.name in said for world in (*REGIMES, *BUDGETS)) and said.endswith("cells below nominal: 0\n")
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "--paired" in capsys.readouterr().out
