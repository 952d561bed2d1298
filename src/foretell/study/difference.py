"""Whether a run folder holds this study or another one. Two studies never merge unless the user says so.

The same study is one that asks for the same episodes. Its name, its engine, what is recorded besides the rows and how
long a policy may hang are no part of that. Nor is what is in the files that it names (weights, source): rows tell these
apart. A file of the same name elsewhere counts as the same, because folders move, unless both files are there and
differ.
"""

from __future__ import annotations

import filecmp
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from foretell.digest import digest
from foretell.episodes.journal import journals
from foretell.episodes.parts import parts
from foretell.episodes.provenance import read_provenance
from foretell.errors import UsageError
from foretell.study.config import Study, load_study
from foretell.study.sweep import fits

__all__ = ["difference", "identity", "settle", "together"]

IGNORED = ("name", "record", "policy_timeout", "engine")
SHOWN = 12
"""Fields that are listed; the rest are counted."""


def contents(study: Study) -> dict[str, Any]:
    """What decides which episodes a study has, without defaults. Of code only file names: a folder may move."""
    whole = study.model_dump(mode="json", exclude_defaults=True)
    if study.sweeps:  # files come and go
        whole["policies"] = {name: e for name, e in whole["policies"].items() if not fits(name, study.sweeps)}
        whole["sweeps"] = {name: _unplaced(use) for name, use in study.sweeps.items()}
    for entry in [*whole.get("tasks", ()), *whole.get("policies", {}).values()]:
        entry["use"] = _unplaced(entry["use"])
    if isinstance(whole.get("world"), str):
        whole["world"] = _unplaced(whole["world"])
    elif isinstance(whole.get("world", {}).get("kind"), str):
        whole["world"]["kind"] = _unplaced(whole["world"]["kind"])
    for name in {"file", "like"} & whole.get("scenarios", {}).keys():
        whole["scenarios"][name] = os.path.abspath(whole["scenarios"][name])
    if "select" in whole.get("scenarios", {}):
        whole["scenarios"]["select"]["from"] = os.path.abspath(whole["scenarios"]["select"]["from"])
    plain = {"arms": ["none"], "clocks": ["sync"]}  # defaults too, but pydantic takes what is parsed for given
    return {name: value for name, value in whole.items() if name not in IGNORED and value != plain.get(name)}


def _unplaced(use: str) -> str:
    """`/home/ann/lab/policy.py:Mine` -> `policy.py:Mine`."""
    return re.sub(r"[^:]*/", "", use)


def _places(study: Study) -> dict[str, str]:
    """Field -> what it names, such as `/home/ann/lab/policy.py:Mine`, with its folder."""
    uses = {f"policies.{name}.use": entry.use for name, entry in study.policies.items()}
    uses |= {f"tasks.{_unplaced(entry.use)}": entry.use for entry in study.tasks}
    world = study.world if isinstance(study.world, str) else study.world.get("kind")
    return {**uses, "world": world} if isinstance(world, str) else uses


def _elsewhere(there: Study, here: Study) -> list[str]:
    """Fields that name files of one name in two folders that both are there and differ."""
    before, lines = _places(there), []
    for field, use in _places(here).items():
        old = before.get(field, use)
        if old == use or _unplaced(old) != _unplaced(use):
            continue
        was, now = _file(old), _file(use)
        if was is not None and now is not None and not filecmp.cmp(was, now, shallow=False):
            lines.append(f"{field}: {old} there, {use} here")
    return lines


def _file(use: str) -> str | None:
    """The file that a name such as `onnx:a/model.onnx` or `a/policy.py:Mine` has, if it is there."""
    return next((part for part in (*use.split(":"), use) if os.path.isfile(part)), None)


def identity(study: Study) -> str:
    """A digest of all fields that decide which episodes a study has."""
    return digest(contents(study))


def difference(there: Study, here: Study) -> list[str]:
    """Field by field, how the study in a folder and the one to be run differ."""
    return [*_differ("", contents(there), contents(here)), *_elsewhere(there, here)]


def _differ(where: str, there: Any, here: Any) -> Iterator[str]:
    if there == here:
        return
    if isinstance(there, dict) and isinstance(here, dict):
        for name in dict.fromkeys([*there, *here]):
            yield from _differ(f"{where}.{name}" if where else str(name), there.get(name), here.get(name))
    elif isinstance(there, list) and isinstance(here, list):
        for words, ours, others in (("only there", there, here), ("only here", here, there)):
            if rest := [_in_words(item) for item in ours if item not in others]:
                yield f"{where}: {', '.join(rest)} {words}"
        if sorted(map(repr, there)) == sorted(map(repr, here)):
            yield f"{where}: in another order"
    else:
        yield f"{where}: {_in_words(there)} there, {_in_words(here)} here"


def _in_words(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict) and set(value) == {"use"}:
        value = value["use"]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) < 80 else text[:77] + "..."


def settle(study: Study, run: Path, *, add: bool, retire: bool) -> tuple[Study, list[str], bool]:
    """The study to write into a run folder, the identities of all studies in it, and whether plans that are there stay.

    A folder without rows takes any study. One with rows takes the studies that it holds; another one only with
    `add`, which puts it beside them, or with `retire`, which gives up what they have not run yet."""
    if add and retire:
        raise UsageError("add and retire cannot be combined: add keeps the existing plan, retire drops it")
    mine = identity(study)
    if not _has_rows(run):
        return study, [mine], False
    try:
        there: Study | None = load_study(run / "study.yaml")
        why = ""
    except UsageError as error:
        there, why = None, str(error)
    if there is not None and (add or retire) and there.until != study.until:
        raise UsageError(
            f"until: {run} has rows that ran with {_rule(there)}, and a rule is fixed before the first episode: give "
            "this study another `name` or folder (--out)"
        )
    if retire:
        return study, [mine], False
    known = _known(run) or ([identity(there)] if there is not None else [])
    if there is not None and _elsewhere(there, study):
        mine = digest([mine, _places(study)])
        known = [*dict.fromkeys([*known, digest([identity(there), _places(there)])])]
    elif there is not None and len(known) == 1 and identity(there) == mine:
        return study, [mine], False  # whatever an older version called it
    if mine in known and there is not None:
        several = len(known) > 1
        return (together(there, study) if several else study), known, several
    if not add:
        differences = difference(there, study) if there is not None else [f"study.yaml: {why}"]
        more = [f"and {len(differences) - SHOWN} more fields"] if len(differences) > SHOWN else []
        raise UsageError(
            "\n  ".join([f"{run} holds another study:", *differences[:SHOWN], *more])
            + (
                "\nGive this study another `name` or folder (--out), add it to the existing one (--add), or replace "
                "the existing one and keep its finished episodes (--retire)"
            )
        )
    return (together(there, study) if there is not None else study), [*dict.fromkeys([*known, mine])], True


def _rule(study: Study) -> str:
    return json.dumps(study.until.model_dump(mode="json", exclude_none=True)) if study.until else "no rule"


def together(there: Study, here: Study) -> Study:
    """One study that names all that two have, so that a run folder names every policy and task that it has rows of."""
    uses = {task.use for task in here.tasks}
    return here.model_copy(
        update={
            "tasks": [*(task for task in there.tasks if task.use not in uses), *here.tasks],
            "policies": {**there.policies, **here.policies},
            "arms": [*there.arms, *(arm for arm in here.arms if arm not in there.arms)],
            "clocks": [*there.clocks, *(clock for clock in here.clocks if clock not in there.clocks)],
        }
    )


def _has_rows(run: Path) -> bool:
    return bool(parts(run)) or any(path.stat().st_size for path in journals(run))


def _known(run: Path) -> list[str]:
    """Identities of the studies that were run into a folder; none where it does not say."""
    studies = read_provenance(run).get("studies")
    return [name for name in studies if isinstance(name, str)] if isinstance(studies, list) else []
