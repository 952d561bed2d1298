"""Numbers on the command line, with an error that a user understands: `'many' is not a whole number`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

__all__ = ["numbers"]


def numbers() -> ConstructorRegistry:
    """The rules by which the parser reads numbers. A flag whose default is None reads the same."""
    registry = ConstructorRegistry()
    registry.primitive_rule(_rule)
    return registry


def _rule(about: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    match about.type:
        case kind if kind in (int, int | None):
            return _single(_whole)
        case kind if kind in (float, float | None):
            return _single(_number)
        case kind if kind == int | Literal["open"] | None:
            return _single(_horizon)
        case kind if kind == tuple[float, ...]:
            return _several(_number)
    return None


def _single(read: Callable[[str], Any]) -> PrimitiveConstructorSpec[Any]:
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="N",
        instance_from_str=lambda words: read(words[0]),
        is_instance=lambda value: value is None or isinstance(value, int | float | str),
        str_from_instance=lambda value: [str(value)],
    )


def _several(read: Callable[[str], Any]) -> PrimitiveConstructorSpec[Any]:
    return PrimitiveConstructorSpec(
        nargs="*",
        metavar="N ...",
        instance_from_str=lambda words: tuple(map(read, words)),
        is_instance=lambda value: isinstance(value, tuple),
        str_from_instance=lambda value: list(map(str, value)),
    )


def _whole(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"{word!r} is not a whole number") from None


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"{word!r} is not a number") from None


def _horizon(word: str) -> int | str:
    try:
        return word if word == "open" else int(word)
    except ValueError:
        raise ValueError(f"{word!r} is neither a whole number nor `open`") from None
