"""Successes of trials as two numbers, and the same interval wherever they are shown."""

import json
from pathlib import Path

import numpy as np
import pytest

import foretell
from foretell.answers.bound import bound
from foretell.answers.show import table
from foretell.cli import main
from foretell.stats import clopper_pearson, wilson
from foretell.stats.order import by_content, by_id


def test_counts_answer_without_a_file(capsys):
    exact = clopper_pearson(14, 20)
    for written in ("14/20", " 14 / 20 ", "14 of 20"):
        one = bound(written).intervals[0]
        assert (one.low, one.high, one.method, one.n) == (exact.low, exact.high, "clopper_pearson", 20)
    assert foretell.bound("14/20").text().startswith("Mean success: between 45.7% and 88.1% with 95% confidence")
    for arguments in (["14/20"], ["--real", "14/20"]):
        main(["bound", *arguments, "--json"])
        assert json.loads(capsys.readouterr().out)["low"] == exact.low
    assert bound("14/20", method="wilson").intervals[0].low == wilson(14, 20).low
    every = bound("14/20", method="all")
    assert {i.method for i in every.intervals} == {"clopper_pearson", "wilson", "hoeffding"}
    assert set(every.not_applicable) >= {"star", "betting"} and every.default == "clopper_pearson"
    assert bound("0/3", design="chosen").to_dict()["guarantee"] == "asymptotic"


def test_counts_that_make_no_sense_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(foretell.UsageError, match="'21/20' has more successes than trials; write successes/trials"):
        bound("21/20")
    for wrong in ("0/0", "1/99999999999"):
        with pytest.raises(foretell.UsageError, match="the number of trials must be from 1 to 10,000,000"):
            bound(wrong)
    with pytest.raises(foretell.UsageError, match="no scenarios to pair"):
        bound("14/20", {"scenario": ["a"], "score": [1]})
    with pytest.raises(foretell.UsageError, match="'star' does not apply to 14/20: it needs the outcome of each trial"):
        bound("14/20", method="star")
    with pytest.raises(foretell.UsageError, match="alpha must lie"):
        bound("14/20", alpha=2.0)
    Path("3").mkdir()
    Path("3/4").write_text("scenario,score\na,1\nb,0\n")
    assert bound("3/4").intervals[0].n == 2  # a file that is there is meant


def test_show_import_and_bound_print_one_interval(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("lab.csv").write_text("policy,task,success\n" + "a,fold,yes\n" * 14 + "a,fold,no\n" * 6)
    run = foretell.import_("lab.csv").path
    (shown,) = foretell.show(run)
    one = bound("14/20").intervals[0]
    asked = bound(run).intervals[0]
    assert (shown["low"], shown["high"], shown["method"]) == (one.low, one.high, "clopper_pearson")
    assert (asked.low, asked.high) == (one.low, one.high)
    table([shown])
    printed = capsys.readouterr().out
    assert "46% to 88%" in printed and printed.endswith("Intervals: Clopper-Pearson.\n")


def test_repeated_trials_count_once_a_scenario_in_show_as_in_bound(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"a,fold,s{i},{t},{'yes' if (i + t) % 3 else 'no'}" for i in range(12) for t in range(2)]
    Path("lab.csv").write_text("policy,task,scenario,trial,success\n" + "\n".join(lines) + "\n")
    run = foretell.import_("lab.csv").path
    (shown,), asked = foretell.show(run), bound(run).intervals[0]
    assert (shown["n"], shown["method"]) == (24, "star")
    assert (shown["low"], shown["high"]) == (asked.low, asked.high)
    assert shown["high"] - shown["low"] > clopper_pearson(16, 24).width


def test_what_is_assumed_is_told_of_what_was_given():
    counted, arrays = foretell.bound("14/20"), foretell.stats.bound([0.0, 0.5, 1.0, 0.25])
    rows = foretell.bound({"scenario": [*"abcd"], "score": [0.0, 0.5, 1.0, 0.25]})
    assert counted.intervals[0].assumes[0] == "trials drawn independently from one distribution"
    assert not any("scenario" in one for one in arrays.assumes) and "hash of all" in " ".join(arrays.assumes)
    assert rows.intervals[0].assumes[0] == "scenarios drawn independently from one distribution"
    order = "scenarios put in the order of a hash of their names and then shuffled by a draw that a hash of"
    assert order in " ".join(rows.intervals[0].assumes)
    scores, places = np.array([0.0, 0.5, 1.0, 0.25]), by_id([*"abcd"])
    named = scores[places]
    assert rows.intervals[0].low == foretell.stats.star(named[by_content(named)], horizon=4).low  # as it says
    assert (rows.intervals[0].low, rows.intervals[0].high) != (None, None)
