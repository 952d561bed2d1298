"""Engines: who runs the jobs. Rows do not depend on them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy_world
import pytest
import yaml
from numpy_world import SEEK, TASK, WORLD, rows

import foretell
from foretell.rollout import Job, Outcome
from foretell.study.config import load_study
from foretell.study.difference import identity
from foretell.study.here import Here
from foretell.study.pool import Pool
from foretell.tasks.lift import Lift


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return numpy_world.enter(tmp_path, monkeypatch)


STUDY = {"world": WORLD, "tasks": [TASK], "policies": {"seek": SEEK}, "scenarios": 2}


def test_a_job_goes_through_json(tmp_path: Path) -> None:
    scenario = Lift().scenario(3).model_copy(update={"factors": {"Light_Color": [0.1, 0.2, 0.3]}})
    for job in (
        Job(policy="p", scenario=scenario),
        Job(
            policy="p",
            scenario=scenario,
            trial=2,
            key="abc",
            video=tmp_path / "a.mp4",
            events=tmp_path / "e",
            steps=tmp_path / "s",
            camera="top",
        ),
    ):
        back = Job.from_dict(json.loads(json.dumps(job.to_dict())))
        assert back == job and back.scenario.id == scenario.id


def test_the_study_or_the_command_chooses(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    for engine in (Here, Pool):
        run = engine.run
        monkeypatch.setattr(engine, "run", lambda self, *a, run=run, **k: used.append(type(self)) or run(self, *a, **k))
    foretell.run({**STUDY, "engine": "here"}, out="a")
    foretell.run({**STUDY, "engine": "here"}, out="b", engine="processes", workers=1)
    foretell.run(STUDY, out="c", workers=0)
    foretell.run(STUDY, out="d", workers=1)
    assert used == [Here, Pool, Here, Pool]
    assert rows(Path("a")) == rows(Path("b")) == rows(Path("c")) == rows(Path("d"))


def test_another_engine_is_the_same_study() -> None:
    foretell.run(STUDY, out="it", engine="here", limit=1)
    again = foretell.run({**STUDY, "engine": "processes"}, out="it", workers=1)
    assert (again.ran, again.skipped) == (1, 1)
    assert identity(load_study(STUDY)) == identity(load_study({**STUDY, "engine": "here"}))
    assert yaml.safe_load(Path("it/study.yaml").read_text())["engine"] == "processes"


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(foretell.UsageError, match="engine: 'heer' is not known; did you mean 'here'"):
        foretell.run({**STUDY, "engine": "heer"}, out="it")
    with pytest.raises(foretell.UsageError, match="engine: 'rey' is not known"):
        foretell.run(STUDY, out="it", engine="rey")
    with pytest.raises(foretell.UsageError, match="'processes' cannot run this study, because workers is 0"):
        foretell.run(STUDY, out="it", engine="processes", workers=0)
    policy = foretell.registry.load("puck.py:Seek")()
    with pytest.raises(foretell.UsageError, match=r"'processes' cannot run .* because a policy is a Python object"):
        foretell.run(STUDY, out="it", engine="processes", policies={"mine": policy})


def test_an_engine_of_ones_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three methods are all of it; a package names it by an entry point."""
    source = "from foretell.study.here import Here\n\n\nclass Loud(Here):\n    def run(self, batches, look):\n"
    source += (
        "        print('loud', sum(len(b.jobs) for b in batches))\n        yield from super().run(batches, look)\n"
    )
    (folder / "loud.py").write_text(source)
    monkeypatch.setitem(foretell.registry.BUILTIN["engines"], "loud", "loud.py:Loud")
    foretell.run(STUDY, out="mine", engine="loud")
    foretell.run(STUDY, out="here", engine="here")
    assert rows(Path("mine")) == rows(Path("here"))


def test_an_outcome_goes_through_a_worker_whole() -> None:
    """Every field of an outcome that is not wall time is the same in a worker's row."""
    names = {name for name in vars(Outcome()) if not name.startswith("wall_") and name not in ("trace", "film")}
    assert names <= set(foretell.read(foretell.run(STUDY, out="it", workers=1).path).column_names)


def test_an_engine_of_the_callers_stays_open_for_the_next_study(folder: Path) -> None:
    pool = Pool(workers=1, slots=2)
    try:
        foretell.run(STUDY, out="a", engine=pool)
        (worker,) = pool._crew
        foretell.run(STUDY, out="b", engine=pool)
        assert pool._crew == [worker] and worker.process.poll() is None, "the same process ran both"
    finally:
        pool.close()
    assert worker.process.poll() is not None
    assert rows(Path("a")) == rows(Path("b"))
