"""MuJoCo's enums are compared as integers: `mjtJoint.X == np.int32(...)` is False where the reverse is True."""

from __future__ import annotations

import ast
from pathlib import Path

import foretell

SOURCE = Path(foretell.__file__).parent


def enums(node: ast.AST) -> list[str]:
    """Members of MuJoCo's enums in an expression, but those that are made integers."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "int":
        return []
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr.startswith("mjt"):
        return [f"{node.value.attr}.{node.attr}"]
    return [found for child in ast.iter_child_nodes(node) for found in enums(child)]


def compared(text: str) -> list[str]:
    return [e for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Compare) for e in enums(node)]


def test_the_search_finds_what_it_should() -> None:
    assert compared("model.geom_type[g] == mujoco.mjtGeom.mjGEOM_PLANE") == ["mjtGeom.mjGEOM_PLANE"]
    assert compared("kind in (mujoco.mjtGeom.mjGEOM_BOX,)") == ["mjtGeom.mjGEOM_BOX"]
    assert compared("model.geom_type[g] == int(mujoco.mjtGeom.mjGEOM_PLANE)") == []


def test_no_enum_is_compared_with_an_array() -> None:
    found = {str(p.relative_to(SOURCE)): e for p in SOURCE.rglob("*.py") if (e := compared(p.read_text()))}
    assert found == {}
