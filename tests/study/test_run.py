"""A row is the same whoever runs it, beside whatever, in however many calls."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from studies import Lab, cli, lines, rows

import foretell
from foretell.episode import Episode
from foretell.episodes.read import read
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import ForetellError, UsageError
from foretell.policies.expert import NoisyExpert
from foretell.study.store import Store

POLICIES = {
    "expert": "expert",
    "shaky": {"use": "noisy-expert", "noise": 0.3},
    "chunked": "policy.py:Chunked",
    "chunked-2": {"use": "policy.py:Chunked", "execute": 2, "gain": 6.0},
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="module")
def study(lab: Lab) -> Path:
    return lab.study(policies=POLICIES, count=6, trials=2)


@pytest.fixture(scope="module")
def reference(lab: Lab, study: Path) -> pa.Table:
    done = foretell.run(study, out=lab.folder / "reference", workers=0)
    assert (done.planned, done.ran, done.skipped, done.left, done.notes) == (48, 48, 0, 0, ())
    return rows(done.path)


def test_the_reference_is_worth_comparing(reference: pa.Table) -> None:
    assert len(reference) == 48
    solved = dict.fromkeys(POLICIES, 0)
    for row in reference.to_pylist():
        solved[row["policy"]] += row["success"]
        assert row["blame"] is None and row["score"] is not None and row["steps"] > 0
    assert solved["expert"] == 12
    assert 0 < solved["shaky"] < 12, "the noise should decide some episodes"
    of_chunked = {(r["steps"], r["score"], str(r["stages"])) for r in reference.to_pylist() if "chunked" in r["policy"]}
    assert len(of_chunked) > 4


@pytest.mark.parametrize(("workers", "slots"), [(0, 5), pytest.param(1, 32, marks=pytest.mark.daily), (2, 3)])
def test_rows_depend_on_neither_workers_nor_slots(
    lab: Lab, study: Path, reference: pa.Table, workers: int, slots: int
) -> None:
    done = foretell.run(study, out=lab.folder / f"{workers}-{slots}", workers=workers, slots=slots)
    assert rows(done.path).equals(reference)


def test_rows_depend_on_no_interruption(lab: Lab, study: Path, reference: pa.Table) -> None:
    out, had = lab.folder / "pieces", 0
    for limit, workers, slots in ((7, 2, 2), (20, 0, 32), (None, 2, 32)):
        done = foretell.run(study, out=out, workers=workers, slots=slots, limit=limit)
        assert done.skipped == had
        assert done.ran == (limit or 48 - had)
        had += done.ran
        assert done.left == 48 - had
        assert len(read(out)) == had
    assert rows(out).equals(reference)
    again = foretell.run(study, out=out, workers=2)
    assert (again.ran, again.skipped) == (0, 48)


def test_progress_counts_every_episode_once(lab: Lab) -> None:
    seen = []
    foretell.run(
        lab.study("counted", "Blink", 5),
        out=lab.folder / "counted",
        workers=0,
        progress=lambda state: seen.append((state.done, state.ran, state.planned)),
    )
    assert seen == [(i, i, 5) for i in range(6)]


def test_pairing_takes_exactly_the_other_runs_scenarios(lab: Lab) -> None:
    first = foretell.run(lab.study("first", "Blink", scenarios={"count": 3, "seed": 7}), out=lab.folder / "first")
    other = lab.study("other", "Blink", policies=["random"], scenarios={"count": 1}, world="standin")
    paired = foretell.run(other, out=lab.folder / "paired", pair_with=first.path, workers=0)
    assert [s.id for s in read_scenarios(paired.path)] == [s.id for s in read_scenarios(first.path)]
    assert set(read(paired.path)["scenario"].to_pylist()) == set(read(first.path)["scenario"].to_pylist())
    assert json.loads((paired.path / "provenance.json").read_text())["design"] == "iid"
    like = lab.study("like", "Blink", policies=["random"], world="standin", scenarios={"like": str(first.path)})
    assert (
        rows(foretell.run(like, out=lab.folder / "like", workers=0).path)
        .drop(["study"])
        .equals(rows(paired.path).drop(["study"]))
    )


def test_scenarios_from_a_file_are_those_of_the_file(lab: Lab) -> None:
    first = foretell.run(lab.study("kept", "Blink", 4), out=lab.folder / "kept", workers=0)
    chosen = [read_scenarios(first.path)[i] for i in (3, 1)]
    (lab.folder / "chosen.jsonl").write_text("\n\n".join(s.model_dump_json() for s in chosen) + "\n")
    picked = lab.study("picked", "Blink", scenarios={"file": "chosen.jsonl"})
    done = foretell.run(picked, out=lab.folder / "picked", workers=0)
    assert [s.id for s in read_scenarios(done.path)] == [s.id for s in chosen]
    assert json.loads((done.path / "provenance.json").read_text())["design"] == "chosen"
    kept = {r["episode"]: r for r in rows(first.path).drop(["study"]).to_pylist()}
    for row in rows(done.path).drop(["study"]).to_pylist():
        assert row == kept[row["episode"]], "the same episode, whichever study asks for it"


def test_policies_from_python_join_those_of_the_study(lab: Lab) -> None:
    study = lab.study("python", "Blink", 3)
    done = foretell.run(study, out=lab.folder / "python", policies={"mine": NoisyExpert(0.2), "yours": NoisyExpert})
    assert {r["policy"]: r["n"] for r in foretell.show(done.path)} == {"faulty": 3, "mine": 3, "yours": 3}
    alone = {"name": "alone", "tasks": ["lift"], "scenarios": {"count": 1}}
    done = foretell.run(alone, out=lab.folder / "alone", policies={"mine": NoisyExpert(0.0)})
    assert [(r["policy"], r["successes"]) for r in foretell.show(done.path)] == [("mine", 1)]


def test_two_studies_in_one_folder_keep_their_rows(lab: Lab) -> None:
    out = lab.folder / "both"
    foretell.run(lab.study("a", "Blink", 3), out=out, workers=0)
    before = rows(out)
    done = foretell.run(lab.study("b", "Blink", 5, trials=2, policies=["random"]), out=out, workers=0, add=True)
    assert (done.planned, done.ran) == (10, 10)
    after = rows(out)
    assert after.filter(pa.compute.equal(after["study"], "a")).equals(before)
    assert len(after) == 13
    assert {r["policy"]: r["n"] for r in foretell.show(out)} == {"faulty": 3, "random": 10}
    assert len(read_scenarios(out)) == 5
    shared = foretell.run(lab.study("c", "Blink", 4), out=out, workers=0, add=True)  # three of its episodes are a's
    assert (shared.ran, shared.skipped) == (1, 3)


def test_tasks_that_cannot_be_told_apart_are_refused(lab: Lab) -> None:
    (lab.folder / "twin.py").write_text(
        "from foretell.tasks.lift import Lift\nclass Twin(Lift):\n    time_limit = 1.0\n"
    )
    study = lab.study("twins", tasks=["lift", "twin.py:Twin"], policies=["random"], scenarios={"count": 1})
    with pytest.raises(UsageError, match=r"'lift' and '.*twin.py:Twin' are both 'lift', version 2; give one of them"):
        foretell.run(study, out=lab.folder / "twins", workers=0)


def test_an_edited_policy_is_another_policy(lab: Lab) -> None:
    """In one process, where Python would not load the file again, and with rows of the old one kept apart."""
    file = lab.folder / "edited.py"
    text = (
        "from foretell.policies.expert import NoisyExpert\n"
        "class Mine(NoisyExpert):\n"
        "    def __init__(self):\n"
        "        super().__init__({})\n"
    )
    file.write_text(text.format(0.0))
    study, out = lab.study("edited", count=3, policies={"mine": "edited.py:Mine"}), lab.folder / "edited"
    foretell.run(study, out=out, workers=0)
    before = rows(out)
    assert all(before["success"].to_pylist())
    file.write_text(text.format(5.0))
    done = foretell.run(study, out=out, workers=0)
    assert (done.ran, done.skipped) == (3, 0)
    after = rows(out)
    old = before["policy_hash"][0]
    assert after.filter(pa.compute.equal(after["policy_hash"], old)).equals(before)
    shown = foretell.show(out)
    assert [r["n"] for r in shown] == [3, 3]
    assert {r["successes"] for r in shown} == {3, 0}, "the new file was run, not the old one under a new name"
    names = {r["policy"] for r in shown}
    assert len(names) == 2 and all(name.startswith("mine#") for name in names)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_policy_edited_while_the_study_runs_is_noticed(lab: Lab, workers: int) -> None:
    file = lab.folder / f"restless{workers}.py"
    text = """
from pathlib import Path
from foretell.policies.random import Random
class Restless(Random):
    def act(self, slots, observations):
        Path(__file__).write_text(Path(__file__).read_text() + "# edited")
        return super().act(slots, observations)
"""
    file.write_text(text)
    tasks = ["task.py:Blink", "task.py:Deadly"]
    study = lab.study(f"restless{workers}", tasks=tasks, policies={"mine": f"{file.name}:Restless"}, count=2)
    out = lab.folder / f"restless{workers}"
    with pytest.raises(ForetellError, match="policy 'mine' changed while the study ran; run the same command"):
        foretell.run(study, out=out, workers=workers)
    assert [r["n"] for r in foretell.show(out)] == [2], "the first task's rows are kept"


def test_rows_blamed_on_world_and_machine_are_left_out_of_n(tmp_path: Path) -> None:
    fixed = dict.fromkeys(("study", "world", "world_params", "world_hash", "robot", "controller", "task"), "-")
    fixed |= dict.fromkeys(("policy", "policy_hash", "base", "arm"), "-") | {"clock": '{"kind": "sync"}'}
    ends = [(True, None)] * 3 + [(False, None)] + [(False, "policy")] * 2 + [(None, "world")] + [(None, "machine")] * 4
    with Store(tmp_path / "run") as store:
        for i, (success, blame) in enumerate(ends):
            store.append(
                [
                    Episode(
                        episode=f"{i}", scenario=f"{i}", success=success, blame=blame, trial=0, task_version=1, **fixed
                    )
                ]
            )
    (row,) = foretell.show(tmp_path / "run", alpha=0.1)
    assert (row["n"], row["successes"], row["rate"], row["alpha"]) == (6, 3, 0.5, 0.1)
    assert row["errors"] == {"policy": 2, "world": 1, "machine": 4}
    assert 0 < row["low"] < 0.5 < row["high"] < 1


@pytest.mark.gl
def test_videos_are_whole_and_named_by_their_rows(lab: Lab) -> None:
    study = lab.study("filmed", "Blink", 2, record={"video": 1})
    out = lab.folder / "filmed"
    lost = out / "videos" / "lost.part.mp4"
    lost.parent.mkdir(parents=True)
    lost.write_bytes(b"of an episode that was cut off")
    foretell.run(study, out=out, workers=1)
    (named,) = {v for v in read(out)["video"].to_pylist() if v}
    assert [str(p.relative_to(out)) for p in (out / "videos").iterdir()] == [named]
    assert (out / named).read_bytes()[4:8] == b"ftyp"
    plain = foretell.run(lab.study("unfilmed", "Blink", 2), out=lab.folder / "unfilmed", workers=0)
    drop = ["study", "video"]
    assert rows(out).drop(drop).equals(rows(plain.path).drop(drop)), "a camera changes nothing"


@pytest.mark.daily
def test_nothing_is_drawn_unless_asked(tmp_path: Path) -> None:
    """And from a folder whose path has spaces and other letters than English ones."""
    lab = Lab(tmp_path / "mein Ordner – ロボット" / "it's #1")
    lab.study("etude", policies={"blind": "policy.py:Blind"})
    (lab.folder / "queue.py").write_text("raise RuntimeError('a file of the user hid a module of Python')")
    cli("run", "etude.yaml", cwd=lab.folder, MUJOCO_GL="disable", DISPLAY="")
    found = read(lab.folder / "runs" / "etude")
    assert len(found) == 6
    assert found["blame"].null_count == 6, found["error"].to_pylist()
    assert lines(lab.folder / "runs" / "etude") == 0, "the journal is sealed"


def test_a_module_in_the_current_folder_can_be_named(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.study("by-module", count=1, tasks=["task:Blink"], policies={"p": "policy:Faulty"})
    # in a process of its own: others have imported modules of these names from their folders
    cli("run", "by-module.yaml", cwd=tmp_path, FORETELL_VIDEO="none")
    assert len(read(tmp_path / "runs" / "by-module")) == 1


EYELESS = '''
from foretell.robots.panda import Panda
from foretell.tasks import Mount
from foretell.tasks.lift import Lift


class Eyeless(Panda):
    """No camera in the hand."""

    def spec(self, visuals=True):
        made = super().spec(visuals)
        made.delete(made.camera("wrist"))
        return made


class Dark(Lift):
    """No camera anywhere."""

    name = "dark"
    cameras = {}
    film = None
    robots = {"panda": Mount("dark.py:Eyeless", (-0.56, 0.0, 0.112))}
'''


def test_a_film_without_any_camera_is_refused_before_the_first_episode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dark.py").write_text(EYELESS)
    study = {"name": "dark", "tasks": ["dark.py:Dark"], "policies": ["random"], "scenarios": {"count": 1}}
    study |= {"record": {"video": 1}}
    with pytest.raises(UsageError, match=r"video: task 'dark' has no camera, .*record no video"):
        foretell.run(study, out="runs/dark", workers=0)
    assert not Path("runs").exists()
