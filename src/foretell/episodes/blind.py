"""Blind trials: until a study is closed, whoever reads its run folder sees codes in place of policies.

A person who knows which policy runs judges it with other eyes. So a blind study calls its policies A, B, ... on the
terminal, in tables, reports and live pages. Names, weights' hashes, options, latencies, inference times and what a
policy says of its errors are hidden. The files on disk hold the rows as they are: this helps honest eyes, and is no
lock.

    provenance.json: blind: {salt, codes, closed, unblinded, names}

`codes` maps a hash of each name to its code. `names` (code -> name) is there once the study is closed or unblinded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.digest import digest
from foretell.document import load_yaml
from foretell.episodes.columns import codes, grouped
from foretell.episodes.provenance import read_provenance
from foretell.errors import UsageError

__all__ = ["HIDDEN", "Mask", "blind_words", "coded", "mask_of", "require_open", "salted"]

HIDDEN = "hidden until the study is closed"
EMPTY: dict[str, Any] = {"metrics": {}, "wall_policy_s": 0.0}
"""Columns that are emptied: how long a policy thinks tells which one it is."""
SHORT = 3
"""Letters from which on a name is hidden in running text. A shorter one is hidden only in quotation marks: it may be an
English word."""


def salted(salt: str, name: str) -> str:
    """A hash of a policy's name, which stands for it in the provenance."""
    return digest([salt, name])


def coded(salt: str, names: Iterable[str], known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Hash of each name -> its code: A, B, ... in the order of the hashes. `known`: codes that stay as they are. No
    code is the name of a policy: in a study of `A` and `B` a reader would take one for the other."""
    given, made = list(names), dict(known or {})
    taken = {name.upper() for name in given} | set(made.values())
    fresh = (code for number in count() if (code := _letters(number)) not in taken)
    for mark in sorted(salted(salt, name) for name in given):
        if mark not in made:
            made[mark] = next(fresh)
    return made


def _letters(number: int) -> str:
    """0 -> A, 25 -> Z, 26 -> AA."""
    head, last = divmod(number, 26)
    return (_letters(head - 1) if head else "") + chr(ord("A") + last)


@dataclass(frozen=True, kw_only=True)
class Mask:
    """Hides the policies of one study."""

    salt: str
    codes: Mapping[str, str]
    """Hash of a name -> its code."""
    uses: Mapping[str, str] = field(default_factory=dict)
    """Name -> what the study uses under it, such as `onnx:model.onnx`, where that is known."""

    def code(self, policy: str) -> str:
        return self.codes.get(salted(self.salt, policy), "?")

    def row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The row of an episode, or of a plan, as readers see it."""
        masked = dict(row)
        for column in masked.keys() & {"policy_hash", "policy_options", "clock", "until", "error"}:
            masked[column] = self._cell(column, masked[column], str(row.get("policy")), row.get("blame"))
        masked |= {column: empty for column, empty in EMPTY.items() if column in masked}
        if "policy" in masked:
            masked["policy"] = self.code(str(row["policy"]))
        return masked

    def table(self, table: pa.Table) -> pa.Table:
        """Rows of episodes, or of a plan, as readers see them. The table must have the column `policy`."""
        policies = table["policy"]
        for column in ("policy_hash", "policy_options", "clock", "until", "error"):
            if column in table.column_names:
                blames = table["blame"] if "blame" in table.column_names else _nothing(len(table))
                group, values = grouped([table[column], policies, blames])
                table = _set(table, column, [self._cell(column, v, str(p), b) for v, p, b in values], group)
        for column, empty in EMPTY.items():
            if column in table.column_names:
                kind = table.schema.field(column).type
                table = table.set_column(table.column_names.index(column), column, pa.array([empty] * len(table), kind))
        index, names = codes(policies)
        return _set(table, "policy", [self.code(str(name)) for name in names], index)

    def _cell(self, column: str, value: Any, policy: str, blame: str | None) -> Any:
        if value is None or value == "":
            return value
        if column == "policy_hash":
            return digest([self.salt, policy, value])
        if column == "policy_options":
            return value if value == "{}" else json.dumps({"hidden": digest([self.salt, policy, value])})
        if column == "clock":
            return _without_latency(str(value))
        if column == "until":
            return self._rule(str(value))
        return f"an error of the policy, {HIDDEN}" if blame == "policy" else self.words(str(value))

    def _rule(self, text: str) -> str:
        try:
            return json.dumps(self.until(json.loads(text)), sort_keys=True)
        except (ValueError, TypeError):
            return ""

    def until(self, rule: Mapping[str, Any]) -> dict[str, Any]:
        """A stopping rule, which may name policies."""
        named = rule.get("decided")
        return {**rule, "decided": sorted(map(self.code, named))} if isinstance(named, list) else dict(rule)

    def study(self, contents: Mapping[str, Any]) -> dict[str, Any]:
        """A study as it stands in a run folder, with its policies by their codes."""
        masked = dict(contents)
        named = masked.get("policies")
        if isinstance(named, Mapping):
            masked["policies"] = {code: {"use": HIDDEN} for code in sorted(self.code(str(name)) for name in named)}
        if isinstance(masked.get("until"), Mapping):
            masked["until"] = self.until(masked["until"])
        return masked

    def words(self, text: str) -> str:
        """A text, in which a policy may be named, with its code in the place of its name, file or class."""
        forms: dict[str, str] = {}
        for name, use in self.uses.items():
            parts = [use, *re.split(r"[:/\\]", use)]
            parts += [part.rpartition(".")[0] for part in parts if "." in part]
            for form in (name, *parts):
                if form and form not in ("onnx", "zoo", "object", "py"):
                    forms.setdefault(form, self.code(name))
        for form in sorted(forms, key=len, reverse=True):
            exact = re.escape(form)
            if len(form) < SHORT:
                text = re.sub(rf"(?<=['\"`]){exact}(?=['\"`])", forms[form], text)
            else:
                text = re.sub(rf"(?<!\w){exact}(?!\w)", forms[form], text)
        return text


def mask_of(run: Path | str, about: Mapping[str, Any] | None = None) -> Mask | None:
    """The mask of a run folder; None where its policies may be shown. about: its provenance, if that was read."""
    state = (read_provenance(run) if about is None else about).get("blind")
    if not isinstance(state, dict) or state.get("closed") or state.get("unblinded"):
        return None
    known = state.get("codes")
    listed = {str(k): str(v) for k, v in known.items()} if isinstance(known, dict) else {}
    return Mask(salt=str(state.get("salt")), codes=listed, uses=_uses(Path(run)))


def require_open(run: Path | str, what: str) -> None:
    """Raises UsageError where names are hidden, for what cannot do without them."""
    if mask_of(run) is not None:
        raise UsageError(
            f"{what} needs the names of policies, and the study in {run} is blind until all its trials are in: run it "
            "to its end, or unblind it with `foretell run STUDY --unblind`, which is recorded"
        )


def blind_words(about: Mapping[str, Any]) -> str | None:
    """What a reader must know of a blind study, from its provenance; None where there is nothing to say."""
    state = about.get("blind")
    if not isinstance(state, dict):
        return None
    if isinstance(early := state.get("unblinded"), dict):
        return f"unblinded after {early.get('trials')} of {early.get('of')} trials, by {early.get('who')}"
    if state.get("closed"):
        return None
    return "blind: policies go by codes until all trials are in"


def _uses(run: Path) -> dict[str, str]:
    try:
        policies = load_yaml(run / "study.yaml", follow=False).get("policies")
        return {str(name): str(entry.get("use", "")) for name, entry in policies.items()}
    except (UsageError, OSError, AttributeError):
        return {}


def _without_latency(clock: str) -> str:
    """A clock of a row without the latency of its policy. A latency without a name is that of all policies."""
    try:
        value = json.loads(clock)
        if name := value.get("latency", {}).get("name"):
            value["latency"] = {"kind": "constant", "values": [0.0], "name": name}
        return json.dumps(value, sort_keys=True)
    except (ValueError, AttributeError):
        return clock


def _nothing(count: int) -> pa.ChunkedArray:
    return pa.chunked_array([pa.nulls(count, pa.string())])


def _set(table: pa.Table, column: str, values: list[Any], index: np.ndarray) -> pa.Table:
    """The table with another column: values[i] for each i of the index; none where that is -1."""
    at, kind = table.column_names.index(column), table.schema.field(column).type
    made = pa.array(list(np.array([*values, None], dtype=object)[index]), pa.string())
    return table.set_column(at, column, made.cast(kind))
