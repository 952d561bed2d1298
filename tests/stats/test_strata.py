"""The exact bound by strata: coverage summed exactly, its parts against plain computation, its edges."""

import itertools
import sys

import numpy as np
import pytest
from scipy.stats import binom

from foretell.stats import bound, clopper_pearson, default_method, diagnose, strata, width_curve
from foretell.stats.bounds import MANY, RATIO, STRATA_TRIALS
from foretell.stats.coverage import cover
from foretell.stats.regimes import BINARY_REGIMES, OTHER_REGIMES
from foretell.stats.scouts import graded_scouts, scouted
from foretell.stats.staircase import chances, ranks, staircase
from foretell.stats.strata import lower_end, share_edges
from foretell.stats.useless import MIXED_KINDS, change, main, mixed


def data(k1, n1, k0, n0, solved, extra):
    """Scores with these counts, in blocks: real, sim, extra."""
    real = np.r_[np.ones(k1), np.zeros(n1 - k1), np.ones(k0), np.zeros(n0 - k0)]
    sim = np.r_[np.ones(n1), np.zeros(n0)]
    return real, sim, np.r_[np.ones(solved), np.zeros(extra - solved)]


@pytest.mark.parametrize("few", [0.0, 0.5, 0.9])
def test_miss_probability_summed_over_every_outcome(few, monkeypatch):
    # Nothing is sampled: all outcomes of 3 real and 4 more simulated scenarios, for several truths.
    n, more, alpha = 3, 4, 0.3
    # With so few trials no stratum would be judged apart.
    monkeypatch.setattr(sys.modules["foretell.stats.strata"], "HARDLY", few)
    monkeypatch.setattr(sys.modules["foretell.stats.strata"], "SCARCE", (few, few))
    ends = {}
    for n1 in range(n + 1):
        for k1, k0, m in itertools.product(range(n1 + 1), range(n - n1 + 1), range(more + 1)):
            ends[n1, k1, k0, m] = lower_end(k1, n1, k0, n - n1, n1 + m, n + more, alpha)
    for a, b, q in [(0.5, 0.5, 0.5), (0.9, 0.2, 0.4), (0.1, 0.8, 0.3), (0.97, 0.6, 0.9), (0.3, 0.02, 0.05)]:
        p, missed = q * a + (1 - q) * b, 0.0
        for (n1, k1, k0, m), low in ends.items():
            if low > p:
                weight = binom.pmf(n1, n, q) * binom.pmf(m, more, q)
                missed += weight * binom.pmf(k1, n1, a) * binom.pmf(k0, n - n1, b)
        assert missed <= alpha / 2, (a, b, q)


def test_ranking_is_monotone_and_the_staircase_holds_what_ranks_as_high():
    n1, n0, q = 7, 5, 0.4
    k1, k0 = (grid.astype(float) for grid in np.meshgrid(np.arange(n1 + 1), np.arange(n0 + 1), indexing="ij"))
    table = ranks(k1, n1, k0, n0, q)
    assert (np.diff(table, axis=0) > -1e-7).all() and (np.diff(table, axis=1) > -1e-7).all()
    assert table[0, 0] == 0.0 and table[-1, -1] < 1.0
    for seen in [(0, 1), (3, 2), (7, 0), (7, 5)]:
        steps = staircase(seen[0], n1, seen[1], n0, q)
        inside = k0 >= steps[:, None]
        assert inside[seen]
        assert (inside >= (table >= table[seen])).all(), "an outcome ranked as high is never left out"
        assert not inside[table < table[seen] - 1e-6].any()


def test_chance_of_the_up_set_is_the_sum_of_binomials_and_rises_in_both_rates():
    n1, n0 = 6, 9
    steps = staircase(4, n1, 5, n0, 0.4)
    a, b = (grid.ravel() for grid in np.meshgrid([0.0, 0.3, 0.8, 1.0], [0.0, 0.5, 0.9, 1.0], indexing="ij"))
    found = chances(steps, n1, n0)(a, b)
    plain = sum(binom.pmf(k, n1, a) * binom.sf(steps[k] - 1, n0, b) for k in range(n1 + 1))
    assert found == pytest.approx(plain, rel=1e-8)
    assert (found >= plain - 1e-15).all()
    square = found.reshape(4, 4)
    assert (np.diff(square, axis=0) >= 0).all() and (np.diff(square, axis=1) >= 0).all()


def test_shares_are_cut_alike_from_both_ends():
    edges = share_edges()
    assert edges[0] == 0.0 and edges[-1] == 1.0
    assert edges == pytest.approx(1.0 - edges[::-1], abs=1e-15)


@pytest.mark.parametrize(
    "counts",
    [
        (2, 2, 0, 0, 5, 9),
        (0, 0, 1, 2, 0, 9),
        (0, 3, 0, 4, 9, 20),
        (6, 6, 5, 5, 50, 90),
        (1, 1, 1, 1, 0, 1),
        (40, 50, 2, 30, 300, 500),
    ],
)
def test_edges_of_the_table(counts):
    found = strata(*data(*counts), 0.1)
    assert 0.0 <= found.low <= found.estimate <= found.high <= 1.0
    k1, n1, k0, n0 = counts[:4]
    assert (found.low == 0.0) == (k1 + k0 == 0)
    assert (found.high == 1.0) == (k1 + k0 == n1 + n0)
    assert (found.n, found.n_extra, found.anytime) == (n1 + n0, counts[5], False)


def test_where_one_kind_of_scenario_is_rare_real_trials_stand_alone():
    for n1, k1, k0, solved in [(60, 42, 0, 1200), (0, 0, 42, 0), (58, 41, 1, 1176), (59, 42, 0, 1190)]:
        found = strata(*data(k1, n1, k0, 60 - n1, solved, 1200), 0.1)
        alone = clopper_pearson(42, 60, 0.1)
        assert (found.low, found.high, found.estimate) == (alone.low, alone.high, alone.estimate)
        assert f"simulation solves {solved} of 1200 extra scenarios" in found.notes[0]
    assert not strata(*data(25, 30, 17, 30, 600, 1200), 0.1).notes


def test_a_share_that_is_all_but_one_is_judged_by_all_successes_together():
    n, k = 60, 42
    low = lower_end(k, n, 0, 0, 1260, 1260, 0.1)
    assert 0.99 * clopper_pearson(k, n, 0.1).low <= low <= clopper_pearson(k, n, 0.1).low


def test_scouts_are_drawn_alike_for_successes_and_failures_and_for_both_kinds():
    draws = []
    for solved in range(100, 300):
        counts = (20, 30, 5, 20, solved, 400)
        scouts, found = scouted(*counts)
        assert scouts == 50 and scouted(10, 30, 15, 20, solved, 400) == (scouts, found)
        assert scouted(5, 20, 20, 30, 400 - solved, 400) == (scouts, scouts - found)
        draws.append(found - scouts * solved / 400)
    spread = (50 * 0.25 * 350 / 399) ** 0.5
    assert abs(np.mean(draws)) < 4 * spread / 200**0.5 and 0.7 < np.std(draws) / spread < 1.3
    assert scouted(20, 30, 5, 20, 100, 239) == (0, 0)


def test_graded_simulation_is_cut_in_the_middle_of_its_range():
    real, sim, extra = data(20, 25, 6, 25, 60, 100)
    plain = strata(real, sim, extra, 0.1)
    graded = strata(
        10 * real, np.where(sim > 0, 6.0, 1.0), np.where(extra > 0, 4.0, 3.9), 0.1, within=(0, 10), sim_within=(0, 8)
    )
    assert (graded.low, graded.high) == pytest.approx((10 * plain.low, 10 * plain.high))
    with pytest.raises(ValueError, match="strata needs binary real scores"):
        strata(0.5 * real, sim, extra)


def test_auto_goes_by_sizes_and_kinds_alone():
    real, sim, extra = data(20, 25, 6, 25, 180, 300)
    assert default_method(real, sim, extra) == bound(real, sim, extra, diagnostics=False).method == "strata"
    assert default_method(1 - real, sim, 0 * extra) == "strata", "outcomes have no say"
    assert default_method(real, sim, extra[: MANY - 1]) == "clopper_pearson"
    few = STRATA_TRIALS[0] - 1
    assert default_method(real[:few], sim[:few], extra) == "clopper_pearson"
    assert f"only from {STRATA_TRIALS[0]} real trials on" in bound(real[:few], sim[:few], extra).notes[-1]
    assert default_method(real, 0.5 * sim, extra) == "strata", "the kind of simulated score has no say"
    assert default_method(0.5 * real, sim, extra) == "blocked"
    assert default_method(2 * real, 5 * sim, 5 * extra, (0, 2), (0, 5)) == "strata"
    many = np.tile(real, 61)
    assert default_method(many, many, np.tile(many, 3)) == "clopper_pearson"
    assert default_method(many[:2000], many[:2000], np.tile(many, 2)[: RATIO * 2000 - 1]) == "clopper_pearson"


def test_diagnosis_compares_the_method_in_use_with_the_best_classical_one():
    real, sim, extra = data(24, 25, 1, 25, 600, 1200)
    found = bound(real, sim, extra).diagnostics
    assert found["method"] == "strata"
    assert found["width_sim"] == strata(real, sim, extra).width < 0.9 * found["width_real"]
    assert "the bound is" in found["sentence"]
    by_blocked = bound(real, sim, extra, method="blocked")
    assert by_blocked.diagnostics["method"] == "blocked"
    assert by_blocked.diagnostics["width_sim"] == by_blocked.width
    assert diagnose(0.5 * real, sim, extra).method == "blocked"


def test_width_curve_of_binary_scores_is_of_strata():
    curve = width_curve(*data(24, 25, 1, 25, 60, 120), [50, 120], 0.1)
    assert curve.method == "strata"
    assert curve.widths[1] == strata(*data(24, 25, 1, 25, 60, 120), 0.1).width
    assert curve.floor < curve.widths[1] < curve.widths[0]
    assert curve.real_only == clopper_pearson(25, 50, 0.1).width


@pytest.mark.parametrize("world", BINARY_REGIMES, ids=lambda w: w.name)
def test_covers_at_every_correlation(world):
    # A quick pass; 2,000 draws of each regime are in docs/statistics.md.
    (cell,) = cover(world, ["strata"], draws=8, seed=3)
    assert not cell.fails


def test_never_much_wider_than_the_best_classical_interval():
    for world in OTHER_REGIMES[:3]:
        one, other = cover(world, ["clopper_pearson", "strata"], draws=8, seed=4)
        assert other.width <= 1.02 * one.width, world.name


@pytest.mark.parametrize(
    ("n", "extra", "rate", "solved"),
    [
        (30, 300, 0.7, 0.5),
        (30, 300, 0.9, 0.9),
        (40, 300, 0.9, 0.9),
        (60, 300, 0.7, 0.97),
        (100, 300, 0.9, 1.0),
        (60, 300, 0.5, 0.7),
        (60, 300, 0.98, 0.5),
        (30, 300, 0.97, 0.4),
    ],
)
def test_auto_loses_next_to_nothing_with_a_useless_simulator(n, extra, rate, solved):
    # The edge of the default; docs/statistics.md has more draws and cells.
    rng, used, alone = np.random.default_rng([n, extra]), 0.0, 0.0
    for _ in range(12):
        real, sim, more = (
            (rng.random(size) < share).astype(float) for size, share in ((n, rate), (n, solved), (extra, solved))
        )
        found = bound(real, sim, more, diagnostics=False)
        assert found.method == "strata"
        used, alone = used + found.width, alone + clopper_pearson(int(real.sum()), n).width
    assert used <= 1.025 * alone


@pytest.mark.parametrize("kind", MIXED_KINDS)
def test_auto_loses_next_to_nothing_with_a_useless_graded_simulator(kind):
    # docs/statistics.md has more draws and cells; `blocked` loses up to 17 % here.
    assert change(mixed(kind, 0.98), 60, 600, draws=8) <= 0.025
    assert change(mixed(kind, 0.9), 30, 300, draws=8) <= 0.025


def test_the_table_of_graded_simulators_is_printed(capsys, monkeypatch):
    monkeypatch.setattr("foretell.stats.useless.MIXED_SIZES", ((40, 40), (60, 600)))
    assert main(["--mixed", "--draws", "2", "--method", "strata"]) == 0
    table = capsys.readouterr().out
    assert "success rate 0.98" in table and "| contrary | 60 | 600 |" in table and "graded" not in table


def test_scouts_set_the_cut_of_graded_scores_whatever_their_order():
    rng = np.random.default_rng(5)
    chance = rng.beta(0.5, 0.5, 660)
    real, sim = (rng.random(60) < chance[:60]).astype(float), rng.binomial(10, chance) / 10.0
    pairs, extra = sim[:60], sim[60:]
    found = strata(real, pairs, extra)
    party = graded_scouts(real, pairs, extra)
    assert party.size == 75 and set(party) <= set(extra)
    assert f"from a score of {party.mean():.3g} on, the mean of 75" in found.notes[-1]
    order, other = rng.permutation(60), rng.permutation(600)
    again = strata(real[order], pairs[order], extra[other])
    assert (again.low, again.high, again.notes) == (found.low, found.high, found.notes)
    rising = np.lexsort((pairs, real))
    assert strata(real[rising], pairs[rising], np.sort(extra)).low == found.low
    flipped = strata(1.0 - real, pairs, extra)
    assert (1.0 - flipped.high, 1.0 - flipped.low) == pytest.approx((found.low, found.high))
    assert found.width < clopper_pearson(int(real.sum()), 60).width


def test_scouts_of_graded_scores_are_drawn_evenly():
    rng = np.random.default_rng(7)
    means = []
    for _ in range(200):
        extra = rng.integers(0, 5, 240) / 4.0
        real, sim = rng.integers(0, 2, 30).astype(float), rng.integers(0, 5, 30) / 4.0
        means.append(graded_scouts(real, sim, extra).mean() - extra.mean())
    spread = (0.125 / 30 * 210 / 239) ** 0.5
    assert abs(np.mean(means)) < 4 * spread / 200**0.5 and 0.8 < np.std(means) / spread < 1.2
    assert graded_scouts(real, sim, extra[:239]).size == 0


@pytest.mark.parametrize("seed", range(4))
def test_scouts_of_graded_scores_set_the_cut_and_count_no_more(seed):
    # So the interval is, given the scouts, that of successes and failures on either side of a fixed cut, and covers as
    # `test_miss_probability_summed_over_every_outcome` sums. Sorted rows have the same one.
    rng = np.random.default_rng(seed)
    n, extra = 30, 300
    chance = rng.beta(0.6, 0.4, n + extra)
    real, sim = (rng.random(n) < chance[:n]).astype(float), rng.binomial(5, chance) / 5.0
    rows = real, sim[:n], sim[n:]
    party = graded_scouts(*rows)
    first, others = rows[1] >= party.mean(), int((rows[2] >= party.mean()).sum() - (party >= party.mean()).sum())
    n1, k1, k = int(first.sum()), int(real[first].sum()), int(real.sum())
    total = n + extra - party.size
    interval = strata(*rows, 0.1)
    assert party.size == extra // 8 and 0 < n1 < n
    assert interval.low == lower_end(k1, n1, k - k1, n - n1, n1 + others, total, 0.1)
    assert interval.high == 1.0 - lower_end(n1 - k1, n1, n - n1 - k + k1, n - n1, n1 + others, total, 0.1)
    order = np.lexsort((rows[1], real))
    again = strata(real[order], rows[1][order], np.sort(rows[2]), 0.1)
    assert (again.low, again.high) == (interval.low, interval.high)


def test_the_cut_does_not_depend_on_the_real_outcomes():
    # Other outcomes draw other scouts, whose mean is that of all extra scenarios, however many trials succeeded.
    rng = np.random.default_rng(9)
    extra = rng.integers(0, 5, 400) / 4.0
    sim = rng.random(12)
    outcomes = [np.array([0.0, *real]) for real in itertools.product((0.0, 1.0), repeat=11)][::4]
    cuts = np.array([graded_scouts(real, sim, extra).mean() for real in outcomes])
    wins = np.array([real.sum() for real in outcomes])
    spread = (extra.var() / 50 * 350 / 399) ** 0.5
    assert abs(cuts.mean() - extra.mean()) < 4 * spread / cuts.size**0.5
    assert abs(np.corrcoef(cuts, np.abs(wins - 6))[0, 1]) < 4 / cuts.size**0.5
