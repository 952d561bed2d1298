"""Properties that must hold for any data (hypothesis)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.stats import METHODS, BlockedSequence, bound, sequence
from foretell.stats import bounds as b

SETTINGS = settings(max_examples=15, deadline=None, derandomize=True)
LEVELS = st.sampled_from([0.0, 0.25, 0.5, 0.8, 1.0])
BINARY = st.sampled_from([0.0, 1.0])
ALPHAS = st.sampled_from([0.01, 0.05, 0.1, 0.3])
BINARY_ONLY = ("wilson", "clopper_pearson")


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
    one, other = run(method, (y, f, e)), run(method, (1 - y, 1 - f, 1 - e))
    step = 2 / 2000 if method in ("star", "blocked") else 1e-5
    assert one.low == pytest.approx(1 - other.high, abs=step)
    assert one.high == pytest.approx(1 - other.low, abs=step)


@pytest.mark.parametrize("method", ["wilson", "clopper_pearson", "hoeffding", "control_variate"])
@given(data=st.data(), seed=st.integers(0, 99))
@SETTINGS
def test_order_does_not_matter_where_claimed(method, data, seed):
    y, f, e = data.draw(studies(BINARY))
    rng = np.random.default_rng(seed)
    order = rng.permutation(y.size)
    one, other = run(method, (y, f, e)), run(method, (y[order], f[order], rng.permutation(e)))
    assert one.low == pytest.approx(other.low, abs=1e-12)
    assert one.high == pytest.approx(other.high, abs=1e-12)


@pytest.mark.parametrize("method", ["wilson", "clopper_pearson", "hoeffding", "control_variate"])
@given(data=st.data())
@SETTINGS
def test_smaller_alpha_is_never_narrower_where_claimed(method, data):
    study = data.draw(studies(BINARY))
    strict, loose = run(method, study, 0.02), run(method, study, 0.2)
    assert strict.low <= loose.low
    assert strict.high >= loose.high


@pytest.mark.parametrize("method", ["betting", "star", "suresim", "suresim_2stage", "blocked"])
def test_smaller_alpha_is_wider_on_average_for_bets(method):
    # Bets are tuned to alpha, so single data sets need not be nested; averages must be.
    rng = np.random.default_rng(0)
    widths = np.zeros(3)
    for _ in range(10):
        y = rng.choice([0, 0.5, 1.0], size=30)
        f = np.where(rng.random(30) < 0.7, y, rng.choice([0, 0.5, 1.0], size=30))
        data = (y, f, rng.choice([0, 0.5, 1.0], size=300))
        widths += [run(method, data, a).width for a in (0.01, 0.05, 0.2)]
    assert widths[0] > widths[1] > widths[2]


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
    play = BlockedSequence(y.size, 0.1)
    for t in range(y.size):
        found = play.update(y[t], f[t], e[: t % 4])
    assert 0.0 <= found.low <= found.high <= 1.0
