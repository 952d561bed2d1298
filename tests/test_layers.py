"""Imports point downwards only: the layers of the design, enforced."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

import foretell

ROOT = Path(foretell.__file__).parent
LAYERS = [
    (
        "stats",
        "errors",
        "digest",
        "process",
        "seeding",
        "arrays",
        "rotation",
        "files",
        "document",
        "terminal",
        "counting",
        "notebook",
        "onnx_file",
        "verdict_lines",
    ),
    ("fingerprint",),
    ("registry", "spec"),
    ("scenario", "episode", "policy", "clock", "latency", "world", "world_file", "camera"),
    ("tasks", "robots", "objects", "factors", "papers", "adapters", "rooms", "judging"),
    ("sim", "planar", "bridges", "hardware", "person"),
    ("rollout", "policies", "zoo", "import_object", "import_room"),
    ("episodes",),
    ("study", "datasets"),
    ("reality", "export", "catalogue", "doctor", "serving", "env"),
    ("answers", "checks", "identify", "match", "reproduction", "train"),
    ("testset", "leaderboard", "redteam", "tune"),
    ("report",),
    ("demo", "view"),
    ("cli",),
    ("__init__", "__main__"),
]
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
UPWARDS = {("__init__", "bridges")}
"""Gymnasium's environments are registered on import; the module behind it imports nothing of foretell."""


def part(module: str) -> str:
    """`foretell.study.run` -> `study`."""
    return module.split(".")[1] if "." in module else "__init__"


def imports(path: Path) -> set[str]:
    """Parts of foretell that a file imports, inside functions too. Those for types only never run, and do not count."""
    found = set()
    nodes: list[ast.AST] = [ast.parse(path.read_text())]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            nodes += node.orelse
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "foretell":
            if node.module == "foretell":
                found |= {alias.name for alias in node.names}
            else:
                found.add(part(node.module))
        elif isinstance(node, ast.Import):
            found |= {part(a.name) for a in node.names if a.name.startswith("foretell.")}
        else:
            nodes += ast.iter_child_nodes(node)
    return found


def owner(path: Path) -> str:
    """The part of foretell that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_downwards(path: Path) -> None:
    mine = owner(path)
    assert mine in HEIGHT, f"{mine} has no layer: add it to LAYERS"
    for other in imports(path):
        if other in ("__version__", mine) or (mine, other) in UPWARDS:
            continue
        assert other in HEIGHT, f"{other} has no layer: add it to LAYERS"
        assert HEIGHT[other] <= HEIGHT[mine], f"{mine} imports {other}, which lies above it"


def test_no_two_parts_import_each_other() -> None:
    """No cycle, of any length: taking away the parts that import nothing of what is left takes all away."""
    uses: dict[str, set[str]] = {}
    for path in ROOT.rglob("*.py"):
        uses.setdefault(owner(path), set()).update(imports(path))
    left = {mine: {other for other in others if other in uses and other != mine} for mine, others in uses.items()}
    del left["__init__"]
    while free := [mine for mine, others in left.items() if not others & left.keys()]:
        for mine in free:
            del left[mine]
    assert not left, f"imports go in a circle among {', '.join(sorted(left))}"


def test_stats_needs_numpy_and_scipy_only() -> None:
    for path in (ROOT / "stats").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                top = name.split(".")[0]
                assert top not in ("pydantic", "mujoco", "pyarrow", "statsmodels", "ppi_py", "pandas"), (
                    f"{path}: {name}"
                )
                assert top != "foretell" or name.startswith("foretell.stats"), f"{path}: {name}"


def test_no_script_hides_a_module_of_pythons() -> None:
    """A script's folder is the first on its path."""
    root = Path(__file__).parents[1]
    scripts = {path.stem for folder in ("benchmarks", "examples") for path in (root / folder).glob("*.py")}
    assert scripts and not scripts & sys.stdlib_module_names


def test_nothing_looks_into_a_world() -> None:
    """What drivers, replay, films and checks use of a world is in its contract, whoever wrote the world."""
    inside = re.compile(r"\bworld\.(scene|file\b|_\w+)")
    for path in sorted(ROOT.rglob("*.py")):
        if path.relative_to(ROOT).parts[0] != "sim":
            found = [line for line in path.read_text().splitlines() if inside.search(line) and "import" not in line]
            assert not found, f"{path}: {found[0].strip()}"
