"""Cards a lab can work with: positions from the robot's base, a page to print, one cube for all."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from studies import Lab

import foretell
from foretell.cli import main
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import UsageError
from foretell.objects import CUBE
from foretell.objects.outline import object_outline
from foretell.person.drawing import bounds, close_up, overview
from foretell.reality.card_page import page, write_page
from foretell.reality.cards import cards, frames
from foretell.robots.panda import Panda
from foretell.study.config import load_study
from foretell.study.plan import make_task, resolve_scenarios
from foretell.study.store import Store
from foretell.tasks.frame import describe, frame, from_base


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = {"name": "lab", "tasks": ["lift", "square"], "policies": ["random"], "scenarios": {"count": 3}}
    return foretell.run(study, out=tmp_path_factory.mktemp("cards") / "lab", workers=0, limit=1).path


def drawn(task: str = "lift", **scenarios: object) -> list[foretell.Scenario]:
    study = load_study({"tasks": [task], "policies": ["random"], "scenarios": scenarios})
    found, design = resolve_scenarios(study)
    assert design == "iid"
    return found[task]


def test_one_cube_for_all() -> None:
    free, fixed = drawn(count=5), drawn(count=5, fix=["size"])
    for one, other in zip(free, fixed, strict=True):
        a, b = one.placements["cube"], other.placements["cube"]
        assert b.scale == (1, 1, 1) != a.scale and b.pos[2] == pytest.approx(CUBE.rest)
        assert (a.pos[:2], a.quat) == (b.pos[:2], b.quat) and one.start == other.start
        assert "scaled" not in other.card()
    assert len({s.id for s in fixed}) == 5
    for scenario in drawn(count=3, fix=["turn", "start"]):
        assert scenario.placements["cube"].yaw == pytest.approx(0)
        assert scenario.start["panda"] == Panda.groups["arm"].home


@pytest.mark.parametrize(
    ("scenarios", "said"),
    [
        ({"fix": ["sise"]}, "'sise' cannot be fixed; did you mean 'size'"),
        ({"fix": "size", "like": "runs/other"}, "`fix` changes scenarios that are drawn"),
    ],
)
def test_what_cannot_be_fixed_is_told(scenarios: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        load_study({"tasks": ["lift"], "policies": ["random"], "scenarios": scenarios})


def test_a_frame_is_described_from_the_robots_base() -> None:
    said = describe(frame(make_task("can")))
    assert "0.500 m in front of the base of panda, 0.100 m to its left, 0.112 m below its foot" in said
    assert "x points straight ahead of the robot, y to its left, z up" in said
    turned = {"pos": [1.0, 2.0, 0.5], "yaw": 90.0}  # looks along y
    assert from_base(turned, (1.0, 2.3, 0.5)) == pytest.approx((0.3, 0.0, 0.0))
    assert from_base(turned, (0.9, 2.0, 0.7)) == pytest.approx((0.0, 0.1, 0.2))
    assert "x points 90.0° to the right of straight ahead" in describe({"robots": {"arm": turned}})


def test_outlines_are_true_to_size() -> None:
    ((cube,), nut) = object_outline("cube"), object_outline("square-nut")
    assert sorted(map(tuple, cube)) == [(x, y) for x in (-0.021, 0.021) for y in (-0.021, 0.021)]
    assert len(nut) == 5 and all(len(part) == 4 for part in nut)
    assert len(object_outline("can")[0]) > 30


def test_cards_give_positions_from_the_base(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for card, scenario in zip(cards(run), read_scenarios(run), strict=True):
        (thing,) = card["objects"]
        pos = scenario.placements[thing["object"]].pos
        mount = make_task(scenario.task).robots["panda"].pos
        assert (thing["ahead"], thing["left"]) == pytest.approx((pos[0] - mount[0], pos[1] - mount[1]))
        side = "left" if thing["left"] >= 0 else "right"
        where = f"{thing['ahead']:.3f} m ahead, {abs(thing['left']):.3f} m to its {side}"
        assert f"{thing['object']} from the base of panda: {where}" in card["card"]
    main(["cards", str(run), "--task", "lift"])
    assert "lift: The origin of the task frame is 0.560 m in front of the base of panda" in capsys.readouterr().out


def test_the_drawing_is_true_to_scale() -> None:
    task = make_task("lift")
    scenario, about = task.scenario(1), frame(task)
    inside = bounds([scenario], about)
    svg = ElementTree.fromstring(close_up(scenario, about, inside))
    (polygon,) = (node for node in svg.iter("polygon") if node.get("class") == "thing")
    corners = [tuple(map(float, pair.split(","))) for pair in polygon.get("points", "").split()]
    cube = scenario.placements["cube"]
    wide, high = (float(v) for v in svg.get("viewBox", "").split()[2:])
    scale = (wide - 60) / (inside[3] - inside[2])
    sides = sorted(math.dist(a, b) for a, b in zip(corners, corners[1:] + corners[:1], strict=True))
    assert sides[::2] == pytest.approx(sorted(0.042 * s * scale for s in cube.scale[:2]), abs=0.3)
    x, y = (sum(values) / 4 for values in zip(*corners, strict=True))
    assert (wide - 30 - x) / scale + inside[2] == pytest.approx(cube.pos[1], abs=5e-4)  # y to the left
    assert (high - 30 - y) / scale + inside[0] == pytest.approx(cube.pos[0], abs=5e-4)  # x up
    assert "panda" in overview(scenario, about, inside)


@pytest.mark.parametrize("task", ["lift", "can", "square"])
def test_numbers_along_the_edges_do_not_overlap(task: str) -> None:
    made = make_task(task)
    scenarios, about = [made.scenario(seed) for seed in range(4)], frame(made)
    svg = ElementTree.fromstring(close_up(scenarios[0], about, bounds(scenarios, about)))
    numbers = [node for node in svg.iter("text") if re.fullmatch(r"−?\d\.\d\d", node.text or "")]
    for anchor, axis, room in (("middle", "x", 28.0), ("end", "y", 11.0)):  # five characters of 9.5 px; one line
        places = sorted(float(node.get(axis, "")) for node in numbers if node.get("text-anchor") == anchor)
        assert len(places) >= 2 and min(b - a for a, b in pairwise(places)) >= room


def test_the_page_has_a_card_for_every_scenario(run: Path, tmp_path: Path) -> None:
    main(["cards", str(run), "--html", str(tmp_path / "cards.html")])
    text = (tmp_path / "cards.html").read_text()
    assert text.count('<section class="card">') == 6 and text.count("<svg") == 12
    assert "drawn at random: try them in this order" in text and "@page{size:A4" in text
    for card in cards(run):
        assert f"<code>{card['id']}</code>" in text
        (thing,) = card["objects"]
        assert f"{thing['ahead']:+.3f} m" in text
    for svg in re.findall(r"<svg.*?</svg>", text):
        ElementTree.fromstring(svg)
    with pytest.raises(UsageError, match="html: cannot write"):
        write_page("/proc/nope.html", run, cards(run))


def test_cards_writes_the_page_and_the_spreadsheet(run: Path, tmp_path: Path) -> None:
    found = cards(run, csv=tmp_path / "c.csv", html=tmp_path / "c.html")
    assert found == cards(run) and (tmp_path / "c.html").read_text() == page(run, found)
    assert len((tmp_path / "c.csv").read_text().splitlines()) == 1 + len(found)


def test_names_on_the_page_are_data(tmp_path: Path) -> None:
    scenario = make_task("lift").scenario(0).model_copy(update={"instruction": "<script>alert(1)</script>"})
    with Store(tmp_path / "run") as store:
        store.write_study("name: x\n")
        store.write_scenarios([scenario])
        bad = {"robots": {"<b>": {"robot": "panda", "pos": [0, 0, 0], "yaw": 0}}, "still": [], "objects": {}}
        store.write_provenance({"design": "iid", "frames": {"lift": bad}})
    text = page(tmp_path / "run", cards(tmp_path / "run"))
    assert "<script>" not in text and "<b>:" not in text and "&lt;b&gt;" in text
    kept = {"lift": {"robots": {}, "still": [{"points": "x"}], "objects": {}}}
    (tmp_path / "run" / "provenance.json").write_text(json.dumps({"frames": kept}))
    assert frames(tmp_path / "run")["lift"]["robots"]  # not as it should be: the task's own


def test_a_task_of_ones_own_is_drawn_without_its_code(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    out = foretell.run(lab.study("own", "Blink", 2, policies=["random"]), out=tmp_path / "run", workers=0).path
    (lab.folder / "task.py").write_text("raise SystemExit('the code of a study was run')")
    found = cards(out)
    assert found[0]["objects"][0]["ahead"] == read_scenarios(out)[0].placements["cube"].pos[0] + 0.56
    assert page(out, found).count("<svg") == 4
