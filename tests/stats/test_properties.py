"""Properties that must hold for any data (hypothesis)."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from foretell.stats import METHODS, BlockedSequence, bound, next_scenarios, sampled_bound, sequence
from foretell.stats import bounds as b

SETTINGS = settings(max_examples=15, deadline=None, derandomize=True)
LEVELS = st.sampled_from([0.0, 0.25, 0.5, 0.8, 1.0])
BINARY = st.sampled_from([0.0, 1.0])
ALPHAS = st.sampled_from([0.01, 0.05, 0.1, 0.3])
BINARY_ONLY = ("wilson", "clopper_pearson", "strata")


@st.composite
def studies(draw, score=LEVELS):
    n = draw(st.integers(6, 14))
    real = draw(st.lists(score, min_size=n, max_size=n))
    sim = draw(st.lists(LEVELS, min_size=n, max_size=n))
    extra = draw(st.lists(LEVELS, min_size=2, max_size=40))
    return np.array(real), np.array(sim), np.array(extra)


def run(method, data, alpha=0.1):
    return bound(*data, method=method, alpha=alpha, diagnostics=False)


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data(), alpha=ALPHAS)
@SETTINGS
def test_ends_lie_in_the_range_around_the_estimate(method, data, alpha):
    study = data.draw(studies(BINARY if method in BINARY_ONLY else LEVELS))
    found = run(method, study, alpha)
    assert 0.0 <= found.low <= found.estimate <= found.high <= 1.0


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
@SETTINGS
def test_symmetric_under_reflection(method, data):
    y, f, e = data.draw(studies(BINARY if method in BINARY_ONLY else LEVELS))
    if method == "strata":  # a score in the middle of the range counts as solved, before and after reflection
        f, e = np.where(f == 0.5, 1.0, f), np.where(e == 0.5, 0.0, e)
    one, other = run(method, (y, f, e)), run(method, (1 - y, 1 - f, 1 - e))
    step = 2 / 2000 if method in ("star", "blocked") else 1e-5
    assert one.low == pytest.approx(1 - other.high, abs=step)
    assert one.high == pytest.approx(1 - other.low, abs=step)


@pytest.mark.parametrize("method", ["wilson", "clopper_pearson", "hoeffding", "strata", "control_variate"])
@given(data=st.data(), seed=st.integers(0, 99))
@SETTINGS
def test_order_does_not_matter_where_claimed(method, data, seed):
    y, f, e = data.draw(studies(BINARY))
    rng = np.random.default_rng(seed)
    order = rng.permutation(y.size)
    one, other = run(method, (y, f, e)), run(method, (y[order], f[order], rng.permutation(e)))
    assert one.low == pytest.approx(other.low, abs=1e-12)
    assert one.high == pytest.approx(other.high, abs=1e-12)


@st.composite
def alpha_pairs(draw):
    """(strict, loose) in (0, 1): customary levels, any others, and neighbours."""
    level = st.one_of(st.sampled_from([0.001, 0.01, 0.05, 0.1, 0.2, 0.5]), st.floats(0.001, 0.9))
    one = draw(level)
    other = draw(st.one_of(level, st.floats(0.9, 1.0, exclude_max=True).map(lambda share: share * one)))
    return min(one, other), max(one, other)


@st.composite
def runs(draw, score, at_least):
    """Scores in runs, which is where bets tuned to different levels part most: shape (n,), n <= 40."""
    pieces = st.lists(st.tuples(score, st.integers(1, 12)), min_size=1, max_size=12)
    listed = [value for value, size in draw(pieces) for _ in range(size)][:40]
    missing = max(0, at_least - len(listed))
    return np.array(listed + draw(st.lists(score, min_size=missing, max_size=missing)))


@st.composite
def wide_studies(draw, score, at_least):
    real = draw(st.one_of(runs(score, at_least), st.lists(score, min_size=at_least, max_size=40).map(np.array)))
    sim = draw(st.one_of(st.just(real), st.lists(score, min_size=real.size, max_size=real.size).map(np.array)))
    return real, sim, draw(runs(LEVELS, 2))


def assert_nested(strict, loose, slack=0.0):
    assert strict.low <= loose.low + slack
    assert strict.high >= loose.high - slack


LEAST_N = {"control_variate": 3, "control_variate_split": 6}
FORMULAS = ("wilson", "clopper_pearson", "hoeffding", "control_variate", "control_variate_split")


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data(), alphas=alpha_pairs())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_smaller_alpha_is_never_narrower(method, data, alphas):
    score = BINARY if method in BINARY_ONLY else data.draw(st.sampled_from([BINARY, LEVELS]))
    study = data.draw(wide_studies(score, LEAST_N.get(method, 1)))
    strict, loose = (run(method, study, alpha) for alpha in alphas)
    # Ends found by betting lie on a grid and are nested to the last digit; formulas round.
    assert_nested(strict, loose, 1e-12 if method in FORMULAS else 0.0)


@pytest.mark.parametrize("method", ["betting", "star", "blocked"])
@given(data=st.data(), alphas=alpha_pairs(), horizon=st.integers(1, 40))
@settings(max_examples=12, deadline=None, derandomize=True)
def test_smaller_alpha_is_never_narrower_at_any_time(method, data, alphas, horizon):
    strict, loose = (sequence(method, horizon, alpha) for alpha in alphas)
    for y, f in zip(*data.draw(wide_studies(LEVELS, 1))[:2], strict=True):
        block = [0.25, 0.5, 1.0]
        assert_nested(strict.update(y, f, block), loose.update(y, f, block))


@given(data=st.data(), alphas=alpha_pairs(), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_smaller_alpha_is_never_narrower_after_uneven_sampling(data, alphas, seed):
    real, sim, _ = data.draw(wide_studies(LEVELS, 4))
    pick = next_scenarios(sim, 0.5 * sim.size, rule="active", uncertainty=0.1 + real, seed=seed)
    assume(pick.chosen.size)
    strict, loose = (sampled_bound(real[pick.chosen], sim, pick, alpha) for alpha in alphas)
    assert_nested(strict, loose)


def test_each_further_rung_is_wider_on_data_that_tell():
    # Nested must not mean constant.
    y = np.tile([0.0, 0.5, 1.0, 1.0], 10)
    f = np.roll(y, 1)
    for method in ("betting", "star", "blocked", "suresim", "suresim_2stage", "suresim_ub", "suresim_2stage_ub"):
        widths = [run(method, (y, f, np.tile(y, 10)), alpha).width for alpha in (0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.01)]
        assert (np.diff(widths) > 0).all(), method


@pytest.mark.parametrize("method", ["betting", "star", "blocked"])
@given(scores=st.lists(LEVELS, min_size=1, max_size=15), horizon=st.integers(1, 12))
@SETTINGS
def test_anytime_intervals_are_nested(method, scores, horizon):
    play = sequence(method, horizon, 0.2)
    low, high = 0.0, 1.0
    for y in scores:
        found = play.update(y, 0.5, [0.25, 0.5])
        assert found.anytime
        assert low <= found.low + 1e-6
        assert found.high - 1e-6 <= high
        low, high = found.low, found.high


@given(study=studies(), shift=st.integers(1, 5))
@SETTINGS
def test_a_constant_simulator_leaves_star(study, shift):
    y, f, e = study
    level = np.full_like(f, shift / 5)
    with_sim = b.blocked(y, level, np.full_like(e, shift / 5), 0.1)
    alone = b.star(y, 0.1)
    assert with_sim.width <= alone.width + 0.35  # the room a control might need is paid for, nothing else


@given(study=studies())
@SETTINGS
def test_blocks_of_the_sequence_may_be_of_any_size(study):
    y, f, e = study
    play = BlockedSequence(y.size, alpha=0.1)
    for t in range(y.size):
        found = play.update(y[t], f[t], e[: t % 4])
    assert 0.0 <= found.low <= found.high <= 1.0
