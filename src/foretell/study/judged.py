"""A run folder of episodes that were judged again: new rows, with the scenarios and the steps that they are of."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from foretell.episode import Episode
from foretell.episodes.provenance import provenance, read_provenance
from foretell.scenario import Scenario
from foretell.study.config import Study
from foretell.study.films import steps
from foretell.study.store import Store

__all__ = ["write_judged"]


def write_judged(
    path: Path,
    run: Path,
    study: Study,
    uses: Mapping[str, str],
    episodes: Sequence[str],
    rows: Sequence[Episode],
    scenarios: Sequence[Scenario],
) -> None:
    """Write a new run folder. `uses`: task of the study -> the one that judged it; `episodes`: the keys that the rows
    have in `run`. Films stay there; steps are copied, so that what was judged can be judged again."""
    tasks = [entry.model_copy(update={"use": _whole(uses.get(entry.use, entry.use))}) for entry in study.tasks]
    judged = study.model_copy(update={"name": rows[0].study, "tasks": tasks})
    about = {**read_provenance(run), **provenance(), "judged": {"run": str(run), "tasks": dict(uses)}}
    with Store(path) as store:
        store.write_study(judged.to_yaml())
        store.write_scenarios(scenarios)
        store.write_provenance(about)
        (path / "steps").mkdir(exist_ok=True)
        for old, row in zip(episodes, rows, strict=True):
            shutil.copyfile(run / steps(old), path / steps(row.episode))
            store.append([row])


def _whole(use: str) -> str:
    """`file.py:Class` with the whole path: a run folder can be read from anywhere."""
    file, colon, name = use.rpartition(":")
    return f"{Path(file).resolve()}:{name}" if colon and os.path.isfile(file) else use
