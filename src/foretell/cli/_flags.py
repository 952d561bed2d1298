"""The flags of a verb, so that a misspelt one is named: a parser would take it for a value, and miss something else."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence

from foretell.errors import UsageError, suggest

__all__ = ["check_flags", "flags"]


def flags(main: Callable[..., None]) -> list[str]:
    """Every flag that a verb takes, such as --workers, --no-json and -o."""
    import tyro

    found = ["--help", "-h"]
    for name, hint in typing.get_type_hints(main, include_extras=True).items():
        if name == "return" or name not in inspect.signature(main).parameters:
            continue
        about = getattr(hint, "__metadata__", ())
        if any(mark is tyro.conf.Positional for mark in about) or "Positional" in str(about):
            continue
        called = next((given for mark in about if (given := getattr(mark, "name", None))), name).replace("_", "-")
        found += [f"--{called}", *(alias for mark in about for alias in getattr(mark, "aliases", None) or ())]
        kind = typing.get_args(hint)[0] if about else hint
        found += [f"--no-{called}"] if kind is bool else []
    return found


def check_flags(verb: str, main: Callable[..., None], arguments: Sequence[str]) -> None:
    """Raises UsageError for the first flag that the verb does not take."""
    known = flags(main)
    for argument in arguments:
        if argument == "--":
            return
        name = argument.partition("=")[0]
        if argument.startswith("--") and name.replace("_", "-") not in known:
            raise UsageError(f"{verb} has no flag {name}; {suggest(name, known)} (foretell {verb} --help lists them)")
