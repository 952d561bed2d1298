"""The search on made-up policies, whose weakness is known."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from foretell.redteam.search import FINAL, SIZES, STEPS, Combination, Sightings, excess, search

FACTORS = {f"F{i}": 1.0 for i in range(12)}
Rate = Callable[[dict[str, float]], float]


class Made:
    """Outcomes of a policy and an expert whose success rates are given."""

    def __init__(self, policy: Rate, expert: Rate = lambda on: 1.0, budget: int = 2000, seed: int = 0):
        self.rates, self.budget, self.seed = {"policy": policy, "expert": expert}, budget, seed
        self.asked: set[tuple[str, str, int]] = set()

    def _look(self, who: str, asked: Sequence[Combination], n: int) -> dict[Combination, np.ndarray]:
        found = {}
        for c in asked:
            new = {(who, c.arm, i) for i in range(n)} - self.asked
            if len(self.asked) + len(new) > self.budget:
                break
            self.asked |= new
            stream = [self.seed, zlib.crc32(f"{who}/{c.arm}".encode())]
            draws = np.random.default_rng(stream).uniform(size=FINAL)[:n]
            found[c] = (draws < self.rates[who](dict(c.severities))).astype(float)
        return found

    def policy(self, asked: Sequence[Combination], n: int) -> dict[Combination, np.ndarray]:
        return self._look("policy", asked, n)

    def expert(self, asked: Sequence[Combination], n: int) -> dict[Combination, np.ndarray]:
        return self._look("expert", asked, n)


def seek(made: Made, most: int = 3) -> Sightings:
    clean = made.policy([Combination()], SIZES[-1])[Combination()]
    return search(made, FACTORS, clean, most=most)


def at(on: dict[str, float], name: str) -> float:
    return on.get(name, 0.0)


def test_what_is_milder() -> None:
    a, b = Combination((("A", 1.0),)), Combination((("A", 0.125), ("B", 0.125)))
    assert a.mildness < b.mildness  # one factor, however strong, is milder than two
    assert Combination((("A", 0.5),)).mildness < a.mildness
    assert (a.arm, b.arm, Combination().arm) == ("A", "A@0.125+B@0.125", "none")


@pytest.mark.parametrize("least", [0.1, 0.3, 0.6, 1.0])
def test_one_weakness_is_found_at_its_least_severity(least: float) -> None:
    found = seek(Made(lambda on: 0.0 if at(on, "F3") >= least else 1.0))
    step = int(np.ceil(least * STEPS - 1e-9))
    assert found.hits[0] == Combination((("F3", step / STEPS),))
    assert found.complete and all(f == "F3" for c in found.hits for f, _ in c.severities)


def test_of_two_weaknesses_the_milder_is_found() -> None:
    found = seek(Made(lambda on: 0.0 if at(on, "F3") >= 0.7 or at(on, "F8") >= 0.4 else 1.0))
    assert found.hits[0].arm == "F8@0.5"
    # F3 holds at 0.5, where F8 breaks: what could be no milder is not looked at
    assert {c.severities[0][1] for c in found.verdicts if c.severities[0][0] == "F3"} == {1.0, 0.5}


def test_a_pair_is_found_and_each_half_of_it_made_milder() -> None:
    found = seek(Made(lambda on: 0.0 if at(on, "F3") >= 0.7 and at(on, "F8") >= 0.3 else 1.0 - 0.5 * at(on, "F3")))
    assert found.hits[0].arm == "F3@0.75+F8@0.375"
    assert all(len(c.severities) == 2 for c in found.hits)


def test_three_together() -> None:
    weak = ("F1", "F4", "F9")

    def rate(on: dict[str, float]) -> float:
        return float(np.prod([1 - 0.35 * at(on, f) for f in weak]))

    found = seek(Made(rate))
    assert found.hits
    assert {f for f, _ in found.hits[0].severities} <= set(FACTORS)
    assert rate(dict(found.hits[-1].severities)) < 0.65


@pytest.mark.parametrize("seed", range(5))
def test_a_policy_that_stands_everything(seed: int) -> None:
    made = Made(lambda on: 0.95, seed=seed)
    found = seek(made)
    assert found.hits == [] and found.discarded == [] and found.complete
    assert len(made.asked) < 400


def test_what_the_expert_cannot_do_does_not_count() -> None:
    """F3 breaks the policy at a lower severity than F8, but the expert as well."""

    def policy(on: dict[str, float]) -> float:
        return 0.0 if at(on, "F3") >= 0.2 or at(on, "F8") >= 0.7 else 1.0

    found = seek(Made(policy, lambda on: 1.0 if at(on, "F3") < 0.2 else 0.5))
    assert found.hits[0].arm == "F8@0.75"
    assert [c.arm for c in found.discarded] == ["F3@0.25"]
    milder = seek(Made(policy, lambda on: 1.0 if at(on, "F3") < 0.5 else 0.5))
    assert milder.hits[0].arm == "F3@0.25" and milder.discarded == []


@pytest.mark.parametrize("budget", [16, 40, 64, 72, 80, 90, 100])
def test_a_budget_is_kept_and_its_end_said(budget: int) -> None:
    made = Made(lambda on: 0.0 if at(on, "F3") >= 0.1 else 0.9, budget=budget)
    found = seek(made)
    assert len(made.asked) <= budget
    assert not found.complete
    assert bool(found.hits) == (budget >= 80)  # what has been seen to break is told, even if a milder one may do


def test_the_same_search_twice() -> None:
    def rate(on: dict[str, float]) -> float:
        return 0.95 * float(np.prod([1 - 0.6 * s for s in on.values()]))

    first, second = (seek(Made(rate, seed=3)) for _ in range(2))
    assert list(first.verdicts.items()) == list(second.verdicts.items()) and first.hits == second.hits


def test_mostly_right_of_a_policy_that_yields_slowly() -> None:
    """Success falls evenly to 5 %: it is halved at severity 0.53."""

    def rate(on: dict[str, float]) -> float:
        return 0.95 * (1 - 0.95 * at(on, "F3"))

    hits = [seek(Made(rate, seed=i)).hits for i in range(20)]
    assert all(mine and mine[0].severities[0][0] == "F3" for mine in hits)
    assert 0.5 <= np.median([mine[0].severities[0][1] for mine in hits]) <= 0.8


def test_excess_leaves_out_what_has_no_verdict() -> None:
    above, error = excess(np.array([1.0, np.nan, 0.0, 1.0]), np.array([1.0, 1.0, 1.0, np.nan, 1.0]), 0.5)
    assert above == pytest.approx(0.0)
    assert error > 0
    assert excess(np.array([np.nan]), np.ones(1), 0.5) == (0.0, 1.0)
    assert excess(np.zeros(8), np.ones(8), 0.5)[1] > 0
