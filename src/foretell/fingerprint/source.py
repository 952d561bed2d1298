"""Source: the code that a class is made of. An edited policy or task is another one, so rows are keyed by its source.

A class's source is the file it is defined in, the files of the classes it inherits from, and every module of the
user's own that these files import, directly or not. Python's own modules, installed packages (but the class's own)
and foretell itself are left out: provenance has their versions.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import site
import sys
import sysconfig
from functools import cache, lru_cache
from importlib.machinery import PathFinder
from pathlib import Path

__all__ = ["MODULES", "imported", "imports", "installed", "own_classes", "package_folder", "source_hash"]

MODULES = 500
"""Modules that are followed; a class that imports more of the user's own is known by the first so many."""
HERE = Path(__file__).resolve().parents[1]


def source_hash(cls: type) -> str:
    """SHA-256 of a class's name and source file: an edited policy is another policy."""
    try:
        text = Path(inspect.getfile(cls)).read_bytes()
    except (OSError, TypeError):  # defined in a notebook, an interactive session or a module made by hand
        try:
            text = inspect.getsource(cls).encode()
        except (OSError, TypeError):
            codes = [m.__code__ for m in vars(cls).values() if inspect.isfunction(m)]
            text = repr(
                [(c.co_name, c.co_code, [k for k in c.co_consts if not inspect.iscode(k)]) for c in codes]
            ).encode()
    return hashlib.sha256(cls.__qualname__.encode() + b"\0" + text).hexdigest()


def own_classes(cls: type) -> list[type]:
    """A class and those it inherits from, without foretell's and Python's own."""
    return [c for c in cls.__mro__ if c.__module__.partition(".")[0] not in {"foretell", *sys.stdlib_module_names}]


def package_folder(cls: type) -> Path | None:
    """The folder of the top-level package that a class belongs to; None for one in a file of its own."""
    top = sys.modules.get(cls.__module__.partition(".")[0])
    paths = list(getattr(top, "__path__", ()))
    return Path(paths[0]).resolve() if paths else None


def installed(path: Path, but: Path | None = None) -> bool:
    """Whether a file (resolved) belongs to Python, foretell or an installed package other than the one in `but`."""
    if but is not None and path.is_relative_to(but):
        return False
    return "site-packages" in path.parts or "dist-packages" in path.parts or any(map(path.is_relative_to, _system()))


@cache
def _system() -> tuple[Path, ...]:
    known = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    known |= {*site.getsitepackages(), site.getusersitepackages()}
    return (HERE, *(Path(p).resolve() for p in known if p))


def imported(classes: list[type]) -> list[Path]:
    """Files of the user's own modules that these classes' files import, directly or not, in order of path. The files
    of the classes themselves are left out.

    Read from the text of the files, so that it does not depend on what else was imported before."""
    first: dict[Path, str] = {}
    folders = {package_folder(cls) for cls in classes} or {None}
    for cls in classes:
        try:
            first[Path(inspect.getfile(cls)).resolve()] = cls.__module__
        except (OSError, TypeError):
            continue
    todo, sources = dict(first), dict[Path, str]()
    while todo and len(sources) < MODULES:
        path, module = todo.popitem()
        sources[path] = module
        for name in imports(path, path.stat().st_mtime_ns, module):
            file = _file(name)
            if file is not None and file not in sources and not all(installed(file, folder) for folder in folders):
                todo[file] = name
    return sorted(set(sources) - set(first))


@lru_cache(maxsize=4 * MODULES)
def imports(path: Path, changed: int, module: str) -> tuple[str, ...]:
    """Full names of what a file's import statements may mean, wherever in the file they stand."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    names: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(dict.fromkeys(alias.name for alias in node.names))
        elif isinstance(node, ast.ImportFrom):
            if node.level > 1 + package.count(".") or (node.level and not package):
                continue
            up = package.rsplit(".", node.level - 1)[0] if node.level else ""
            base = ".".join(part for part in (up, node.module or "") if part)
            names.update(dict.fromkeys([base, *(f"{base}.{alias.name}" for alias in node.names)]))
    parents = [name[:i] for name in names for i, letter in enumerate(name) if letter == "."]
    return tuple(dict.fromkeys([*parents, *names]))


def _file(name: str) -> Path | None:
    """The source file of a module. Nothing is imported for it, for an import may do anything."""
    top = name.partition(".")[0]
    if top == "foretell" or top in sys.stdlib_module_names:
        return None
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        try:
            spec = importlib.util.find_spec(top)
            for end in [i for i, letter in enumerate(name) if letter == "."] + [len(name)]:
                if end > len(top):
                    inside = spec.submodule_search_locations if spec is not None else None
                    spec = PathFinder.find_spec(name[:end], inside) if inside is not None else None
        except (ImportError, ValueError, AttributeError):
            return None
        file = spec.origin if spec is not None else None
    return Path(file).resolve() if file and file.endswith(".py") and Path(file).is_file() else None
