"""Real trials that the θ of a run was chosen by. They are no evidence for it, so the rows of the run say so.

A world file that was fitted to trials has them itself (`fitted_to`, `fitted_episodes`). A search for θ tries worlds
that have no such list yet, and runs may gain real trials later. So a search notes them in a file beside the rows,
`fitted.json`, which changes neither a world's hash nor the keys of episodes.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from foretell.digest import digest
from foretell.document import load_json
from foretell.episodes.columns import cells, grouped, spread
from foretell.episodes.journal import disk_errors, replace
from foretell.episodes.provenance import read_provenance
from foretell.files import SMALL, read_file

__all__ = ["FILE", "FittedTo", "episodes_of", "marked", "note_fitted"]

FILE = "fitted.json"


class FittedTo(NamedTuple):
    """Ids."""

    scenarios: frozenset[str] = frozenset()
    """Scenarios whose real trials were used: ids, or of a child its parent's."""
    episodes: frozenset[str] = frozenset()
    """The real episodes themselves."""


def note_fitted(run: Path, scenarios: Iterable[str], episodes: Iterable[str]) -> None:
    """Add real trials to those that the θ of a run was chosen by."""
    before = _noted(run)
    now = FittedTo(before.scenarios.union(scenarios), before.episodes.union(episodes))
    if now == before:
        return
    text = json.dumps({name: sorted(ids) for name, ids in now._asdict().items()}, indent=1)
    with disk_errors(run):
        replace(run / FILE, text.encode() + b"\n")


def episodes_of(run: Path) -> frozenset[str]:
    """Real episodes that the θ of a run was chosen by, as its world file or a search has it."""
    return _noted(run).episodes | _ids(read_provenance(run).get("fitted_episodes"))


def marked(run: Path, table: pa.Table) -> pa.Table:
    """Rows of a run, whose `world_params` say whether θ was chosen by real trials of their scenario. The table has the
    columns world_params, scenario and parent."""
    seen = _noted(run).scenarios
    if not seen or not len(table):
        return table
    units = zip(cells(table["scenario"]), cells(table["parent"]), strict=True)
    mine = np.array([not seen.isdisjoint(unit) for unit in units])
    about = {"count": len(seen), "digest": digest(sorted(seen))}
    group, known = grouped([table["world_params"], pa.chunked_array([pa.array(mine)])])
    texts = [_params(text, {"seen": bool(own), **about}) for text, own in known]
    at = table.schema.get_field_index("world_params")
    return table.set_column(at, table.schema.field(at), spread(texts, group).cast(table.schema.field(at).type))


def _params(text: str | None, about: dict[str, Any]) -> str | None:
    """θ of a row with what it was chosen by. A row that was seen by its own world file stays so."""
    try:
        params = json.loads(text or "{}")
        given = params.get("fitted_to") or {}
        own = bool(given.get("seen"))
    except (ValueError, AttributeError):
        return text
    if given and (own or not about["seen"]):
        return text
    return json.dumps({**params, "fitted_to": about}, sort_keys=True)


def _noted(run: Path) -> FittedTo:
    try:
        contents = load_json(read_file(run / FILE, SMALL))
    except FileNotFoundError:
        return FittedTo()
    except (OSError, ValueError) as error:
        warnings.warn(
            f"{run / FILE} cannot be read ({error}): which real trials θ was chosen by is unknown", stacklevel=2
        )
        return FittedTo()
    given = contents if isinstance(contents, dict) else {}
    return FittedTo(*(_ids(given.get(name)) for name in FittedTo._fields))


def _ids(listed: Any) -> frozenset[str]:
    return frozenset(map(str, listed)) if isinstance(listed, list) else frozenset()
