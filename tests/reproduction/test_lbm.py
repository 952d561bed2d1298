"""Toyota's large behaviour models: rates and letters beside the published ones, and simulation against hardware."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from reference import lbm as data

import foretell
from foretell.cli import main
from foretell.errors import UsageError
from foretell.reproduction import summary
from foretell.reproduction.lbm_data import FILES, SOURCE, read_lbm

HEAD = "Panel,Task,Method,Success/Failure,Num_Successes,Num_Rollouts,Success_Rate,CLD_Letter\n"
MADE = {
    ("HW", "a"): (40, 50, "a"),
    ("HW", "b"): (10, 50, "b"),
    ("Sim", "a"): (30, 200, "b"),
    ("Sim", "b"): (120, 200, "a"),
}


def made(folder: Path) -> Path:
    """Files of two methods: simulation has them the wrong way round, and one letter is wrong."""
    lines = []
    for setting in ("Fig2A_{}_Seen_Nominal", "Fig2B_{}_Seen_DistShift"):
        for (where, method), (k, n, letter) in MADE.items():
            outcomes = ",".join(["True"] * k + ["False"] * (n - k))
            mark = "a" if setting.startswith("Fig2B") else letter
            lines.append(f'{setting.format(where)},lift,{method},"[{outcomes}]",{k},{n},{k / n},{mark}\n')
    for name in FILES:
        (folder / f"{name}.csv").write_text(HEAD + ("".join(lines) if name == "Fig2" else ""), encoding="utf-8")
    return folder


def test_rates_letters_and_decisions(tmp_path: Path) -> None:
    rows = {(r["table"], r["figure"]): r for r in foretell.reproduce("lbm", data=made(tmp_path))}
    rate = rows["Fig2A_HW_Seen_Nominal", "success of a, lift"]
    assert rate["agrees"] and rate["recomputed"] == 0.8 and rate["note"] == "40 of 50, 66.3% to 90.0%"
    letters = {table: r for (table, figure), r in rows.items() if figure == "letters of a, b, lift"}
    assert letters["Fig2A_HW_Seen_Nominal"]["agrees"] and letters["Fig2A_Sim_Seen_Nominal"]["recomputed"] == "b a"
    wrong = letters["Fig2B_HW_Seen_DistShift"]
    assert wrong["agrees"] is False and wrong["published"] == "a a" and "a and b differ here, p = " in wrong["note"]
    lost = rows["Simulation against hardware, nominal", "regret in points, lift"]
    assert lost["recomputed"] == pytest.approx(60.0) and "it is shown not to be the best" in lost["note"]
    assert "2 of 4 statements hold" in summary([*rows.values()])


def test_files_that_are_not_there_or_damaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="not part of foretell: download them from") as error:
        foretell.reproduce("lbm")
    assert SOURCE in str(error.value)
    with pytest.raises(UsageError, match=r"Fig2\.csv is not there"):
        foretell.reproduce("lbm", data=tmp_path)
    folder = made(tmp_path)
    for line, reason in (
        ("p,lift,a,[True],1,1,nan?,a\n", "line 2: not a line of this study"),
        ("p,lift,a,[Maybe],1,1,1.0,a\n", "neither True nor False: 'Maybe'"),
        ("p,lift,a,[True],one,1,1.0,a\n", "could not convert"),
    ):
        (folder / "Fig3.csv").write_text(HEAD + line, encoding="utf-8")
        with pytest.raises(UsageError, match=reason.replace("?", r"\?")):
            read_lbm(folder)
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", "lbm"])
    assert stop.value.code == 2 and "--data" in capsys.readouterr().err


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return foretell.reproduce("lbm", data=data())


def test_published_rollouts(rows: list[dict[str, Any]]) -> None:
    json.dumps(rows)
    letters = [r for r in rows if r["figure"].startswith("letters of ")]
    assert len(letters) == 189 and sum(r["agrees"] for r in letters) == 154
    assert all(r["agrees"] for r in letters if "_HW_" in r["table"]), "on hardware every letter is as published"
    rates = [r for r in rows if r["figure"].startswith("success of ")]
    assert len(rates) == 539 and {r["figure"] for r in rates if not r["agrees"]} == {
        "success of Single Task (UNet-DP), TurnLargeContainerUpsideDown",
        "success of LBM (UNet-DP) finetuned, TurnLargeContainerUpsideDown",
    }


def test_simulation_picks_the_best_over_tasks_and_not_on_each(rows: list[dict[str, Any]]) -> None:
    nominal = {
        r["figure"].removeprefix("regret in points, "): r
        for r in rows
        if r["table"] == "Simulation against hardware, nominal"
    }
    assert (
        nominal["all 3 tasks"]["recomputed"] == 0.0 and "shown to be truly the best" in nominal["all 3 tasks"]["note"]
    )
    assert nominal["PutKiwiInCenterOfTable"]["recomputed"] == pytest.approx(38.0)
    assert nominal["TurnMugRightsideUp"]["recomputed"] == pytest.approx(32.0)
    for task in ("PutKiwiInCenterOfTable", "TurnMugRightsideUp"):
        assert "it is shown not to be the best" in nominal[task]["note"]
