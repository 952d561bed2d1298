"""A world of one's own, in numpy, does all that the native one does: clocks, resuming, films, checks, pages."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy_world
import pytest
import yaml
from numpy_world import SEEK, TASK, WORLD, rows

import foretell
from foretell.catalogue import catalogue
from foretell.rollout import realtime
from foretell.world_file import file_of, make_world, world_hash


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return numpy_world.enter(tmp_path, monkeypatch)


def study(**more: Any) -> dict[str, Any]:
    given = {"world": WORLD, "tasks": [TASK], "policies": {"seek": SEEK}, "scenarios": 4}
    return {"name": "it", **given, **more}


def test_rows_do_not_depend_on_engine_slots_or_workers() -> None:
    clocks = ["sync", {"virtual": {"latency": 0.1}}]
    given = study(clocks=clocks, policies={"seek": SEEK, "expert": "expert"})
    foretell.run(given, out="one", engine="here", slots=1)
    foretell.run(given, out="many", engine="here", slots=7)
    foretell.run(given, out="crew", workers=2, slots=3)
    assert len(rows(Path("one"))) == 16
    assert rows(Path("one")) == rows(Path("many")) == rows(Path("crew"))
    assert all(row["success"] for row in rows(Path("one")) if "sync" in str(row["clock"]))
    assert {row["real"] for row in rows(Path("one"))} == {False}


def test_a_study_resumes() -> None:
    assert foretell.run(study(), out="it", engine="here", limit=1).left == 3
    again = foretell.run(study(), out="it", engine="here")
    assert (again.ran, again.skipped) == (3, 1)
    foretell.run(study(), out="whole", engine="here")
    assert rows(Path("it")) == rows(Path("whole"))


def test_a_world_file_has_its_own_theta_and_paths(folder: Path) -> None:
    """`kind` is relative to the world file, wherever the study runs."""
    (folder / "worlds").mkdir()
    (folder / "puck.py").rename(folder / "worlds" / "puck.py")
    (folder / "slow.yaml").rename(folder / "worlds" / "slow.yaml")
    uses = {"tasks": ["worlds/puck.py:Reach"], "policies": {"seek": "worlds/puck.py:Seek"}}
    foretell.run(study(world="worlds/slow.yaml", **uses), out="slow", workers=1)
    found = rows(Path("slow"))
    assert {row["world"] for row in found} == {"slow"}
    assert {row["world_params"] for row in found} == {'{"theta": {"lag": 0.6}}'}
    inline = {"name": "slow", "kind": "worlds/puck.py:Puck", "theta": {"lag": 0.6}}
    foretell.run(study(world=inline, **uses), out="inline", engine="here")
    assert rows(Path("inline")) == found
    with pytest.raises(foretell.UsageError, match=r"theta\.log is not a field; did you mean 'lag'"):
        foretell.run(study(world={**inline, "theta": {"log": 1}}, **uses), out="wrong", engine="here")


def test_a_study_file_anchors_the_class_of_a_world(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    given = study(world={"name": "quick", "kind": WORLD, "theta": {"lag": 0.05}}, scenarios=1)
    (folder / "it.yaml").write_text(yaml.safe_dump(given))
    out = tmp_path_factory.mktemp("elsewhere")
    assert foretell.run(folder / "it.yaml", out=out / "run", workers=1).ran == 1


def test_an_edited_world_is_another_world(folder: Path) -> None:
    task = foretell.study.plan.make_task(TASK)
    made = make_world(WORLD, task, slots=1, threads=1)
    before = world_hash(made)
    assert world_hash(make_world(WORLD, task, slots=3, threads=2)) == before
    assert world_hash(make_world("slow.yaml", task, slots=1, threads=1)) != before
    foretell.run(study(), out="it", engine="here")
    source = (folder / "puck.py").read_text()
    (folder / "puck.py").write_text(source.replace("0.5 * self._push", "0.25 * self._push"))
    assert world_hash(make_world(WORLD, task, slots=1, threads=1)) != before
    assert foretell.run(study(), out="it", engine="here").ran == 4


def test_a_moved_world_is_the_same_world(folder: Path) -> None:
    (folder / "there").mkdir()
    for name in ("puck.py", "slow.yaml"):
        (folder / "there" / name).write_text((folder / name).read_text())
    task = foretell.study.plan.make_task(TASK)
    here, there = (world_hash(make_world(w, task, slots=1, threads=1)) for w in ("slow.yaml", "there/slow.yaml"))
    assert here == there


def test_it_passes_its_check() -> None:
    for world in (WORLD, "slow.yaml", "more.py:Blind", "more.py:Turns"):
        report = foretell.check("world", world, task=TASK)
        assert report.ok, report.to_dict()
    assert "another for each of 1 parameter changed" in str(foretell.check("world", WORLD, task=TASK).to_dict())


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("Flat", r"observe: stream 'puck/pos' has shape (2, 1) for 2 slots, and it should be (2, 2)"),
        ("Single", "stream 'puck/pos' has dtype float32, and its feature declares float64"),
        ("Timeless", "stream 'time' is missing"),
        ("Mute", "stream 'instruction' should be 2 texts, one for each slot, and is 'go'"),
        ("Fixed", "stream 'top/rgb' has shape (2, 48, 64, 3) for 2 slots, and it should be (2, 24, 40, 3)"),
        ("Bare", "`can` lists draw, and the world has no camera"),
        ("Penless", "the world has no method 'picture'"),
        ("Grey", "picture: it is uint8 of shape (24, 40, 1), and should be uint8 of shape (24, 40, 3)"),
        ("Odour", "stream 'puck/pos' is declared with kind 'smell', which is none of joint, position"),
        ("Boastful", "observe raised ValueError"),
    ],
)
def test_a_world_that_does_not_show_what_it_declares_fails_the_check(kind: str, why: str) -> None:
    report = foretell.check("world", f"more.py:{kind}", task=TASK)
    assert [finding.name for finding in report.findings if not finding.passed] == ["features"]
    assert why in report["features"].detail


@pytest.mark.parametrize("how", [{"engine": "here"}, {"workers": 1}])
def test_a_study_refuses_the_first_sample_that_is_not_as_declared(how: dict[str, Any]) -> None:
    why = r"world 'flat': observe: stream 'puck/pos' has shape \(4, 1\) for 4 slots, and it should be \(4, 2\)"
    with pytest.raises(foretell.ForetellError, match=why):
        foretell.run(study(world="more.py:Flat"), out="it", slots=4, **how)


def test_a_world_that_needs_a_person_for_every_episode_is_not_driven_by_the_check() -> None:
    for world, why in {"more.py:Restless": "cannot stand still", "more.py:Attended": "cannot set the table"}.items():
        report = foretell.check("world", world, task=TASK)
        assert not report.ok and why in report["able"].detail
        assert [finding.name for finding in report.findings] == ["loads", "able"]


@pytest.mark.parametrize("how", [{"engine": "here", "slots": 4}, {"workers": 3, "slots": 2}])
def test_a_world_that_cannot_reset_runs_one_episode_at_a_time(how: dict[str, Any]) -> None:
    foretell.run(study(world="more.py:Attended", record={"video": 0}), out="it", **how)
    times = sorted((r["wall_started"], r["wall_s"]) for r in foretell.read("it").to_pylist())
    assert len(times) == 4
    assert all(a + took <= b for (a, took), (b, _) in pairwise(times))
    with pytest.raises(foretell.UsageError, match=r"cannot reset .*and 4 are asked for: use slots 1"):
        foretell.run(study(world="more.py:Undeclared"), out="other", engine="here", slots=4)
    assert foretell.run(study(world="more.py:Undeclared"), out="other", engine="here", slots=1).ran == 4


def test_no_latency_is_measured_in_a_world_that_cannot_reset() -> None:
    clocks = {"virtual": {"latency": "measured"}}
    with pytest.raises(foretell.UsageError, match="cannot reset by itself: measure in simulation, or give the latency"):
        foretell.run(study(world="more.py:Attended", clocks=clocks), out="it", engine="here")


def test_a_hash_that_does_not_know_theta_fails_the_check(folder: Path) -> None:
    deaf = "from puck import *\n\n\nclass DeafFile(PuckFile):\n    def decides(self):\n        return ['deaf']\n"
    deaf += "\n\nclass Deaf(Puck):\n    File = DeafFile\n\n    def __init__(self, task, world, **more):\n"
    deaf += "        super().__init__(task, world, **more)\n        self.hash = DeafFile.load(world).hash\n"
    (folder / "deaf.py").write_text(deaf)
    said = str(foretell.check("world", "deaf.py:Deaf", task=TASK).to_dict())
    assert "the hash does not change with theta.lag" in said


def test_the_check_of_tasks_is_for_mujoco() -> None:
    for options in ({"name": TASK}, {"name": "lift", "world": WORLD}):
        report = foretell.check("task", **options)
        assert not report.ok
        assert "no TabletopTask" in str(report.to_dict()) or "is not MuJoCo's" in str(report.to_dict())


def test_what_is_missing_is_named_before_the_first_episode() -> None:
    with pytest.raises(foretell.UsageError, match=r"more\.py:Partial has no 'action', .*see foretell\.world\.World"):
        foretell.run(study(world="more.py:Partial"), out="it", engine="here")
    with pytest.raises(foretell.UsageError, match=r"could not be made: ValueError: no cable \(more\.py, line \d+\)"):
        foretell.run(study(world="more.py:Broken"), out="it", engine="here")
    assert not Path("it").exists()


@pytest.mark.parametrize("kind", ["Unplugged", "Unset", "Unseen", "Unjudged"])
def test_a_method_that_raises_ends_its_episode_and_no_other(kind: str) -> None:
    """The row blames the world and is the same whatever ran beside it."""
    given = study(world=f"more.py:{kind}", clocks=["sync", {"virtual": {"latency": 0.1}}])
    foretell.run(given, out="one", engine="here", slots=1)
    foretell.run(given, out="many", engine="here", slots=4)
    found = rows(Path("one"))
    assert found == rows(Path("many"))
    if kind == "Unplugged":
        foretell.run(given, out="crew", workers=1, slots=3)
        assert found == rows(Path("crew"))
    lost = [row for row in found if row["end"] == "error"]
    assert len(found) == 8 and len(lost) == 2
    method = {"Unset": "reset", "Unseen": "observe", "Unjudged": "verdict"}.get(kind, "advance")
    for row in lost:
        assert (row["blame"], row["success"]) == ("world", None)
        assert str(row["error"]).startswith(f"{method} raised OSError: serial port lost (more.py, line ")
    assert all(row["blame"] is None for row in found if row not in lost)


def test_pages_and_lists_take_it(folder: Path) -> None:
    pytest.importorskip("av")
    foretell.run(study(record={"video": 1, "events": 1}), out="it", engine="here")
    (shown,) = foretell.show("it")
    assert (shown["world"], shown["n"], shown["rate"]) == ("puck", 4, 1.0)
    foretell.report("it", out="report.html")
    assert "puck" in Path("report.html").read_text()
    assert foretell.cards("it")[0]["objects"][0]["asset"] == "mark"
    assert foretell.read("it")["video"].drop_null().to_pylist()
    episode = foretell.read("it")["episode"][0].as_py()
    assert foretell.replay("it", episode, out="film.mp4").identical and Path("film.mp4").stat().st_size > 1000
    about = {entry["name"]: entry for entry in catalogue("worlds")}
    assert "snapshot" in about["mujoco"]["can"] and about["standin"]["needs"] == []
    assert file_of(WORLD) is not None and file_of("slow.yaml").about == "A puck that takes long to follow."


def test_a_detector_has_the_last_word() -> None:
    """Nobody could tell before the end: what the judge says is what counts, with its reason."""
    for name, more in {"here": {"engine": "here"}, "crew": {"workers": 1}}.items():
        foretell.run(study(world="more.py:Detector"), out=name, **more)
        found = rows(Path(name))
        assert {row["judge"] for row in found} == {"detector"}
        assert {(row["success"], row["success_any"], row["failure_reason"]) for row in found} == {
            (True, True, None),
            (False, False, "no light"),
        }
    assert rows(Path("here")) == rows(Path("crew"))


@pytest.mark.parametrize("world", [WORLD, pytest.param("more.py:Still", marks=pytest.mark.daily)])
def test_realtime_runs_it_with_and_without_a_process_for_cameras(world: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is no excuse here: the world may fall behind the clock on the wall, which runs slowly, and must
    still end every episode with success."""
    monkeypatch.setattr(realtime, "KEEPS_UP", 0.0)
    monkeypatch.setattr(realtime, "BLIND_S", 300.0)
    slow = {"realtime": {"speed": 0.25}}
    given = study(world=world, policies={"seek": SEEK, "watcher": "more.py:Watcher"}, clocks=[slow], scenarios=1)
    foretell.run(given, out="it", engine="here")
    ended = {row["policy"]: row for row in rows(Path("it"))}
    assert {name: (row["blame"], row["success"]) for name, row in ended.items()} == {
        "seek": (None, True),
        "watcher": (None, True),
    }
    assert ("frame_age_s" in dict(ended["watcher"]["metrics"])) == (world == WORLD)
