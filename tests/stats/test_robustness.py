"""Metrics of robustness: rates, paired changes, the two papers' changes, and the score that ranks."""

import numpy as np
import pytest

from foretell.stats import clopper_pearson, newcombe_paired
from foretell.stats.paired import paired_difference, paired_ratio
from foretell.stats.robustness import (
    delta_success,
    factor_alignment,
    factor_weights,
    headline,
    paired_change,
    percentage_change,
    success_rate,
)


def outcomes(rate, n=100):
    return (np.arange(n) < round(rate * n)).astype(float)


def score(rates, n=100):
    """The headline of a policy with these rates, one factor each."""
    return headline([outcomes(r, n) for r in rates], [f"factor {i}" for i in range(len(rates))]).estimate


def test_a_policy_that_never_succeeds_ranks_last_and_loss_alone_does_not_rank():
    never, strong, weak = score([0.0, 0.0]), score([0.7, 0.7]), score([0.25, 0.25])
    assert strong > weak > never == 0.0
    clean = {"never": 0.0, "strong": 0.9, "weak": 0.3}
    after = {"never": 0.0, "strong": 0.7, "weak": 0.25}
    percent = {p: percentage_change([outcomes(after[p])], [outcomes(clean[p])]) for p in clean}
    assert percent["never"] is None  # undefined, not "no loss"
    # ranked by loss, as the paper does, weak would come first
    assert percent["strong"].estimate == pytest.approx(100 * (0.7 - 0.9) / 0.9)
    assert percent["weak"].estimate == pytest.approx(100 * (0.25 - 0.3) / 0.3)
    assert percent["weak"].estimate > percent["strong"].estimate


def test_factors_weigh_the_same_however_many_cells_they_have():
    cells = [outcomes(1.0), outcomes(1.0), outcomes(1.0), outcomes(0.0)]
    assert headline(cells, ["a", "a", "a", "b"]).estimate == pytest.approx(0.5)
    assert factor_weights(["a", "a", "a", "b"]).tolist() == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])
    with pytest.raises(ValueError, match="no cell counts"):
        factor_weights([])
    with pytest.raises(ValueError, match=r"shape \(C, n\) with C = 1"):
        headline(cells, ["a"])


def test_the_headline_covers_though_cells_depend_on_each_other():
    rng = np.random.default_rng(0)
    missed, widths = 0, []
    for _ in range(60):
        hard = rng.uniform(size=25)  # a scenario that is hard is hard under every factor
        cells = [(hard < p).astype(float) for p in (0.9, 0.8, 0.7, 0.5)]
        found = headline(cells, list("abcd"))
        missed += not found.low <= 0.725 <= found.high
        widths.append(found.width)
    assert missed <= 3  # coverage of 0.8 would pass one time in 1,000
    assert np.mean(widths) < 0.6
    assert found.guarantee == "finite-sample"
    sure = headline(np.ones((4, 25)), list("abcd"))
    assert sure.estimate == sure.high == 1.0
    assert 0.8 < sure.low < 0.95  # 25 scenarios, not 100 trials


def test_counts_of_equal_tasks_are_put_together():
    a, b = [outcomes(0.6, 20), outcomes(0.8, 20)], [outcomes(0.9, 20), outcomes(1.0, 20)]
    rate = success_rate(a)
    assert (rate.estimate, rate.low, rate.high) == (0.7, clopper_pearson(28, 40).low, clopper_pearson(28, 40).high)
    change = paired_change(a, b)
    exact = paired_difference(28, 0, 10, 2)
    assert (change.estimate, change.low, change.high) == (exact.estimate, exact.low, exact.high)
    assert change.estimate == pytest.approx(-0.25)
    assert exact.guarantee == "finite-sample" and change.guarantee == "asymptotic"  # the tasks may differ
    many = paired_change([outcomes(0.8)] * 2, [outcomes(0.9)] * 2)
    assert (many.low, many.method) == (newcombe_paired(160, 0, 20, 20).low, "newcombe_paired")
    percent = percentage_change(a, b)
    ratio = paired_ratio(28, 0, 10, 2)
    assert percent.estimate == pytest.approx(100 * (0.7 - 0.95) / 0.95)
    assert (percent.low, percent.high) == pytest.approx((100 * (ratio.low - 1), 100 * (ratio.high - 1)))


def test_tasks_of_unequal_size_have_equal_weight():
    a, b = [outcomes(0.5, 10), outcomes(1.0, 30)], [outcomes(1.0, 10), outcomes(1.0, 30)]
    assert success_rate(a).estimate == pytest.approx(0.75)
    change = paired_change(a, b)
    assert (change.method, change.guarantee, change.n) == ("paired_difference", "asymptotic", 40)
    assert change.estimate == pytest.approx(-0.25)
    alone = paired_change(a[:1], b[:1])
    assert change.low == pytest.approx(-0.25 - 0.5 * np.hypot(-0.5 - alone.low, paired_change(a[1:], b[1:]).low))
    assert -0.45 < change.low < -0.25 < change.high < 0.0
    sure = success_rate([np.ones(3), np.ones(4)])
    assert (sure.estimate, sure.high) == (1.0, 1.0) and 0.5 < sure.low < 0.8  # never without width
    percent = percentage_change(a, b)
    assert percent.estimate == pytest.approx(-25.0) and percent.guarantee == "finite-sample"
    assert percent.low < -25.0 < percent.high


def test_pairs_that_all_agree_leave_doubt():
    assert paired_change([np.ones(25)], [np.ones(25)]).width > 0.2
    assert paired_change([np.full(25, 0.5)], [np.full(25, 0.5)]).width > 0.2


def test_partial_credit_is_bounded_by_bets():
    rng = np.random.default_rng(2)
    clean = rng.uniform(size=80)
    change = paired_change([clean / 2], [clean])
    assert (change.method, change.guarantee) == ("betting_difference", "finite-sample")
    assert change.low < change.estimate < change.high < 0
    assert percentage_change([clean / 2], [clean]).estimate == pytest.approx(-50.0)
    both = paired_change([clean / 2] * 2, [clean] * 2)  # two tasks, each with its own scenarios
    assert both.estimate == pytest.approx(change.estimate) and both.width < change.width
    assert both.guarantee == "asymptotic" and success_rate([clean]).method == "star"


def test_pairs_must_match():
    with pytest.raises(ValueError, match=r"pair one to one in every task, got sizes \[3\] and \[2\]"):
        paired_change([[1, 0, 1]], [[1, 0]])
    with pytest.raises(ValueError, match="at least one task"):
        success_rate([])


def test_equation_six_as_printed_and_as_tabulated():
    assert delta_success([0.5, 0.9], 0.7) == pytest.approx(0.0)
    assert delta_success([0.5, 0.9], 0.7, absolute=True) == pytest.approx(0.2)
    assert delta_success([[0.5, 0.7], [0.2, 0.4]], [0.8, 0.3]) == pytest.approx([-0.2, 0.0])
    with pytest.raises(ValueError, match=r"got \(2, 2\) and \(\)"):
        delta_success([[0.5, 0.7], [0.2, 0.4]], 0.8)


def test_alignment_of_two_worlds():
    sim = [outcomes(r, 50) for r in (0.1, 0.3, 0.5, 0.7, 0.9)]
    real = [outcomes(r, 50) for r in (0.2, 0.3, 0.6, 0.6, 1.0)]
    found = factor_alignment(real, sim)
    expected = np.corrcoef([0.2, 0.3, 0.6, 0.6, 1.0], [0.1, 0.3, 0.5, 0.7, 0.9])[0, 1] ** 2
    assert found.estimate == pytest.approx(expected)
    assert found.low < expected <= found.high
    few = factor_alignment(real[:2], sim[:2])
    assert np.isnan(few.estimate) and few.low is None and "2 policies are too few for a correlation" in few.reason
    assert np.isnan(factor_alignment([outcomes(1, 9)] * 2, sim[:2]).estimate)
