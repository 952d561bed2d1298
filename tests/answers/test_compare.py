"""Verdicts on pairs, Holm across many, letters that agree with the verdicts."""

import made
import numpy as np
import pytest
from scipy.stats import barnard_exact, binomtest
from statsmodels.stats.multitest import multipletests

from foretell import stats
from foretell.answers.compare import compare
from foretell.episodes.planned import CELL
from foretell.errors import UsageError
from foretell.stats.compare import compare_all
from foretell.stats.order import by_id
from foretell.study.store import Store

rng = np.random.default_rng(3)
N = 40
NAMES = [f"s{i}" for i in range(N)]
GOOD, FAIR, POOR = ((rng.random(N) < rate).astype(int) for rate in (0.95, 0.85, 0.2))


def table(scores, names=NAMES, **more):
    return {"scenario": list(names), "score": list(scores), **more}


def test_two_files_on_the_same_scenarios(csv):
    files = csv("good.csv", **table(GOOD)), csv("poor.csv", **table(POOR[::-1], NAMES[::-1]))
    found = compare(*files).to_dict()
    only_a, only_b = int(((GOOD == 1) & (POOR == 0)).sum()), int(((GOOD == 0) & (POOR == 1)).sum())
    assert (found["a"], found["b"], found["verdict"], found["test"]) == ("good", "poor", "better", "mcnemar")
    assert found["p_value"] == pytest.approx(binomtest(only_a, only_a + only_b).pvalue)
    assert found["difference"]["estimate"] == pytest.approx(GOOD.mean() - POOR.mean())
    assert compare(*files[::-1]).to_dict()["verdict"] == "worse"
    assert compare(*files).text().startswith("good is better than poor: 0.")


def test_files_without_common_scenarios_are_independent_trials():
    found = compare(table(GOOD), table(POOR, [f"t{i}" for i in range(N)])).to_dict()
    a, b = int(GOOD.sum()), int(POOR.sum())
    assert (found["test"], found["paired"]) == ("barnard", False)
    assert found["p_value"] == pytest.approx(barnard_exact([[a, b], [N - a, N - b]]).pvalue, abs=2e-6)


def test_pairs_where_both_have_the_scenario():
    found = compare(table(GOOD[:30], NAMES[:30]), table(POOR[10:], NAMES[10:]))
    one = found.to_dict()
    assert one["paired"] and one["n_a"] == one["n_b"] == 20 and one["mean_a"] == pytest.approx(GOOD[10:30].mean())
    assert any("20 scenarios are left out, because only one of the two ran there" in note for note in found.notes)
    assert compare(table(GOOD[:30], NAMES[:30]), table(POOR[10:], NAMES[10:]), unpaired=True).to_dict()["n_b"] == 30


def test_verdicts_when_nothing_is_shown():
    few = compare(table([1, 0, 1, 0], NAMES[:4]), table([0, 1, 1, 0], NAMES[:4]))
    assert few.to_dict()["verdict"] == "too few trials" and few.text().startswith("Too few trials to tell")
    same = compare(table(GOOD), table(GOOD)).to_dict()
    assert same["verdict"] == "no difference shown" and {same["a"], same["b"]} == {"table 1", "table 2"}


def test_many_policies_agree_with_the_statistics():
    scores = {"good": GOOD, "fair": FAIR, "poor": POOR}
    rows = [(n, s, v) for n, values in scores.items() for s, v in zip(NAMES, values, strict=True)]
    policy, scenario, score = zip(*rows, strict=True)
    found = compare({"policy": policy, "scenario": scenario, "score": score}).to_dict()
    wanted = compare_all(scores, paired=True)
    assert [p["policy"] for p in found["policies"]] == list(wanted.names)
    assert [p["letters"] for p in found["policies"]] == list(wanted.letters) == ["a", "a", "b"]
    assert {(c["a"], c["b"]): c["verdict"] for c in found["comparisons"]} == wanted.verdicts
    raw = [c["p_value"] for c in found["comparisons"]]
    assert [c["p_adjusted"] for c in found["comparisons"]] == pytest.approx(multipletests(raw, method="holm")[1])
    picked = compare({"policy": policy, "scenario": scenario, "score": score}, policy=["fair", "poor"])
    assert (picked.to_dict()["a"], picked.to_dict()["b"]) == ("fair", "poor")
    assert "letters" in compare({"policy": policy, "scenario": scenario, "score": score}).text()


def test_a_verdict_is_adjusted_for_the_number_of_pairs():
    a, b = [1] * 12, [0] * 6 + [1] * 6  # alone: p = 2 / 2**6
    pair = compare(table(a, NAMES[:12]), table(b, NAMES[:12])).to_dict()
    assert pair["p_value"] == pytest.approx(1 / 32) and pair["verdict"] == "better"
    found = compare(*(table(x, NAMES[:12]) for x in (a, b, [1] * 3 + [0] * 3 + [1] * 6))).to_dict()
    one = next(c for c in found["comparisons"] if c["p_value"] == pytest.approx(1 / 32))
    assert one["p_adjusted"] == pytest.approx(3 / 32) and one["verdict"] != "better"
    assert {p["letters"] for p in found["policies"]} == {"a"}


def test_an_interval_at_odds_with_the_verdict_is_explained():
    a, b = [1] * 5 + [0] * 5, [0] * 10
    both_exact = compare(table(a, NAMES[:10]), table(b, NAMES[:10]))
    assert both_exact.notes == (
        "the interval (paired_difference) and the test are computed apart; the verdict follows the test",
    )
    a, b = [1] * 5 + [0] * 3, [1] + [0] * 7
    found = compare(table(a, NAMES[:8]), table(b, NAMES[:8]), unpaired=True)
    told = "the interval is approximate (newcombe); the verdict follows the exact test"
    one = found.to_dict()
    assert one["verdict"] == "no difference shown" and one["difference"]["low"] > 0.0 and one["notes"] == [told]
    assert found.text().endswith(f"note: {told}")
    assert compare(table(GOOD), table(POOR)).notes == ()
    c, d = [1] * 12, [0] * 6 + [1] * 6  # p = 1/32 alone, 3/32 among three
    many = compare(*(table(x, NAMES[:12]) for x in (c, d, [1] * 3 + [0] * 3 + [1] * 6)))
    assert any("adjusted for the number of pairs" in note for note in many.notes)


def test_partial_credit_is_bet_on():
    a, b = rng.random(N) * 0.4 + 0.6, rng.random(N) * 0.4
    found = compare(table(a), table(b)).to_dict()
    assert found["test"] == "betting" and not found["anytime"] and found["verdict"] == "better"
    order = by_id(NAMES)
    assert found["difference"]["low"] == stats.paired_betting(a[order], b[order], aim=0.05, shuffled=True).interval.low


def test_simulation_as_control(refused):
    real = {k: [*v, *w] for (k, v), w in zip(table(FAIR).items(), table(POOR).values(), strict=True)}
    real["policy"] = ["fair"] * N + ["poor"] * N
    extra = [f"x{i}" for i in range(200)]
    sims = {name: (rng.random(240) < rate).astype(int) for name, rate in (("fair", 0.8), ("poor", 0.3))}
    sim = {
        "policy": ["fair"] * 240 + ["poor"] * 240,
        "scenario": [*NAMES, *extra] * 2,
        "score": [*sims["fair"], *sims["poor"]],
    }
    found = compare(real, sim=sim).to_dict()
    f, p = sims["fair"], sims["poor"]
    i, j = by_id(NAMES), N + by_id(extra)
    wanted = stats.paired_betting(np.array(FAIR)[i], np.array(POOR)[i], f[i], p[i], f[j], p[j])
    assert found["p_value"] == wanted.p_value and found["difference"]["low"] == wanted.interval.low
    assert found["difference"]["n_extra"] == 200
    bare = {k: [*v[:N], *v[240 : 240 + N]] for k, v in sim.items()}
    assert "without a real partner; there are none" in refused(compare, real, sim=bare)
    lost = {k: v[1:] for k, v in sim.items()}
    assert "scenario 's0' was not simulated with both" in refused(compare, real, sim=lost)


def several(n=40, seed=8, rates=(0.95, 0.8, 0.6, 0.4, 0.2), prefix="s", **more):
    """Rows of policies a, b, ... on scenarios of their own names, equally hard for all."""
    draw = np.random.default_rng(seed)
    shared = draw.random(n)
    rows = {"policy": [], "scenario": [], "score": []}
    for name, rate in zip("abcdefghijklmnop", rates, strict=False):
        own = np.where(draw.random(n) < 0.4, shared, draw.random(n))
        rows["policy"] += [name] * n
        rows["scenario"] += [f"{prefix}{i}" for i in range(n)]
        rows["score"] += (own < rate).astype(int).tolist()
    return {**rows, **{k: [v] * len(rows["score"]) for k, v in more.items()}}


def shown(found):
    return {(p.a, p.b) for p in found.pairs if p.verdict == "better"} | {
        (p.b, p.a) for p in found.pairs if p.verdict == "worse"
    }


def test_simulation_orders_the_tests_of_many_policies():
    real, sim = several(20, seed=4), several(150, seed=9, prefix="x")
    plain, aided = compare(real), compare(real, sim=sim)
    assert shown(plain) < shown(aided)
    told = aided.to_dict()
    means = {
        n: float(np.mean([v for m, v in zip(sim["policy"], sim["score"], strict=True) if m == n])) for n in "abcde"
    }
    assert told["forecast"] == {"source": "sim", "scenarios": 150, "means": pytest.approx(means)}
    scores = {name: real["score"][20 * i : 20 * (i + 1)] for i, name in enumerate("abcde")}
    wanted = compare_all(scores, paired=True, order_by=means)
    assert {(c["a"], c["b"]): c["verdict"] for c in told["comparisons"]} == wanted.verdicts
    assert all(c["test"] == "mcnemar" and c["expected"] in ("greater", "less") for c in told["comparisons"])
    assert (
        "closed tests in the order of the forecast" in aided.text() and "(a, b, c, d and e, best first," in aided.text()
    )
    assert aided.text().count("choose whether to use simulation before") == 1 and "choose whether" not in plain.text()
    assert "forecast" not in plain.to_dict()


def test_what_was_simulated_of_the_tried_scenarios_does_not_order_the_tests(refused):
    real, twin = several(24), several(24)  # simulation repeats every real outcome
    assert "has no scenario of policy 'a' without a real trial" in refused(compare, real, sim=twin)
    other = several(30, seed=1, rates=(0.2, 0.4, 0.6, 0.8, 0.95), prefix="x")  # and has it the wrong way elsewhere
    both = {k: [*twin[k], *other[k]] for k in twin}
    assert compare(real, sim=both).to_dict()["forecast"] == compare(real, sim=other).to_dict()["forecast"]


def test_bets_of_many_policies_use_simulation_for_order_and_control():
    real, sim = several(20, rates=(0.9, 0.5, 0.1)), several(20, rates=(0.9, 0.5, 0.1))
    extra = several(120, seed=4, rates=(0.9, 0.5, 0.1), prefix="x")
    sim = {k: [*sim[k], *extra[k]] for k in sim}
    found = compare(real, sim=sim, test="betting").to_dict()
    ordered = found["forecast"]["scenarios"]
    assert 40 < ordered < 80  # half of them
    assert {c["difference"]["n_extra"] for c in found["comparisons"]} == {120 - ordered}
    assert {c["test"] for c in found["comparisons"]} == {"betting with simulation as control"}
    assert found["comparisons"][1]["verdict"] == "better"
    alone = compare(real, sim=extra, test="betting")
    assert {p.test for p in alone.pairs} == {"betting"} and alone.forecast["scenarios"] == 120
    assert any("is not a control of the bets: scenario 's0' was not simulated" in note for note in alone.notes)
    assert {p.test for p in compare(real, sim=sim, test="betting", unpaired=True).pairs} == {"betting"}


def test_nearly_disjoint_scenarios_name_unpaired():
    found = compare(table(GOOD, NAMES), table(POOR, NAMES[-5:] + [f"t{i}" for i in range(N - 5)]))
    assert found.pairs[0].paired and found.pairs[0].n_a == 5
    assert any("only 5 scenarios in common: `--unpaired` compares all" in note for note in found.notes)
    mostly = compare(table(GOOD[:30], NAMES[:30]), table(POOR[10:], NAMES[10:]))
    assert not any("--unpaired" in note for note in mostly.notes)


def test_large_files_stay_quick():
    names = [f"n{i}" for i in range(4000)]
    found = compare(table([1, 0] * 2000, names), table([1, 1, 1, 0] * 500, [f"m{i}" for i in range(2000)]))
    assert found.to_dict()["test"] == "barnard" and found.to_dict()["verdict"] == "worse"


def test_what_is_refused(csv, refused):
    assert "nothing to compare" in refused(compare)
    assert "only one policy to compare (a)" in refused(compare, csv("a.csv", **table(GOOD)))
    assert "at least 2 are needed" in refused(compare, table([1], ["a"]), table([1], ["b"]))
    named = table(GOOD, policy=["bc"] * N)
    assert "policy 'bd' is in none of the sources; did you mean 'bc'?" in refused(compare, named, policy="bd")
    assert "needs binary scores" in refused(compare, table(GOOD / 2), table(POOR), test="mcnemar")
    for wrong in ({"alpha": 0.0}, {"alpha": float("nan")}, {"effect": 0.0}):
        assert "must lie between" in refused(compare, table(GOOD), table(POOR), **wrong)
    tasks = table(GOOD, task=["lift", "can"] * (N // 2))
    assert "several tasks: choose one" in refused(compare, tasks, table(POOR, task=["lift", "can"] * (N // 2)))


def test_a_task_of_another_protocol_is_noted(tmp_path):
    one = made.run(tmp_path / "one", *made.rows({"a": 0.9}, 20))
    other = made.run(tmp_path / "other", *made.rows({"b": 0.3}, 20, task_version=9, success_rule="end"))
    version, rule = (note for note in compare(one, other).notes if "not comparable" in note)
    told = f"({made.Lift.version} in {one}; 9 in {other})"
    assert version == f"the task's version is not the same everywhere {told}: rates are not comparable"
    assert "rule of success" in rule
    like = made.run(tmp_path / "like", *made.rows({"b": 0.3}, 20))
    person = made.run(tmp_path / "person", *made.rows({"b": 0.3}, 20, success_rule="person", judge="person"))
    assert not any("not comparable" in note for run in (like, person) for note in compare(one, run).notes)


def test_looking_more_than_once_needs_a_plan(refused):
    a, b = rng.random(N) * 0.4 + 0.6, rng.random(N) * 0.4
    found = compare(table(a), table(b), horizon=60).to_dict()
    assert found["anytime"] and found["test"] == "betting"
    assert found["p_value"] == stats.paired_betting(a, b, aim=0.05, horizon=60).p_value  # the rows as they were run
    assert compare(table(FAIR), table(POOR), horizon=60).to_dict()["test"] == "betting"
    assert "takes no horizon" in refused(compare, table(FAIR), table(POOR), test="mcnemar", horizon=60)


def test_one_verdict_for_one_set_of_rows():
    a, b = rng.random(N) * 0.5 + 0.2, rng.random(N) * 0.5
    up, down = np.argsort(a), np.argsort(b)[::-1]
    one = compare(table(a), table(b)).to_dict()
    other = compare(table(a[up], [NAMES[i] for i in up]), table(b[down], [NAMES[i] for i in down])).to_dict()
    assert one["p_value"] == other["p_value"] and one["difference"]["low"] == other["difference"]["low"]


def both_orders(seed, graded=False, n=30):
    """Rows of two equal policies, tried in turn on the same scenarios, each in an order of its own."""
    draw = np.random.default_rng(seed)
    orders = [draw.permutation(n), draw.permutation(n)]
    rows = []
    for k in range(2 * n):
        which = k % 2
        score = draw.random() if graded else float(draw.random() < 0.5)
        rows.append(("ab"[which], f"s{orders[which][k // 2]}", score))
    return rows


def look(rows, **options):
    policy, scenario, score = zip(*rows, strict=True)
    extra = {"trial": list(options.pop("trials"))} if "trials" in options else {}
    return compare({"policy": policy, "scenario": scenario, "score": score, **extra}, **options)


def test_every_look_sees_the_pairs_of_the_look_before(refused):
    for seed in range(6):
        rows, seen, size = both_orders(seed, graded=seed % 2 == 1), [], []
        for k in range(2, len(rows) + 1):
            try:
                found = look(rows[:k], horizon=30).pairs[0]
            except UsageError:
                continue  # fewer than two pairs yet
            seen.append(found.p_value)
            size.append(found.n_a)
        assert len(seen) > 40 and size == sorted(size) and size[-1] == 30
        assert seen == sorted(seen, reverse=True)  # one over the largest wealth so far: it never rises
    apart = [rows[0], rows[2], rows[1]]
    assert "at least 2 are needed, or `--unpaired` from the first look on" in refused(look, apart, horizon=30)


def test_looking_after_every_pair_errs_as_seldom_as_it_says():
    errors, draws = 0, 60
    for seed in range(draws):
        rows = both_orders(100 + seed, n=24)
        for k in range(24, len(rows) + 1, 2):
            try:
                errors_now = look(rows[:k], horizon=24, alpha=0.2).pairs[0].verdict in ("better", "worse")
            except UsageError:
                continue
            if errors_now:
                errors += 1
                break
    assert errors <= 20  # 12 are expected at most; more than 20 has a chance of 0.6 %


def test_later_trials_do_not_change_a_scenario_that_was_looked_at():
    rows = both_orders(3, graded=True, n=12)
    before = look(rows, horizon=24).to_dict()
    again = [(policy, scenario, 1.0 - score) for policy, scenario, score in rows]
    trials = [0] * len(rows) + [1] * len(rows)
    after = look(rows + again, trials=trials, horizon=24).to_dict()
    assert {k: after[k] for k in ("p_value", "difference", "mean_a")} == {
        k: before[k] for k in ("p_value", "difference", "mean_a")
    }
    assert any("each scenario counts once, by its first trial" in note for note in after["notes"])
    whole = {look(rows + again, trials=trials).to_dict()["mean_a"], look(rows).to_dict()["mean_a"]}
    assert len(whole) == 2  # looked at once, all trials count


def test_two_files_must_tell_which_pair_was_complete_first(refused):
    one, other = table([0.1, 0.9, 0.4], ["x", "y", "z"]), table([0.2, 0.3, 0.5], ["z", "x", "y"])
    told = refused(compare, one, other, horizon=10)
    assert "do not show which pair was complete first" in told and "give one file with both" in told
    assert compare(one, other).pairs[0].n_a == 3  # looked at once, order does not matter
    some = table([0.2, 0.3], ["x", "z"])
    assert compare(one, some, horizon=10).pairs[0].n_a == 2


def test_a_study_counts_up_to_the_first_trial_to_come(tmp_path):
    scenarios, rows = made.rows({"a": 0.7, "b": 0.3}, 12)
    plan = [{**{c: str(getattr(e, c)) for c in CELL}, "unit": e.scenario, "episode": e.episode} for e in rows]
    sizes = {}
    for name, there in {"all": rows, "gap": [e for e in rows if e is not rows[12 + 4]]}.items():
        path = made.run(tmp_path / name, scenarios, reversed(there))
        with Store(path) as store:
            store.write_plan(plan)
        sizes[name] = compare(path, horizon=12).pairs[0].n_a
    assert sizes == {"all": 12, "gap": 4}  # the fifth of b is missing: those behind it ended early, and wait


def in_turn(count, rates, seed):
    """Rows of policies a, b, ... tried one after the other on each scenario."""
    draw = np.random.default_rng(seed)
    return [
        (name, f"s{k}", float(draw.random() < p)) for k in range(count) for name, p in zip("abcd", rates, strict=False)
    ]


def test_simulation_orders_the_tests_of_whoever_looks_early(refused):
    rows, sim = in_turn(40, (0.95, 0.55, 0.1), 3), several(60, rates=(0.9, 0.5, 0.1), prefix="x")
    looks = [look(rows[: 3 * k], sim=sim, horizon=40) for k in range(4, 41, 4)]
    first = looks[0].to_dict()["forecast"]
    assert all(found.to_dict()["forecast"] == first for found in looks), "the order is the same at every look"
    assert all(pair.anytime and pair.test == "betting" for found in looks for pair in found.pairs)
    by_pair = [{frozenset((pair.a, pair.b)): pair.p_adjusted for pair in found.pairs} for found in looks]
    for pair in by_pair[0]:
        seen = [found[pair] for found in by_pair]
        assert seen == sorted(seen, reverse=True), "what was decided stays decided"
    assert looks[-1].pairs[0].verdict == "better"
    told = refused(look, rows, sim=several(60, rates=(0.9, 0.5, 0.1)), horizon=40)
    assert (
        "40 scenarios of policy 'a' with a real trial ('s" in told and "give sim scenarios that are never tried" in told
    )
    two = look([row for row in rows if row[0] != "c"], sim=sim, horizon=40)
    assert two.pairs[0].expected == "greater" and two.pairs[0].test == "betting"


def test_ranking_at_every_look_errs_as_seldom_as_it_says():
    # Equal policies and a wrong forecast. A p-value never rises (above), so the last look has every error.
    sim, errors, draws = several(60, rates=(0.9, 0.5, 0.1), prefix="x"), 0, 40
    for seed in range(draws):
        found = look(in_turn(24, (0.5, 0.5, 0.5), 200 + seed), sim=sim, horizon=24, alpha=0.2)
        errors += any(pair.verdict in ("better", "worse") for pair in found.pairs)
    assert errors <= 15  # 8 are expected at most; more than 15 has a chance of 0.3 %


def test_pairs_that_contradict_each_other_are_said_to_before_the_verdict() -> None:
    rows = {
        "policy": ["a", "b"] * 60,
        "scenario": [f"s{i // 2}" for i in range(120)],
        "success": [1, 0] * 30 + [0, 1] * 30,
    }
    answer = compare(rows, horizon=60, alpha=0.2)
    first, second, *_ = answer.text().splitlines()
    assert first.startswith("Early and late trials of a and b contradict each other: no difference of the means fits")
    assert second.startswith("No difference shown between a and b: 50.0% against 50.0%")
    assert answer.to_dict()["difference"]["contradiction"] < 0.2
