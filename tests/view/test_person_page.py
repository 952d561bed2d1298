"""The page beside the robot: who may use it, what it takes, and a whole trial in a real browser at a real terminal."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from keyboard import Keyboard
from starlette.testclient import TestClient
from studies import background

from foretell.person.board import SceneBoard
from foretell.person.judgement import Question
from foretell.person.person import SceneCard
from foretell.tasks.frame import frame
from foretell.tasks.lift import Lift
from foretell.view.app import application
from foretell.view.board import Board

HOME = "http://127.0.0.1:4321"
TOKEN = {"x-foretell-token": "t0ken"}


def client(run: Path, home: str = HOME) -> TestClient:
    return TestClient(application(Board([run]), "", "t0ken", "127.0.0.1"), base_url=home)


def soon(asked: Any, patience: float = 10.0) -> Any:
    """What a call returns once it returns something."""
    until = time.monotonic() + patience
    while not (value := asked()) and time.monotonic() < until:
        time.sleep(0.01)
    return value


@pytest.fixture
def board(tmp_path: Path):  # type: ignore[no-untyped-def]
    made = SceneBoard(tmp_path, "mujoco")
    made.set(SceneCard(scenario=Lift().scenario(0), task=Lift()), "Trial 1", "put it <there>", frame(Lift()))
    yield made
    made.close()


def test_an_answer_to_the_question_is_taken_and_others_are_not(tmp_path: Path, board: SceneBoard) -> None:
    asked = client(tmp_path)
    old = board.ask(Question("Go?", {"y": "yes"}))
    question = board.ask(Question("Really?", {"y": "yes"}))
    soon(lambda: asked.get("/person/now", headers=TOKEN).json().get("question") == question)
    shown = asked.get("/person/now", headers=TOKEN).json()
    assert (shown["text"], shown["options"], shown["words"]) == ("Really?", [["y", "yes"]], "put it <there>")
    late = asked.post("/person/answer", json={"question": old, "key": "y"}, headers=TOKEN)
    assert late.status_code == 409 and "not asked any more" in late.json()["error"]
    assert asked.post("/person/answer", json={"question": question, "key": "y"}, headers=TOKEN).status_code == 200
    answer = soon(board.desk.answer)
    assert (answer.question, answer.key) == (question, "y") and board.desk.answer() is None
    assert not list((tmp_path / "desk/inbox").iterdir())
    for nonsense in (
        [1],
        {},
        {"question": question},
        {"question": 3, "key": "y"},
        {"question": question, "key": "y" * 99},
    ):
        assert asked.post("/person/answer", json=nonsense, headers=TOKEN).status_code == 400
    assert asked.post("/person/answer", content=b"x" * 20000, headers=TOKEN).status_code == 413
    assert soon(board.desk.answer, 0.3) is None


def test_a_stop_is_taken_from_a_page_that_is_late(tmp_path: Path, board: SceneBoard) -> None:
    asked = client(tmp_path)
    old = board.ask(Question("Go?", {"y": "yes"}))
    board.running()
    soon(lambda: asked.get("/person/now", headers=TOKEN).json()["state"] == "run")
    assert asked.post("/person/answer", json={"question": old, "key": " "}, headers=TOKEN).status_code == 200
    assert soon(board.desk.answer).key == " "


def test_others_see_and_do_nothing(tmp_path: Path, board: SceneBoard) -> None:
    asked = client(tmp_path)
    board.ask(Question("Go?", {"y": "yes"}))
    assert soon((tmp_path / "desk/now.json").is_file)
    for path in ("/person/now", "/person/desk/scene.svg"):
        assert asked.get(path).status_code == 403
        assert asked.get(path, headers={"x-foretell-token": "no"}).status_code == 403
    assert asked.post("/person/answer", json={}).status_code == 403
    assert client(tmp_path, "http://evil.com").get("/person/now", headers=TOKEN).status_code == 421
    foreign = {**TOKEN, "origin": "http://evil.com"}
    assert asked.post("/person/answer", json={}, headers=foreign).status_code == 403
    # a drawing of somebody else's run is text, and cannot act in the page's name
    drawing = asked.get("/person/desk/scene.svg", headers=TOKEN)
    assert drawing.headers["content-type"].startswith("text/plain") and drawing.text.startswith("<svg")
    for name in ("now.json", "..%2Fstudy.yaml", "inbox", "last.json"):
        assert asked.get(f"/person/desk/{name}", headers=TOKEN).status_code == 404


def test_a_desk_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    elsewhere, run = tmp_path / "elsewhere", tmp_path / "run"
    board = SceneBoard(elsewhere, "mujoco")
    question = board.ask(Question("Go?", {"y": "yes"}))
    assert soon((elsewhere / "desk/now.json").is_file)
    run.mkdir()
    (run / "desk").symlink_to(elsewhere / "desk")
    answer = client(run).post("/person/answer", json={"question": question, "key": "y"}, headers=TOKEN)
    assert answer.status_code in (409, 500) and soon(board.desk.answer, 0.3) is None
    board.close()


def test_a_study_that_nobody_runs_asks_nothing(tmp_path: Path, board: SceneBoard) -> None:
    asked = client(tmp_path)
    question = board.ask(Question("Go?", {"y": "yes"}))
    board.close()
    assert asked.get("/person/now", headers=TOKEN).json()["state"] == "closed"
    assert asked.post("/person/answer", json={"question": question, "key": "y"}, headers=TOKEN).status_code == 409
    assert client(tmp_path / "none").get("/person/now", headers=TOKEN).json()["state"] == "closed"


def test_answers_for_a_process_before_are_dropped(tmp_path: Path, board: SceneBoard) -> None:
    board.close()
    (tmp_path / "desk/inbox/1.json").write_text(json.dumps({"question": "x", "key": " "}))
    board = SceneBoard(tmp_path, "mujoco")
    board.running()
    assert soon(board.desk.answer, 0.3) is None
    board.close()


SCRIPT = """
import time
from pathlib import Path
import numpy as np
from foretell.person import SceneCard, TrialCard, make_person
from foretell.tasks.make import make_task

task = make_task("widowx_carrot_on_plate")
scenario = task.scenario(3)
person = make_person(Path("run"))
noise = np.random.default_rng(0).integers(0, 255, (480, 640, 3), dtype=np.uint8)
cameras = ["third_view", "no such"]
person.set_scene(SceneCard(scenario=scenario, task=task, number=7, count=60, live=lambda c: noise, cameras=cameras))
print("RUNS", flush=True)
while (signal := person.poll()) is None:
    time.sleep(0.01)
print("SIGNAL", signal, flush=True)
trial = TrialCard(scenario=scenario, task=task, seconds=12.5, end="stopped")
print("RESULT", person.judge(trial).to_dict(), flush=True)
person.close()
"""


@pytest.mark.gl
@pytest.mark.slow
@pytest.mark.parametrize("width", [768, pytest.param(390, marks=pytest.mark.daily)])
def test_a_whole_trial_on_a_tablet(tmp_path: Path, browser: Any, width: int) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "run").mkdir()
    with Keyboard("script.py", folder=tmp_path) as keyboard:
        keyboard.see("Set this scene.")
        with background("view", "run", "--json", cwd=tmp_path, mark=f"person-{uuid4().hex}") as server:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["person"]
            page = browser.new_page(viewport={"width": width, "height": 900})
            heard: list[str] = []
            page.on("pageerror", lambda error: heard.append(str(error)))
            page.goto(url)
            press = lambda words: page.locator("footer button", has_text=words).click()  # noqa: E731
            page.locator("#head", has_text="Trial 7 of 60").wait_for()
            assert "token" not in page.url and "carrot from the base of widowx" in page.locator("#words").inner_text()
            page.locator("figcaption", has_text="third_view: move the objects").wait_for(timeout=30_000)
            assert page.locator("figcaption", has_text="no simulated view").count() == 1
            sim = page.locator("img.sim").first
            assert sim.evaluate("image => [image.naturalWidth, image.naturalHeight]") == [640, 480]
            assert sim.evaluate("image => getComputedStyle(image).opacity") == "0.5"
            page.locator(".mix input").first.fill("80")
            assert sim.evaluate("image => getComputedStyle(image).opacity") == "0.8"
            assert page.locator("#drawing").evaluate("image => image.complete && image.naturalWidth > 0")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            press("it is ready")
            keyboard.see("RUNS")
            stop = page.locator("button.stop")
            stop.wait_for()
            box = stop.bounding_box()
            assert box["width"] > 0.8 * width and box["height"] > 300
            stop.click()
            keyboard.see("SIGNAL stop")
            press("no, failure")
            press("not even the first")
            press("dropped an object")
            page.locator("[aria-pressed=true]", has_text="dropped").wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            press("go on")
            press("type a note")
            page.locator("#note").fill("it slipped <b>")
            page.locator("#keep").click()
            page.locator("#text", has_text='Note: "it slipped <b>"').wait_for()
            keyboard.press("u")  # the terminal and the page see the same question
            page.locator("#text", has_text="What happened?").wait_for()
            press("go on")
            press("that is all")
            assert "'events': ['dropped'], 'note': 'it slipped <b>'" in keyboard.see("}")
            page.locator("body[data-state=closed]").wait_for(state="attached")
            assert heard == []


def test_live_pictures_are_small_and_follow(tmp_path: Path) -> None:
    from foretell.objects.png import read_png

    shades = iter(range(1, 255))
    board = SceneBoard(tmp_path, "mujoco")
    card = SceneCard(
        scenario=Lift().scenario(0),
        task=Lift(),
        live=lambda camera: np.full((1080, 1920, 3), next(shades), np.uint8),
        cameras=["wide/eye"],
    )
    board.desk.watch(card.live, card.cameras)
    path = tmp_path / "desk/live-wide_eye.png"
    assert soon(path.is_file)
    first = read_png(path.read_bytes())
    assert first.shape == (360, 640, 3)
    assert soon(lambda: read_png(path.read_bytes())[0, 0, 0] > first[0, 0, 0])
    board.close()
