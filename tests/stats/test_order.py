"""One answer for one set of rows: sorted, grouped and repeated data, and looking before the end."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from foretell import stats
from foretell.stats import bound
from foretell.stats.betting import betting, star
from foretell.stats.blocked import BLOCK, Gambler, blocked
from foretell.stats.bounds import METHODS
from foretell.stats.compare import compare, paired_betting
from foretell.stats.disorder import CASES, cover_case, cover_extra, cover_pool, false_differences
from foretell.stats.interval import AS_RUN, FIXED_N, HASHED, PLANNED, SAME_EXTRA, SHUFFLED, UNITED
from foretell.stats.order import by_content, by_id
from foretell.stats.sequence import sequence


def test_ids_have_one_order_whatever_the_order_of_the_rows():
    names = [f"scenario-{i}" for i in range(50)]
    order = [names[i] for i in by_id(names)]
    assert order != names
    assert [names[::-1][i] for i in by_id(names[::-1])] == order
    assert [names[i] for i in by_id(names, "extra")] != order
    assert order[:3] == ["scenario-12", "scenario-44", "scenario-23"]  # for all versions to come


def test_content_orders_successes_and_failures_alike():
    y, f = np.array([0.0, 1, 1, 0, 1, 0.25]), np.array([1.0, 1, 0, 0, 1, 0.5])
    order = by_content(y, f)
    assert sorted(order) == list(range(6))
    assert (order == by_content(1 - y, f)).all()
    assert (order == by_content(y, 1 - f)).all()
    assert (by_content(np.arange(40) / 40) != by_content(np.arange(40)[::-1] / 40)).any()


@pytest.mark.parametrize("case", [c for c in CASES if c.binary], ids=lambda c: c.name)
@pytest.mark.parametrize("method", ["betting", pytest.param("star", marks=pytest.mark.daily), "blocked"])
def test_sorted_and_grouped_rows_are_covered(case, method):
    # Before: blocked 0.56 and star 0.002 grouped, 0.003 sorted, 0.38 with only the extra rows sorted.
    cell = cover_case(case, method, draws=150 if method == "betting" else 25)
    assert not cell.fails
    assert cell.coverage > 0.8


def test_sorted_extra_scenarios_of_two_values_are_covered():
    # Before: their number alone seeded their order, and `suresim` covered 0.94 instead of 0.99 (n = N = 20).
    assert cover_extra("suresim", 20, 600, alpha=0.1, planned=False).coverage > 0.95
    assert not cover_extra("blocked", 10, 60, alpha=0.1, planned=True).fails


def test_a_sorted_pool_is_covered():
    for rule in ("uniform", "stratified"):
        cell = cover_pool(rule, draws=60)
        assert not cell.fails
        assert cell.coverage > 0.85


def test_two_sorted_files_do_not_differ():
    assert false_differences(draws=30).covered >= 27  # before: 54 % false differences
    a, b = np.sort(np.random.default_rng(0).beta(3, 2, 40)), np.sort(np.random.default_rng(1).beta(3, 2, 60))
    one, other = compare(a, b), compare(b, a)
    assert one.p_value == pytest.approx(other.p_value)
    assert one.interval.low == pytest.approx(-other.interval.high)


def looks_at(rows, first, look):
    """(low, high) that no look from `first` to the last refutes; look(rows so far) -> (low, high)."""
    ends = np.array([look(rows[:n]) for n in range(first, len(rows) + 1)])
    return ends[:, 0].max(), ends[:, 1].min()


@pytest.mark.parametrize(("method", "plan"), [("betting", 7), ("star", 7), ("betting", "open"), ("star", "open")])
def test_looking_after_every_trial_is_covered_with_a_plan(method, plan):
    # Every sequence of seven outcomes, looked at from the third on: nothing is sampled. The horizon of the moment
    # instead of the plan covers 0.66 (`star`).
    @cache
    def look(rows):
        interval = bound(np.array(rows), method=method, alpha=0.3, horizon=plan)
        assert interval.anytime
        return interval.low, interval.high

    files = list(product((0.0, 1.0), repeat=7))
    ends = [looks_at(rows, 3, look) for rows in files]
    for rate in np.linspace(0.02, 0.98, 49):
        chances = [rate ** sum(rows) * (1.0 - rate) ** (7 - sum(rows)) for rows in files]
        held = sum(chance for chance, (low, high) in zip(chances, ends, strict=True) if low <= rate <= high)
        assert held >= 0.7, rate


def test_the_horizon_of_the_moment_is_no_plan():
    # The sum above can fail: it does where every look plans for as many trials as there are.
    @cache
    def look(rows):
        interval = bound(np.array(rows), method="star", alpha=0.3, horizon=len(rows))
        return interval.low, interval.high

    ends = [looks_at(rows, 3, look) for rows in product((0.0, 1.0), repeat=7)]
    assert sum(low <= 0.5 <= high for low, high in ends) / 2**7 < 0.7


@pytest.mark.parametrize("horizon", [16, "open"])
@pytest.mark.parametrize("method", ["betting", "star", "blocked"])
def test_every_look_of_bound_belongs_to_one_dealing(method, horizon):
    # One sequence whose blocks are dealt once gives the interval of every look: no look depends on what comes later,
    # and what was refuted stays refuted.
    rng = np.random.default_rng(11)
    y, f, e = rng.random(16), rng.random(16), rng.random(90)
    dealt, blocks = e[by_content(e)], 16 if horizon == 16 else 90 // BLOCK
    process, low, high, widths = sequence(method, horizon, 0.2), 0.0, 1.0, []
    for n in range(1, 17):
        step = process.update(y[n - 1], f[n - 1], dealt[n - 1 :: blocks] if n <= blocks else ())
        if n >= 5:
            rows = (y[:n], f[:n], e) if method == "blocked" else (y[:n],)
            look = bound(*rows, method=method, alpha=0.2, horizon=horizon, diagnostics=False)
            assert (look.low, look.high) == (step.low, step.high), n
            assert low <= look.low <= look.high <= high, n
            low, high = look.low, look.high
            widths.append(look.width)
    assert len(set(widths)) > 6, "looks differ"


@pytest.mark.parametrize("plan", [8, "open"])
def test_every_look_of_compare_is_rarely_wrong(plan):
    # All sequences of eight pairs that differ, equally likely if neither policy is better: nothing is sampled.
    @cache
    def look(rows):
        first = np.array(rows)
        return compare(first, 1.0 - first, paired=True, alpha=0.3, horizon=plan)

    wrong = 0
    for rows in product((0.0, 1.0), repeat=8):
        looks = [look(rows[:n]) for n in range(3, 9)]
        p_values = [comparison.p_value for comparison in looks]
        assert p_values == sorted(p_values, reverse=True), "evidence is never taken back"
        assert all(comparison.anytime and comparison.test == "betting" for comparison in looks)
        wrong += p_values[-1] <= 0.3
    assert 0 < wrong <= 0.3 * 2**8


def test_every_look_of_compare_belongs_to_one_game():
    # The p-value of every look is one over the largest wealth of two gamblers who play once, for the horizon.
    rng = np.random.default_rng(12)
    a, b = rng.random(20) ** 0.6, rng.random(20)
    up, down = Gambler(np.array([0.5]), 0.05, 20), Gambler(np.array([0.5]), 0.05, 20)
    peak = 0.0
    for n in range(1, 21):
        up.update(0.5 * (1.0 + a[n - 1] - b[n - 1]), 0.0, 0.0)
        down.update(0.5 * (1.0 + b[n - 1] - a[n - 1]), 0.0, 0.0)
        peak = max(peak, float(up.log_wealth[0]), float(down.log_wealth[0]))
        if n >= 5:
            look = compare(a[:n], b[:n], paired=True, horizon=20)
            assert look.p_value == pytest.approx(min(1.0, 2.0 * np.exp(-peak)), rel=1e-12), n
    assert look.p_value < 1.0


def test_looking_after_every_trial_is_not_claimed_without_a_plan():
    y = np.random.default_rng(0).random(30)
    for method in (betting, star):
        once, often = method(y), method(y, horizon=30)
        assert not once.anytime
        assert {HASHED, FIXED_N} <= set(once.assumes)
        assert often.anytime
        assert {AS_RUN, PLANNED} <= set(often.assumes)
        assert method(y, horizon="open").anytime
    with pytest.raises(ValueError, match="single look"):
        bound(y, method="hoeffding", horizon=30)
    with pytest.raises(ValueError, match="whole number"):
        bound(y, horizon=0)


def test_a_planned_look_is_the_same_process_at_every_look():
    # The interval after t trials with a plan uses the same blocks as the one after t + 1: ends only move inwards.
    rng = np.random.default_rng(5)
    y, f, e = (rng.random(n) for n in (30, 30, 100))
    low, high = 0.0, 1.0
    for t in range(5, 31):
        found = blocked(y[:t], f[:t], e, 0.2, horizon=30)
        assert low <= found.low <= found.high <= high
        low, high = found.low, found.high


@pytest.mark.parametrize("method", METHODS)
def test_an_interval_is_never_inverted(method):
    # A long streak of successes, then one of failures, looked at in that order, refutes every mean.
    y = np.repeat([1.0, 0.0], 60)
    f, e = np.random.default_rng(0).random((2, 120))
    options = {"horizon": 60} if method in ("betting", "star", "blocked") else {}
    found = bound(y, f, e, method=method, alpha=0.3, diagnostics=False, **options)
    assert found.low <= found.estimate <= found.high
    if method == "star":
        assert "contradict each other" in found.notes[0]
        assert found.alpha == 0.3


@pytest.mark.parametrize(("n", "method"), [(8, "star"), (14, "betting"), (20, "star")])
def test_sorted_successes_are_covered_as_often_as_said(n, method):
    # A sorted file of successes is known by their number, so nothing is sampled. In one order drawn for each number,
    # `star` covered 0.65 at n = 20.
    sorted_files = [np.r_[np.zeros(n - k), np.ones(k)] for k in range(n + 1)]
    found = [bound(rows, method=method, alpha=0.1) for rows in sorted_files]
    for p in np.linspace(0.02, 0.98, 97):
        held = sum(binom.pmf(k, n, p) for k, one in enumerate(found) if p in one)
        assert held >= 0.9
    for rows, one in zip(sorted_files, found, strict=True):
        other = bound(rows[::-1], method=method, alpha=0.1)
        assert (other.low, other.high) == (one.low, one.high)
        assert "several orders" in other.assumes[2] and not other.anytime


@pytest.mark.parametrize(("low", "high"), [(0.5, 1.0), (0.0, 0.5)])
@pytest.mark.parametrize(("n", "method"), [(20, "betting"), (30, "star")])
def test_sorted_scores_of_two_values_are_covered_as_often_as_said(n, method, low, high):
    # As successes: in one order drawn for each number, `betting` covered 0.84 of scores of 0.5 and 1 at n = 20.
    found = [bound(np.r_[np.full(n - k, low), np.full(k, high)], method=method, alpha=0.1) for k in range(n + 1)]
    assert all("several orders" in one.assumes[2] for one in found)
    for p in np.linspace(0.02, 0.98, 97):
        held = sum(binom.pmf(k, n, p) for k, one in enumerate(found) if low + (high - low) * p in one)
        assert held >= 0.9


def test_sorted_scores_of_three_values_are_covered_as_often_as_said():
    # In one order drawn for each array `star` covered 0.893.
    n, values, found = 12, np.array([0.0, 0.5, 1.0]), {}
    for a, b in product(range(n + 1), repeat=2):
        if a + b <= n:
            found[a, b, n - a - b] = bound(np.repeat(values, (a, b, n - a - b)), method="star", alpha=0.1)
    assert all("several orders" in one.assumes[2] for one in found.values())
    for p, q in product(np.linspace(0.05, 0.9, 8), repeat=2):
        chances = np.array([p, q, 1.0 - p - q])
        if chances.min() > 0.0:
            mean = chances @ values
            assert sum(multinomial.pmf(k, n, chances) for k, one in found.items() if mean in one) >= 0.9
    graded = np.random.default_rng(0).random(n)
    assert "several orders" not in bound(graded, method="star").assumes[2], "these are told apart by their scores"
    named = bound(np.repeat(values, 4), method="star", shuffled=True)
    assert "several orders" not in named.assumes[2], "and these by their ids"


def test_sorted_successes_with_a_constant_simulator_are_covered_as_often_as_said():
    # In one order drawn for each number `blocked` covered 0.816.
    n = 8
    files = [np.r_[np.zeros(n - k), np.ones(k)] for k in range(n + 1)]
    same = np.full(n, 0.5), np.full(3 * n, 0.5)
    found = [bound(rows, *same, method="blocked", alpha=0.1, diagnostics=False) for rows in files]
    for p in np.linspace(0.02, 0.98, 97):
        assert sum(binom.pmf(k, n, p) for k, one in enumerate(found) if p in one) >= 0.9
    for rows, one in zip(files, found, strict=True):
        other = bound(rows[::-1], *same, method="blocked", alpha=0.1, diagnostics=False)
        assert (other.low, other.high) == (one.low, one.high)


@pytest.mark.parametrize("method", ["suresim", "suresim_ub", "suresim_2stage_ub"])
def test_sorted_successes_are_covered_by_the_methods_of_suresim(method):
    # In one order drawn for each number `suresim` covered 0.76 and `suresim_ub` 0.83.
    n = 20
    same = np.full(n, 0.5), np.full(n, 0.5)
    files = [np.r_[np.zeros(n - k), np.ones(k)] for k in range(n + 1)]
    found = [bound(rows, *same, method=method, alpha=0.1, diagnostics=False) for rows in files]
    for p in np.linspace(0.02, 0.98, 97):
        assert binom.pmf([k for k, one in enumerate(found) if p in one], n, p).sum() >= 0.9
    assert all(UNITED in one.assumes and HASHED not in one.assumes for one in found)
    assert len(set(found[3].assumes)) == len(found[3].assumes)
    named = bound(files[3], *same, method=method, alpha=0.1, shuffled=True, diagnostics=False)
    assert UNITED not in named.assumes, "the order of these cannot follow outcomes"


@pytest.mark.parametrize("n", [20, 30, pytest.param(50, marks=pytest.mark.daily)])
def test_sorted_pairs_that_all_differ_are_rarely_told_apart(n):
    # Where neither policy is better; in one order drawn for each number, 8 % of the draws at n = 30 were.
    def p_value(wins):
        first = np.r_[np.zeros(n - wins), np.ones(wins)]
        return paired_betting(first, 1.0 - first).p_value

    assert sum(binom.pmf(k, n, 0.5) for k in range(n + 1) if p_value(k) <= 0.05) <= 0.05


@pytest.mark.daily
def test_sorted_pairs_with_a_constant_simulator_are_rarely_told_apart():
    # Before: simulation as control left them one order for each number.
    n = 20
    same = np.full(n, 0.5)

    def p_value(wins):
        first = np.r_[np.zeros(n - wins), np.ones(wins)]
        evidence = paired_betting(first, 1.0 - first, same, same, same, same)
        assert UNITED in evidence.interval.assumes
        return evidence.p_value

    assert sum(binom.pmf(k, n, 0.5) for k in range(n + 1) if p_value(k) <= 0.05) <= 0.05


@pytest.mark.parametrize("horizon", [0, -5, 2.5, True, "later"])
def test_what_is_no_plan_makes_nothing_anytime_valid(horizon):
    # Before: a horizon of 0 meant the number of trials so far, and the interval and p-value were called anytime-valid.
    y = np.random.default_rng(0).random(12)
    calls = [bound, betting, star, lambda y, **plan: blocked(y, y, y, **plan)]
    calls += [lambda y, **plan: compare(y, y[::-1], **plan), lambda y, **plan: paired_betting(y, y[::-1], **plan)]
    calls += [lambda y, horizon, kind=kind: sequence(kind, horizon) for kind in ("betting", "star", "blocked")]
    for call in calls:
        with pytest.raises(ValueError, match="horizon must be a whole number from 1 on, or 'open'"):
            call(y, horizon=horizon)
    assert star(y, horizon=np.int64(12)) == star(y, horizon=12)


def test_what_simulation_is_worth_is_told_of_the_same_looks():
    # Before: a bound that holds at every look was held against Clopper-Pearson's interval, which is for one look.
    rng = np.random.default_rng(1)
    ease = rng.random(440)
    real, sim = (rng.random(40) < ease[:40]).astype(float), (rng.random(440) < ease).astype(float)
    pairs = real, sim[:40], sim[40:]
    found = bound(*pairs, horizon=60)
    assert found.method == "blocked" and SAME_EXTRA in found.assumes
    assert found.diagnostics["width_real"] == bound(real, horizon=60).width
    assert found.diagnostics["width_sim"] == found.width
    few = bound(real, sim[:40], sim[40:90], horizon=60)
    assert few.method == "star" and "only 50 extra" in few.notes[-1] and "at least 60" in few.notes[-1]
    assert SAME_EXTRA not in few.assumes and SAME_EXTRA not in bound(*pairs, method="blocked").assumes


ALONE = {
    "betting": lambda y, f: stats.betting(y, 0.1),
    "star": lambda y, f: stats.star(y, 0.1),
    "blocked": lambda y, f: stats.blocked(y, f, f, 0.1, steps=200),
    "suresim": lambda y, f: stats.suresim(y, f, f, 0.1),
    "suresim_ub": lambda y, f: stats.suresim_ub(y, f, f, 0.1),
    "suresim_2stage": lambda y, f: stats.suresim_2stage(y, f, f, 0.1),
    "suresim_2stage_ub": lambda y, f: stats.suresim_2stage_ub(y, f, f, 0.1),
    "strata": lambda y, f: stats.strata(y, f, f, 0.1),
    "bound": lambda y, f: stats.bound(y, f, f, alpha=0.1, diagnostics=False),
}


@pytest.mark.parametrize("name", ALONE)
def test_every_public_bound_covers_on_a_sorted_array(name):
    # Summed over all outcomes of sorted successes, with a simulator that gives the same everywhere: nothing is sampled.
    n = 12
    ends = []
    for k in range(n + 1):
        found = ALONE[name](np.r_[np.zeros(n - k), np.ones(k)], np.full(n, 0.75))
        assert found.guarantee == "finite-sample"
        ends.append((found.low, found.high))
    for rate in (0.15, 0.3, 0.5, 0.7, 0.85):
        held = sum(binom.pmf(k, n, rate) for k, (low, high) in enumerate(ends) if low <= rate <= high)
        assert held >= 0.9, (name, rate)


def test_a_row_order_that_is_known_to_be_random_is_bet_on_once():
    y = np.tile([0.0, 0.5, 1.0], 5)
    assert UNITED in stats.star(y).assumes and UNITED not in stats.star(y, shuffled=True).assumes
    assert stats.star(y).low == stats.star(np.sort(y)).low
    assert UNITED in stats.blocked(y, y, y).assumes and UNITED in stats.suresim_ub(y, y, y).assumes
    fine = np.linspace(0.0, 1.0, 60)
    assert HASHED in stats.suresim(fine, fine, fine).assumes
    assert SHUFFLED in stats.suresim(fine, fine, fine, shuffled=True).assumes
