"""The demonstration tells its story with figures from its rows, and ends with a report or says how to get one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import made
import pytest
from sections import block, section_of

from foretell.cli import main
from foretell.demo.demo import _strips
from foretell.demo.story import part, wrong
from foretell.demo.strip import drawn
from foretell.demo.studies import LIFTS, PART
from foretell.episodes.read import read
from foretell.report import bounds
from foretell.tasks.lift import Lift

ARGUMENTS = ["--trials", "3", "--more", "3", "--ranked", "3", "--seen", "1", "--no-films", "--workers", "0"]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    main(["demo", "--out", str(folder), *ARGUMENTS])
    return folder


@pytest.mark.daily
@pytest.mark.slow
@pytest.mark.gl
def test_every_figure_is_in_the_rows_and_in_the_report(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["demo", "--out", str(out), *ARGUMENTS, "--json"])  # nothing runs again
    said = json.loads(capsys.readouterr().out)
    cloth, ranking, part, wrong, latency = said["chapters"]
    rows = read(out / "demo-cloth").to_pylist()
    solved = [sum(r["success"] for r in rows if r["arm"] == arm) for arm in ("none", "Table_Texture")]
    assert [cloth["figures"]["clean"][0], cloth["figures"]["cloth"][0]] == solved
    tried = [row for name in ("demo-standin", "demo-standin-part") for row in read(out / name).to_pylist()]
    for policy, rate in ranking["figures"]["rates"].items():
        mine = [r["success"] for r in tried if r["policy"] == policy]
        assert rate["real"] == pytest.approx(sum(mine) / len(mine)) and f"{rate['real']:.0%}" in ranking["text"]
    real = {policy: rate["real"] for policy, rate in ranking["figures"]["rates"].items()}
    assert ranking["figures"]["regret"] == max(real.values()) - min(real[p] for p in ranking["figures"]["picked"])
    assert part["figures"]["bound"]["n"] == 3 and part["figures"]["alone"]["n"] == 3
    assert wrong["figures"]["helps"] is False and wrong["figures"]["says"] in wrong["text"]
    outcomes = [(json.loads(r["clock"])["kind"], r["success"]) for r in read(out / "demo-latency").to_pylist()]
    slow, waits = ([success for kind, success in outcomes if kind == asked] for asked in ("virtual", "sync"))
    assert len(slow) == len(waits) == 6 and latency["figures"]["latency_s"] == 0.1
    assert latency["figures"]["late"]["estimate"] == pytest.approx(sum(slow) / 6)
    assert latency["figures"]["sync"]["estimate"] == pytest.approx(sum(waits) / 6)
    page = (out / "demo.html").read_text()
    for chapter in said["chapters"]:
        assert json.dumps(chapter["text"], ensure_ascii=False)[1:-1] in page, "the page tells the same"
    assert "demo-wrong" not in said["report"] and "plays reality" in page


@pytest.mark.slow
@pytest.mark.gl
def test_without_charts_it_says_how_to_get_a_report(
    out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (out / "demo.html").unlink(missing_ok=True)
    monkeypatch.setitem(sys.modules, "altair", None)  # as if it were not installed
    main(["demo", "--out", str(out), *ARGUMENTS])
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "No report: charts need altair, which is not installed: pip install 'foretell[report]'"
    assert not (out / "demo.html").exists()


def test_a_strip_is_drawn_with_letters(tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    import numpy as np

    from foretell.rollout.video import Video

    film = Video(tmp_path / "a.mp4", slot=0, rate=10.0, time_limit=10.0, strip=tmp_path / "a.jpg")
    film._small = [np.full((240, 320, 3), value, np.uint8) for value in (0, 255)]
    (tmp_path / "a.jpg").write_bytes(film._pictures())
    film.abandon()
    with av.open(str(tmp_path / "a.jpg")) as file:
        frame = next(file.decode(video=0))
    assert (frame.width, frame.height) == (1600, 240)
    lines = drawn(tmp_path / "a.jpg", width=40).splitlines()
    assert len(lines) == 3 and all(line.count("▀") == 40 for line in lines)
    assert _strips({}) == []


def test_the_story_and_the_report_say_the_same_of_what_simulation_is_worth(tmp_path: Path) -> None:
    task = Lift()
    scenarios = [task.scenario(i) for i in range(330)]
    solved = [i % 2 == 0 for i in range(330)]
    simulated = [made.row(PART, s, ok) for s, ok in zip(scenarios, solved, strict=True)]
    tried = [made.row(PART, s, ok, world="standin") for s, ok in zip(scenarios[:30], solved, strict=False)]
    runs = {
        "demo-part": made.run(tmp_path / "demo-part", scenarios, simulated),
        "demo-standin-part": made.run(tmp_path / "demo-standin-part", scenarios[:30], tried, world="standin"),
    }
    chapter = part(runs)
    assert chapter.figures["alike"] == [30, 30] and f"takes about {chapter.figures['worth']} trials" in chapter.text
    sheet = block(section_of(bounds, *runs.values()), "trials-saved")
    (line,) = sheet.rows
    assert line[sheet.columns.index("needs")] == chapter.figures["worth"] > 30
    assert line[sheet.columns.index("success, 95%")] in chapter.text


def test_a_wrong_simulator_is_declined_for_what_it_says_not_for_its_size(tmp_path: Path) -> None:
    task = Lift()
    scenarios = [task.scenario(i) for i in range(330)]
    simulated = [made.row(LIFTS, s, False) for s in scenarios]
    tried = [made.row(LIFTS, s, i > 1, world="standin") for i, s in enumerate(scenarios[:30])]
    runs = {
        "demo-wrong": made.run(tmp_path / "demo-wrong", scenarios, simulated),
        "demo-standin-lift": made.run(tmp_path / "demo-standin-lift", scenarios[:30], tried, world="standin"),
    }
    chapter = wrong(runs)
    assert chapter.figures["helps"] is False and chapter.figures["solved"] == [0, 330]
    assert chapter.figures["says"].startswith("simulation does not help: use real trials only")
