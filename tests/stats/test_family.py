"""Families of tests: what they share out, whom they protect, and that a forecast cannot break them."""

import itertools

import numpy as np
import pytest
from scipy.special import ndtr

from foretell.stats import closed, compare_all, holm, in_forecast_order, paired_betting
from foretell.stats.evidence import _run
from foretell.stats.family import FIRST, GROUPS, LEAN, _over_sets, _partitions, bets_aim, expected, leaning, pair_order

ALPHA = 0.05


def by_hand(p, sets, order, first):
    """Closed test over the sets given, as defined: each pair's largest local p-value."""
    at = {pair: i for i, pair in enumerate(order)}
    out = np.zeros(len(p))
    for members in sets:
        lead, *rest = sorted(members, key=at.get)
        even = (1 - first) / len(members)
        local = min([p[lead] / (even + first), *(p[k] / even for k in rest)])
        for k in members:
            out[k] = max(out[k], local)
    return np.minimum(out, 1.0)


@pytest.mark.parametrize("policies", [2, 3, 4])
def test_shortcuts_give_the_closed_test_as_defined(policies):
    rng = np.random.default_rng(policies)
    pairs = list(itertools.combinations(range(policies), 2))
    every = [s for size in range(1, len(pairs) + 1) for s in itertools.combinations(range(len(pairs)), size)]
    groups = {
        tuple(k for k, (i, j) in enumerate(pairs) if of[i] == of[j])
        for of in itertools.product(range(policies), repeat=policies)
    }
    assert {tuple(np.flatnonzero(row)) for row in _partitions(policies)} == groups - {()}
    for _ in range(20):
        p, order = np.round(rng.random(len(pairs)) ** 3, 2), rng.permutation(len(pairs))
        assert closed(p, policies, order) == pytest.approx(by_hand(p, groups - {()}, order, FIRST))
        assert closed(p, policies) == pytest.approx(by_hand(p, groups - {()}, order, 0.0))
        assert (closed(p, policies) <= holm(p) + 1e-12).all()
        sets = np.empty_like(p)
        sets[order] = np.minimum(1.0, _over_sets(p[order], FIRST))
        assert sets == pytest.approx(by_hand(p, every, order, FIRST))


def test_more_policies_than_partitions_can_list_are_protected_against_every_set():
    rng = np.random.default_rng(0)
    policies = GROUPS + 3
    p = rng.random(policies * (policies - 1) // 2) ** 4
    assert closed(p, policies) == pytest.approx(holm(p))
    order = rng.permutation(p.size)
    assert (closed(np.r_[p[:-1], p[-1] / 2], policies, order) <= closed(p, policies, order)).all()


def claims(x, forecast, order_by):
    """Pairs called different with their sign, from unit-variance scores of shape (K,): exactly uniform p-values."""
    pairs = list(itertools.combinations(range(x.size), 2))
    z = np.array([(x[i] - x[j]) / np.sqrt(2) for i, j in pairs])
    if not order_by:
        p = holm(np.minimum(1.0, 2 * ndtr(-np.abs(z))))
    else:
        raw = [
            leaning(ndtr(-v), ndtr(v), expected(forecast[i], forecast[j])) for v, (i, j) in zip(z, pairs, strict=True)
        ]
        p = closed(raw, x.size, pair_order(forecast, (-9.0, 9.0)))
    return {pair: np.sign(v) for pair, v, one in zip(pairs, z, p, strict=True) if one <= ALPHA}


@pytest.mark.parametrize(
    ("truth", "forecast"),
    [
        ((0, 0, 0, 0), (1, 0.5, 0, -1)),  # a forecast of differences that do not exist
        ((0, 0, 6, 6), (0, 1, 2, 3)),
        ((0, 0, 6, 6), (6, 5, 0, 1)),  # a forecast that has it the wrong way round
        ((0, 0.1, 0.2, 0.3), (3, 2, 1, 0)),
        ((0, 0, 0, 3), (0, 0, 0, 0)),
    ],
)
def test_no_forecast_makes_false_claims_more_frequent(truth, forecast):
    rng = np.random.default_rng(7)
    mu, draws, wrong = np.array(truth, dtype=float), 1000, 0
    for _ in range(draws):
        made = claims(mu + rng.normal(size=mu.size), np.array(forecast, dtype=float), True)
        wrong += any(np.sign(mu[i] - mu[j]) != sign for (i, j), sign in made.items())
    assert wrong / draws <= ALPHA + 3.7 * np.sqrt(ALPHA * 0.95 / draws)  # one-sided 1e-4


def test_a_good_forecast_shows_more_and_a_bad_one_little_less():
    rng = np.random.default_rng(3)
    mu = np.array([0.0, 1.5, 3.0, 4.5, 6.0])
    shown = {"holm": 0, "good": 0, "noise": 0}
    for _ in range(300):
        x = mu + rng.normal(size=5)
        shown["holm"] += len(claims(x, mu, False))
        shown["good"] += len(claims(x, mu + rng.normal(size=5) / 2, True))
        shown["noise"] += len(claims(x, rng.normal(size=5), True))
    assert shown["good"] > 1.15 * shown["holm"]
    assert shown["noise"] > 0.95 * shown["holm"]


def test_bets_in_forecast_order_may_be_read_after_every_trial():
    # p-values of bets with a fixed horizon only fall and closed tests follow them, so whoever looks at every trial is
    # wrong at some time exactly if the last look is.
    rng = np.random.default_rng(5)
    n, names = 24, ("a", "b", "c")
    forecast = {"a": 0.9, "b": 0.5, "c": 0.1}
    pairs = list(itertools.combinations(names, 2))
    aim = bets_aim(ALPHA, 3, ordered=True)
    nothing = np.zeros(n)

    def p_values(x, t):
        found = {}
        for a, b in pairs:
            y = 0.5 * (1 + x[a] - x[b])[:t]
            up, down = (
                np.exp(-_run(v, nothing[:t], nothing[:t], share * aim, n)[0])
                for v, share in ((y, LEAN), (1 - y, 1 - LEAN))
            )
            found[a, b] = leaning(up, down, "greater")
        return found

    x = {name: (rng.random(n) < rate).astype(float) for name, rate in zip(names, (0.9, 0.6, 0.2), strict=True)}
    looks = [p_values(x, t) for t in (4, 9, 16, 20, n)]
    after = [in_forecast_order(p, forecast) for p in looks]
    for raw, adjusted in zip(itertools.pairwise(looks), itertools.pairwise(after), strict=True):
        assert all(raw[1][pair] <= raw[0][pair] and adjusted[1][pair] <= adjusted[0][pair] for pair in pairs)
    whole = paired_betting(x["a"], x["b"], aim=aim, expected="greater", horizon=n)
    assert whole.p_value == pytest.approx(looks[-1]["a", "b"])
    draws, wrong = 80, 0
    for _ in range(draws):
        x = {name: (rng.random(n) < 0.5).astype(float) for name in names}
        wrong += min(in_forecast_order(p_values(x, n), forecast).values()) <= ALPHA
    assert wrong <= 12  # one-sided 1e-3 at 0.05


def test_pairs_come_in_the_order_expected_and_ties_in_that_of_names():
    assert pair_order([0.5, 0.9, 0.1])[0] == 2  # 0.9 and 0.1
    order = pair_order([0.99, 0.89, 0.50, 0.40]).tolist()
    assert order.index(0) < order.index(5)  # 0.99 and 0.89 differ more than 0.50 and 0.40
    assert leaning(0.01, 0.99, "greater") == pytest.approx(0.01 / LEAN)
    assert leaning(0.01, 0.99, None) == 0.02
    assert (expected(0.2, 0.4), expected(1, 1)) == ("less", None)
    flat = dict.fromkeys("abcd", 1.0)
    p = {pair: 0.001 * (1 + k) for k, pair in enumerate(itertools.combinations("abcd", 2))}
    turned = {pair[::-1]: v for pair, v in reversed(p.items())}
    assert in_forecast_order(p, flat) == {pair[::-1]: v for pair, v in in_forecast_order(turned, flat).items()}


def test_compare_all_with_a_forecast():
    rng = np.random.default_rng(11)
    policies = {
        name: (rng.random(40) < rate).astype(float)
        for name, rate in (("a", 0.9), ("b", 0.75), ("c", 0.55), ("d", 0.35), ("e", 0.15))
    }
    forecast = {"a": 0.95, "b": 0.8, "c": 0.5, "d": 0.3, "e": 0.2}

    def shown(**more):
        return sum(v in ("better", "worse") for v in compare_all(policies, paired=True, **more).verdicts.values())

    assert shown(order_by=forecast) > shown()
    turned = dict(reversed(policies.items()))
    one, other = (compare_all(each, order_by=forecast) for each in (policies, turned))
    assert one.names == other.names
    assert one.p_values == pytest.approx(other.p_values)
    graded = {name: 0.8 * values + 0.1 for name, values in policies.items()}
    assert compare_all(graded, paired=True, order_by=forecast).verdicts["a", "e"] == "better"
    with pytest.raises(ValueError, match=r"differs in \['e'\]"):
        compare_all(policies, order_by={k: v for k, v in forecast.items() if k != "e"})
    with pytest.raises(ValueError, match="4 policies have 6 pairs, got 3"):
        closed([0.1, 0.2, 0.3], 4)
    with pytest.raises(ValueError, match="each pair once"):
        closed([0.1, 0.2, 0.3], 3, [0, 0, 1])
    with pytest.raises(ValueError, match="finite number"):
        pair_order([0.1, float("nan")])
    with pytest.raises(ValueError, match="every pair"):
        in_forecast_order({("a", "b"): 0.1}, forecast)
