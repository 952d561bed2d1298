"""The live view's server: who may read, who may stop, which files it gives, and what it says of odd folders."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import foretell
from foretell.episode import Episode
from foretell.episodes.parts import parts
from foretell.errors import UsageError
from foretell.study.lock import STOP
from foretell.study.store import Store
from foretell.view.app import application
from foretell.view.board import LOOK, Board
from foretell.view.serve import view

TOKEN = "t0ken"
FILM = b"\0\0\0\x18ftypisom" + bytes(range(12, 100))
HOME = "http://127.0.0.1:4321"


def episode(n: int, **more: object) -> Episode:
    names = ("study", "world", "world_params", "world_hash", "robot", "controller", "task", "policy", "policy_hash")
    fixed = dict.fromkeys((*names, "base", "arm"), "x") | {"clock": '{"kind": "sync"}', "world_params": "{}"}
    row = {"episode": f"{n}", "scenario": f"{n}", "success": n % 2 == 0, "trial": 0, "task_version": 1, **fixed}
    return Episode(**{**row, **more})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with Store(tmp_path / "run") as store:
        store.append([episode(0, video="videos/a.mp4"), episode(1)])
    (tmp_path / "run" / "videos" / "a.mp4").write_bytes(FILM)
    (tmp_path / "secret.mp4").write_text("secret")
    return tmp_path / "run"


def client(*runs: Path, host: str = "127.0.0.1", home: str = HOME) -> TestClient:
    return TestClient(application(Board(runs), "<html>", TOKEN, host), base_url=home)


@pytest.mark.parametrize(
    "home", [HOME, "http://localhost:9", "http://[::1]:80", "http://LOCALHOST", "http://10.0.0.7:1"]
)
def test_its_own_names_and_plain_addresses_are_answered(run: Path, home: str) -> None:
    assert client(run, home=home).get("/progress").status_code == 200


@pytest.mark.parametrize(
    "home", ["http://evil.com", "http://evil.com:4321", "http://127.0.0.1.evil.com", "http://localhost.evil.com:4321"]
)
def test_foreign_names_are_refused(run: Path, home: str) -> None:
    for path in ("/", "/progress", "/contents", "/runs/0/videos/a.mp4"):
        assert client(run, home=home).get(path).status_code == 421
    assert client(run, home=home).post("/stop/0", headers={"X-Foretell-Token": TOKEN}).status_code == 421


def test_stopping_needs_the_token_from_the_own_page(run: Path) -> None:
    mine = {"X-Foretell-Token": TOKEN}
    with Store(run) as store:
        store.append([episode(2)])
        server = client(run)
        assert server.get("/progress").json()["runs"][0]["state"] == "running"
        for headers in ({}, {"X-Foretell-Token": "other"}, {"X-Foretell-Token": ""}, {"Cookie": f"token={TOKEN}"}):
            assert server.post("/stop/0", headers=headers).status_code == 403
        assert server.post(f"/stop/0?token={TOKEN}", data={"token": TOKEN}).status_code == 403
        for origin in ("http://evil.com", "null", "http://127.0.0.1:9999", "https://127.0.0.1:4321"):
            assert server.post("/stop/0", headers={**mine, "Origin": origin}).status_code == 403
        assert server.get("/stop/0", headers=mine).status_code == 405
        assert server.post("/stop/1", headers=mine).status_code == 404
        asked = server.options("/stop/0", headers={"Access-Control-Request-Method": "POST"})
        assert asked.status_code == 405 and not any("access-control" in name for name in asked.headers)
        assert not store.stop_asked()
        assert server.post("/stop/0", headers={**mine, "Origin": HOME}).json() == {"asked": True}
        assert store.stop_asked()
        assert server.get("/progress").json()["runs"][0]["state"] == "stopping"
    assert server.post("/stop/0", headers=mine).status_code == 409
    assert not (run / STOP).exists()


def test_only_videos_and_events_of_the_runs_are_given(run: Path) -> None:
    server = client(run)
    given = server.get("/runs/0/videos/a.mp4", headers={"Range": "bytes=10-19"})
    assert (given.status_code, given.content, given.headers["content-type"]) == (206, FILM[10:20], "video/mp4")
    (run / "videos" / "page.html").write_text("<script>")
    (run / "videos" / "out.mp4").symlink_to(run.parent / "secret.mp4")
    (run / "videos" / "in.mp4").symlink_to("a.mp4")
    (run / "events").symlink_to(run.parent)
    (run.parent / "b.parquet").write_text("secret")
    (run / "videos" / "folder.mp4").mkdir()
    refused = (
        "0/study.yaml 0/lock 0/videos/none.mp4 0/videos/page.html 0/videos/out.mp4 0/videos/folder.mp4 0/videos/ 0/ "
        "0/videos/..%2f..%2fsecret.mp4 0/videos/../../secret.mp4 0/videos/%2e%2e/%2e%2e/secret.mp4 1/videos/a.mp4 "
        f"0/videos/{run.parent}/secret.mp4 0/%2f{run.parent}/secret.mp4 0/events/b.parquet -1/videos/a.mp4 "
        "0/videos/a.mp4%00.mp4 0/videos/%ff.mp4"
    )
    for path in refused.split():
        answer = server.get(f"/runs/{path}")
        assert answer.status_code == 404, path
        assert b"secret" not in answer.content
    assert server.get("/runs/0/videos/in.mp4").content == FILM


def test_every_answer_forbids_frames_and_other_origins(run: Path) -> None:
    for path in ("/", "/progress", "/runs/0/videos/a.mp4", "/nothing"):
        headers = client(run).get(path).headers
        assert headers["x-frame-options"] == "DENY" and "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def states(server: TestClient) -> list[dict]:
    time.sleep(LOOK)  # an older look is good for so long
    return server.get("/progress").json()["runs"]


def test_folders_that_are_not_there_or_empty_or_newer_are_told(tmp_path: Path, run: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "newer" / "journal").mkdir(parents=True)
    (tmp_path / "newer" / "journal" / "000000-1.jsonl").write_text('{"schema": 99}\n')
    with Store(tmp_path / "unbegun"):
        pass
    found = states(client(*(tmp_path / name for name in ("absent", "empty", "newer", "unbegun")), run))
    assert [r["state"] for r in found] == ["absent", "empty", "unreadable", "unbegun", "complete"]
    assert "upgrade foretell" in found[2]["problem"]
    assert [r["problem"] for i, r in enumerate(found) if i != 2] == [""] * 4
    assert found[4]["finished"] == 2
    with Store(tmp_path / "absent") as store:
        store.append([episode(0)])
        (again,) = states(client(tmp_path / "absent"))
        assert (again["state"], again["finished"]) == ("running", 1)


def test_a_damaged_part_is_told_until_it_is_set_aside(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for n in range(2):
        with Store(run) as store:
            store.append([episode(n)])
    one, other = parts(run)
    whole = one.read_bytes()
    one.write_bytes(whole[: len(whole) // 2])
    server = client(run)
    (found,) = states(server)
    assert (found["state"], found["finished"]) == ("unreadable", 1)
    assert f"{one} is damaged" in found["problem"] and str(other) not in found["problem"]
    other.write_bytes(b"")
    (found,) = states(client(run))
    assert (found["state"], found["finished"], found["rows"]) == ("unreadable", 0, 0)
    assert str(one) in found["problem"] and str(other) in found["problem"]
    for path in (one, other):
        path.rename(path.with_name(f"{path.name}.damaged"))
    assert [(r["state"], r["problem"]) for r in states(server)] == [("complete", "")]


def test_a_run_that_was_removed_is_told_from_one_to_come(run: Path) -> None:
    server = client(run, run.parent / "later")
    assert [r["state"] for r in states(server)] == ["complete", "absent"]
    kept = shutil.copytree(run, run.parent / "kept")
    shutil.rmtree(run)
    gone, later = states(server)
    assert (gone["state"], gone["finished"], gone["problem"], later["state"]) == ("removed", 0, "", "absent")
    shutil.copytree(kept, run)
    assert [(r["state"], r["finished"]) for r in states(server)] == [("complete", 2), ("absent", 0)]


def test_contents_come_with_links_into_the_run(run: Path) -> None:
    from studies import wait_for

    server = client(run)
    assert server.get("/contents").json() is None
    wait_for(lambda: server.get("/progress").json()["contents"] == 1)
    made = server.get("/contents").json()
    assert made["runs"][0]["episodes"] == 2
    assert "runs/0/videos/a.mp4" in made["episodes"]["names"]["video"]


@pytest.mark.parametrize(
    ("runs", "options", "words"),
    [
        ([], {}, "give at least one"),
        (["run", "run"], {}, "given twice"),
        (["run/lock"], {}, "it is a file"),
        (["run"], {"port": 99999}, "port is 99999"),
        (["run"], {"host": "no.such.host.invalid"}, "cannot serve at no.such.host.invalid"),
    ],
)
def test_what_cannot_be_served_is_said(run: Path, runs: list[str], options: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        view(*[run.parent / r for r in runs], **options)


def test_it_is_a_public_function() -> None:
    assert foretell.view is view
    assert json.dumps(foretell.view.__doc__)
