"""Adapters by name: what stands under `adapt` of a study's policy, and the chain it makes."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Iterator, Mapping
from typing import Any

from foretell.adapters.adapter import Adapter
from foretell.errors import ForetellError, UsageError, raised, suggest
from foretell.registry import names, resolve

__all__ = ["adapt", "chain", "entries", "unwrapped"]


def adapt(policy: Any, by: Any) -> Any:
    """A policy inside adapters: the name of a preset or an adapter, or a list of adapters from the policy outwards."""
    for entry in entries(by):
        ((name, options),) = entry.items()
        policy = _make(name, policy, options)
    return policy


def entries(by: Any) -> list[dict[str, Any]]:
    """What `adapt` of a study means, written out: one mapping {name: options} for each adapter, presets expanded, and
    with the contents of files that options name."""
    listed: list[dict[str, Any]] = []
    for item in [by] if isinstance(by, str | Mapping) else by if isinstance(by, list | tuple) else [by]:
        name, options = _split(item)
        if name in names("presets"):
            make = resolve("presets", name)
            listed += entries(make(**_arguments(make, name, options, 0)))
        else:
            cls = resolve("adapters", name)
            listed.append({name: _plain(name, cls.by_value(_arguments(cls, name, options, 1)))})
    return listed


def chain(policy: Any) -> Iterator[Adapter]:
    """The adapters around a policy, the outermost first."""
    while isinstance(policy, Adapter):
        yield policy
        policy = policy.policy


def unwrapped(policy: Any) -> Any:
    """The policy inside its adapters."""
    while isinstance(policy, Adapter):
        policy = policy.policy
    return policy


def _split(item: Any) -> tuple[str, Any]:
    """Name and options of one entry: `name`, `{name: value}` or `{name: {option: value}}`."""
    if isinstance(item, str):
        return _known(item), {}
    if not isinstance(item, Mapping) or len(item) != 1 or not isinstance(next(iter(item)), str):
        raise UsageError(
            f"adapt: {item!r:.120} should be a name or a mapping of one name to its options, such as "
            "{sticky_gripper: 15}"
        )
    ((name, options),) = item.items()
    return _known(name), options


def _known(name: str) -> str:
    known = [*names("adapters"), *names("presets")]
    if name not in known and ":" not in name:
        raise UsageError(f"adapt: {name!r:.120} is no adapter and no preset; {suggest(name, known)}")
    return name


def _arguments(make: Any, name: str, options: Any, skip: int) -> dict[str, Any]:
    """Options by name, with every default. A single value is the first option; the first `skip` parameters (the policy)
    are no options."""
    parameters = dict(list(inspect.signature(make).parameters.items())[skip:])
    if not isinstance(options, Mapping):
        if not parameters:
            raise UsageError(f"adapt: {name!r} takes no options, and {options!r:.100} is given")
        options = {} if options is None else {next(iter(parameters)): options}
    for option in options:
        if option not in parameters:
            raise UsageError(f"adapt: {name!r} has no option {option!r:.100}; {suggest(str(option), parameters)}")
    defaults = {key: p.default for key, p in parameters.items() if p.default is not p.empty}
    return {**defaults, **options}


def _plain(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """As JSON has them: options name the episode, so they must read the same everywhere."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(options, allow_nan=False))
    except (TypeError, ValueError):
        raise UsageError(f"adapt: {name!r}: options should be text, finite numbers or lists: {options!r:.99}") from None
    return plain


def _make(name: str, policy: Any, options: dict[str, Any]) -> Adapter:
    cls = resolve("adapters", name)
    if not (isinstance(cls, type) and issubclass(cls, Adapter) and dataclasses.is_dataclass(cls)):
        raise UsageError(f"adapt: {name!r} should be a dataclass that inherits from foretell.adapters.Adapter")
    try:
        made = cls(policy, **options)
    except ForetellError:
        raise
    except Exception as error:
        raise UsageError(f"adapt: {name!r} could not be made: {raised(error)}") from error
    made.entry = name
    return made
