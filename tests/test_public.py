"""The public surface: every name is there, cheap to import, and not hidden by a submodule of the same name."""

from __future__ import annotations

import subprocess
import sys

import pytest

import foretell


@pytest.mark.parametrize("name", [n for n in foretell.__all__ if not n.startswith("__")])
def test_every_public_name_resolves(name: str) -> None:
    value = getattr(foretell, name)
    assert callable(value)
    assert value.__doc__


def test_unknown_names_say_so() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = foretell.nothing


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_foretell_loads_nothing_heavy() -> None:
    heavy = {"mujoco", "numpy", "pyarrow", "onnxruntime", "gymnasium", "torch", "scipy", "pydantic", "duckdb"}
    loaded = set(run("import foretell, sys; print(*sys.modules)").split())
    assert not heavy & loaded


def test_help_loads_nothing_heavy() -> None:
    code = "import sys; from foretell.cli import main; main(['--help']); print(*sys.modules)"
    assert "mujoco" not in run(code).split()


def test_submodules_do_not_hide_functions() -> None:
    assert run("import foretell.testset, foretell; print(callable(foretell.testset))").strip() == "True"


@pytest.mark.parametrize("order", ["foretell, gymnasium", "gymnasium, foretell"])
def test_gymnasium_knows_the_tasks_in_either_order(order: str) -> None:
    assert run(f"import {order}; print('foretell/Lift-v2' in gymnasium.registry)").strip() == "True"
