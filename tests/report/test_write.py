"""`foretell report`: one file, written whole or not at all, and errors that say what to do."""

from __future__ import annotations

import json
import re
import sys
from importlib.resources import files
from pathlib import Path

import made
import pytest
from studies import cli, refused

import foretell
from foretell.errors import UsageError
from foretell.report import contents, page

EVIL = "</script><script>window.pwned = 1</script><!-- <img src=x onerror='window.pwned = 1'> \u2028 & {{css}}"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    scenarios, episodes = made.rows({"good": 0.9, "bad": 0.2}, 5)
    return made.run(tmp_path / "a run", scenarios, episodes)


def test_the_verb_writes_one_file_that_names_no_address(run: Path, tmp_path: Path) -> None:
    said = cli("report", "a run", cwd=tmp_path).stdout
    assert said.startswith("a run/report.html: 10 episodes, ")
    html = (run / "report.html").read_text()
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", html)
    assert "default-src &#x27;none&#x27;" in html and "connect-src &#x27;none&#x27;" in html
    assert sorted(p.name for p in run.iterdir() if p.name.endswith((".part", ".html"))) == ["report.html"]


def test_the_verb_says_what_it_wrote_as_json(run: Path, tmp_path: Path) -> None:
    told = json.loads(cli("report", "a run", "-o", "there/x.html", "--json", cwd=tmp_path).stdout)
    assert told["path"] == "there/x.html" and told["bytes"] == (tmp_path / "there" / "x.html").stat().st_size
    assert told["episodes"] == 10 and told["sections"][0] == "verdict" and told["notes"] == []


def test_the_function_takes_runs_as_arguments_or_as_a_list(run: Path, tmp_path: Path) -> None:
    scenarios, episodes = made.rows({"good": 0.9, "bad": 0.2}, 5, world="standin", world_hash="v" * 16)
    other = made.run(tmp_path / "other", scenarios, episodes)
    written = foretell.report([run, other], out=tmp_path / "both.html")
    assert [one["name"] for one in written.runs] == ["a run", "other"]
    assert written.path.stat().st_size == written.bytes
    with pytest.raises(UsageError, match="out: 2 runs are given: name the file to write"):
        foretell.report(run, other)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere is not a run folder: there is no such folder"),
        (["a run", "-o", "x.pdf"], "out: x.pdf should end in .html"),
        (["a run", "-o", "a run/study.yaml/x.html"], "out: cannot write"),
        (["a run", "--embed", "-1"], "embed is -1, it must be 0 or more megabytes"),
        (["a run", "a run", "-o", "x.html"], "is given twice"),
    ],
)
def test_what_cannot_be_done_is_refused(run: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    assert said in refused("report", *arguments, cwd=tmp_path)
    assert not list(tmp_path.rglob("*.part"))


def test_a_report_that_cannot_be_made_leaves_the_old_one(run: Path) -> None:
    path = foretell.report(run).path
    before = path.read_bytes()
    (run / "journal" / "0.jsonl").write_text('{"schema": 99, "episode": "new"}\n')
    with pytest.raises(UsageError, match="upgrade foretell"):
        foretell.report(run)
    assert path.read_bytes() == before


@pytest.mark.parametrize("module", ["altair", "vl_convert"])
def test_without_the_extra_it_says_how_to_install_it(run: Path, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=r"pip install 'foretell\[report\]'"):
        foretell.report(run)


def test_names_cannot_end_the_element_that_holds_them(tmp_path: Path) -> None:
    scenarios, _ = made.rows({}, 2)
    episodes = [made.row(EVIL, s, False, failure_reason=EVIL, error=EVIL) for s in scenarios]
    said = contents([made.run(tmp_path / "<b>run", scenarios, episodes)])
    html = page(said, live={"token": EVIL}, script="window.extra = 1;")
    plain = page(contents([made.run(tmp_path / "plain", scenarios, [made.row("p", s, False) for s in scenarios])]))
    assert html.count("<script") == plain.count("<script") and html.count("</script") == plain.count("</script")
    assert "<img src=x" not in html and "<b>run" not in html and "\u2028" not in html
    (data,) = re.findall(r'id="data-contents">(.*?)</script>', html, re.S)
    assert json.loads(data) == {k: v for k, v in said.items() if k != "videos"}
    (live,) = re.findall(r'id="data-live">(.*?)</script>', html, re.S)
    assert json.loads(live) == {"token": EVIL}
    assert "<script>window.extra = 1;</script>" in html


def test_what_the_page_is_made_of_is_in_the_package() -> None:
    names = {entry.name for entry in files("foretell.report").iterdir()}
    assert {"page.html", "page.css", "page.js", "charts.js", "table.js", "episode.js", "theme.json"} <= names
