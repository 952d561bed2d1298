"""Imports point downwards only: the layers of the design, enforced."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import foretell

ROOT = Path(foretell.__file__).parent
LAYERS = [
    (
        "stats",
        "errors",
        "process",
        "seeding",
        "rotation",
        "files",
        "document",
        "terminal",
        "counting",
        "source",
        "loaded",
        "notebook",
    ),
    (
        "scenario",
        "episode",
        "policy",
        "clock",
        "latency",
        "spec",
        "world",
        "world_file",
        "camera",
        "registry",
        "fingerprint",
        "drawing",
    ),
    ("tasks", "robots", "objects", "factors", "papers"),
    ("sim", "bridges"),
    ("rollout", "policies", "zoo"),
    ("study",),
    (
        "catalogue",
        "summary",
        "answers",
        "cards",
        "card_page",
        "certificate",
        "doctor",
        "judge",
        "machine",
        "measure",
        "checks",
        "replay",
        "reproduction",
        "timeline",
        "train",
        "trials",
    ),
    ("leaderboard", "redteam", "testset"),
    ("report",),
    ("demo", "figure", "view"),
    ("cli",),
    ("__init__", "__main__"),
]
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
UPWARDS = {
    # gymnasium is registered on import; the module behind it imports nothing of foretell
    ("__init__", "bridges"),
    # a bridge drives the world as a driver does
}


def part(module: str) -> str:
    """`foretell.study.run` -> `study`."""
    return module.split(".")[1] if "." in module else "__init__"


def imports(path: Path) -> set[str]:
    """Parts of foretell that a file imports when it is imported (not those inside functions or for types only)."""
    found = set()
    tree = ast.parse(path.read_text())
    nodes = list(tree.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If):
            if "TYPE_CHECKING" not in ast.dump(node.test):
                nodes += node.body + node.orelse
        elif isinstance(node, ast.Try):
            nodes += node.body + [n for h in node.handlers for n in h.body]
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "foretell":
            if node.module == "foretell":
                found |= {alias.name for alias in node.names}
            else:
                found.add(part(node.module))
        elif isinstance(node, ast.Import):
            found |= {part(a.name) for a in node.names if a.name.startswith("foretell.")}
    return found


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_downwards(path: Path) -> None:
    mine = path.relative_to(ROOT).parts[0].removesuffix(".py")
    assert mine in HEIGHT, f"{mine} has no layer: add it to LAYERS"
    for other in imports(path):
        if other in ("__version__", mine) or (mine, other) in UPWARDS:
            continue
        assert other in HEIGHT, f"{other} has no layer: add it to LAYERS"
        assert HEIGHT[other] <= HEIGHT[mine], f"{mine} imports {other}, which lies above it"


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
