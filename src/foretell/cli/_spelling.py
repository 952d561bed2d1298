"""The flags that a verb knows. A misspelt flag is named: a parser would take it for a value and miss another."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence

from foretell.errors import UsageError, suggest

__all__ = ["check_flags", "flags", "positional"]


def flags(main: Callable[..., None]) -> list[str]:
    """Every flag that a verb takes, such as --workers, --no-films and -o."""
    flags = ["--help", "-h"]
    hints = typing.get_type_hints(main, include_extras=True)
    for name, parameter in inspect.signature(main).parameters.items():
        hint = hints[name]
        about = getattr(hint, "__metadata__", ())
        if positional(hint):
            continue
        called = next((given for mark in about if (given := getattr(mark, "name", None))), name).replace("_", "-")
        flags += [f"--no-{called}" if parameter.default is True else f"--{called}"]
        flags += [alias for mark in about for alias in getattr(mark, "aliases", None) or ()]
    return flags


def positional(hint: object) -> bool:
    """Whether an argument is given by its place, without a flag."""
    return "Positional" in str(getattr(hint, "__metadata__", ()))


def check_flags(verb: str, main: Callable[..., None], arguments: Sequence[str]) -> None:
    """Raises UsageError for the first flag that the verb does not have."""
    known = flags(main)
    for argument in arguments:
        if argument == "--":
            return
        name = argument.partition("=")[0]
        if argument.startswith("--") and name.replace("_", "-") not in known:
            raise UsageError(f"{verb} has no flag {name}; {suggest(name, known)} (foretell {verb} --help lists them)")
