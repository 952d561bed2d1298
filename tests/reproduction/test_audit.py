"""The audit of published pairs: facts load, coefficients follow from them, decisions are what the numbers say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import foretell
from foretell.cli import main
from foretell.errors import UsageError
from foretell.papers import audit_printed, audited
from foretell.reproduction.audit import REACHES, Audited, audit
from foretell.reproduction.audit_page import apart, totals
from foretell.stats import regret

DIFFER = {
    "wm-policyeval, pearson, Cosmos",
    "wm-policyeval, pearson, IRASim",
    "wm-policyeval, mmrv, IRASim",
    "gemini-veo, pearson",
    "gemini-veo, mmrv",
    "mem-world, pearson",
    "realm, mmrv, V-VIEW",
    "weaver, spearman, WEAVER-FT",
    "weaver, mmrv, WEAVER-FT",
}
"""Printed coefficients that the points do not give; docs/reproduce.md has the reasons."""


@pytest.fixture(scope="module")
def rows() -> dict[str, Audited]:
    return {row.name: row for row in audit()}


def test_facts_are_whole(rows: dict[str, Audited]) -> None:
    papers = {row.matrix.paper for row in rows.values()}
    assert papers == {*audited(), "simpler", "srcc", "async"} and len(papers) == 24 and len(rows) == 55
    for row in rows.values():
        matrix = row.matrix
        pairs = [(cell["task"], cell["policy"]) for cell in matrix.cells]
        assert len(set(pairs)) == len(pairs), row.name
        assert "arXiv" in matrix.cited or "et al." in matrix.cited
        for side in ("real", "sim"):
            values, n = np.array(matrix.points(side), dtype=float), matrix.trials(side)
            assert np.isfinite(values).all()
            if n is not None:
                assert (values >= 0).all() and (values <= 1).all() and (n >= 4).all()
    assert {(paper, panel) for paper, panel, _ in audit_printed()} <= {
        (row.matrix.paper, row.matrix.panel) for row in rows.values()
    }


def test_counts_of_trials_fit_the_rates(rows: dict[str, Audited]) -> None:
    for name in ("real2sim-eval, rope routing", "real2sim-eval, toy packing, Fig. 9", "cosmos-surg-dvrk, human judges"):
        matrix = rows[name].matrix
        successes = np.array(matrix.points("real"), dtype=float) * matrix.trials("real")
        assert np.abs(successes - successes.round()).max() < 1e-3


def test_coefficients_differ_where_documented_and_nowhere_else(rows: dict[str, Audited]) -> None:
    figures = [figure for row in rows.values() for figure in row.figures]
    assert {f"{f.table}, {f.figure}" for f in figures if not f.agrees} == DIFFER
    assert not any("not explained" in f.note for f in figures)
    assert len(figures) == len(audit_printed()) == 68
    assert f"{68 - len(DIFFER)} of 68 printed coefficients" in totals([*rows.values()])


def test_two_papers_charge_the_gap_in_simulation(rows: dict[str, Audited]) -> None:
    charged = {f.table for row in rows.values() for f in row.figures if f.figure.startswith("mmrv sim")}
    assert charged == {"real2sim-eval", "dreamdojo"}
    assert all(f.agrees for row in rows.values() for f in row.figures if f.figure.startswith("mmrv sim"))


def test_regret_is_that_of_means_over_tasks(rows: dict[str, Audited]) -> None:
    for name, points in {
        "cosmos-surg-dvrk, human judges": 10.0,
        "real2sim-eval, T-block pushing": 12.5,
        "wm-policyeval, IRASim": 27.5,
        "digital-cousins": 0.0,
    }.items():
        made = rows[name].picked
        assert made is not None and 100 * made.decision.regret.estimate == pytest.approx(points, abs=1e-3)
        boards = [*rows[name].matrix.boards().values()]
        sides = [np.mean([getattr(b, side) for b in boards], axis=0) for side in ("real", "sim")]
        assert made.decision.regret.estimate == pytest.approx(float(regret(*sides)))
    alone = rows["robosnap"]
    assert alone.picked is None and alone.reach == "nothing is picked"
    unknown = rows["hi-wm"].picked
    assert unknown is not None and unknown.decision.regret.high is None and rows["hi-wm"].trials() == "unknown"


def test_checkpoints_of_one_run_do_not_reach_the_next_policy(rows: dict[str, Audited]) -> None:
    for row in rows.values():
        if row.picked is not None and len(row.matrix.runs) < 5:
            assert row.reach != REACHES[0], row.name
    order = [REACHES.index(row.reach) for row in rows.values()]
    assert order == sorted(order)


def test_where_claim_and_interval_seem_to_disagree_is_told(rows: dict[str, Audited]) -> None:
    text = apart(list(rows.values()))
    assert rows["srcc, tuned settings"].reach == REACHES[0] and 0 in rows["srcc, tuned settings"].pearson
    assert "5 panels reach the next policy" in text and "srcc, tuned settings; oscar" in text
    assert "9 are too few to say although it lies above 0" in text
    few = [row for row in rows.values() if row.reach == REACHES[2] and (row.pearson.low or -1) > 0]
    assert len(few) == 9 and all(len(row.matrix.tasks) > 1 for row in few)


def test_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["reproduce", "audit"])
    text = capsys.readouterr().out
    assert text.index("Claim level: the next policy") < text.index("Claim level: too few to say")
    assert "shown not the best; that is OpenVLA" in text and "24 papers, 55 panels." in text
    main(["reproduce", "audit", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(json.dumps(foretell.reproduce("audit")))
    assert {"paper", "panel", "pearson", "decision", "reach", "figures"} <= set(found[0])
    for arguments in (["srcc", "--out", "a.html"], ["srcc", "--data", str(tmp_path)]):
        with pytest.raises(SystemExit) as stop:
            main(["reproduce", *arguments])
        assert stop.value.code == 2
    with pytest.raises(UsageError, match="data is for lbm only"):
        foretell.reproduce("audit", data=tmp_path)


def test_the_page_has_every_panel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("vl_convert")
    main(["reproduce", "audit", "-o", str(tmp_path / "audit.html")])
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert "page: " in capsys.readouterr().out
    for row in audit():
        assert row.name in page
