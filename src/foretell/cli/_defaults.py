"""The defaults of a verb, read from the source of its Python function.

So each default is written once, and `foretell VERB --help` imports no simulator.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import foretell

__all__ = ["defaults", "function_of", "with_defaults"]

PACKAGE = Path(foretell.__file__).parent
NAMES = {"list": "catalogue", "import": "import_"}
"""Verbs whose Python function has another name, because theirs is taken in Python."""


def function_of(verb: str) -> str:
    """The name of a verb's function in the package `foretell`: `match.camera` of `match camera`."""
    return NAMES.get(verb, verb.replace("-", "_").replace(" ", "."))


def with_defaults(verb: str, main: Callable[..., None]) -> Callable[..., None]:
    """The verb's `main`, where arguments without a default have the one of the Python function."""
    known = defaults(function_of(verb))
    signature = inspect.signature(main)
    parameters = [
        p.replace(default=known[p.name]) if p.default is p.empty and p.name in known else p
        for p in signature.parameters.values()
    ]

    @functools.wraps(main)
    def called(*arguments: Any, **options: Any) -> None:
        main(*arguments, **options)

    del called.__wrapped__  # the parser would take types and sentences from there
    called.__annotations__ = typing.get_type_hints(main, include_extras=True)
    called.__doc__ = re.sub(r"\n {8,}", " ", inspect.getdoc(main) or "")  # a sentence is one line: the parser wraps it
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return called


def defaults(function: str) -> dict[str, Any]:
    """Argument -> default of a public function. Arguments whose default is not plain data are left out."""
    package, _, name = function.rpartition(".")
    module, node = _find(f"foretell.{package}" if package else foretell._WHERE[name], name)
    assert isinstance(node, ast.FunctionDef), function
    named, both = node.args, [*node.args.posonlyargs, *node.args.args]
    pairs = [*zip(both[len(both) - len(named.defaults) :], named.defaults, strict=True)]
    pairs += [(key, value) for key, value in zip(named.kwonlyargs, named.kw_defaults, strict=True) if value is not None]
    return {key.arg: _value(module, value) for key, value in pairs if not isinstance(value, ast.Lambda)}


@functools.cache
def _source(module: str) -> tuple[ast.stmt, ...]:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return tuple(ast.parse(file.read_text(encoding="utf-8")).body)


def _find(module: str, name: str) -> tuple[str, ast.stmt | ast.expr]:
    """Where a name is defined, followed through imports: the module, and the function or the value."""
    for node in reversed(_source(module)):
        match node:
            case ast.FunctionDef() if node.name == name:
                return module, node
            case ast.Assign(targets=[ast.Name(id=target)]) if target == name:
                return module, node.value
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value) if target == name:
                return module, value
            case ast.ImportFrom(module=str(origin)):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return _find(origin, alias.name)
    raise LookupError(f"{module} does not define {name}")


def _value(module: str, node: ast.expr) -> Any:
    match node:
        case ast.Name(id=name):
            where, definition = _find(module, name)
            assert isinstance(definition, ast.expr), name
            return _value(where, definition)
        case ast.Attribute(value=ast.Name(id=owner), attr=name):  # `stats.ALPHA`, after `from foretell import stats`
            where, definition = _find(f"foretell.{owner}", name)
            assert isinstance(definition, ast.expr), name
            return _value(where, definition)
        case ast.Tuple(elts=parts):
            return tuple(_value(module, part) for part in parts)
    return ast.literal_eval(node)
