"""Rows become scenarios, scenarios become pairs, and the answer says what it is worth."""

import math
from dataclasses import replace
from pathlib import Path

import made
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import beta
from statsmodels.stats.proportion import proportion_confint

import foretell
from foretell import stats
from foretell.answers.bound import bound
from foretell.errors import UsageError
from foretell.stats import METHODS
from foretell.stats.order import by_id

rng = np.random.default_rng(5)
N, EXTRA = 30, 300
LATENT = rng.random(N + EXTRA)
REAL = (LATENT[:N] < 0.7).astype(int)
SIM = (0.6 * LATENT + 0.4 * rng.random(N + EXTRA) < 0.65).astype(int)
NAMES = [f"s{i}" for i in range(N + EXTRA)]


@pytest.fixture
def real(csv):
    return csv("real.csv", scenario=NAMES[:N], score=REAL)


@pytest.fixture
def sim(csv):
    return csv("sim.csv", scenario=NAMES, score=SIM)


def test_pairs_by_scenario_and_counts_the_rest_as_extra(csv, real, sim):
    pairs, extra = by_id(NAMES[:N]), N + by_id(NAMES[N:], "extra")
    wanted = stats.bound(REAL[pairs], SIM[pairs], SIM[extra])
    one = bound(real, sim).to_dict()
    assert (
        one["method"] == "strata" and one["guarantee"] == "finite-sample" and (one["n"], one["n_extra"]) == (N, EXTRA)
    )
    assert (one["low"], one["high"], one["estimate"]) == (wanted.low, wanted.high, wanted.estimate)
    assert one["diagnostics"]["correlation"] == pytest.approx(np.corrcoef(REAL, SIM[:N])[0, 1])
    order = [*range(N - 1, -1, -1), *range(N, N + EXTRA)]  # pairs may stand in any order in sim
    mixed = csv("mixed.csv", scenario=[NAMES[i] for i in order], score=SIM[order])
    assert bound(real, mixed).to_dict()["low"] == wanted.low
    halves = csv("h1.csv", scenario=NAMES[:60], score=SIM[:60]), csv("h2.csv", scenario=NAMES[60:], score=SIM[60:])
    assert bound(real, *halves).to_dict()["high"] == wanted.high


def test_values_against_other_programs(real):
    k = int(REAL.sum())
    found = {row["method"]: row for row in bound(real, method="all", alpha=0.1).to_dict()}
    assert list(found) == ["wilson", "clopper_pearson", "hoeffding", "betting", "star"]
    exact = beta.ppf(0.05, k, N - k + 1), beta.ppf(0.95, k + 1, N - k)
    assert (found["clopper_pearson"]["low"], found["clopper_pearson"]["high"]) == pytest.approx(exact)
    wilson = proportion_confint(k, N, 0.1, "wilson")
    assert (found["wilson"]["low"], found["wilson"]["high"]) == pytest.approx(wilson)
    reach = math.sqrt(math.log(2 / 0.1) / (2 * N))
    assert found["hoeffding"]["low"] == pytest.approx(k / N - reach)
    assert bound(real).to_dict()["method"] == "clopper_pearson"


def test_all_is_a_list_of_every_method(real, sim):
    rows = bound(real, sim, method="all").to_dict()
    assert [row["method"] for row in rows] == list(METHODS)
    keys = {"estimate", "low", "high", "alpha", "method", "guarantee", "assumes", "n", "n_extra", "diagnostics"}
    assert all(keys <= row.keys() and row["diagnostics"] for row in rows)
    assert rows[5]["low"] == bound(real, sim, method=rows[5]["method"]).to_dict()["low"]
    assert bound(real).to_dict()["diagnostics"] == {}
    text = bound(real, sim, method="all").text()
    assert "strata*" in text and "Choose the method before you look" in text


def test_partial_credit_leaves_out_what_needs_successes(csv):
    found = bound(csv("real.csv", scenario=NAMES[:N], score=np.round(LATENT[:N], 3)), method="all")
    assert set(found.not_applicable) == {"wilson", "clopper_pearson"} and "wilson does not apply" in found.text()
    assert found.default == "star"


def test_trials_and_children_are_averaged_within_scenarios(csv, refused):
    real = csv("real.csv", scenario=["a", "a", "b", "b", "c", "c"], trial=[0, 1] * 3, score=[1, 0, 1, 1, 0, 0])
    one = bound(real, method="star").to_dict()
    order = by_id("abc")
    y = np.array([0.5, 1, 0])[order]
    assert one["n"] == 3 and one["low"] == stats.star(y, shuffled=True).low
    kids = [f"{u}{k}" for u in "abcdef" for k in range(2)]
    sim = csv("sim.csv", scenario=kids, parent=[k[0] for k in kids], score=[1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0])
    found = bound(real, sim, method="blocked").to_dict()
    f, e = np.array([1, 0.5, 0])[order], np.array([1, 0.5, 0])[by_id("def", "extra")]
    assert found["n_extra"] == 3 and found["low"] == stats.blocked(y, f, e, shuffled=True).low
    uneven = csv("uneven.csv", scenario=kids[:-1], parent=[k[0] for k in kids[:-1]], score=[1] * 11)
    assert "uneven.csv, line 12: scenario 'f' averages 1 rows, others 2" in refused(bound, real, uneven)


def test_what_does_not_pair(csv, real, sim, refused):
    short = csv("short.csv", scenario=NAMES[1:], score=SIM[1:])
    assert "real.csv, line 2: scenario 's0' has no simulated partner in short.csv" in refused(bound, real, short)
    again = csv("again.csv", scenario=["new", "s3"], score=[0, 1])
    assert "again.csv, line 3: scenario 's3' is in sim.csv, line 5 too" in refused(bound, real, sim, again)
    assert "give sim too" in refused(bound, real, None, sim)
    text = bound(real, csv("just.csv", scenario=NAMES[:N], score=SIM[:N])).text()
    assert "add simulated scenarios beyond the real ones: --extra RUN" in text
    assert "real trials alone: no extra simulated scenarios, and with fewer than 300 the default uses none" in text
    told = refused(bound, real, csv("just.csv", scenario=NAMES[:N], score=SIM[:N]), method="blocked")
    assert told.startswith("blocked needs sim (paired) and extra scores")


def test_extra_must_come_from_the_same_simulator(csv, real, refused):
    sim = csv("sim.csv", scenario=NAMES[:50], score=SIM[:50], world=["mujoco"] * 50)
    extra = csv("extra.csv", scenario=NAMES[50:], score=SIM[50:], world=["robosuite"] * (N + EXTRA - 50))
    assert "world is 'robosuite' in extra.csv and 'mujoco' in sim.csv" in refused(bound, real, sim, extra)
    mixed = csv("mixed.csv", scenario=NAMES, score=SIM, world=["a", "b"] * 165)
    assert "several worlds (a, b)" in refused(bound, real, mixed)


def test_an_ambiguous_choice_lists_the_options(csv, refused):
    table = {"scenario": NAMES[:N] * 2, "score": [*REAL, *SIM[:N]], "policy": ["bc"] * N + ["dp"] * N}
    both = csv("both.csv", **table)
    assert "several policies: choose one with --policy" in refused(bound, both) and "bc, dp" in refused(bound, both)
    assert bound(both, policy="bc").to_dict()["estimate"] == pytest.approx(REAL.mean())
    assert "did you mean 'bc'?" in refused(bound, both, policy="bcc")
    one = csv("one.csv", scenario=NAMES[:N], score=REAL, policy=["dp"] * N)
    assert bound(one, both).to_dict()["sim"]["policy"] == "dp"  # the one name both share
    other = csv("other.csv", scenario=NAMES[:N], score=REAL, policy=["act"] * N)
    assert "several policies" in refused(bound, other, both)
    assert "policy: 'act' in other.csv, 'dp' in one.csv" in bound(other, one).notes
    assert "there is no column 'task', so 'lift' cannot be chosen" in refused(bound, one, task="lift")


def test_design_decides_the_label(real, sim, refused):
    assert bound(real, sim, design="iid").to_dict()["guarantee"] == "finite-sample"
    for design in ("chosen", "grid"):
        found = bound(real, sim, design=design)
        assert found.to_dict()["guarantee"] == "asymptotic" and found.to_dict()["reason"]
        relies = next(line for line in found.text().splitlines() if line.startswith("This relies on"))
        assert "(strata, no guarantee: the scenarios " in found.text() and "drawn independently" not in relies
        assert "drawn independently from one distribution, which does not hold here" in found.text()
        every = bound(real, sim, design=design, method="all").text()
        assert "asymptotic" not in every and "\nNo guarantee: the scenarios " in every
    assert "were chosen, not drawn" in bound(real, design="chosen").text()
    assert bound(real, sim, design="grid", randomised=True).to_dict()["guarantee"] == "finite-sample"
    assert "design 'x' is not known" in refused(bound, real, design="x")


def test_a_bound_wider_than_real_trials_alone_says_so(csv, real, sim):
    useless = csv("useless.csv", scenario=NAMES, score=[0, 1] * 165)
    low, high = (beta.ppf(q, REAL.sum() + s, N - REAL.sum() + 1 - s) for q, s in ((0.025, 0), (0.975, 1)))
    found = bound(real, useless, method="blocked")
    assert found.default == "strata" and found.intervals[0].width > high - low
    said = f"Valid, but wider than real trials alone would give ({low:.3f} to {high:.3f}, clopper_pearson)."
    assert said in found.text()
    assert "Valid, but" not in bound(real, useless, method="blocked", design="chosen").text()
    one = bound(real, sim)
    assert ("wider than real" in one.text()) == (one.intervals[0].width > high - low)


def test_scores_that_never_vary_are_named(csv, real):
    flat = csv("flat.csv", scenario=NAMES, score=[1] * len(NAMES))
    assert "simulation gave the same score in all 30 pairs" in bound(real, flat).text()
    ones = csv("ones.csv", scenario=NAMES[:N], score=[1] * N)
    assert "simulation and reality gave the same score in all 30 pairs" in bound(ones, flat).text()
    sim = csv("sim.csv", scenario=NAMES, score=SIM)
    assert "(reality gave the same score in all 30 pairs" in bound(ones, sim).text()


def test_wrong_options(real, refused):
    assert "did you mean 'blocked'?" in refused(bound, real, method="block")
    for alpha in (0.0, 1.0, math.nan):
        assert "alpha must lie strictly between 0 and 1" in refused(bound, real, alpha=alpha)
    assert "no column 'speed'" in refused(bound, real, metric="speed")


def test_words(csv, real, sim):
    text = bound(real, sim).text().splitlines()
    assert text[0].startswith("Mean score: between 0.") and "95% confidence (strata, finite-sample)" in text[0]
    assert text[1].startswith("Simulation does not help: use real trials only (correlation 0.")
    good = csv("good.csv", scenario=NAMES, score=[*REAL, *SIM[N:]])
    assert bound(real, good).text().splitlines()[1].startswith("Simulation helps here: correlation 1.")
    nasty = ["[bold]x[/bold] \x1b[31m☃"] * N
    words = bound(csv("nasty.csv", scenario=NAMES[:N], success=REAL, policy=nasty)).text()
    assert "[bold]x[/bold] \\x1b[31m☃" in words and "\x1b" not in words and "%" in words


def test_one_answer_for_one_set_of_rows(csv, tmp_path):
    # Before: 48 shuffles of the same rows gave 48 intervals, and sorted files covered almost never.
    rng = np.random.default_rng(3)
    partial, simulated = rng.random(N), rng.random(N + EXTRA)
    for real, sim in ((REAL, SIM), (partial, simulated)):
        found = set()
        for order in ("given", "sorted", "shuffled"):
            rows = {"given": np.arange(N), "sorted": np.argsort(real), "shuffled": rng.permutation(N)}[order]
            more = {"given": np.arange(N + EXTRA), "sorted": np.argsort(sim), "shuffled": rng.permutation(N + EXTRA)}[
                order
            ]
            a = csv("a.csv", scenario=[NAMES[i] for i in rows], score=real[rows])
            b = csv("b.csv", scenario=[NAMES[i] for i in more], score=sim[more])
            found.add(tuple((i.method, i.low, i.high, i.estimate) for i in bound(a, b, method="all").intervals))
        assert len(found) == 1


def test_run_folders_in_any_order_of_rows_have_one_answer(tmp_path):
    # Episodes end in another order with other workers; bound, compare and show must not notice.
    draw = np.random.default_rng(6)
    scenarios, rows = made.rows({"p": 0.7, "q": 0.5}, 30, world="real", world_hash="r" * 16, judge="person")
    rows = [replace(row, score=float(score)) for row, score in zip(rows, draw.random(len(rows)), strict=True)]
    answers = set()
    for name in ("given", "sorted", "shuffled"):
        keys = {"given": np.zeros(len(rows)), "sorted": [r.score for r in rows], "shuffled": draw.random(len(rows))}
        order = np.argsort(keys[name], kind="stable")
        run = made.run(tmp_path / name / "lab", scenarios, [rows[i] for i in order])
        bounds = [bound(run, policy="p", metric=metric, method="all").text() for metric in ("success", "score")]
        answers.add((*bounds, foretell.compare(run, metric="score").text(), str(foretell.show(run))))
    assert len(answers) == 1


def test_repeated_trials_average_alike_in_any_order(csv):
    rng = np.random.default_rng(4)
    scenario, trial = np.repeat(np.arange(12), 3), np.tile(np.arange(3), 12)
    score = rng.random(36)
    ends = set()
    for order in (np.arange(36), rng.permutation(36), np.argsort(score)):
        a = csv("a.csv", scenario=[f"s{i}" for i in scenario[order]], trial=trial[order], score=score[order])
        one = bound(a).intervals[0]
        ends.add((one.low, one.high, one.estimate))
    assert len(ends) == 1


def test_looking_more_than_once_needs_a_plan(csv, real, sim, refused):
    once = bound(real).intervals[0]
    assert not once.anytime
    planned = bound(real, horizon=40).to_dict()
    assert planned["anytime"] and planned["method"] == "star"
    assert any("planned number of trials" in a for a in planned["assumes"])
    assert planned["low"] == stats.star(REAL, horizon=40).low  # the rows as they were run
    assert "needs extra" in refused(bound, real, sim, horizon=40)
    apart = csv("apart.csv", scenario=NAMES[N:], score=SIM[N:]), csv("tried.csv", scenario=NAMES[:N], score=SIM[:N])
    found = bound(real, apart[1], apart[0], horizon=40).to_dict()
    assert found["anytime"] and found["method"] == "blocked" and found["n_extra"] == EXTRA
    few = csv("few.csv", scenario=["x", "y"], score=[0, 1])
    assert bound(real, sim, few, horizon=40).intervals[0].method == "star"  # too few to give each trial one
    assert bound(real, sim, few, horizon="open").intervals[0].n_extra == 2  # and none that may be tried next
    assert "takes no horizon" in refused(bound, real, method="clopper_pearson", horizon=40)


def test_says_what_more_simulated_trials_of_a_scenario_would_buy(csv, real, sim):
    told = bound(real, sim)
    assert told.more_trials is None and "simulated once, so the effect of more trials of each is unknown" in told.text()
    again = np.where(rng.random(N + EXTRA) < 0.7, SIM, 1 - SIM)
    twice = csv("twice.csv", scenario=NAMES * 2, trial=[0] * len(NAMES) + [1] * len(NAMES), score=[*SIM, *again])
    found = bound(real, twice)
    assert found.intervals[0].method == told.intervals[0].method, "means of two trials change nothing"
    assert "each scenario was simulated 2 times; 10 times would raise the correlation" in found.text()
    worth = found.to_dict()["more_trials"]
    assert worth["now"] == 2 and worth["trials"] == [1, 2, 5, 10, 30]
    assert worth["correlations"][1] == pytest.approx(found.intervals[0].diagnostics["correlation"])
    assert worth["widths"][3] < worth["widths"][1]
    same = csv("same.csv", scenario=NAMES * 2, trial=[0] * len(NAMES) + [1] * len(NAMES), score=[*SIM, *SIM])
    assert "more trials of each would hardly narrow the bound" in bound(real, same).text()


def test_imported_trials_without_a_scenario_have_one_answer_in_any_order_of_lines(tmp_path):
    score = np.random.default_rng(8).integers(0, 5, 24) / 4
    found = set()
    for name, order in {"as": range(24), "up": np.argsort(score), "down": np.argsort(-score)}.items():
        sheet = tmp_path / f"{name}.csv"
        sheet.write_text("policy,task,score\n" + "".join(f"p,lift,{score[i]}\n" for i in order))
        run = foretell.import_(sheet, out=tmp_path / name).path
        one = bound(run, metric="score").intervals[0]
        assert one.method == "star"
        found.add((one.low, one.high, one.estimate))
    assert len(found) == 1
    assert bound(run, metric="score", horizon=24).intervals[0].low != one.low  # looked at as run, the order counts


def test_all_methods_and_the_default_give_one_advice() -> None:
    rng = np.random.default_rng(4)
    sim = (rng.random(220) < 0.6).astype(int)
    rows = [{"scenario": f"s{i}", "success": int(v)} for i, v in enumerate(sim)]
    real = pa.Table.from_pylist(rows[:20])
    one, every = (bound(real, pa.Table.from_pylist(rows), method=method) for method in ("auto", "all"))
    assert "not used here" in one.text() and "simulation helps" not in every.text().lower()
    assert one.intervals[0].diagnostics["sentence"] == every.intervals[0].diagnostics["sentence"]


def test_one_file_is_not_both_real_and_simulated(tmp_path: Path) -> None:
    path, copy = tmp_path / "real.csv", tmp_path / "copy.csv"
    text = "scenario,success\n" + "\n".join(f"s{i},{i % 3 == 0:d}" for i in range(40)) + "\n"
    path.write_text(text)
    copy.write_text(text)
    with pytest.raises(UsageError, match="real and sim are both"):
        bound(path, path)
    assert "not a copy of the real trials" in bound(path, copy).text()


def test_a_bound_with_a_horizon_is_said_to_hold_at_every_look() -> None:
    rows = pa.Table.from_pylist([{"scenario": f"s{i}", "success": i % 2} for i in range(12)])
    assert "holds at every look" in bound(rows, horizon=20).text()
    assert "holds at every look" not in bound(rows).text()


@pytest.mark.daily
def test_trials_that_contradict_each_other_are_said_to_before_the_ends() -> None:
    # Before: "between 84.0% and 84.0%" of successes followed by as many failures, with a note below.
    rows = {"scenario": [f"s{i}" for i in range(60)], "success": [1] * 30 + [0] * 30}
    answer = bound(rows, horizon=60, alpha=0.2)
    first, second, *_ = answer.text().splitlines()
    assert first.startswith("Early and late trials contradict each other: no success rate fits both with 80%")
    assert "The mean of all trials is 50.0%." in first and "do not rely on them" in first
    assert second.startswith("Mean success: between") and "contradict" not in answer.text().split("\n", 1)[1]
    row = answer.to_dict()
    assert row["mean"] == 0.5 and 0.0 < row["contradiction"] < 0.2 and "contradict" in row["notes"][0]
    table = bound(rows, horizon=60, alpha=0.2, method="all").text()
    assert table.startswith("Early and late trials contradict each other by betting and star: no success rate")
    calm = bound({**rows, "success": [1, 0] * 30}, horizon=60, alpha=0.2)
    assert "contradict" not in calm.text() and "contradiction" not in calm.to_dict()
