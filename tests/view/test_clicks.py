"""The page in which points are clicked: who may use it, and a real browser that clicks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient
from studies import background

from foretell.camera import Camera
from foretell.match.pinhole import FLIP, Pinhole, project
from foretell.match.points import Point, read_points
from foretell.rotation import rotate
from foretell.view.clicks import clicking

HOME = "http://127.0.0.1:4321"
SIZE = (240, 320)
XYZ = np.array([[-0.1, -0.1, 0], [0.1, -0.1, 0.05], [0.1, 0.1, 0], [-0.1, 0.1, 0.06], [0, 0, 0.08], [0.05, 0, 0]])
EYE = Camera(pos=(0.3, -0.2, 0.35), target=(0, 0, 0.02), fovy=45.0)
PICTURE = np.full((*SIZE, 3), 90, dtype=np.uint8)


def pixels() -> np.ndarray:
    axes = np.stack([rotate(EYE.orientation, axis) for axis in np.eye(3)], axis=1)
    return project(Pinhole(FLIP @ axes.T, np.array(EYE.pos), EYE.lens(*SIZE)), XYZ)


KNOWN = [Point(name=f"p{i}", xyz=tuple(xyz)) for i, xyz in enumerate(XYZ.tolist())]
CLICKED = {f"p{i}": uv for i, uv in enumerate(pixels().tolist())}


def client(saved: list[Point], home: str = HOME) -> TestClient:
    return TestClient(clicking(PICTURE, KNOWN, "t0ken", save=saved.extend), base_url=home)


def test_who_has_the_token_solves_and_saves() -> None:
    saved: list[Point] = []
    asked = client(saved)
    assert "<canvas" in asked.get("/").text and asked.get("/image").content.startswith(b"\x89PNG")
    token = {"x-foretell-token": "t0ken"}
    answer = asked.post("/solve", json=CLICKED, headers=token).json()
    assert "position    0.3000 -0.2000 0.3500 m" in answer["text"] and not saved
    assert answer["shown"]["p3"] == pytest.approx(CLICKED["p3"], abs=0.01)
    assert asked.post("/save", json={k: CLICKED[k] for k in list(CLICKED)[:5]}, headers=token).status_code == 200
    assert [point.name for point in saved] == ["p0", "p1", "p2", "p3", "p4"]
    few = asked.post("/solve", json={"p0": [3, 4]}, headers=token)
    assert few.status_code == 422 and "points: 1; to fit focal takes 4 or more" in few.json()["error"]
    for nonsense in ([1], {"p0": "x"}, {"p0": [1, 2, 3]}, {"p0": ["a", "b"]}):
        assert asked.post("/solve", json=nonsense, headers=token).status_code == 400


def test_others_may_not() -> None:
    saved: list[Point] = []
    for path in ("/solve", "/save"):
        assert client(saved).post(path, json=CLICKED).status_code == 403
        assert client(saved).post(path, json=CLICKED, headers={"x-foretell-token": "no"}).status_code == 403
        foreign = {"x-foretell-token": "t0ken", "origin": "http://evil.com"}
        assert client(saved).post(path, json=CLICKED, headers=foreign).status_code == 403
    assert client(saved, "http://evil.com").get("/").status_code == 421
    assert client(saved).get("/").headers["x-frame-options"] == "DENY"
    assert not saved


def test_a_name_is_never_markup() -> None:
    evil = [Point(name="</script><img src=x onerror=alert(1)>", xyz=(0, 0, 0))]
    html = TestClient(clicking(PICTURE, evil, "t", save=lambda points: None), base_url=HOME).get("/").text
    assert "<img src=x" not in html


def test_clicking_in_a_browser(tmp_path: Path, browser: Any) -> None:
    Image.fromarray(PICTURE).save(tmp_path / "table.png")
    (tmp_path / "points.csv").write_text(
        "name,x,y,z\n" + "".join(f"{p.name},{','.join(map(str, p.xyz))}\n" for p in KNOWN)
    )
    arguments = ("match", "camera", "table.png", "--points", "points.csv", "--click", "--json")
    with background(*arguments, cwd=tmp_path, mark=f"click-{uuid4().hex}") as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        page = browser.new_page(viewport={"width": 1100, "height": 800})
        heard: list[str] = []
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("console", lambda said: heard.append(said.text) if said.type in ("error", "warning") else None)
        page.goto(url)
        assert "token" not in page.url and page.locator("#solve").is_disabled()
        box = page.locator("#canvas").bounding_box()
        scale = box["width"] / SIZE[1]
        for u, v in pixels().tolist():
            page.mouse.click(box["x"] + scale * u, box["y"] + scale * v)
        assert page.locator("#points .done").count() == len(KNOWN)
        page.locator("#solve").click()
        page.locator("#answer", has_text="residuals").wait_for()
        off = [float(re.sub("[^0-9.]", "", text)) for text in page.locator("#points span").all_inner_texts()]
        assert len(off) == len(KNOWN) and max(off) < 1.0
        page.locator("#canvas").focus()
        page.keyboard.press("ArrowRight")  # moves the last point by half a pixel
        page.locator("#save").click()
        page.locator("#hint", has_text="Saved").wait_for()
        rest = server.stdout.read()
        assert server.wait(20) == 0 and heard == []
    told = json.loads(rest[rest.index("{") :])
    assert told["pos"] == pytest.approx(EYE.pos, abs=0.02) and told["rms_px"] < 1.0
    saved = read_points(tmp_path / "points.csv")
    assert np.abs(np.array([p.uv for p in saved]) - pixels()).max() < 1.0
