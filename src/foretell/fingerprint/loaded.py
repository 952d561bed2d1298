"""Files that a policy or a task loads: its weights, its meshes. Rows are keyed by what is in them.

`loading` records which files are opened for reading while something is made. It sees what Python opens (`open`,
`numpy.load`, `torch.load`), not what a library opens in C or Rust by itself (safetensors, HDF5, ONNX Runtime). So files
that the options name count too, and a class may declare its files: `files = ["weights.safetensors"]`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from foretell.errors import UsageError
from foretell.fingerprint.source import installed

__all__ = [
    "FILES",
    "WHOLE",
    "File",
    "declared",
    "digests",
    "loading",
    "named",
    "of_module",
    "of_system",
    "own",
    "remember",
]

FILES = 1000
"""Files that are read; of further ones only name and size count."""
WHOLE = 1 << 30
"""Bytes up to which a file is read as a whole. Of a larger one `SAMPLES` blocks count, evenly spread."""
SAMPLES, BLOCK = 256, 1 << 20
CODE = (".py", ".pyc", ".pyi", ".so", ".pyd", ".pth.py")
"""Code is known by its source, and whether Python opens it depends on what is cached."""
NATIVE = (".safetensors", ".onnx", ".h5", ".hdf5", ".gguf", ".bin", ".tflite", ".engine")
"""Weights that libraries read without Python's `open`: these count where an option names the folder they are in."""
SYSTEM = tuple(map(Path, ("/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr")))
SYSTEM += tuple(map(Path, ("/var/cache", "/var/lib/dbus", "/var/log", "/var/run")))
PEOPLE = tuple(map(Path, ("/run/media", "/usr/local")))
"""Folders in those of the system where people keep files: disks that they plug in, and what they install."""
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass(frozen=True)
class File:
    """One file, and what is in it."""

    name: str
    """Its path below the folder that all the files share: files may move together."""
    path: Path
    size: int
    sha256: str
    """Empty where only name and size count."""


@dataclass
class _Record:
    ignored: frozenset[int]
    """Threads that were there before."""
    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)


_ACTIVE: list[_Record] = []
_HOOKED = False
_AT_IMPORT: dict[str, set[Path]] = {}


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if event != "open" or not _ACTIVE:
        return
    with contextlib.suppress(Exception):  # whatever this is, it must not fail the one who opens
        path, mode, flags = args
        if isinstance(path, int):
            return
        name, thread = os.path.abspath(os.fsdecode(path)), threading.get_ident()
        wrote = bool((flags or 0) & WRITES) or (isinstance(mode, str) and bool(set(mode) & set("wax+")))
        for record in _ACTIVE:
            if thread not in record.ignored:
                (record.written if wrote else record.read).add(name)


@contextlib.contextmanager
def loading() -> Iterator[set[Path]]:
    """Record files that this thread, and threads it starts, open for reading; they are in the set at the end. Files
    that were written meanwhile are left out: nobody's weights."""
    global _HOOKED
    if not _HOOKED:
        _HOOKED = True
        sys.addaudithook(_hook)  # there is no way to take it out again; it does nothing outside `loading`
    others = {t.ident for t in threading.enumerate() if t.ident is not None} - {threading.get_ident()}
    record, opened = _Record(frozenset(others)), set[Path]()
    _ACTIVE.append(record)
    try:
        yield opened
    finally:
        _ACTIVE[:] = [r for r in _ACTIVE if r is not record]
        opened |= {Path(name) for name in record.read - record.written}


def of_module(module: str, files: Iterable[Path]) -> None:
    """Note files that a module opened when it was imported, which happens once."""
    _AT_IMPORT.setdefault(module, set()).update(files)


def remember(thing: Any, paths: Iterable[Path]) -> None:
    """Note files that a policy or a task opened while it was made; `own` gives them back."""
    files = set(paths)
    if not files:  # a task without attributes of its own shares its compiled models with others of its class
        return
    with contextlib.suppress(AttributeError, TypeError):  # one with slots has declared all that it holds
        thing.__dict__.setdefault("_foretell_files", set()).update(files)


def named(options: Any) -> set[Path]:
    """Files that options name, and weights in folders that they name."""
    if isinstance(options, dict):
        return set().union(*map(named, options.values()))
    if isinstance(options, (list, tuple)):
        return set().union(*map(named, options))
    if not isinstance(options, (str, Path)) or not str(options) or "\0" in str(options):
        return set()
    try:
        path = Path(options).expanduser()
        if path.is_dir():
            return {Path(os.path.abspath(p)) for p in path.iterdir() if p.suffix in NATIVE and p.is_file()}
        return {Path(os.path.abspath(path))} if path.is_file() else set()
    except (OSError, RuntimeError, ValueError):  # a text that is no path
        return set()


def declared(thing: Any, folder: Path | None) -> list[Path] | None:
    """The files that a class says it loads (`files`), relative to its own file's folder or the current one; None where
    it says nothing."""
    if not any("files" in vars(cls) for cls in type(thing).__mro__):
        return None
    files = thing.files
    if isinstance(files, (str, Path)) or not all(isinstance(p, (str, Path)) for p in files):
        raise UsageError(f"{type(thing).__name__}: `files` is {files!r:.100}, it should be a list of paths")
    paths = []
    for text in map(Path, files):
        places = [folder / text.expanduser()] if folder is not None else []
        there = next((p for p in (*places, text.expanduser()) if p.is_file()), None)
        if there is None:
            raise UsageError(f"{type(thing).__name__}: `files` names {str(text)!r}, and there is no such file")
        paths.append(Path(os.path.abspath(there)))
    return paths


def own(thing: Any, package: Path | None) -> list[Path]:
    """Files that were opened for a policy or a task, without those of the system, of Python and of other packages."""
    known = set(getattr(thing, "__dict__", {}).get("_foretell_files", ()))
    for cls in type(thing).__mro__:
        known |= _AT_IMPORT.get(cls.__module__, set())
    return sorted(path for path in known if _counts(path, package))


def _counts(path: Path, package: Path | None) -> bool:
    if path.name.endswith(CODE):
        return False
    try:
        real = path.resolve(strict=True)
        if not stat.S_ISREG(real.stat().st_mode):
            return False
    except (OSError, RuntimeError):  # gone again: a temporary file
        return False
    return not of_system(real) and not installed(real, package) and not _cached(path)


def of_system(path: Path) -> bool:
    """Whether a file belongs to the operating system: nobody's weights."""
    return any(map(path.is_relative_to, SYSTEM)) and not any(map(path.is_relative_to, PEOPLE))


def _cached(path: Path) -> bool:
    """Whether a file is one that libraries keep for themselves: whoever comes first writes it and others read it, so a
    policy would look like two. Models from a hub are kept in caches too, and count."""
    if any(part == "__pycache__" or part.startswith("torchinductor") for part in path.parts):
        return True
    try:
        first, *rest = path.relative_to(Path.home()).parts
    except (ValueError, RuntimeError):
        return False
    return first.startswith(".") and not (first == ".cache" and rest[:1] in (["huggingface"], ["torch"]))


def digests(paths: Iterable[Path]) -> list[File]:
    """What is in these files, in order of name."""
    listed = sorted(set(paths))
    if not listed:
        return []
    shared = os.path.commonpath([str(path.parent) for path in listed])
    lines = []
    for number, path in enumerate(listed):
        try:
            info = path.stat()
            text = _sha256(path, info.st_size, info.st_mtime_ns, info.st_ino) if number < FILES else ""
        except OSError as error:
            raise UsageError(
                f"{path} was opened for a policy or a task; now it cannot be read: {error.strerror}"
            ) from None
        lines.append(File(os.path.relpath(path, shared), path, info.st_size, text))
    return lines


@lru_cache(maxsize=4 * FILES)
def _sha256(path: Path, size: int, changed: int, inode: int) -> str:
    total = hashlib.sha256()
    with path.open("rb") as file:
        if size <= WHOLE:
            while block := file.read(1 << 24):
                total.update(block)
        else:
            total.update(str(size).encode())
            for i in range(SAMPLES):
                file.seek(i * (size - BLOCK) // (SAMPLES - 1))
                total.update(file.read(BLOCK))
    return total.hexdigest()
