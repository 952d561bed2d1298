"""Rules of style that no linter has."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import foretell

ROOT = Path(foretell.__file__).parent
MOST = 4
"""Values that may be given by their place."""
WORLDS = {"MujocoWorld", "PlanarWorld", "RobotWorld", "SimulatorWorld"}
"""A study calls the class of any world with (task, source), whatever its author called the second."""


def by_place(node: ast.ClassDef) -> list[str]:
    """What the constructor of a class takes by place, in order; nothing where it takes at most MOST values, or all but
    the first by name."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            placed = [a.arg for a in (*part.args.posonlyargs, *part.args.args)][1:]
            return placed if len(placed) + len(part.args.kwonlyargs) > MOST and len(placed) > 1 else []
    kinds = [ast.unparse(kind) for kind in (*node.decorator_list, *node.bases)]
    if not any(kind.startswith(("dataclass", "dataclasses.dataclass", "NamedTuple")) for kind in kinds):
        return []
    own = [part for part in node.body if isinstance(part, ast.AnnAssign)]
    fields = [ast.unparse(part.target) for part in own if "ClassVar" not in ast.unparse(part.annotation)]
    return [] if len(fields) <= MOST or any("kw_only=True" in kind for kind in kinds) else fields


def classes(text: str) -> list[ast.ClassDef]:
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_class_with_many_fields_takes_them_by_name(path: Path) -> None:
    """Nobody knows the order of five values; whoever swaps two of one type gets no error."""
    for node in classes(path.read_text()):
        placed = by_place(node) if node.name not in WORLDS else []
        assert not placed, f"{path}:{node.lineno}: {node.name} takes {', '.join(placed)} by their place"


def test_inherited_fields_count_too() -> None:
    """What a class takes by place is that of its base, or one value, where both together are many."""
    for module in pkgutil.walk_packages(foretell.__path__, "foretell."):
        if module.name.startswith("foretell.train.") or module.name.endswith("__main__"):  # these need PyTorch, or run
            continue
        for kind in vars(importlib.import_module(module.name)).values():
            if not inspect.isclass(kind) or kind.__module__ != module.name or kind.__name__ in WORLDS:
                continue
            placed, count = taken(kind)
            if count > MOST and len(placed) > 1:
                assert placed in [taken(base)[0] for base in kind.__bases__], f"{kind} takes {placed} by their place"


def taken(kind: type) -> tuple[list[str], int]:
    """What a constructor takes by place, and how many values it takes."""
    _, *values = inspect.signature(kind.__init__).parameters.values()  # type: ignore[misc]
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named = [value for value in values if value.kind is inspect.Parameter.KEYWORD_ONLY]
    placed = [value.name for value in values if value.kind in kinds]
    return placed, len(placed) + len(named)


@pytest.mark.parametrize(
    ("text", "placed"),
    [
        ("@dataclass(frozen=True)\nclass A:\n a: int\n b: int\n c: int\n d: int\n e: int", 5),
        ("@dataclass\nclass A:\n a: int\n b: int\n c: int\n d: int", 0),
        ("@dataclass(kw_only=True)\nclass A:\n a: int\n b: int\n c: int\n d: int\n e: int", 0),
        ("@dataclass\nclass A:\n a: ClassVar[int] = 0\n b: int\n c: int\n d: int\n e: int", 0),
        ("class A(NamedTuple):\n a: int\n b: int\n c: int\n d: int\n e: int", 5),
        ("class A(BaseModel):\n a: int\n b: int\n c: int\n d: int\n e: int", 0),
        ("class A:\n def __init__(self, a, b, c, d, e): ...", 5),
        ("class A:\n def __init__(self, a, b, *, c, d, e): ...", 2),
        ("class A:\n def __init__(self, a, *, b, c, d, e): ...", 0),
        ("class A:\n def __init__(self, a, b, c, d): ...", 0),
    ],
)
def test_the_rule_sees_what_it_should(text: str, placed: int) -> None:
    assert len(by_place(classes(text)[0])) == placed


def test_a_name_is_one_class() -> None:
    """Whoever reads of a `Group` needs not ask which; private classes and those inside functions count too."""
    trees = [ast.parse(path.read_text()) for path in ROOT.rglob("*.py")]
    named = [node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert not {name for name in named if named.count(name) > 1}, "give one of them a name of its own"


FILLERS = {"found", "told", "said", "one"}
"""Names that say nothing: a noun tells what they hold."""


def fillers(text: str) -> list[str]:
    """`line: name` of every variable, argument, field, function and class that is called by a filler."""
    bound: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                bound.append((node.lineno, name))
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.append((node.lineno, name))
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bound.append((node.lineno, name))
    return [f"{line}: {name}" for line, name in sorted(bound) if name.strip("_").lower() in FILLERS]


def test_names_are_nouns() -> None:
    bound = {str(path.relative_to(ROOT)): fillers(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}
    bad = {path: names for path, names in bound.items() if names}
    assert not bad, "give these the name of what they hold"


def test_the_rule_on_names_sees_every_binding() -> None:
    text = "def told(one, *, said): found = 1\nself._found = 2\nclass Found: ...\nprint(found.one)\nfor one in x: ...\n"
    text += "try: ...\nexcept E as told: ...\nmatch x:\n case [one, *said]: ...\n case int() as found: ...\n"
    assert len(fillers(text)) == 11


def test_tests_ask_worlds_by_public_names() -> None:
    """A task's judge is asked through `Bench`, so that a world can change within."""
    private = re.compile(r"\b(world|layout)\._[a-z]")
    sources = {path: path.read_text() for path in Path(__file__).parent.rglob("*.py") if path != Path(__file__)}
    assert not [str(path) for path, text in sources.items() if private.search(text)]
