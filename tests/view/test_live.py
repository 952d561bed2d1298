"""The live page in a real browser, beside a real study."""

from __future__ import annotations

import json
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import made
import pytest
from studies import Lab, background, wait_for

from foretell.episodes.parts import parts
from foretell.episodes.read import read

EVIL = """<body><form method=post action="{url}stop/0"><input name=token value=x></form><script>
fetch("{url}stop/0", {{method: "POST", mode: "no-cors"}}).catch(() => {{}});
fetch("{url}stop/0", {{method: "POST", headers: {{"X-Foretell-Token": "x"}}}}).catch(() => {{}});
fetch("{url}progress").then(() => document.title = "read", () => document.title = "refused");
</script>"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A study that takes long enough to be watched."""
    lab = Lab(tmp_path)
    lab.study("slow", "Blink", 800, policies={"<img src=x onerror=alert(1)>": "policy.py:Faulty"}, policy_timeout=30)
    lab.faults(sleep=0.02)
    return lab


@pytest.fixture
def url(lab: Lab) -> Iterator[str]:
    with background("view", "runs/slow", "--json", cwd=lab.folder, mark=f"view-{uuid4().hex}") as server:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["url"]
        server.send_signal(signal.SIGINT)
        assert server.wait(10) == 0


def listen(page: Any) -> list[str]:
    """What goes wrong in a page from now on: errors, and what is no mere remark on its console."""
    heard: list[str] = []
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("console", lambda said: heard.append(said.text) if said.type in ("error", "warning") else None)
    return heard


def finished(page: Any) -> int:
    found = re.match(r"([\d,]+) of", page.locator("#live .pace").inner_text())
    return int(found[1].replace(",", "")) if found else 0


def test_the_page_tells_damage_and_a_run_that_was_removed(tmp_path: Path, browser: Any) -> None:
    scenarios, episodes = made.rows({"p": 0.5}, 3)
    for name in ("cut", "gone"):
        made.run(tmp_path / name, scenarios, episodes)
    (part,) = parts(tmp_path / "cut")
    part.write_bytes(part.read_bytes()[:1000])
    with background("view", "cut", "gone", "--json", cwd=tmp_path, mark=f"view-{uuid4().hex}") as server:
        assert server.stdout is not None
        page = browser.new_page()
        heard = listen(page)
        page.goto(json.loads(server.stdout.readline())["url"])
        page.wait_for_selector("#live .run[data-state=unreadable]")
        cut, gone = page.locator("#live .run").all()
        assert "cannot be read" in cut.inner_text() and "is damaged" in cut.locator(".problem").inner_text()
        assert "complete" in gone.inner_text()
        shutil.rmtree(tmp_path / "gone")
        page.wait_for_selector("#live .run[data-state=removed]")
        assert "was removed" in gone.inner_text() and "Waiting" not in gone.inner_text()
        part.rename(part.with_suffix(".damaged"))
        page.wait_for_selector("#live .run[data-state=unbegun]")
        assert not cut.locator(".problem").is_visible() and heard == []
        server.send_signal(signal.SIGINT)
        assert server.wait(10) == 0


@pytest.mark.daily
@pytest.mark.slow
def test_the_page_follows_a_study_and_stops_it(lab: Lab, url: str, browser: Any) -> None:
    page = browser.new_page()
    heard = listen(page)
    page.goto(url)
    card = page.locator("#live .run")
    card.locator("text=Waiting for runs/slow").wait_for()
    assert "token" not in page.url
    with background(
        "run", "slow.yaml", "--workers", 1, "--slots", 4, cwd=lab.folder, mark=f"study-{uuid4().hex}"
    ) as study:
        page.wait_for_selector("#live .run[data-state=running]", timeout=60_000)
        early = wait_for(lambda: finished(page))
        wait_for(lambda: finished(page) > early)
        card.locator(".bounds small", has_text="running, first").first.wait_for()
        page.wait_for_selector("#sections #success", timeout=60_000)  # the report below grows too
        wait_for(lambda: "<img src=x" in card.inner_text(), 60)

        stranger = browser.new_page()  # another page in the same browser can neither read nor stop
        stranger.goto("about:blank")
        stranger.set_content(EVIL.format(url=url.partition("#")[0]))
        stranger.wait_for_function("document.title !== ''")
        assert stranger.title() == "refused"
        stranger.evaluate("document.forms[0].submit()")
        stranger.wait_for_load_state()
        reader = browser.new_page()  # nor this one, which has the address without the token
        reader.goto(url.partition("#")[0])
        reader.locator("#live button", has_text="Stop").wait_for()
        assert reader.locator("#live button", has_text="Stop").is_disabled()
        now = finished(page)
        wait_for(lambda: finished(page) > now)
        assert study.poll() is None

        card.get_by_role("button", name="Stop").click()
        card.get_by_role("button", name="Really stop?").click()
        page.wait_for_selector("#live .run[data-state=stopped]", timeout=60_000)
        assert study.wait(30) == 130
        assert "Every finished episode is kept" in study.stderr.read()
    kept = len(read(lab.folder / "runs" / "slow"))
    assert 0 < kept < 800
    wait_for(lambda: finished(page) == kept)
    assert "The same command goes on" in card.inner_text()
    page.wait_for_function(f"window.foretell.contents.episodes.count === {kept}", timeout=60_000)
    assert heard == []
