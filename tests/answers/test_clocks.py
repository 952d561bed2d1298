"""What latency costs: tables whose answers are known by hand, and a small study."""

import contextlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from studies import cli
from studies import refused as refused_by_verb

import foretell
from foretell.answers.clocks import clocks
from foretell.episode import Episode
from foretell.episodes.journal import to_table
from foretell.stats.paired import paired_difference

SYNC = {"kind": "sync"}


def virtual(latency, speed=1.0, **more):
    values = {"kind": "constant", "values": [latency]}
    return {"kind": "virtual", "latency": values, "speed": speed, "chunks": "execute", **more}


def rows(policy, clock, outcomes, task="can", trials=1, measured=True, **more):
    """Episodes of one policy under one clock: outcomes in order of scenario, then trial; None is a machine's error."""
    made = []
    for i, outcome in enumerate(outcomes):
        scenario, trial = f"s{i // trials}", i % trials
        latency = clock.get("latency", {}).get("values", [None])[0]
        metrics = {}
        if latency is not None and measured:
            took = latency * clock["speed"]
            metrics = {"inferences": 10.0, "latency_per_inference_s": took, "latency_per_action_s": took / 2}
            metrics |= {"observation_age_s": took, "starvation_s": 3.0}
        episode = Episode(
            episode=f"{task}-{policy}-{json.dumps(clock)}-{i}-{more}",
            study="hand",
            world="mujoco",
            world_params="{}",
            world_hash="w",
            robot="panda",
            controller="ee_delta",
            task=task,
            task_version=1,
            policy=policy,
            policy_hash="p",
            scenario=scenario,
            base=scenario,
            trial=trial,
            arm="none",
            clock=json.dumps(clock),
            success=None if outcome is None else bool(outcome),
            blame="machine" if outcome is None else None,
            metrics=metrics,
        )
        made.append({**episode.to_dict(), **more})
    return made


def table(*groups):
    return to_table([row for group in groups for row in group])


def first(n, of):
    return [1] * n + [0] * (of - n)


def test_one_gap_by_hand():
    found = clocks(table(rows("bc", SYNC, first(40, 50)), rows("bc", virtual(0.2), first(20, 50)))).to_dict()
    (cell,) = found["cells"]
    assert (cell["pairs"], cell["scenarios"], cell["latency_s"]) == (50, 50, 0.2)
    exact, paired = foretell.stats.clopper_pearson(20, 50), paired_difference(20, 20, 0, 10)
    assert [cell["async"][k] for k in ("estimate", "low", "high")] == [0.4, exact.low, exact.high]
    ends = [100 * v for v in (paired.estimate, paired.low, paired.high)]
    assert [cell["gap_points"][k] for k in ("estimate", "low", "high")] == pytest.approx(ends)
    assert cell["gap_points"]["guarantee"] == "finite-sample" and cell["verdict"] == "loses"
    assert cell["retention"]["estimate"] == 0.5 and cell["relative_drop"]["estimate"] == 0.5
    assert cell["relative_drop"]["low"] == 1 - cell["retention"]["high"]
    means = [cell[k] for k in ("latency_per_action_s", "observation_age_s", "starvation_s", "inferences")]
    assert means == pytest.approx([0.1, 0.2, 3.0, 10.0])
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_curve_fit_and_budget_by_hand():
    tried = {0.05: 100, 0.1: 90, 0.5: 0}
    groups = [rows("bc", virtual(t), first(k, 100)) for t, k in tried.items()]
    answer = clocks(table(rows("bc", SYNC, first(100, 100)), *groups))
    found = answer.to_dict()
    (line,) = found["against_latency"]
    assert [(p["latency_s"], p["success"]) for p in line["points"]] == [(0.05, 1.0), (0.1, 0.9), (0.5, 0.0)]
    assert line["trend"] == "falls" and line["p_value"] < 1e-4 and not found["against_speed"]
    slope = np.polyfit(np.log10(list(tried)), [100 - k for k in tried.values()], 1)[0]
    (fit,) = found["fits"]
    assert fit["points_per_tenfold"]["estimate"] == pytest.approx(slope)
    assert fit["points_per_tenfold"]["low"] < slope < fit["points_per_tenfold"]["high"] and fit["points"] == 3
    (budget,) = found["budgets"]
    assert budget["estimate_s"] == pytest.approx(0.075)
    assert (budget["kept_at_s"], budget["lost_at_s"], budget["keep"], budget["n"]) == (0.05, 0.1, 0.95, 100)
    said = answer.text()
    assert "Latency budget of bc on can: between 50 ms, which keeps 95% of its synchronous success, and 100 ms" in said
    assert "by straight lines between the latencies tried 75 ms (95%: " in said
    assert "Success of bc on can falls as latency grows, from 100% at 50 ms to 0% at 500 ms (more than chance" in said
    assert clocks(table(rows("bc", SYNC, first(100, 100)), *groups), keep=0.45).budgets[0][
        "estimate_s"
    ] == pytest.approx(0.3)


def test_budgets_with_one_side():
    sync = rows("bc", SYNC, first(100, 100))
    kept = clocks(table(sync, rows("bc", virtual(0.1), first(100, 100)), rows("bc", virtual(0.5), first(100, 100))))
    assert kept.budgets[0]["estimate_s"] is None and kept.budgets[0]["low_s"] == 0.5
    assert (
        "Latency budget of bc on can: at least 500 ms (95%: at least 500 ms); every latency tried keeps 95%"
        in kept.text()
    )
    lost = clocks(table(sync, rows("bc", virtual(0.05), first(10, 100))))
    assert lost.budgets[0]["estimate_s"] is None and lost.budgets[0]["high_s"] == 0.05
    assert "Latency budget of bc on can: below 50 ms (95%: below 50 ms); every latency tried keeps less" in lost.text()
    assert "No fit of the drop against latency on can: a fit needs two latencies" in lost.text()


def test_a_policy_that_never_succeeds_has_no_ratio():
    answer = clocks(table(rows("bc", SYNC, [0] * 10), rows("bc", virtual(0.1), [0] * 10)))
    (cell,) = answer.cells
    assert cell["retention"] == {
        "estimate": None, "low": None, "high": None, "reason": "synchronous success is 0: there is no ratio",
    }  # fmt: skip
    assert "No latency budget of bc on can: synchronous success is 0" in answer.text()


def test_speed_counts_as_latency():
    groups = [rows("bc", virtual(0.1, speed), first(k, 20)) for speed, k in ((1.0, 20), (2.0, 12), (3.0, 2))]
    answer = clocks(table(rows("bc", SYNC, first(20, 20)), *groups))
    assert [c["latency_s"] for c in answer.cells] == pytest.approx([0.1, 0.2, 0.3])
    (line,) = answer.against_speed
    assert [p["speed"] for p in line["points"]] == [1, 2, 3] and line["latency_s"] == 0.1 and line["trend"] == "falls"
    assert "falls as latency grows" in answer.text() and "as speed grows" not in answer.text()  # said once
    more = clocks(table(rows("bc", SYNC, first(20, 20)), *groups, rows("bc", virtual(0.05), [1] * 20))).text()
    assert "with 100 ms of latency falls as speed grows, from 100% at speed 1 to 10% at speed 3" in more
    bare = [rows("bc", virtual(0.1, s), first(k, 20), measured=False) for s, k in ((1.0, 20), (2.0, 12))]
    assert [c["latency_s"] for c in clocks(table(rows("bc", SYNC, [1] * 20), *bare)).cells] == [0.1, 0.2]


def test_a_rise_is_named_and_one_test_decides():
    counts = {0.1: 12, 0.2: 14, 0.4: 2}
    groups = [rows("bc", virtual(t), first(k, 20)) for t, k in counts.items()]
    answer = clocks(table(rows("bc", SYNC, [1] * 20), *groups))
    (line,) = answer.against_latency
    assert line["trend"] == "falls with a rise" and line["rise"]["to"]["latency_s"] == 0.2
    assert (line["verdict"], set(line["rise"])) == ("falls", {"from", "to"})
    assert "with a rise from 60% at 100 ms to 70% at 200 ms on the way (not tested)" in answer.text()
    mild = clocks(table(rows("bc", SYNC, [1] * 20), *groups[:2]))
    assert "shows no trend with latency, from 60% at 100 ms to 70% at 200 ms (within chance, p = 0.5)." in mild.text()


def test_the_largest_of_many_rises_is_no_trend():
    """Of 21 pairs of latencies one differs by p = 0.03 here, and there is no trend."""
    counts = {0.1: 12, 0.15: 12, 0.2: 6, 0.25: 12, 0.3: 11, 0.35: 12, 0.4: 12}
    groups = [rows("bc", virtual(t), first(k, 20)) for t, k in counts.items()]
    answer = clocks(table(rows("bc", SYNC, first(13, 20)), *groups))
    (line,) = answer.against_latency
    assert line["verdict"] == "no trend shown" and line["p_value"] > 0.05
    assert "shows no trend with latency" in answer.text() and "more than chance" not in answer.text()


def test_ways_of_running_chunks_are_curves_of_their_own():
    other = virtual(0.2, chunks="replace")
    found = clocks(
        table(
            rows("bc", SYNC, [1] * 20),
            rows("bc", virtual(0.1), [1] * 20),
            rows("bc", virtual(0.2), [0] * 20),
            rows("bc", other, [1] * 20),
        )
    )
    assert {b["way"]: b["lost_at_s"] for b in found.budgets} == {"execute": 0.2, "replace": None}
    assert "Latency budget of bc on can (replace): at least 200 ms" in found.text()


def test_clocks_that_this_version_does_not_know():
    strange = {**virtual(0.1), "gravity": "low", "kind": "virtual"}
    alien = {"kind": "lunar", "speed": 2.0}
    found = clocks(table(rows("bc", SYNC, [1] * 4), rows("bc", strange, [1] * 4), rows("bc", alien, [0] * 4)))
    assert [c["clock"].partition(" ")[0] for c in found.cells] == ["virtual", "lunar"]
    assert found.cells[1]["latency_s"] is None and any("latency is not known" in n for n in found.notes)


def test_policies_that_change_places():
    a, b = first(19, 20), first(8, 20)
    made = table(
        rows("big", SYNC, a), rows("big", virtual(0.1), first(1, 20)),
        rows("small", SYNC, b), rows("small", virtual(0.1), first(8, 20)),
    )  # fmt: skip
    answer = clocks(made)
    (ranks,) = answer.ranks
    assert ranks["rank_reversals"]["estimate"] == 1 and ranks["kendall"]["estimate"] is None
    assert "2 policies are too few for a correlation" in ranks["kendall"]["reason"]
    (pair,) = ranks["reversals"]
    assert (pair["ahead_sync"], pair["ahead_async"], pair["shown"]) == ("big", "small", True)
    assert "big is ahead of small sync, 95% against 40%, and behind async, 5% against 40% (shown)" in answer.text()
    assert not clocks(made, policy=["big"]).ranks


def test_many_policies_make_a_table_of_budgets():
    groups = []
    for i, name in enumerate("abcde"):
        groups += [rows(name, SYNC, first(60, 60)), rows(name, virtual(0.1), first(60, 60))]
        groups += [rows(name, virtual(0.3), first(60 - 15 * i, 60))]
    answer = clocks(table(*groups, rows("never", SYNC, [0] * 60), rows("never", virtual(0.1), [0] * 60)))
    lines = [line.split("  ") for line in answer.text().splitlines()]
    found = {line[0]: [cell.strip() for cell in line[1:] if cell] for line in lines if len(line) > 3}
    assert found["policy"] == ["latency budget to keep 95%", "95% interval", "kept at", "lost at"]
    assert found["a"] == ["at least 300 ms", "below 100 ms to above 300 ms", "300 ms", "-"]  # 60 of 60 may be 93 %
    assert found["e"][0] == "110 ms" and found["e"][2:] == ["100 ms", "300 ms"] and found["never"] == ["-"] * 4
    assert "Ranks on can under 2 clocks: no two policies change places." in answer.text()
    assert len(answer.ranks[1]["policies"]) == 5 and answer.ranks[1]["kendall"]["reason"].startswith("undefined")


def test_measured_latencies_are_one_clock_for_ranks():
    def trace(*values):
        return {**virtual(0.0), "latency": {"kind": "trace", "values": list(values)}}

    made = table(
        rows("a", SYNC, [1] * 6), rows("a", trace(0.1, 0.2), [0] * 6),
        rows("b", SYNC, [0] * 6), rows("b", trace(0.01, 0.02), [1] * 6),
    )  # fmt: skip
    (ranks,) = clocks(made).ranks
    assert ranks["clock"] == "virtual trace" and len(ranks["reversals"]) == 1


def test_what_does_not_count_takes_its_partner_along():
    made = table(rows("bc", SYNC, [1, 1, 1, None, 1]), rows("bc", virtual(0.1), [1, 0, None, 1, 0]))
    answer = clocks(made)
    assert answer.cells[0]["pairs"] == 3 and answer.cells[0]["async"]["estimate"] == pytest.approx(1 / 3)
    assert any(note.startswith("2 episodes do not count (2 machine)") for note in answer.notes)


def test_trials_of_a_scenario_are_averaged():
    made = table(rows("bc", SYNC, [1] * 12, trials=2), rows("bc", virtual(0.1), [1, 0] * 6, trials=2))
    (cell,) = clocks(made).cells
    assert (cell["pairs"], cell["scenarios"], cell["async"]["estimate"]) == (12, 6, 0.5)
    assert cell["gap_points"]["guarantee"] == "finite-sample" and cell["retention"]["estimate"] == 0.5


def test_sync_and_async_may_lie_in_two_runs_and_repeat(tmp_path):
    sync, asyn = table(rows("bc", SYNC, [1] * 6)), table(rows("bc", virtual(0.1), [0] * 6))
    pq.write_table(asyn, tmp_path / "async.parquet")
    assert clocks(sync, asyn, sync).cells[0]["pairs"] == 6
    assert clocks(sync, tmp_path / "async.parquet").cells[0]["pairs"] == 6


def test_other_weights_are_another_policy(refused):
    told = refused(clocks, table(rows("bc", SYNC, [1] * 6), rows("bc", virtual(0.1), [0] * 6, policy_hash="other")))
    assert "no trial ran both under `sync` and under another clock" in told


def test_refusals(refused, tmp_path):
    sync, asyn = rows("bc", SYNC, [1] * 6), rows("bc", virtual(0.1), [0] * 6)
    both = table(sync, asyn)
    assert "no episodes under the clock `sync` (it has virtual 100 ms); add `sync`" in refused(clocks, table(asyn))
    assert "only the clock `sync`: there is nothing to compare it with" in refused(clocks, table(sync))
    assert "policy 'bd' is not in table 1; did you mean 'bc'?" in refused(clocks, both, policy="bd")
    assert "task 'cam' is not in table 1; did you mean 'can'?" in refused(clocks, both, task=["cam"])
    assert "keep is 1.5" in refused(clocks, both, keep=1.5)
    assert "alpha is 0" in refused(clocks, both, alpha=0)
    assert "give a run folder" in refused(clocks)
    assert "no column 'episode'" in refused(clocks, {"scenario": ["a"], "score": [1]})
    arms = table(sync, asyn, rows("bc", SYNC, [1] * 6, arm="light"), rows("bc", virtual(0.1), [0] * 6, arm="light"))
    assert "several arms: choose one with --arm" in refused(clocks, arms)
    assert clocks(arms, arm="light").cells[0]["pairs"] == 6
    worlds = table(sync, rows("bc", virtual(0.1), [0] * 6, world="standin"))
    assert "several worlds" in refused(clocks, worlds)
    text = tmp_path / "a.csv"
    text.write_text("a,b\n1,2\n")
    assert "neither a run folder nor a Parquet file" in refused(clocks, text)
    twice = pa.concat_tables([both, table(rows("bc", virtual(0.1), [0] * 6, success_rule="end"))])
    assert "is there twice under one clock" in refused(clocks, twice)


def test_an_episode_that_is_given_twice_counts_once():
    both = table(rows("bc", SYNC, [1] * 6), rows("bc", virtual(0.1), [0] * 6))
    assert clocks(both, both).cells == clocks(both).cells


def test_the_verb(tmp_path):
    path = tmp_path / "both.parquet"
    pq.write_table(table(rows("bc", SYNC, [1] * 20), rows("bc", virtual(0.1), first(5, 20))), path)
    done = cli("clocks", path, cwd=tmp_path)
    assert done.stdout.startswith("task can\npolicy") and "virtual 100 ms" in done.stdout
    found = json.loads(cli("clocks", path, "--json", "--keep", "0.5", cwd=tmp_path).stdout)
    assert found["keep"] == 0.5 and found == foretell.clocks(path, keep=0.5).to_dict()
    assert "policy 'x' is not in" in refused_by_verb("clocks", path, "--policy", "x", cwd=tmp_path)
    assert "there is no such folder" in refused_by_verb("clocks", "nowhere", cwd=tmp_path)


@pytest.mark.daily
def test_a_real_study(tmp_path):
    (tmp_path / "slow.yaml").write_text(
        "name: slow\ntasks: [can]\npolicies: [expert]\nscenarios: {count: 4}\n"
        "clocks: [sync, {virtual: {latency: 0.05}}, {virtual: {latency: 1.0}}, {virtual: {latency: 25 s}}]\n"
    )
    cli("run", "slow.yaml", cwd=tmp_path)
    found = json.loads(cli("clocks", "runs/slow", "--json", cwd=tmp_path).stdout)
    assert [(c["latency_s"], c["sync"]["estimate"], c["async"]["estimate"]) for c in found["cells"]] == [
        (0.05, 1.0, 1.0), (1.0, 1.0, 0.0), (25.0, 1.0, 0.0),
    ]  # fmt: skip
    assert (found["budgets"][0]["kept_at_s"], found["budgets"][0]["lost_at_s"]) == (0.05, 1.0)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("solved", [0.0, 0.5])
def test_every_unfinished_state_of_two_latencies_has_an_answer(solved):
    """Resamples of few scenarios may miss all that a clock has."""
    rng = np.random.default_rng(0)
    clocks_ = (SYNC, virtual(0.05), virtual(0.2))
    plan = [r for clock in clocks_ for policy in "ab" for r in rows(policy, clock, rng.random(5) < solved)]
    for order in (range(len(plan)), rng.permutation(len(plan))):
        for count in range(12, len(plan) + 1):
            with contextlib.suppress(foretell.ForetellError):  # such as no pair yet
                clocks(to_table([plan[i] for i in order[:count]]))
