"""The page in a real browser: from disk, with no network, with every chart drawn and every row within reach."""

from __future__ import annotations

import csv
import json
import os
import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import made
import pytest
from studies import Lab

import foretell
from foretell.report import charts, contents, page
from foretell.view.board import blank

EVIL = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
CLOCK = '{"kind": "virtual", "speed": 1.0, "latency": {"kind": "constant", "values": [0.1]}}'
PLACE = "[document.getElementById('episodes').getBoundingClientRect().top, document.querySelector('.scroll').scrollTop]"

Open = Callable[..., Any]


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Opens a file when all of it is drawn; in the end, nothing may have gone wrong or been asked of a network."""
    contexts, wrong = [], []

    def opened(path: Path, *, width: int = 1280, height: int = 900, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        context.route(lambda url: not url.startswith("file:"), refuse)
        tab = context.new_page()
        contexts.append(context)
        tab.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.goto(path.resolve().as_uri())
        tab.wait_for_selector("html[data-ready]")
        return tab

    def refuse(route: Any) -> None:
        if not route.request.url.startswith(("data:", "blob:")):
            wrong.append(f"asked for {route.request.url}")
        route.abort()

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of three policies, one with a name made to break out, on 30 scenarios and two clocks."""
    folder = tmp_path_factory.mktemp("reported")
    scenarios, episodes = made.rows({"good": 0.9, "fair": 0.5, EVIL: 0.1}, 30)
    late = [replace(e, episode=f"late-{e.episode}", clock=CLOCK) for e in episodes]
    lost = made.row("fair", scenarios[0], None, trial=1, blame="machine", error="killed\nby the system", end="error")
    lost = replace(lost, video="videos/gone.mp4")
    run = made.run(folder / "<i>run", scenarios, [*episodes, *late, lost])
    return foretell.report(run, out=folder / "page.html").path


def marks(tab: Any) -> list[int]:
    """Of each chart, how many marks it has."""
    return tab.eval_on_selector_all(
        "figure[data-chart]",
        "all => all.map(f => f.querySelectorAll('.plot svg .mark-symbol path, .plot svg .mark-rect path, "
        ".plot svg .mark-rule line, .plot svg .mark-line path, .plot svg .mark-text text').length)",
    )


def test_every_chart_draws_and_names_stay_names(reported: Path, open_page: Open) -> None:
    tab = open_page(reported)
    drawn = marks(tab)
    assert len(drawn) >= 5 and all(count >= 3 for count in drawn), drawn
    assert tab.evaluate("window.pwned") is None
    assert tab.locator("h1").inner_text() == "<i>run"
    assert tab.locator("section").count() == tab.locator("#jump a").count() >= 7
    assert tab.locator("script[src], link[rel=stylesheet], iframe").count() == 0


def test_charts_are_saved_as_svg_png_and_csv(reported: Path, open_page: Open, tmp_path: Path) -> None:
    tab = open_page(reported)
    saved = {}
    for kind in ("SVG", "PNG", "CSV"):
        with tab.expect_download() as waiting:
            tab.locator(f"figure[data-chart=success] button[data-save={kind}]").click()
        saved[kind] = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(saved[kind])
    assert sorted(path.name for path in saved.values()) == ["success.csv", "success.png", "success.svg"]
    assert saved["SVG"].read_text().startswith("<svg")
    assert saved["PNG"].read_bytes().startswith(b"\x89PNG")
    lines = saved["CSV"].read_text().splitlines()
    assert "rate" in lines[0] and len(lines) == 7


def test_filters_search_order_and_rows_that_open(reported: Path, open_page: Open) -> None:
    tab = open_page(reported)
    tally = tab.locator(".tally")
    assert tally.inner_text() == "181 episodes"
    tab.select_option("select[name=policy]", "good")
    assert tally.inner_text() == "60 of 181"
    tab.select_option("select[name=outcome]", "failure")
    failed = int(tally.inner_text().split()[0])
    assert tab.locator(".outcome.failure").count() == failed < 20
    tab.fill("input[name=text]", "no such thing")
    assert tally.inner_text() == "0 of 181" and tab.locator(".nothing").is_visible()
    tab.get_by_role("button", name="Clear").click()
    assert tally.inner_text() == "181 episodes"
    tab.fill("input[name=text]", "killed fair")
    tab.locator(".row").click()
    detail = tab.locator(".detail").inner_text()
    assert "killed\nby the system" in detail and "lift: " in detail and "cube" in detail
    assert "videos/gone.mp4, was not on the disk when this page was made" in detail
    run = reported.parent / "<i>run"
    (key,) = (row["episode"] for row in foretell.read(run).to_pylist() if row["end"] == "error")
    assert f"foretell replay '{run}' {key}" in detail
    tab.get_by_role("button", name="Clear").click()
    tab.get_by_role("columnheader", name="Time").click()
    tab.get_by_role("columnheader", name="Time").click()
    assert tab.locator(".row").first.get_by_text("20.0 s").is_visible()


def test_light_and_dark(reported: Path, open_page: Open) -> None:
    tab = open_page(reported, scheme="dark")
    colours = (
        "[getComputedStyle(document.body).backgroundColor,"
        " document.querySelector('.plot svg .role-axis-label text').getAttribute('fill')]"
    )
    dark = tab.evaluate(colours)
    tab.locator("#theme").click()
    tab.evaluate("window.foretell.ready")
    light = tab.evaluate(colours)
    assert dark != light and dark[0] != light[0] and dark[1] != light[1]
    assert all(count >= 3 for count in marks(tab))


def test_a_phone_shows_all_without_scrolling_sideways(reported: Path, open_page: Open) -> None:
    tab = open_page(reported, width=390, height=844)
    assert tab.evaluate("document.documentElement.scrollWidth") == 390
    assert all(count >= 3 for count in marks(tab))
    tab.locator(".row").first.click()
    assert tab.locator(".detail").first.bounding_box()["width"] <= 390
    assert tab.evaluate("document.documentElement.scrollWidth") == 390


LONG = "policy-of-a-very-long-name-" * 8
ARMS = ["clean", "Camera_FOV", "Background_Texture", "Lighting_Position", "Robot_Texture", "Object_Friction", "all"]
ARMS += [f"Table_Colour_{i}" for i in range(12)]
WRITTEN = """all => all.flatMap((plot) => {
  const edge = plot.querySelector("svg").getBoundingClientRect();
  const box = (text) => {
    const b = text.getBoundingClientRect();
    return [text.textContent, b.left - edge.left, b.right - edge.left, b.top, b.bottom];
  };
  const name = plot.closest("figure").dataset.chart, of = (what) => [...plot.querySelectorAll(what)].map(box);
  return [[name, edge.width, plot.clientWidth, plot.querySelector(".background").getBoundingClientRect().width,
    of("svg text"), of(".mark-text.role-mark text")]];
})"""


def crowded(folder: Path, policies: list[str]) -> Path:
    """A page of the charts that write words beside their marks, all of them where there is the least room."""
    ends = {f"{side}{end}": 1.0 for side in ("sim", "real") for end in ("", "_low", "_high")}
    rows = [{"policy": p, "verdict": "no difference shown", "points": 0, "low": -6, "high": 6} for p in policies]
    near = [{"policy": p, **ends, "sim": 1.0 - 0.02 * i, "real": 0.95 - 0.01 * i} for i, p in enumerate(policies)]
    sides = [
        {"policy": p, "side": side, "value": 0.9 + 0.01 * i, "place": "keeps its place"}
        for i, p in enumerate(policies)
        for side in ("mujoco", "standin")
    ]
    arms = [{"arm": a, "policy": p, "success": 0.5} for a in ARMS for p in policies]
    by: dict[str, Any] = {"y": "policy", "x": "points", "title": "difference in success, points", "tips": {}}
    specs = {
        "dots": charts.dots(rows, **by, unit="points", zero=True, text="verdict"),
        "scatter": charts.scatter(near, label="policy", titles=("success in mujoco", "in standin"), tips={}),
        "slopes": charts.slopes(
            sides, label="policy", kind="place", sides=("mujoco", "standin"), title="success", tips={}
        ),
        "radar": charts.radar(arms, axis="arm", series="policy", value="success", tips={}),
    }
    blocks = [
        {"kind": "chart", "name": name, "title": name, "spec": spec, "rows": [], "about": ""}
        for name, spec in specs.items()
    ]
    section = {"id": "crowded", "title": "Crowded", "says": "", "blocks": blocks}
    (folder / "page.html").write_text(page({**blank([folder]), "sections": [section]}))
    return folder / "page.html"


@pytest.mark.parametrize("width", [390, 700, 1400])
@pytest.mark.parametrize("policies", [["bc", "bc-gmm", "bc-transformer", "dp"], ["bc", LONG]], ids=["plain", "long"])
def test_words_in_charts_are_seen_in_full(open_page: Open, tmp_path: Path, width: int, policies: list[str]) -> None:
    tab = open_page(crowded(tmp_path, policies), width=width)
    wrong = []
    for name, wide, room, plot, texts, words in tab.eval_on_selector_all(".plot", WRITTEN):
        wrong += [f"{name} must be scrolled"] if wide > room else []
        wrong += [f"{name} has {plot} of {room} pixels left"] if plot < 0.25 * room else []
        wrong += [f"{name} cuts {text}" for text, left, right, *_ in texts if left < -1 or right > wide + 1]
        wrong += [f"{name} lacks words"] if len(words) < len(policies) else []
        tall = 5 if name == "dots" else 3  # pixels by which letters are less tall than their line
        for (one, l1, r1, t1, b1), (other, l2, r2, t2, b2) in combinations(words, 2):
            apart = r1 <= l2 or r2 <= l1 or b1 - tall <= t2 or b2 - tall <= t1
            wrong += [] if apart or "%" in one + other else [f"{name} writes {one} over {other}"]
    assert wrong == []
    shown = tab.locator("figure[data-chart=slopes]").inner_text()
    assert policies[0] in shown and (LONG in policies or all(policy in shown for policy in policies))


def test_it_prints_every_section(reported: Path, open_page: Open) -> None:
    tab = open_page(reported)
    pdf = tab.pdf(format="A4")
    assert pdf.startswith(b"%PDF") and len(pdf) > 20_000
    tab.emulate_media(media="print")
    assert not tab.locator(".top").is_visible() and not tab.locator(".saves").first.is_visible()


def test_newer_contents_take_the_place_of_the_old(reported: Path, open_page: Open) -> None:
    tab = open_page(reported)
    tab.evaluate("document.getElementById('episodes').scrollIntoView()")
    tab.select_option("select[name=policy]", "good")
    tab.evaluate("document.querySelector('.scroll').scrollTop = 500")
    tab.wait_for_function("document.querySelector('.scroll').scrollTop === 500")
    tab.locator(".row").nth(12).click()
    opened = tab.locator(".detail").inner_text()
    before = tab.evaluate(PLACE)
    scenarios, episodes = made.rows({"good": 0.9, "fair": 0.5, EVIL: 0.1}, 32)
    newer = [replace(e, episode=f"late-{e.episode}", clock=CLOCK) for e in episodes]
    run = made.run(reported.parent / "newer" / "<i>run", scenarios, [*episodes, *newer])
    tab.evaluate("text => window.foretell.update(JSON.parse(text))", json.dumps(contents([run])))
    after = tab.evaluate(PLACE)
    assert abs(before[0] - after[0]) < 2 and before[1] == after[1]
    assert tab.locator(".tally").inner_text() == "64 of 192"
    assert tab.locator("select[name=policy]").input_value() == "good"
    assert tab.locator(".detail").inner_text() == opened
    assert all(count >= 3 for count in marks(tab))


def test_a_live_page_hands_its_state_to_the_script_that_is_added(tmp_path: Path, open_page: Open) -> None:
    scenarios, episodes = made.rows({"p": 0.5}, 3)
    said = contents([made.run(tmp_path / "run", scenarios, episodes)])
    html = page(
        said,
        live={"token": "t0ken"},
        script="document.getElementById('live').textContent = window.foretell.live.token;",
    )
    (tmp_path / "live.html").write_text(html)
    assert open_page(tmp_path / "live.html").locator("#live").inner_text() == "t0ken"


def test_a_run_without_episodes_is_a_page(tmp_path: Path, open_page: Open) -> None:
    tab = open_page(foretell.report(made.run(tmp_path / "empty", [], [])).path)
    assert tab.locator("#notes").inner_text().endswith("empty has no episodes yet.")
    assert tab.locator("section").count() == 1


@pytest.mark.gl
@pytest.mark.parametrize("embed", [20, 0])
def test_videos_play_from_within_and_from_beside(filmed: Path, embed: int, open_page: Open, tmp_path: Path) -> None:
    written = foretell.report(filmed, embed=embed)
    assert (written.videos, written.linked) == ((2, 0) if embed else (0, 2))
    tab = open_page(written.path)
    tab.locator(".row", has_text="▶").first.click()
    tab.wait_for_function("document.querySelector('video').currentTime > 0.1")  # it begins by itself, muted
    tab.evaluate("window.foretell.update(window.foretell.contents)")
    assert not tab.locator("video").evaluate("video => video.paused")
    assert ("beside" in tab.locator(".detail").inner_text()) == (embed == 0)
    assert tab.locator("video").evaluate("video => video.videoWidth") > 100
    assert tab.locator(".tracks svg").count() >= 2 and tab.locator(".tracks rect").count() > 10
    assert tab.locator(".steps polyline").count() == 2 + 1 + 7, "heights of hand and cube, the gripper, actions"
    tab.wait_for_function("+document.querySelector('.steps .now').getAttribute('x1') > 0")  # it follows the film


@pytest.mark.gl
def test_strips_lead_to_their_films_and_films_can_be_asked_for(filmed: Path, open_page: Open) -> None:
    tab = open_page(foretell.report(filmed).path)
    assert tab.locator(".film img").count() == 2
    assert tab.locator(".film img").first.evaluate("image => image.naturalWidth") == 1600
    assert tab.locator(".tally").inner_text() == "4 episodes"
    tab.locator("select[name=video]").select_option("yes")
    assert tab.locator(".tally").inner_text() == "2 of 4"
    tab.locator(".film").last.click()
    tab.wait_for_selector(".detail video")
    assert tab.locator(".tally").inner_text() == "4 episodes" and tab.locator(".open").count() == 1
    assert tab.locator(".open .row").inner_text().split()[0] == "failure"


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real study with videos."""
    lab = Lab(tmp_path_factory.mktemp("filmed"))
    policies, record = {"expert": "expert", "random": "random"}, {"video": 1, "events": 1}
    study = lab.study("filmed", task="Blink", count=2, policies=policies, record=record)
    return foretell.run(study, out=lab.folder / "run", workers=0).path


@pytest.mark.daily
@pytest.mark.slow
def test_ten_thousand_episodes_open_and_scroll(tmp_path: Path, open_page: Open) -> None:
    count = 10_000
    scenarios, _ = made.rows({}, 50)
    episodes = [
        made.row(
            f"policy-{i % 8}", scenarios[i % 50], i % 3 > 0, trial=i // 400, arm=("none", "light")[i // 50 % 8 // 4]
        )
        for i in range(count)
    ]
    keyed = [replace(e, episode=f"{i:016x}") for i, e in enumerate(episodes)]
    written = foretell.report(made.run(tmp_path / "many", scenarios, keyed))
    assert written.bytes < 6_000_000
    began = time.monotonic()
    tab = open_page(written.path)
    took = time.monotonic() - began
    assert tab.locator(".tally").inner_text() == "10,000 episodes"
    tools = tab.context.new_cdp_session(tab)
    tools.send("Performance.enable")
    used = {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}["ProcessTime"]
    assert used < 3, "seconds of processor"
    if os.getloadavg()[0] < (os.cpu_count() or 1):  # else the clock on the wall tells of other programs
        assert took < 3
    assert tab.locator(".row").count() < 100
    tab.evaluate("document.querySelector('.scroll').scrollTop = 1e9")
    tab.wait_for_function("[...document.querySelectorAll('.row')].some(row => row.dataset.index === '9999')")
    tab.fill("input[name=text]", "policy-3")
    assert tab.locator(".tally").inner_text() == "1,250 of 10,000"
    assert 10 < tab.locator(".row").count() < 100


@pytest.mark.parametrize(
    "names",
    [["constructor", "toString", "__proto__"], ["a\u2028b", "c\u2029d", "hasOwnProperty"]],
    ids=["inherited", "separators"],
)
def test_policies_may_be_called_anything(tmp_path: Path, open_page: Open, names: list[str]) -> None:
    """What every object of JavaScript has is no name of ours, and Vega's parser takes no line separator."""
    scenarios, episodes = made.rows({name: 0.3 + 0.2 * i for i, name in enumerate(names)}, 12)
    late = [replace(e, episode=f"late-{e.episode}", clock=CLOCK) for e in episodes]
    run = made.run(tmp_path / names[0].replace("\u2028", "-"), scenarios, [*episodes, *late])
    tab = open_page(foretell.report(run, out=tmp_path / "page.html").path)
    drawn = marks(tab)
    assert len(drawn) >= 5 and all(count >= 3 for count in drawn), drawn
    tab.select_option("select[name=policy]", names[0])
    assert tab.locator(".tally").inner_text() == "24 of 72"
    tab.locator(".row").first.click()
    assert "foretell replay " in tab.locator(".detail").inner_text()


def test_a_command_takes_a_name_as_a_word_and_csv_as_text(tmp_path: Path, open_page: Open) -> None:
    scenarios, episodes = made.rows({'=HYPERLINK("http://x")': 1.0, "+1+1": 0.0, "plain": 0.5}, 8)
    evil = replace(
        episodes[0], episode="x'; touch pwned; $(touch pwned) '", scenario="constructor", failure_reason="@why"
    )
    odd = replace(episodes[1], episode="y\x1b[2J", arm="odd")
    run = made.run(tmp_path / "-run", scenarios, [*episodes, evil, odd])
    tab = open_page(foretell.report(run, out=tmp_path / "page.html").path)
    for text, said in {"touch": "foretell replay", "y\x1b": "characters that a command cannot hold"}.items():
        tab.fill("input[name=text]", text)
        tab.locator(".row").first.click()
        detail = tab.locator(".detail").first.inner_text()
        assert said in detail
        if text == "touch":
            (command,) = [line for line in detail.splitlines() if line.startswith("foretell replay")]
            assert shlex.split(command) == ["foretell", "replay", str(run), evil.episode]
            tab.locator(".row").first.click()
    with tab.expect_download() as waiting:
        tab.locator("figure[data-chart=success] button[data-save=CSV]").click()
    waiting.value.save_as(tmp_path / "success.csv")
    with open(tmp_path / "success.csv", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert '\'=HYPERLINK("http://x")' in cells and "'+1+1" in cells and "plain" in cells
    assert not [cell for cell in cells if cell[:1] in "=+@" and cell]
