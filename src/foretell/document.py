"""YAML and JSON that others wrote: the one place where either is read.

A document of a few bytes can stand for gigabytes (aliases of aliases), for an endless tree (an alias to itself) or for
a stack overflow (brackets in brackets). So a document is first walked as a stream of events, which takes no memory, and
refused where it is too deep or too large with its aliases written out. It then holds nothing but text, numbers, truth
values, lists and mappings: a date stays text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from foretell.errors import UsageError
from foretell.files import SMALL, read_file

__all__ = ["load_json", "load_yaml", "parse_yaml"]

DEPTH = 60
"""Lists and mappings in each other."""
NODES = 100_000
"""Values, with aliases written out. A second's work."""
CHARACTERS = 4_000_000
"""Of all values together, with aliases written out."""
DIGITS = 300
"""Of a number: more do not fit a float."""

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """Refuses a key given twice, of which YAML would silently keep the last, and whatever JSON could not hold."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in _Base.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key, yaml.ScalarNode):
                raise _wrong("a key should be text", key.start_mark)
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise _wrong(f"{_cut(key.value)!r} is given twice", key.start_mark)
            seen.add(key.value)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


def _number(loader: Any, node: yaml.ScalarNode) -> int | float:
    if len(node.value) > DIGITS:
        raise _wrong(f"the number {_cut(node.value)} has {len(node.value)} digits", node.start_mark)
    try:
        make = _Base.construct_yaml_int if node.tag.endswith(":int") else _Base.construct_yaml_float
        number: int | float = make(loader, node)
    except (ValueError, IndexError, OverflowError):
        raise _wrong(f"{_cut(node.value)!r} is not a number", node.start_mark) from None
    return number


def _truth(loader: Any, node: yaml.ScalarNode) -> bool:
    try:
        return bool(_Base.construct_yaml_bool(loader, node))
    except KeyError:
        raise _wrong(f"{_cut(node.value)!r} is not yes or no", node.start_mark) from None


def _no_such(loader: Any, node: yaml.Node) -> Any:
    raise _wrong(f"the tag {_cut(node.tag)!r} is not known", node.start_mark)


_KNOWN = ("null", "str", "seq", "map", "merge", "value")
_Loader.yaml_constructors = {
    tag: make for tag, make in _Base.yaml_constructors.items() if tag is not None and tag.rpartition(":")[2] in _KNOWN
}
_Loader.add_constructor("tag:yaml.org,2002:int", _number)
_Loader.add_constructor("tag:yaml.org,2002:float", _number)
_Loader.add_constructor("tag:yaml.org,2002:bool", _truth)
_Loader.add_constructor(None, _no_such)


def load_yaml(path: str | Path, *, follow: bool = True) -> Any:
    """What a YAML file holds. Raises UsageError, in one line with the file and the line in it, for whatever is wrong.

    `follow`: the path may be a link; files of a run folder may not.
    """
    try:
        data = read_file(path, SMALL, follow=follow)
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path} is not valid YAML: line {line}: it is not UTF-8") from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, where: str) -> Any:
    """As `load_yaml`, of text; `where` names it in errors."""
    try:
        _measure(yaml.parse(text, _Base))
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        words = [error.context, error.problem] if str(error.problem).startswith("but ") else [error.problem]
        raise UsageError(f"{where} is not valid YAML: {line}{_cut(' '.join(filter(None, words)), 200)}") from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"{where} is not valid YAML: {_cut(' '.join(str(error).split()), 200)}") from None


def _measure(events: Iterator[Any]) -> None:
    """Raises MarkedYAMLError where a document, with its aliases written out, is too deep or too large."""
    anchors: dict[str, tuple[int, int] | None] = {}
    """Anchor -> nodes and characters of what it names; None while that is still open."""
    opened: list[tuple[str | None, int, int]] = []
    """Of each open list or mapping: its anchor, and the nodes and characters before it."""
    nodes = characters = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in anchors and anchors[event.anchor] is None:
                raise _wrong(f"the alias *{_cut(event.anchor)} stands within what it names", event.start_mark)
            more = anchors.get(str(event.anchor)) or (0, 0)  # not known: the loader says so
            nodes, characters = nodes + more[0], characters + more[1]
        elif isinstance(event, yaml.ScalarEvent):
            nodes, characters = nodes + 1, characters + len(event.value)
            if event.anchor:
                anchors[event.anchor] = (1, len(event.value))
        elif isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, nodes, characters))
            nodes += 1
            if event.anchor:
                anchors[event.anchor] = None
            if len(opened) > DEPTH:
                raise _wrong(f"it is nested more than {DEPTH} deep", event.start_mark)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before, written = opened.pop()
            if anchor:
                anchors[anchor] = (nodes - before, characters - written)
        if nodes > NODES or characters > CHARACTERS:
            most = f"{NODES:,} values" if nodes > NODES else f"{CHARACTERS:,} characters"
            raise _wrong(f"it has more than {most}, with aliases written out", event.start_mark)


def _wrong(problem: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(None, None, problem, mark)


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def load_json(text: str | bytes) -> Any:
    """What JSON text holds. Raises ValueError for whatever is wrong with it, nesting included."""
    try:
        return json.loads(text, parse_int=_whole)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _whole(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError(f"the number {digits[:20]}... has {len(digits)} digits")
    return int(digits)
