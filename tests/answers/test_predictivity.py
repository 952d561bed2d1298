"""Metrics per task and their mean, from rates or from trials on common scenarios."""

import re
from dataclasses import replace

import made
import numpy as np
import pyarrow.compute as pc
import pytest
from scipy import stats as scipy_stats

import foretell
from foretell.answers.budget import budget
from foretell.answers.compare import compare
from foretell.answers.gate import gate
from foretell.answers.predictivity import charged, predictivity
from foretell.stats import METRICS, all_metrics

REAL = [0.9, 0.7, 0.5, 0.35, 0.1]
SIM = [0.85, 0.75, 0.4, 0.6, 0.05]
OTHER = [0.2, 0.3, 0.5, 0.6, 0.9]
POLICIES = list("abcde")


@pytest.fixture
def rates(csv):
    return csv("rates.csv", policy=POLICIES, real=REAL, sim=SIM, n_real=[20] * 5, n_sim=[200] * 5)


def test_values_against_scipy(rates):
    found = predictivity(rates).to_dict()
    assert list(found) == ["decision", *METRICS]
    assert found["pearson"]["value"] == pytest.approx(scipy_stats.pearsonr(REAL, SIM).statistic)
    assert found["spearman"]["value"] == pytest.approx(scipy_stats.spearmanr(REAL, SIM).statistic)
    assert found["kendall"]["value"] == pytest.approx(scipy_stats.kendalltau(REAL, SIM).statistic)
    assert found["mmrv"]["value"] == pytest.approx(2 * 0.15 / 5)  # c and d swapped, 0.15 apart
    assert found["rank_reversals"]["value"] == 1 and found["pairwise_accuracy"]["value"] == pytest.approx(0.9)
    assert found["success_gap"]["value"] == pytest.approx(np.abs(np.subtract(REAL, SIM)).mean())
    for row in (found[name] for name in METRICS):
        assert row["low"] <= row["value"] <= row["high"]
    without = found["pearson"]["leave_one_out"]
    assert without["c"] == pytest.approx(np.corrcoef(np.delete(REAL, 2), np.delete(SIM, 2))[0, 1])


def test_trial_counts_decide_what_is_resampled(csv, rates):
    assert "over trials" in predictivity(rates).to_dict()["mmrv"]["method"]
    assert "over policies" in predictivity(rates, over="policies").to_dict()["mmrv"]["method"]
    bare = csv("bare.csv", policy=POLICIES, real=REAL, sim=SIM)
    assert "over policies" in predictivity(bare).to_dict()["mmrv"]["method"]
    half = csv("half.csv", policy=POLICIES, real=REAL, sim=SIM, n_real=[20] * 5)
    assert "sim counts as exactly known: its number of trials is not given" in predictivity(half).notes


def test_tasks_and_their_mean(csv):
    columns = {"policy": POLICIES * 2, "real": REAL * 2, "sim": SIM + OTHER, "task": ["lift"] * 5 + ["can"] * 5}
    found = predictivity(csv("t.csv", **columns, n_real=[20] * 10, n_sim=[50] * 10)).to_dict()
    assert list(found) == ["lift", "can", "mean"]
    for metric in METRICS:
        both = [found[task][metric]["value"] for task in ("lift", "can")]
        assert found["mean"][metric]["value"] == pytest.approx(np.mean(both))
        assert found["mean"][metric]["low"] <= np.mean(both) <= found["mean"][metric]["high"]
    wide = {t: found[t]["pearson"]["high"] - found[t]["pearson"]["low"] for t in ("lift", "can", "mean")}
    assert wide["mean"] < wide["lift"] + wide["can"]
    bare = predictivity(csv("bare.csv", **columns)).to_dict()["mean"]["pearson"]
    assert bare["low"] is None and "n_real" in bare["reason"]
    one = predictivity(csv("t.csv", **columns), task="can").to_dict()
    assert one["pearson"]["value"] == pytest.approx(np.corrcoef(REAL, OTHER)[0, 1])


def test_too_few_policies_have_values_without_ends(csv):
    found = predictivity(csv("few.csv", policy=POLICIES[:3], real=REAL[:3], sim=SIM[:3]))
    row = found.to_dict()["pearson"]
    assert row["value"] > 0.9 and row["low"] is None and row["high"] is None and "too few" in row["reason"]
    assert "no interval: 3 policies are too few" in found.text()
    flat = predictivity(csv("flat.csv", policy=POLICIES, real=[0.5] * 5, sim=SIM)).to_dict()
    assert flat["pearson"]["value"] is None and "does not vary" in flat["pearson"]["reason"]


def test_two_policies_have_no_correlation_and_one_pair(csv):
    found = predictivity(csv("two.csv", policy=["a", "b"], real=[0.9, 0.5], sim=[0.8, 0.6], n_real=[20] * 2))
    rows = found.to_dict()
    for metric in ("pearson", "spearman", "kendall", "r_squared"):
        assert rows[metric]["value"] is None and rows[metric]["low"] is None
        assert "2 policies are too few for a correlation, 3 are needed" in rows[metric]["reason"]
    assert rows["pairwise_accuracy"]["value"] == 1.0
    assert rows["pairwise_accuracy"]["pairs"] == {"same_order": 1, "counted": 1}
    assert rows["success_gap"]["low"] <= rows["success_gap"]["value"] <= rows["success_gap"]["high"]
    text = found.text()
    lines = {line.split()[0]: line.split()[1:] for line in text.splitlines()}
    assert lines["pairwise_accuracy"][:4] == ["1", "of", "1", "pair"] and lines["pearson"] == ["-"] * 3
    assert "no value: 2 policies are too few for a correlation" in text
    three = predictivity(csv("three.csv", policy=POLICIES[:3], real=REAL[:3], sim=SIM[:3], n_real=[20] * 3)).to_dict()
    assert three["pearson"]["low"] < three["pearson"]["value"] < 1
    assert set(three["pearson"]["leave_one_out"].values()) == {None}, "two are left, which always lie on a line"


def test_the_mean_over_tasks_names_the_task_that_has_too_few(csv):
    columns = {"policy": [*POLICIES, "a", "b"], "real": [*REAL, 0.9, 0.5], "sim": [*SIM, 0.8, 0.6]}
    table = csv("t.csv", **columns, task=["lift"] * 5 + ["can"] * 2, n_real=[20] * 7, n_sim=[50] * 7)
    mean = predictivity(table).to_dict()["mean"]
    assert (
        mean["kendall"]["value"] is None
        and "no value in task 'can': 2 policies are too few" in mean["kendall"]["reason"]
    )
    assert mean["mmrv"]["low"] <= mean["mmrv"]["value"] <= mean["mmrv"]["high"]


def test_graded_scores_and_a_proxy_on_its_own_scale():
    rng = np.random.default_rng(0)
    rows = [(p, f"s{i}", r) for p, r in zip(POLICIES, REAL, strict=True) for i in range(20)]
    names = {"policy": [p for p, *_ in rows], "scenario": [s for _, s, _ in rows]}
    real = {**names, "score": [float(rng.binomial(4, r)) / 4 for *_, r in rows]}
    loss = {**names, "loss": [float(rng.normal(3 - 2 * r, 0.3)) for *_, r in rows]}
    found = predictivity(real=real, sim=loss, proxy="loss", lower_is_better=True).to_dict()
    assert 0.5 < found["pearson"]["low"] < found["pearson"]["value"] <= found["pearson"]["high"] <= 1.0


def test_any_proxy(csv, refused):
    errors = [0.1, 0.2, 0.3, 0.5, 0.4]
    table = csv("p.csv", policy=POLICIES, real=REAL, sim=OTHER, val_error=errors)
    found = predictivity(table, proxy="val error", lower_is_better=True).to_dict()
    assert found["pearson"]["value"] == pytest.approx(-np.corrcoef(REAL, errors)[0, 1])
    assert found["rank_reversals"]["value"] == 1
    assert "did you mean 'val_error'?" in refused(predictivity, table, proxy="val_eror")


def trials(rng, rates, scenarios, policies=POLICIES):
    rows = [(p, f"s{i}", int(rng.random() < r)) for p, r in zip(policies, rates, strict=True) for i in scenarios]
    return dict(zip(("policy", "scenario", "success"), map(list, zip(*rows, strict=True)), strict=True))


def test_trials_are_rated_on_common_scenarios():
    rng = np.random.default_rng(0)
    real, sim = trials(rng, REAL, range(30)), trials(rng, SIM, range(10, 90))
    found = predictivity(real=real, sim=sim)
    board = found.scoreboards[""]
    rows = [(p, s, v) for p, s, v in zip(*real.values(), strict=True) if int(s[1:]) >= 10]
    assert board.real[1] == pytest.approx(np.mean([v for p, _, v in rows if p == "b"])) and board.n_real[1] == 20
    wanted = all_metrics(board.real, board.sim, real_outcomes=board.real_outcomes, sim_outcomes=board.sim_outcomes)
    assert found.to_dict()["mmrv"]["high"] == wanted["mmrv"].high
    gap = found.to_dict()["success_gap"]["policies"]["d"]
    a, b = board.real_outcomes[3], board.sim_outcomes[3]
    assert gap["kruskal_wallis_p"] == pytest.approx(scipy_stats.kruskal(a, b).pvalue)


def test_trials_without_a_partner(refused):
    rng = np.random.default_rng(0)
    real, sim = trials(rng, REAL, range(9)), trials(rng, SIM, range(9), ["a", "b", "x", "y", "z"])
    found = predictivity(real=real, sim=sim)
    assert found.scoreboards[""].policies == ("a", "b")
    assert "policies without a partner are left out: c, d, e, x, y, z" in found.notes
    apart = trials(rng, SIM, range(20, 30))
    assert "no policy has scenarios in common" in refused(predictivity, real=real, sim=apart)
    nameless = {"scenario": ["a"], "score": [1]}
    assert "no column 'policy'" in refused(predictivity, real=nameless, sim=sim)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("policy,real\na,1\nb,0\n", "t.csv has no column 'sim'; columns policy, real and sim are needed"),
        ("policy,real,sim\na,1,1\n", "t.csv has 1 policy; at least 2 are needed"),
        ("policy,real,sim\na,1,1\na,0,1\n", "t.csv, line 3: policy 'a' is already in line 2"),
        ("policy,real,sim\na,1,1\nb,nan,1\n", "t.csv, line 3, 'real': expected a number; given: 'nan'"),
        ("policy,real,sim\na,1,1\nb,1\n", "t.csv, line 3, 'sim': expected a number; given: nothing"),
        ("policy,real,sim\na,1,1\n,1,1\n", "t.csv, line 3, 'policy': expected a name"),
        ("policy,real,sim,n_real\na,85,1,9\nb,1,1,9\n", "line 2, 'real': expected a rate from 0 to 1"),
        ("policy,real,sim,n_real\na,1,1,9.5\nb,1,1,9\n", "line 2, 'n_real': expected a whole number"),
        ("policy,real,sim,task\na,1,1,mean\nb,0,0,mean\n", "a task is named 'mean'"),
        ("policy,real,sim,task\na,1,1,x\nb,0,0,x\na,1,1,y\n", "t.csv has 1 policy of task 'y'"),
    ],
)
def test_what_is_refused(sheet, refused, content, told):
    assert told in refused(predictivity, sheet("t.csv", content))


def test_one_question_at_a_time(rates, refused):
    for given in ({}, {"real": rates}, {"table": rates, "real": rates, "sim": rates}):
        assert "not both" in refused(predictivity, **given)


def test_the_decision_comes_first(rates, csv, refused):
    found = predictivity(rates)
    text = found.text().splitlines()
    assert text[1].startswith("Pick by simulation: a, 90.0% in the real trials, the best there. Regret 0.0 points (95%")
    assert "finite-sample" in text[1] and text[2].startswith("Best of simulation's top 3 (a, b and d)")
    assert text[3].startswith("May be truly the best in reality: a") and text[5].startswith("Claim level: ")
    row = found.to_dict()["decision"]
    assert row["pick"] == row["real_best"] == ["a"] and row["agrees"] and row["top"][0]["k"] == 3
    assert row["regret"]["low"] == row["regret"]["value"] == 0.0 < row["regret"]["high"] < 0.25
    without = row["regret"]["leave_one_out"]
    assert set(without) == set(POLICIES) and all(r["low"] <= r["value"] <= r["high"] for r in without.values())
    reach = 100.0 * max(r["high"] for r in without.values())
    assert text[4].startswith("Without one policy the regret is 0.0") and text[4].endswith(f"from 0.0 to {reach:.1f}.")
    wrong = predictivity(csv("w.csv", policy=POLICIES, real=REAL, sim=OTHER, n_real=[20] * 5)).text()
    assert "Pick by simulation: e, 10.0% in the real trials, where a had 90.0%. Regret 80.0 points" in wrong
    assert "it is shown not to be the best" in wrong
    assert "top is 6, but 5 policies are compared: give 1 to 5" in refused(predictivity, rates, top=6)
    assert "give 1 to 5" in refused(predictivity, rates, top=0)
    assert predictivity(rates, top=2).to_dict()["decision"]["top"][0]["members"] == ["a", "b"]


def test_rates_without_trials_have_a_regret_without_interval(csv):
    found = predictivity(csv("bare.csv", policy=POLICIES, real=[100 * r for r in REAL], sim=OTHER))
    row = found.to_dict()["decision"]["regret"]
    assert row["value"] == pytest.approx(80.0) and row["high"] is None and "n_real" in row["reason"]
    assert "Regret 80.000 (no interval: the number of real trials (n_real) is not given" in found.text()
    assert found.to_dict()["decision"]["may_be_best"] == {"real": None, "sim": None}


def test_leave_one_task_out_beside_leave_one_policy_out(csv, refused):
    columns = {"policy": POLICIES * 3, "real": [*REAL, *REAL, *REAL[::-1]], "sim": [*SIM, *SIM, *REAL]}
    table = csv("t.csv", **columns, task=["lift"] * 5 + ["can"] * 5 + ["nut"] * 5, n_real=[20] * 15, n_sim=[50] * 15)
    found = predictivity(table)
    mean = found.to_dict()["mean"]
    assert mean["decision"]["pick"] == ["a"] and set(mean["decision"]["leave_one_task_out"]) == {"lift", "can", "nut"}
    left = mean["decision"]["leave_one_task_out"]
    assert left["nut"]["regret"]["value"] == 0.0 and left["lift"]["regret"]["high"] > 0.0
    assert mean["decision"]["regret"]["guarantee"] == "asymptotic"
    without = mean["mmrv"]["leave_one_task_out"]
    each = {task: found.to_dict()[task]["mmrv"]["value"] for task in ("lift", "can", "nut")}
    assert without["nut"] == pytest.approx((each["lift"] + each["can"]) / 2)
    text = found.text()
    assert text.startswith("over 3 tasks, each counting alike\nPick by simulation: a") and "without one task" in text
    assert "Without one task the pick" in text
    assert "task lift, 5 policies" in text and text.count("Claim level") == 1
    assert found.to_dict()["nut"]["decision"]["regret"]["value"] == pytest.approx(0.8)
    assert "top is 9, but 5 policies are in every task" in refused(predictivity, table, top=9)


def test_tasks_with_other_policies_have_no_common_pick(csv):
    table = csv("t.csv", policy=["a", "b", "c", "d"], real=[0.9, 0.1, 0.5, 0.6], sim=[0.8, 0.2, 0.5, 0.4],
                task=["lift", "lift", "can", "can"])  # fmt: skip
    found = predictivity(table)
    assert found.overall is None and found.to_dict()["mean"]["decision"] is None
    assert "Tasks share fewer than two policies" in found.text()


def test_means_over_tasks_of_unequal_trials(csv):
    policies, real = ["a", "b"], [0.9, 0.5]
    whole = csv("w.csv", policy=policies * 2, real=real * 2, sim=real * 2, task=["x", "x", "y", "y"], n_real=[20] * 4)
    part = csv(
        "p.csv", policy=policies * 2, real=real * 2, sim=real * 2, task=["x", "x", "y", "y"], n_real=[20, 20, 5, 5]
    )
    ends = [predictivity(t).overall.decision.regret.high for t in (whole, part)]
    one = (
        predictivity(csv("o.csv", policy=policies, real=real, sim=real, n_real=[40] * 2)).decisions[""].decision.regret
    )
    assert ends[0] == pytest.approx(one.high) and ends[0] < ends[1]


def test_checkpoints_of_one_run_are_not_independent(csv):
    columns = {"policy": POLICIES, "real": REAL, "sim": REAL, "n_real": [20] * 5}
    alone = predictivity(csv("a.csv", **columns)).to_dict()["decision"]["claim"]
    together = predictivity(csv("b.csv", **columns, run=["x", "x", "y", "y", "z"])).to_dict()["decision"]["claim"]
    assert alone["reach"] == "the next policy from the same family" and alone["counted"] == 5
    assert together["reach"] == "these policies only" and together["counted"] == 3


def test_trials_on_common_scenarios_are_paired():
    rng = np.random.default_rng(2)
    luck = rng.random(30)

    def side(rates):
        rows = [(p, f"s{i}", int(luck[i] < r)) for p, r in zip(POLICIES, rates, strict=True) for i in range(30)]
        return dict(zip(("policy", "scenario", "success"), map(list, zip(*rows, strict=True)), strict=True))

    found = predictivity(real=side(REAL), sim=side(SIM)).decisions[""].decision
    assert found.regret.method == "regret, paired differences" and found.regret.guarantee == "finite-sample"


def test_the_gap_is_charged_on_either_side(csv):
    """Of c and d, which are swapped, 0.15 lie between them in reality and 0.2 in simulation."""
    task = csv("tasks.csv", policy=POLICIES * 2, real=REAL * 2, sim=SIM + SIM, task=["x"] * 5 + ["y"] * 5)
    real, sim = predictivity(task), predictivity(task, gap="sim")
    assert real.to_dict()["x"]["mmrv"]["gap"] == "real" and sim.to_dict()["mean"]["mmrv"]["gap"] == "sim"
    assert real.mean["mmrv"].estimate == pytest.approx(2 * 0.15 / 5)
    assert sim.mean["mmrv"].estimate == pytest.approx(2 * 0.2 / 5)
    assert re.search(r"mmrv, gap in sim +0.080", sim.text()) and "gap in sim" not in real.text()
    assert sim.metrics["x"]["mmrv"].diagnostics["leave_one_out"][2] == 0.0  # without c nothing is swapped
    others = [name for name in METRICS if name != "mmrv"]
    assert [real.metrics["x"][name] for name in others] == [sim.metrics["x"][name] for name in others]
    both = charged(real, "sim")
    assert both["y"] == replace(sim.metrics["y"]["mmrv"], diagnostics=both["y"].diagnostics)
    assert both["mean"].estimate == sim.mean["mmrv"].estimate
    with pytest.raises(foretell.UsageError, match="gap 'simm' is not known; did you mean 'sim'"):
        predictivity(task, gap="simm")


def test_one_task_is_one_task(csv):
    table = csv("tasks.csv", policy=POLICIES, real=REAL, sim=SIM, task=["x"] * 5)
    assert "mean over 1 task\n" in predictivity(table).text()


def test_policies_of_one_name_and_other_weights_are_told_apart(tmp_path):
    rates_of = {"a": 0.2, "b": 0.5, "c": 0.8}
    folders = []
    for side, changes in (("real", {"world": "standin", "stands_in": True}), ("sim", {})):
        scenarios, episodes = made.rows(rates_of, 20, **changes)
        if side == "sim":
            episodes = [replace(e, policy_hash="0" * 16) if e.policy == "b" else e for e in episodes]
        folders.append(made.run(tmp_path / side, scenarios, episodes))
    notes = predictivity(real=folders[0], sim=folders[1], stand_in=True).notes
    assert [note for note in notes if "other weights" in note] == [
        note for note in notes if note.startswith("warning: b has other weights or code in real")
    ]
    assert any("other weights" in note for note in notes)
    tried = foretell.read(folders[0]).take([i for i in range(60) if i % 20 < 12])  # the others are control
    told = compare(tried, sim=folders[1], policy=["a", "b"], stand_in=True).notes
    sides = [tried.filter(pc.equal(tried["policy"], name)) for name in ("a", "b")]
    gated = gate(*sides, sim=folders[1], stand_in=True).notes
    planned = budget(width=0.2, real=tried, sim=folders[1], policy="b", stand_in=True).notes
    for notes in (told, gated, planned):
        assert [note[:30] for note in notes if "other weights" in note] == ["warning: b has other weights or"[:30]]
