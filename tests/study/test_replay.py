"""An episode run again is the same bit for bit, and where it is not, replay says in what and why."""

import json
import math
import shutil
import sys

import numpy as np
import pytest

import foretell
from foretell.bridges.gymnasium import TaskEnv
from foretell.cli import main
from foretell.episode import Episode
from foretell.episodes.read import read
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import ForetellError, UsageError
from foretell.policies.random import Random
from foretell.rollout.video import every
from foretell.sim import render
from foretell.study.store import Store
from foretell.tasks.make import make_task

POLICIES = {"expert": "expert", "shaky": {"use": "noisy-expert", "noise": 0.2}}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two policies, three scenarios, in slots side by side and in worker processes."""
    study = {"name": "small", "tasks": ["lift"], "policies": POLICIES, "scenarios": {"count": 3}}
    return foretell.run(study, out=tmp_path_factory.mktemp("runs") / "small", workers=1).path


@pytest.fixture
def altered(run, tmp_path):
    """A copy of the run whose first row is changed."""

    def change(**columns):
        path = tmp_path / "altered"
        shutil.copytree(run, path)
        first = read(run).to_pylist()[0]
        shutil.rmtree(path / "episodes")
        first |= {
            "stages": dict(first["stages"]),
            "metrics": dict(first["metrics"]),
            "events": dict(first["events"]),
            **columns,
        }
        with Store(path) as store:
            store.append([Episode.from_dict(first)])
        return path, first["episode"]

    return change


def test_every_episode_is_identical(run):
    keys = read(run)["episode"].to_pylist()
    assert len(keys) == 6
    for key in keys:
        found = foretell.replay(run, key)
        assert found.identical and found.episode == key and found.columns > 30 and not found.versions, found.text()


def test_the_beginning_of_a_key_will_do(run, capsys):
    key = read(run)["episode"].to_pylist()[0]
    main(["replay", str(run), key[:12]])
    assert capsys.readouterr().out.startswith(f"identical: episode {key} (success)")
    scenario = read(run)["scenario"].to_pylist()[0]
    about = rf"{key} \(lift, expert, success, scenario {scenario[:8]}, trial 0\)"
    with pytest.raises(UsageError, match=rf"no episode '{key[:12]}zz'; near ones:\n  {about}"):
        foretell.replay(run, key[:12] + "zz")
    with pytest.raises(UsageError, match=r"keys are in the column 'episode' of foretell\.read\("):
        foretell.replay(run, "zz")
    with pytest.raises(UsageError, match="no episode ''; it has 6:"):
        foretell.replay(run, "")


def test_several_that_begin_alike_are_listed(altered):
    path, key = altered()
    with Store(path) as store:
        row = read(path).to_pylist()[0] | {"stages": {}, "metrics": {}, "events": {}, "episode": key[:8] + "zzzzzzzz"}
        store.append([Episode.from_dict(row)])
    with pytest.raises(UsageError, match=f"2 episodes begin with '{key[:8]}'"):
        foretell.replay(path, key[:8])


def test_what_differs_is_named_with_both_values(altered, capsys):
    path, key = altered(score=0.25, sim_s=1.5, wall_s=1e9, video="elsewhere.mp4")
    provenance = json.loads((path / "provenance.json").read_text())
    provenance["versions"]["mujoco"] = "3.0.0"
    (path / "provenance.json").write_text(json.dumps(provenance))
    found = foretell.replay(path, key)
    assert set(found.differences) == {"score", "sim_s"} and found.differences["score"] == (0.25, 1.0)
    assert set(found.versions) == {"mujoco"}
    with pytest.raises(SystemExit) as left:
        main(["replay", str(path), key])
    said = capsys.readouterr().out
    assert left.value.code == 1 and "score: 0.25 in the run, 1.0 now" in said and "mujoco was 3.0.0, is 4." in said


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [(0.0, -0.0, False), (math.nan, math.nan, True), (1, 1.0, False), (True, 1, False), (None, None, True)]
    + [
        ({"x": 0.1 + 0.2}, {"x": 0.3}, False),
        ({"x": 1.0, "y": 2.0}, {"y": 2.0, "x": 1.0}, True),
        ({}, {"x": 1.0}, False),
    ],
)
def test_bits_count(a, b, same):
    assert sys.modules[foretell.replay.__module__]._same(a, b) is same


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"policy_hash": "0123456789abcdef"}, r"policy 'expert' \(hash.*0123456789abcdef then"),
        ({"policy_options": '{"execute": 4}'}, r"policy 'expert' \(options\) has changed"),
        ({"world_hash": "0123"}, r"world 'mujoco' .* has changed"),
        ({"task_version": 0}, r"task 'lift' \(version\) has changed since the run: 0 then"),
        ({"policy": "gone"}, "policy 'gone' is no longer in"),
        ({"task": "can"}, "no longer has task 'can'"),
        ({"judge": "person"}, "a real trial judged by a person"),
        ({"clock": '{"kind": "realtime"}'}, "clock 'realtime'"),
    ],
)
def test_another_policy_world_or_task_is_another_episode(altered, columns, says):
    path, key = altered(**columns)
    with pytest.raises(UsageError, match=says):
        foretell.replay(path, key)


def test_a_policy_that_was_an_object_has_to_be_given_again(tmp_path):
    study = {"name": "mine", "tasks": ["lift"], "scenarios": {"count": 1}}
    path = foretell.run(study, out=tmp_path / "mine", policies={"mine": Random}).path
    key = read(path)["episode"].to_pylist()[0]
    with pytest.raises(UsageError, match="was a Python object"):
        foretell.replay(path, key)
    assert foretell.replay(path, key, policies={"mine": Random}).identical


def _seen_by(camera, frame, scenario, run):
    """By the pixels: the first frame is nearest to what that camera sees when the episode begins."""
    names = ("front", "overview", "panda/wrist")
    env = TaskEnv("lift", streams={f"{name}/rgb": frame.shape for name in names})
    seen, _ = env.reset(options={"scenario": next(s for s in read_scenarios(run) if s.id == scenario)})
    apart = {name: float(np.abs(frame - seen[f"{name}/rgb"].astype(float)).mean()) for name in names}
    assert min(apart, key=apart.__getitem__) == camera, apart


@pytest.mark.gl
def test_filming_changes_nothing(run, tmp_path):
    av = pytest.importorskip("av")
    key = read(run)["episode"].to_pylist()[0]
    found = foretell.replay(run, key, out=tmp_path / "a.mp4", camera="front")
    assert found.identical and found.video == tmp_path / "a.mp4"
    with av.open(str(found.video)) as film:
        frames = list(film.decode(video=0))
    shown = read(run)["steps"].to_pylist()[0] + 1 + 20  # a second more, after success
    assert len(frames) == -(-shown // every(20.0, make_task("lift").time_limit))
    _seen_by("front", frames[0].to_ndarray(format="rgb24"), read(run)["scenario"].to_pylist()[0], run)
    with pytest.raises(UsageError, match="camera: 'frnt' is not in this world; did you mean 'front'"):
        foretell.replay(run, key, out=tmp_path / "b.mp4", camera="frnt")
    with pytest.raises(UsageError, match="camera: 'front' films: give the file for the film"):
        foretell.replay(run, key, camera="front")
    with pytest.raises(UsageError, match=r"should end in \.mp4"):
        foretell.replay(run, key, out=tmp_path / "b.gif")
    assert [p.name for p in tmp_path.iterdir()] == ["a.mp4"]


@pytest.mark.gl
@pytest.mark.parametrize("film", ["/proc/a.mp4", "/proc/nope/a.mp4", "file/a.mp4", "folder.mp4"])
def test_a_film_that_cannot_be_written_is_told_by_its_path(run, tmp_path, monkeypatch, capsys, film):
    pytest.importorskip("av")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.mp4").mkdir()
    with pytest.raises(SystemExit) as left:
        main(["replay", str(run), read(run)["episode"].to_pylist()[0], "--out", film])
    assert left.value.code == 2 and f"out: cannot write {film}: " in capsys.readouterr().err


@pytest.mark.gl
def test_a_film_that_fails_on_the_way_is_told_by_its_path(run, tmp_path, monkeypatch):
    av = pytest.importorskip("av")

    def full(self, world):
        raise av.error.FFmpegError(28, "No space left on device")

    monkeypatch.setattr("foretell.rollout.video.Video.shoot", full)
    with pytest.raises(UsageError, match=r"cannot write .*a\.mp4: No space left"):
        foretell.replay(run, read(run)["episode"].to_pylist()[0], out=tmp_path / "a.mp4")


@pytest.mark.parametrize("lacks", ["av", "gl"])
def test_a_film_without_encoder_or_graphics(run, tmp_path, monkeypatch, lacks):
    if lacks == "av":
        monkeypatch.setitem(sys.modules, "av", None)
    else:
        pytest.importorskip("av")
        monkeypatch.setenv("MUJOCO_GL", "nonsense")
        monkeypatch.setattr(render, "_shared", None)
    key = read(run)["episode"].to_pylist()[0]
    with pytest.raises(ForetellError, match="PyAV" if lacks == "av" else "no OpenGL"):
        foretell.replay(run, key, out=tmp_path / "a.mp4")
    assert not list(tmp_path.iterdir())
