"""`bound`, `predictivity`, `compare` and `budget` on the command line: a tiny study in two worlds, end to end."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import foretell
from foretell import stats
from foretell.answers.bound import bound
from foretell.answers.predictivity import predictivity
from foretell.cli import main
from foretell.episodes.scenarios import read_scenarios
from foretell.stats.order import by_id

POLICIES = {name: {"use": "noisy-expert", "noise": noise} for name, noise in (("steady", 0.1), ("shaky", 0.35))}
PAIRS, EXTRA = 12, 24


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """(real, sim): the stand-in on 12 of the simulator's 36 scenarios."""
    folder = tmp_path_factory.mktemp("runs")
    study = {"tasks": ["lift"], "policies": POLICIES}
    sim = {**study, "name": "sim", "world": "mujoco", "scenarios": {"count": PAIRS + EXTRA, "seed": 0}}
    foretell.run(sim, out=folder / "sim", workers=0)
    real = {**study, "name": "real", "world": "standin", "scenarios": {"like": str(folder / "sim"), "count": PAIRS}}
    foretell.run(real, out=folder / "real", workers=0)
    return folder / "real", folder / "sim"


def outcomes(run, policy):
    """Scenario -> success, in the order planned."""
    found = {r["scenario"]: float(r["success"]) for r in foretell.read(run).to_pylist() if r["policy"] == policy}
    return {s.id: found[s.id] for s in read_scenarios(run)}


@pytest.fixture
def told(capsys):
    """What a verb prints, as JSON."""

    def call(*arguments):
        main([str(a) for a in arguments] + ["--json"])
        return json.loads(capsys.readouterr().out)

    return call


@pytest.fixture
def refused(capsys):
    """What a verb says when it refuses: exit code 2, nothing on standard output."""

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main([str(a) for a in arguments])
        printed = capsys.readouterr()
        assert left.value.code == 2 and printed.out == "" and "Traceback" not in printed.err
        return printed.err

    return call


@pytest.mark.daily
def test_bound_on_run_folders(runs, told, capsys):
    real, sim = runs
    a, b = outcomes(real, "shaky"), outcomes(sim, "shaky")
    pairs, extra = list(a), [s for s in b if s not in a]
    pairs, extra = [pairs[i] for i in by_id(pairs)], [extra[i] for i in by_id(extra, "extra")]
    scores = [a[s] for s in pairs], [b[s] for s in pairs], [b[s] for s in extra]
    wanted = stats.bound(*scores, method="blocked", shuffled=True)
    found = told("bound", "--stand-in", "--real", real, "--sim", sim, "--policy", "shaky", "--method", "blocked")
    assert (found["n"], found["n_extra"], found["method"]) == (PAIRS, EXTRA, "blocked")
    assert (found["low"], found["high"], found["estimate"]) == (wanted.low, wanted.high, wanted.estimate)
    assert found["guarantee"] == "finite-sample" and found["design"] == "iid"
    assert (found["real"]["world"], found["sim"]["world"]) == ("standin", "mujoco")
    main(["bound", "--stand-in", "--real", str(real), "--sim", str(sim), "--policy", "shaky"])
    text = capsys.readouterr().out
    assert text.startswith("Success of policy shaky, task lift, world standin: between ") and "world mujoco" in text
    every = told(
        "bound", "--stand-in", "--real", real, "--sim", sim, "--policy", "shaky", "--metric", "score", "--method", "all"
    )
    assert {"blocked", "suresim", "star"} <= {row["method"] for row in every}


def test_an_ambiguous_choice_lists_the_options(runs, refused):
    message = refused("bound", "--stand-in", "--real", runs[0], "--sim", runs[1])
    assert "several policies: choose one with --policy" in message and "shaky, steady" in message
    assert "did you mean 'shaky'?" in refused("bound", "--stand-in", "--real", runs[0], "--policy", "shakey")
    assert "clock 'virtual' is not in" in refused(
        "bound", "--stand-in", "--real", runs[0], "--policy", "shaky", "--clock", "virtual"
    )
    assert "metric 'sped' is not in" in refused(
        "bound", "--stand-in", "--real", runs[0], "--policy", "shaky", "--metric", "sped"
    )


def test_a_run_of_chosen_scenarios_loses_the_label(runs, told, tmp_path):
    real, sim = tmp_path / "real", runs[1]
    shutil.copytree(runs[0], real)
    provenance = json.loads((real / "provenance.json").read_text())
    for text in (json.dumps({**provenance, "design": "chosen"}), "{broken"):
        (real / "provenance.json").write_text(text)
        found = told("bound", "--stand-in", "--real", real, "--sim", sim, "--policy", "shaky")
        assert found["guarantee"] == "asymptotic" and found["design"] == "chosen" and "chosen" in found["reason"]
    found = told("bound", "--stand-in", "--real", real, "--sim", sim, "--policy", "shaky", "--design", "iid")
    assert found["guarantee"] == "finite-sample" and any("as you asked" in note for note in found["notes"])
    told_again = told(
        "bound", "--stand-in", "--real", runs[0], "--policy", "shaky", "--design", "iid"
    )  # the run says so too
    assert not any("as you asked" in note for note in told_again["notes"])
    assert any("these scenarios only" in note for note in told("compare", real)["notes"])


def failed(run, policy, count, blame):
    """The run's rows, with the first few of a policy not judged."""
    rows = foretell.read(run).to_pylist()
    mine = [i for i, row in enumerate(rows) if row["policy"] == policy][:count]
    for i in mine:
        rows[i] = {**rows[i], "success": None, "score": None, "blame": blame}
    return pa.Table.from_pylist(rows, schema=foretell.read(run).schema), {rows[i]["scenario"] for i in mine}


def test_episodes_that_do_not_count_are_left_out_and_said(runs):
    real, sim = runs
    table, _ = failed(real, "shaky", 3, "machine")
    found = bound(table, sim, policy="shaky", method="blocked", stand_in=True)
    assert found.intervals[0].n == PAIRS - 3 and found.intervals[0].n_extra == EXTRA + 3
    assert "real: 3 episodes do not count (3 machine)" in found.notes and found.real["left_out"] == {"machine": 3}
    table, _ = failed(sim, "shaky", 36, "world")
    with pytest.raises(foretell.UsageError, match="no row that counts"):
        bound(real, table, policy="shaky", stand_in=True)
    table, lost = failed(sim, "shaky", 8, "world")
    found = bound(real, table, policy="shaky", method="blocked", stand_in=True)
    tried = set(outcomes(real, "shaky"))
    assert found.intervals[0].n == PAIRS - len(lost & tried)
    assert found.intervals[0].n_extra == EXTRA - len(lost - tried)


def test_errors_of_the_policy_count_as_failures(runs):
    rows = [r for r in foretell.read(runs[0]).to_pylist() if r["policy"] == "steady"]
    rows[0] = {**rows[0], "success": False, "score": None, "blame": "policy"}
    table = pa.Table.from_pylist(rows, schema=foretell.read(runs[0]).schema)
    for metric in ("success", "score"):
        found = bound(table, metric=metric, stand_in=True).intervals[0]
        wanted = [1.0 if r["success"] else (r["score"] if metric == "score" else 0.0) or 0.0 for r in rows]
        assert found.n == PAIRS and found.estimate == pytest.approx(np.mean(wanted))


def test_versions_of_a_policy_or_world_are_never_pooled(runs):
    table = foretell.read(runs[0])
    other = table.set_column(table.schema.get_field_index("policy_hash"), "policy_hash", [["f" * 64] * len(table)])
    both = pa.concat_tables([table, other])
    with pytest.raises(foretell.UsageError, match="shaky#"):
        bound(both, policy="shaky", stand_in=True)
    other = table.set_column(table.schema.get_field_index("world_hash"), "world_hash", [["f" * 16] * len(table)])
    with pytest.raises(foretell.UsageError, match="several worlds"):
        bound(pa.concat_tables([table, other]), policy="shaky", stand_in=True)


def test_imported_trials_without_a_scenario_stand_for_themselves(told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("lab.csv").write_text("policy,task,success\n" + "a,fold,yes\na,fold,no\n" * 5 + "b,fold,no\n" * 8)
    foretell.import_("lab.csv")
    found = told("bound", "--real", "runs/lab", "--policy", "a")
    assert (found["n"], found["estimate"], found["guarantee"]) == (10, 0.5, "asymptotic")
    assert any(note.startswith("runs/lab: 10 trials have no scenario") for note in found["notes"])
    assert told("compare", "runs/lab")["test"] == "barnard"


def test_rows_written_to_parquet_are_as_good_as_the_run(runs, tmp_path):
    pq.write_table(foretell.read(runs[1]), tmp_path / "sim.parquet")
    found, wanted = (
        bound(runs[0], s, policy="shaky", stand_in=True).intervals[0] for s in (tmp_path / "sim.parquet", runs[1])
    )
    assert found.diagnostics["correlation"] == wanted.diagnostics["correlation"] and found.n_extra == wanted.n_extra


def test_extra_from_another_world_is_refused(runs, refused, told):
    real, sim = runs
    message = refused("bound", "--stand-in", "--real", real, "--sim", real, "--extra", sim, "--policy", "shaky")
    assert "extra simulations must be like the paired ones, but world is 'mujoco'" in message
    same = told("bound", "--stand-in", "--real", real, "--sim", real, "--policy", "shaky")
    assert "real and sim are the same world with the same parameters" in same["notes"]


def test_predictivity_on_run_folders(runs, told):
    real, sim = runs
    found = told("predictivity", "--real", real, "--sim", sim, "--stand-in")
    rates = [np.mean(list(outcomes(real, p).values())) for p in ("shaky", "steady")]
    common = set(outcomes(real, "shaky"))
    simulated = [np.mean([v for s, v in outcomes(sim, p).items() if s in common]) for p in ("shaky", "steady")]
    assert found["success_gap"]["value"] == pytest.approx(np.abs(np.subtract(rates, simulated)).mean())
    assert found["pearson"]["low"] is None and "3 are needed" in found["pearson"]["reason"]
    assert found["mmrv"]["low"] <= found["mmrv"]["value"] <= found["mmrv"]["high"]
    assert found == predictivity(real=real, sim=sim, stand_in=True).to_dict()
    proxied = told("predictivity", "--real", real, "--sim", sim, "--proxy", "score", "--stand-in")
    assert proxied["success_gap"]["policies"]["shaky"]["sim"] >= simulated[0]


def test_compare_on_run_folders(runs, told):
    real, sim = runs
    found = told("compare", real)
    a, b = outcomes(real, "steady"), outcomes(real, "shaky")
    assert found["paired"] and {found["a"], found["b"]} == {"steady", "shaky"}
    assert abs(found["difference"]["estimate"]) == pytest.approx(
        abs(np.mean(list(a.values())) - np.mean(list(b.values())))
    )
    controlled = told("compare", real, "--sim", sim, "--stand-in", "--policy", "steady", "shaky")
    assert controlled["test"] == "betting with simulation as control" and controlled["difference"]["n_extra"] == EXTRA
    worlds = told("compare", real, sim, "--policy", "shaky")
    assert (worlds["a"], worlds["b"]) == ("shaky in standin", "shaky in mujoco") and worlds["n_a"] == PAIRS


def test_budget_on_run_folders(runs, told):
    pilot = ("--stand-in", "--real", runs[0], "--sim", runs[1], "--policy")
    found = told("budget", "--width", "0.2", *pilot, "shaky")
    a, b = outcomes(runs[0], "shaky"), outcomes(runs[1], "shaky")
    assert found["correlation"] == pytest.approx(np.corrcoef(list(a.values()), [b[s] for s in a])[0, 1])
    assert found["pilot"]["n"] == PAIRS and found["with_simulation"] <= found["real_only"]
    two = told("budget", "--power", "0.8", "--difference", "-0.2", *pilot, "shaky", "steady")
    assert two["question"] == "power" and two["rate"] == np.mean(list(outcomes(runs[0], "steady").values()))


def test_files_and_refusals(refused, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("real.csv").write_text("scenario,score\n" + "".join(f"s{i},{i % 2}\n" for i in range(10)))
    Path("sim.csv").write_text("scenario,score\n" + "".join(f"s{i},{i % 2}\n" for i in range(1, 40)))
    Path("rates.csv").write_text("policy,real,sim\na,0.1,0.2\nb,nan,0.2\n")
    assert "real.csv, line 2: scenario 's0' has no" in refused("bound", "--real", "real.csv", "--sim", "sim.csv")
    assert "rates.csv, line 3, 'real'" in refused("predictivity", "rates.csv")
    assert "cannot read none.csv" in refused("compare", "real.csv", "none.csv", "--json")
    assert "for example --width 0.2" in refused("budget")
    assert "width must lie in (0, 1), got 20" in refused("budget", "--width", "20")
    alone = told("budget", "--width", "0.2", "--rate", "0.5")
    assert alone["real_only"] == stats.trials_for_width(0.2, 0.5) and "real trials alone" in alone["notes"][0]
    assert "did you mean 'wilson'?" in refused("bound", "--real", "real.csv", "--method", "wilsn")
    assert told("compare", "sim.csv", "real.csv")["verdict"] == "too few trials"
    assert told("budget", "--width", "0.2", "--correlation", "0.5")["real_only"] == stats.trials_for_width(0.2, 0.5)


def test_a_terminal_without_unicode(tmp_path):
    lines = "".join(f"s{i},☃ [red]x,{i % 2}\n" for i in range(8))
    (tmp_path / "schnee ☃.csv").write_text("scenario,policy,score\n" + lines, encoding="utf-8")
    (tmp_path / "rates.csv").write_text("policy,real,sim\n☃,0.1,0.2\nb,0.3,0.4\n", encoding="utf-8")
    plain = {
        **os.environ,
        "PYTHONPATH": str(Path(foretell.__file__).parents[1]),
        "PYTHONIOENCODING": "ascii",
        "LC_ALL": "C",
    }
    for arguments in (["bound", "--real", "schnee ☃.csv", "--method", "all"], ["predictivity", "rates.csv"]):
        done = subprocess.run(
            [sys.executable, "-m", "foretell", *arguments], cwd=tmp_path, env=plain, capture_output=True
        )
        assert done.returncode == 0 and done.stderr == b"" and b"?" in done.stdout


@pytest.mark.parametrize("verb", ["bound", "predictivity", "compare", "budget"])
def test_help(verb, capsys):
    with pytest.raises(SystemExit) as left:
        main([verb, "--help"])
    assert left.value.code == 0 and "--json" in capsys.readouterr().out
