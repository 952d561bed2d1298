"""Fingerprint: what a policy or a task is known by. Change any of it, and its episodes are new ones."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretell.counting import counted
from foretell.digest import digest
from foretell.fingerprint.loaded import FILES, WHOLE, File, declared, digests, own
from foretell.fingerprint.source import MODULES, imported, package_folder, source_hash

__all__ = ["Fingerprint", "fingerprint_of"]

SHOWN = 12
"""Files that are listed; the rest are counted."""


@dataclass(frozen=True, kw_only=True)
class Fingerprint:
    """Classes, modules and files that a policy or a task is known by."""

    classes: tuple[tuple[str, str], ...]
    """Name, such as `class Lift` or `function add`, and file of each."""
    sources: tuple[str, ...]
    """`source_hash` of each class."""
    modules: tuple[File, ...]
    """The user's own modules that the classes' files import."""
    files: tuple[File, ...]
    """What it loads."""
    declared: bool
    """Whether the class says itself what it loads."""

    @property
    def more(self) -> str:
        """Names modules and files; empty where there are none."""
        if not self.modules and not self.files:
            return ""
        return digest([[[f.name, f.size, f.sha256] for f in part] for part in (self.modules, self.files)])

    def text(self) -> str:
        """One sentence for a person."""
        listed = [f"{name} in {Path(file).name}" for name, file in self.classes]
        listed += [f"module {Path(f.path).name}" for f in self.modules[:SHOWN]]
        listed += [f"{f.name} ({_size(f.size)}, SHA-256 {f.sha256[:8] or 'not read'})" for f in self.files[:SHOWN]]
        left = max(0, len(self.modules) - SHOWN) + max(0, len(self.files) - SHOWN)
        listed += [f"{left} more files"] if left else []
        how = "declared in `files`" if self.declared else "seen opened, or named by options"
        count = counted(len(self.files), "data file")
        return f"covers {', '.join(listed)}; {count}, {how}{self._limits()}."

    def _limits(self) -> str:
        limits = []
        if len(self.files) > FILES:
            limits.append(f"of {len(self.files) - FILES} only name and size")
        if any(f.size > WHOLE for f in self.files):
            limits.append(f"of those above {_size(WHOLE)} a sample")
        if len(self.modules) >= MODULES - 1:
            limits.append(f"no more than {MODULES} modules are followed")
        return f" ({', '.join(limits)})" if limits else ""


def fingerprint_of(thing: Any, classes: Sequence[type], more: Iterable[Path] = ()) -> Fingerprint:
    """What these classes of a policy or a task cover, and the files that it loads; `more`: files known otherwise."""
    folder = _file(type(thing))
    named_files = declared(thing, folder.parent if folder is not None else None)
    files = [*own(thing, package_folder(type(thing))), *more] if named_files is None else named_files
    return Fingerprint(
        classes=tuple(
            (f"{getattr(cls, 'made_of', 'class')} {cls.__qualname__}", str(_file(cls) or "memory")) for cls in classes
        ),
        sources=tuple(source_hash(cls) for cls in classes),
        modules=tuple(digests(imported(list(classes)))),
        files=tuple(digests(files)),
        declared=named_files is not None,
    )


def _file(cls: type) -> Path | None:
    try:
        return Path(inspect.getfile(cls)).resolve()
    except (OSError, TypeError):
        return None


def _size(count: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("kiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"
