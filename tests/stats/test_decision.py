"""Picking by simulation: regret and its interval, ties, short lists, and the reach of a claim."""

from itertools import permutations, product

import numpy as np
import pytest
import scipy.stats

from foretell.stats import decide, mmrv, regret
from foretell.stats.claim import ordered_by_chance
from foretell.stats.coverage_decision import DESIGNS, held
from foretell.stats.pairwise import ahead, trials

REAL, SIM = [0.35, 0.6, 0.55, 0.2, 0.85], [0.4, 0.55, 0.62, 0.15, 0.9]
MANY = {"n_real": [20] * 5, "n_sim": [200] * 5}


def chances(n, p):
    """Of 0 to n successes."""
    return scipy.stats.binom.pmf(np.arange(n + 1), n, p)


@pytest.mark.parametrize("level", [0.0125, 0.05])
def test_bounds_of_a_difference_hold_summed_over_all_outcomes(level):
    n, m = 6, 4
    bound = np.zeros((n + 1, m + 1))
    for j, i in product(range(n + 1), range(m + 1)):
        bound[j, i] = ahead(trials([j / n, i / m], [n, m], None, False, "real"), level)[0, 1]
    worst = 0.0
    for p, q in product(np.linspace(0.0, 1.0, 41), repeat=2):
        misses = np.outer(chances(n, p), chances(m, q))[bound < p - q - 1e-12].sum()
        worst = max(worst, misses)
    assert 0.2 * level < worst <= level


@pytest.mark.parametrize("rates", [(0.5, 0.5, 0.5), (0.9, 0.5, 0.4), (0.2, 0.25, 0.9), (0.6, 0.7, 0.65)])
def test_regret_of_any_pick_holds_summed_over_all_outcomes(rates):
    n, alpha, rates = 4, 0.2, np.array(rates)
    above = below = lost = 0.0
    alone = np.zeros((2, 3))
    for counts in product(range(n + 1), repeat=3):
        chance = np.prod([chances(n, p)[k] for p, k in zip(rates, counts, strict=True)])
        means, over, under, missed = np.array(counts) / n, False, False, np.zeros((2, 3), dtype=bool)
        for pick in range(3):  # as if simulation had been told the real outcomes: any pick must hold
            made = decide(means, np.eye(3)[pick], n_real=[n] * 3, top=(2,), alpha=alpha)
            truth = rates.max() - rates[pick]
            over |= truth > made.regret.high + 1e-12
            under |= truth < made.regret.low - 1e-12
            for gone, without in enumerate(made.without):
                rest = np.delete(rates, gone)
                truth = rest.max() - (rest.mean() if pick == gone else rates[pick])  # the others tie
                missed[0, gone] |= truth > without.high + 1e-12
                missed[1, gone] |= truth < without.low - 1e-12
        alone += chance * missed
        above, below = above + chance * over, below + chance * under
        lost += chance * (int(rates.argmax()) not in made.maybe_best)
    assert above <= alpha / 2 and below <= alpha / 2 and lost <= alpha / 2
    assert (alone <= alpha / 2).all(), "without one policy, each by itself"


@pytest.mark.parametrize("design", [d for d in DESIGNS if "hidden" in d.name or "eight close, perfect" in d.name])
def test_a_bootstrap_misses_where_these_intervals_hold(design):
    shares = held(design, 40, 0.1, 3)
    assert shares.joint >= 36
    if design.name.startswith("eight close"):
        assert shares.bootstrap < 0.85


def test_the_decision_in_numbers():
    made = decide(REAL, SIM, **MANY)
    assert made.picks == made.winners == (4,) and made.agrees and made.shown == "open"
    assert made.regret.estimate == made.regret.low == 0.0 < made.regret.high < 0.25
    assert made.regret.guarantee == "finite-sample"
    assert made.maybe_best == (4, 1, 2) and made.maybe_best_sim == (4,)
    short = made.shortlists[0]
    assert short.members == (4, 2, 1) and short.picks == (4,) and short.shown == "yes"
    assert [each.estimate for each in made.without] == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.05])
    last = made.without[4]
    assert last.low == 0.0 and 0.05 < last.high < 0.5 and last.n == 4, "act is picked, and dp may be better"
    more = decide(REAL, SIM, n_real=[200] * 5, n_sim=[200] * 5)
    assert more.shown == "yes" and more.regret.high == 0.0 and more.maybe_best == (4,)
    wrong = decide(REAL, SIM[::-1], n_real=[200] * 5)
    assert wrong.shown == "no" and wrong.regret.estimate == pytest.approx(0.5) and wrong.regret.low > 0.3


def test_simulated_ties_share_the_regret():
    made = decide([0.9, 0.5, 0.1], [0.8, 0.8, 0.1], n_real=[30] * 3, top=(1, 2))
    assert made.picks == (0, 1) and not made.agrees and made.shown == "no", "either may be taken"
    assert made.regret.estimate == pytest.approx(0.2) == float(regret([0.9, 0.5, 0.1], [0.8, 0.8, 0.1]))
    assert made.shortlists[0].members == (0, 1) and made.shortlists[0].regret.estimate == 0.0
    assert made.maybe_best_sim is None, "the simulated trials are not counted"
    assert decide([0.5, 0.6], [0.5, 0.5], n_real=[10, 10], top=(1,)).shown == "open", "both may be the best"


def test_scores_on_the_same_scenarios_are_compared_one_to_one():
    rng = np.random.default_rng(0)
    easy = rng.random(40)
    real = [(easy < rate) * 1.0 for rate in (0.5, 0.6, 0.8)]
    means = [x.mean() for x in real]
    paired = decide(means, [0.1, 0.9, 0.5], real_outcomes=real, same=True, top=(2,))
    apart = decide(means, [0.1, 0.9, 0.5], real_outcomes=real, top=(2,))
    assert paired.regret.high < apart.regret.high and paired.regret.guarantee == "finite-sample"
    order = rng.permutation(40)
    turned = [x[order] for x in real]
    assert decide(means, [0.1, 0.9, 0.5], real_outcomes=turned, same=True, top=(2,)) == paired, "sorted or not"
    graded = decide(means, [0.1, 0.9, 0.5], real_outcomes=[0.9 * x for x in real], same=True, top=(2,))
    assert graded.regret.guarantee == "asymptotic"
    metres = decide([9.0, 5.0], [1.0, 2.0], real_outcomes=[[8.0, 10.0, 9.5], [4.0, 6.5, 5.0]], same=True, top=(1,))
    assert metres.regret.low < 4.0 < metres.regret.high and metres.regret.method == "regret, Student's t"


def test_without_trial_counts_there_are_estimates_only():
    made = decide(REAL, SIM)
    assert made.regret.estimate == 0.0 and made.regret.high is None and "n_real" in made.regret.reason
    assert made.maybe_best is None and made.shortlists[0].shown == "open"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"top": (6,)}, "top must be from 1 to the number of policies, 5, got 6"),
        ({"top": (0,)}, "got 0"),
        ({"n_real": [20] * 4}, "n_real must have 5 positive numbers"),
        ({"n_real": [20] * 4 + [0]}, "n_real must have 5 positive numbers"),
        ({"real_outcomes": [[1.0]] * 4}, "real_outcomes must list 5 policies, got 4"),
        ({"runs": ["a"]}, "runs must name the training run of 5 policies, got 1"),
        ({"alpha": 1.0}, "alpha"),
    ],
)
def test_what_is_refused(given, reason):
    with pytest.raises(ValueError, match=reason):
        decide(REAL, SIM, **{**MANY, **given})


def test_numbers_that_are_no_policies_are_refused():
    with pytest.raises(ValueError, match="at least 2"):
        decide([0.5], [0.5])
    with pytest.raises(ValueError, match="finite"):
        decide([0.5, np.nan], [0.5, 0.1])
    with pytest.raises(ValueError, match="got 5 and 4"):
        decide(REAL, SIM[:4])
    with pytest.raises(ValueError, match="rates from 0 to 1"):
        decide([85.0, 20.0], [0.5, 0.1], n_real=[20, 20])


def test_chance_is_that_of_all_permutations():
    real, sim = np.array(REAL), np.array(SIM)
    orders = list(permutations(range(5)))

    def score(order):
        return sum(
            np.sign(real[i] - real[j]) * np.sign(sim[order[i]] - sim[order[j]]) for i in range(5) for j in range(5)
        )

    wanted = np.mean([score(order) >= score(range(5)) for order in orders])
    assert ordered_by_chance(real, sim) == pytest.approx(wanted)
    assert ordered_by_chance(real, sim) == pytest.approx(
        scipy.stats.kendalltau(real, sim, alternative="greater", method="exact").pvalue
    )
    many = np.arange(12.0)
    assert ordered_by_chance(many, many) == pytest.approx(1 / 20_000)
    assert ordered_by_chance(many, -many) == 1.0


def test_how_far_a_claim_reaches():
    perfect = np.linspace(0.1, 0.9, 6)
    far = decide(perfect, perfect, n_real=[20] * 6).claim
    assert far.reach == "the next policy from the same family" and far.missing == "" and far.counted == 6
    runs = decide(perfect, perfect, n_real=[20] * 6, runs=["a", "a", "b", "b", "c", "c"]).claim
    assert runs.reach == "these policies only" and runs.counted == 3 and "5 independent policies" in runs.missing
    few = decide([0.5, 0.55, 0.6], [0.5, 0.6, 0.55], n_real=[10] * 3, top=(2,)).claim
    assert few.reach == "too few to say" and "more real trials" in few.missing
    bare = decide([0.1, 0.5, 0.9], [0.1, 0.5, 0.9], top=(2,)).claim
    assert bare.reach == "too few to say" and "number of real trials" in bare.missing
    wrong = decide([0.9, 0.1], [0.1, 0.9], n_real=[50] * 2, top=(1,)).claim
    assert wrong.reach == "these policies only", "it is shown that the pick is wrong"


def test_regret_of_batches_equals_singles():
    rng = np.random.default_rng(1)
    a, b = rng.random((2, 7, 5)), np.round(rng.random((2, 7, 5)), 1)
    for top in (1, 2, 5):
        alone = [[float(regret(x, y, top)) for x, y in zip(p, q, strict=True)] for p, q in zip(a, b, strict=True)]
        assert regret(a, b, top) == pytest.approx(np.array(alone))
    assert regret([0.9, 0.2, 0.6], [0.1, 0.5, 0.4]) == pytest.approx(0.7)
    assert regret([0.9, 0.2, 0.6], [0.1, 0.5, 0.4], top=2) == pytest.approx(0.3)
    with pytest.raises(ValueError, match="from 1 to the number of policies, 3, got 4"):
        regret([0.9, 0.2, 0.6], [0.1, 0.5, 0.4], top=4)


def test_mmrv_may_charge_the_gap_in_simulation():
    real, sim = [0.2, 0.5, 0.9], [0.6, 0.1, 0.7]
    assert mmrv(real, sim) == pytest.approx(2 * 0.3 / 3)
    assert mmrv(real, sim, gap="sim") == pytest.approx(2 * 0.5 / 3)
    assert mmrv(real, sim, gap="sim", ties="code") == mmrv(sim, real, ties="code")
    with pytest.raises(ValueError, match="gap must be 'real' or 'sim', got 'both'"):
        mmrv(real, sim, gap="both")


@pytest.mark.parametrize(
    ("means", "n", "worth"),
    [
        ([0.7, 0.35], [20, 20], "finite-sample"),
        ([0.67, 0.33], [3, 3], "finite-sample"),  # printed with two digits
        ([0.745, 0.5], [45, 45], "asymptotic"),  # no whole number of successes
        ([0.71, 0.5], [20, 20], "asymptotic"),
    ],
)
def test_only_counts_of_successes_have_a_finite_sample_bound(means, n, worth):
    assert trials(means, n, None, False, "real").guarantee == worth
