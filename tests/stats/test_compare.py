"""Tests between policies, verdicts, letters and ranks."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.contingency_tables import mcnemar as sm_mcnemar
from statsmodels.stats.multitest import multipletests

from foretell.stats import barnard, compact_letters, compare_all, fisher, holm, mcnemar, paired_betting, rank_ranges
from foretell.stats.blocked import Gambler, controls
from foretell.stats.compare import compare, verdict
from foretell.stats.interval import HASHED, SHUFFLED, Interval


def outcomes(successes, n):
    return np.r_[np.ones(successes), np.zeros(n - successes)]


def test_exact_tests_match_independent_ones():
    for ka, na, kb, nb in [(9, 10, 2, 10), (5, 12, 7, 9), (0, 8, 8, 8), (30, 50, 20, 50)]:
        table = [[ka, kb], [na - ka, nb - kb]]
        assert fisher(ka, na, kb, nb) == pytest.approx(scipy.stats.fisher_exact(table).pvalue)
        assert barnard(ka, na, kb, nb) == pytest.approx(scipy.stats.barnard_exact(table).pvalue, abs=2e-6)
    for b, c in [(3, 12), (0, 6), (5, 5)]:
        assert mcnemar(b, c) == pytest.approx(sm_mcnemar([[10, b], [c, 4]], exact=True).pvalue)
    assert mcnemar(0, 0) == 1.0
    assert barnard(3, 10, 6, 20) == 1.0
    assert barnard(0, 10, 0, 10) == 1.0


def test_direction_speaks_of_a():
    assert barnard(9, 10, 2, 10, "greater") < 0.01 < 0.9 < barnard(9, 10, 2, 10, "less")
    assert fisher(9, 10, 2, 10, "greater") < 0.01 < fisher(9, 10, 2, 10, "less")
    assert mcnemar(9, 1, "greater") < 0.02 < mcnemar(9, 1, "less")
    assert compare(outcomes(9, 10), outcomes(2, 10)).verdict == "better"
    assert compare(outcomes(2, 10), outcomes(9, 10)).verdict == "worse"


def test_barnard_keeps_its_level_exactly():
    n, level = 7, 0.1
    reject = {(a, b): barnard(a, n, b, n) <= level for a in range(n + 1) for b in range(n + 1)}
    for p in np.linspace(0.05, 0.95, 19):
        pmf = scipy.stats.binom.pmf(np.arange(n + 1), n, p)
        assert sum(pmf[a] * pmf[b] for (a, b), r in reject.items() if r) <= level + 1e-3


def test_verdicts():
    def interval(low, high):
        return Interval(
            estimate=0.5 * (low + high),
            low=low,
            high=high,
            alpha=0.05,
            method="m",
            guarantee="asymptotic",
            assumes=(),
            n=10,
        )

    assert verdict(0.01, interval(0.1, 0.5)) == "better"
    assert verdict(0.01, interval(-0.5, -0.1)) == "worse"
    assert verdict(0.5, interval(-0.1, 0.15)) == "no difference shown"
    assert verdict(0.5, interval(-0.1, 0.3)) == "no difference shown"
    assert verdict(0.5, interval(-0.3, 0.4)) == "too few trials"
    assert verdict(0.5, interval(-0.3, 0.4), effect=0.5) == "no difference shown"
    assert compare(outcomes(3, 6), outcomes(3, 6)).verdict == "too few trials"
    assert compare(outcomes(150, 300), outcomes(150, 300)).verdict == "no difference shown"


def test_no_verdict_against_the_means():
    def interval(estimate):
        return Interval(
            estimate=estimate, low=-0.01, high=0.5, alpha=0.05, method="m", guarantee="asymptotic", assumes=(), n=10
        )

    assert verdict(0.001, interval(0.2), difference=0.1) == "better"
    assert verdict(0.001, interval(0.2), difference=-0.1) == "no difference shown"
    assert verdict(0.001, interval(0.2), difference=0.0) == "no difference shown"
    for na, nb in ((5, 9), (12, 4)):
        for ka, kb in itertools.product(range(na + 1), range(nb + 1)):
            one = compare(outcomes(ka, na), outcomes(kb, nb))
            assert one.interval.low <= one.interval.estimate <= one.interval.high
            assert {"better": 1, "worse": -1}.get(one.verdict, 0) in (0, np.sign(ka * nb - kb * na))


def test_pairing_gains_when_scenarios_differ_in_difficulty():
    easy = np.r_[np.ones(30), np.zeros(30)]
    better = easy.copy()
    better[30:38] = 1
    assert compare(better, easy).p_value > 0.1
    assert compare(better, easy, paired=True).p_value < 0.02
    assert compare(better, easy, paired=True).verdict == "better"


def test_partial_credit_goes_to_betting_and_is_anytime_with_a_horizon():
    rng = np.random.default_rng(0)
    a, b = rng.beta(4, 2, 80), rng.beta(2, 4, 80)
    found = compare(a, b)
    assert found.test == "betting"
    assert not found.anytime  # a single look: nobody planned a number of trials
    assert compare(a, b, horizon=80).anytime
    assert found.verdict == "better"
    scaled = compare(10 * a, 10 * b, within=(0, 10))
    assert scaled.interval.low == pytest.approx(10 * found.interval.low)
    assert scaled.p_value == found.p_value
    with pytest.raises(ValueError, match="binary"):
        compare(a, b, test="fisher")
    with pytest.raises(ValueError, match="paired"):
        compare([0, 1], [1, 0], test="mcnemar")
    with pytest.raises(ValueError, match="same scenarios"):
        compare([0, 1], [1], paired=True)


def test_paired_bet_is_fair_by_exact_enumeration():
    # Both policies succeed with the same chance, in reality and (with bias and dependence) in simulation.
    joint = {}
    for ya, yb, fa, fb in itertools.product((0, 1), repeat=4):
        joint[ya, yb, fa, fb] = (0.4 if ya == yb else 0.1) * (0.7 if fa == ya else 0.3) * (0.6 if fb == yb else 0.4)
    assert sum(joint.values()) == pytest.approx(1.0)
    sims = {}
    for (_, _, fa, fb), p in joint.items():
        sims[fa, fb] = sims.get((fa, fb), 0.0) + p
    gambler = Gambler(np.array([0.5]), 0.1, 10)
    rng = np.random.default_rng(0)
    for _ in range(6):
        lam, beta = (bet.item() for bet in gambler.bets(0.5))
        mean = 0.0
        for (ya, yb, fa, fb), p in joint.items():
            for (ea, eb), q in sims.items():
                c, _ = controls(np.array([0.5 * (1 + fa - fb)]), np.array([0.5 * (1 + ea - eb)]))
                mean += p * q * float(1 + lam * (0.5 * (1 + ya - yb) - 0.5 - beta * c[0]))
        assert mean == pytest.approx(1.0, abs=1e-12)
        gambler.update(rng.choice([0, 0.5, 1.0]), rng.uniform(-0.5, 0.5), 0.5)


def draw_pairs(rng, pa, pb, n, keep=0.85):
    u = rng.random(n)
    a, b = (u < pa).astype(float), (u < pb).astype(float)
    flip = rng.random((2, n)) > keep
    return a, b, np.where(flip[0], rng.random(n) < pa, a), np.where(flip[1], rng.random(n) < pb, b)


@pytest.mark.daily
def test_simulation_as_control_adds_power_and_keeps_the_level():
    rng = np.random.default_rng(1)
    n, k = 50, 20
    wins = np.zeros(2)
    false = 0
    for draw in range(60):
        a, b, fa, fb = draw_pairs(rng, 0.7, 0.55, n * (k + 1))
        if draw < 20:  # simulation takes time; the level needs more draws than the power
            wins[0] += paired_betting(a[:n], b[:n], alternative="greater").p_value <= 0.05
            found = paired_betting(a[:n], b[:n], fa[:n], fb[:n], fa[n:], fb[n:], alternative="greater")
            wins[1] += found.p_value <= 0.05
            assert (found.decided_at is not None) == (found.p_value <= 0.05 + 1e-12)
        shuffled = rng.permutation(n * (k + 1))
        c, d = a[shuffled], a[rng.permutation(n * (k + 1))]
        false += paired_betting(c[:n], d[:n], alternative="greater").p_value <= 0.05
    assert wins[1] >= wins[0]
    assert false <= 9
    with pytest.raises(ValueError, match="all of"):
        paired_betting([0, 1], [1, 0], [0, 1])


@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
def test_e_value_is_at_most_one_on_average_without_a_difference(alternative):
    chance = {(0.0, 1.0): 0.3, (1.0, 0.0): 0.3, (1.0, 1.0): 0.4}
    mean = largest = 0.0
    for trials in itertools.product(chance, repeat=4):
        a, b = np.array(trials).T
        found = paired_betting(a, b, alternative=alternative)
        mean += math.prod(chance[t] for t in trials) * found.e_value
        largest += math.prod(chance[t] for t in trials) / found.p_value
    assert mean == pytest.approx(1.0, abs=1e-9)  # the game is fair
    assert largest > 1.1


@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
@pytest.mark.parametrize(("n", "alpha"), [(6, 0.05), (6, 0.1), (10, 0.05)])
def test_e_value_is_at_most_one_on_average_where_the_order_matters(n, alpha, alternative):
    mean = 0.0
    for wins in range(n + 1):  # every order of rows has the same e-value
        x = outcomes(wins, n)
        mean += math.comb(n, wins) / 2**n * paired_betting(x, 1 - x, alpha=alpha, alternative=alternative).e_value
    assert mean <= 1.0 + 1e-9


@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
def test_e_value_of_shuffled_rows_is_that_of_a_fair_game(alternative):
    each = [np.array(trials) for trials in itertools.product((0.0, 1.0), repeat=6)]
    found = [paired_betting(x, 1 - x, alpha=0.1, alternative=alternative, shuffled=True) for x in each]
    assert np.mean([one.e_value for one in found]) == pytest.approx(1.0, abs=1e-9)
    assert all(SHUFFLED in one.interval.assumes and HASHED not in one.interval.assumes for one in found)


def test_e_value_is_the_wealth_and_p_value_its_largest():
    found = paired_betting(np.ones(20), np.zeros(20), alternative="greater")
    assert found.p_value == pytest.approx(1 / found.e_value)  # it never fell
    swayed = paired_betting(np.r_[np.ones(6), np.zeros(6)], np.r_[np.zeros(6), np.ones(6)])
    assert swayed.p_value < 1 / swayed.e_value
    found = paired_betting(np.ones(20), np.zeros(20))
    assert found.decided_at < 20
    assert found.interval.low > 0
    assert paired_betting(np.zeros(5), np.zeros(5)).p_value == 1.0
    assert math.isfinite(found.e_value)


def test_holm_matches_statsmodels():
    p = np.array([0.01, 0.04, 0.03, 0.005, 0.6, 0.6])
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    with pytest.raises(ValueError, match="p_values"):
        holm([0.1, 1.2])


def test_letters_are_shared_exactly_by_the_alike():
    rng = np.random.default_rng(2)
    for size in (2, 3, 5, 8):
        for density in (0.0, 0.3, 0.6, 1.0):
            upper = np.triu(rng.random((size, size)) < density, 1)
            apart = upper | upper.T
            letters = compact_letters(apart)
            for i, j in itertools.combinations(range(size), 2):
                assert bool(set(letters[i]) & set(letters[j])) == (not apart[i, j])
            assert all(letters)
    assert compact_letters([[0, 0, 1], [0, 0, 0], [1, 0, 0]]) == ["a", "ab", "b"]
    with pytest.raises(ValueError, match="symmetric"):
        compact_letters([[0, 1], [0, 0]])


def test_rank_ranges():
    better = np.zeros((3, 3), dtype=bool)
    better[0, 2] = True
    assert rank_ranges(better).tolist() == [[1, 2], [1, 3], [2, 3]]


def test_compare_all_ranks_with_uncertainty():
    policies = {"poor": outcomes(8, 50), "good": outcomes(45, 50), "fair": outcomes(42, 50)}
    ranking = compare_all(policies)
    assert ranking.names == ("good", "fair", "poor")
    assert ranking.letters == ("a", "a", "b")
    assert ranking.ranks.tolist() == [[1, 2], [1, 2], [3, 3]]
    assert ranking.verdicts["good", "poor"] == "better"
    assert ranking.verdicts["good", "fair"] == "no difference shown"
    assert ranking.to_dict()["policies"][0]["policy"] == "good"
    rng = np.random.default_rng(0)
    partial = compare_all({"x": rng.beta(6, 2, 80), "y": rng.beta(2, 6, 80), "z": rng.beta(2, 5, 80)})
    assert partial.verdicts[partial.names[0], partial.names[2]] == "better"  # bets aim below alpha / pairs
