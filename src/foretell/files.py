"""Files of others: a run folder may come from someone else. Reading it never hangs, writing never leaves it.

A file of a run folder is read only where it is a regular file, not a link, and not larger than stated: a pipe would
wait for ever, a device would never end, and a link could show what is none of the folder's. Errors are OSError.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path

from foretell.errors import UsageError

__all__ = ["MOST", "SMALL", "create", "inside", "read_file", "require_writable", "size", "unwritable"]

MOST = 1 << 30
"""Bytes of the largest file that is read whole."""
PIECE = 1 << 16
"""Bytes that are read at a time of what a file has beyond its size."""
SMALL = 16 << 20
"""Bytes of the largest text that a person writes: a study, a world, a profile, a trace."""


def read_file(path: str | Path, most: int = MOST, *, follow: bool = False, start: int = 0) -> bytes:
    """All of a regular file of at most so many bytes, from `start` on. `follow`: the path may be a link, since a user
    gave it."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        fd = os.open(path, flags)
    except ValueError as error:  # a null byte
        raise OSError(errno.EINVAL, str(error), str(path)) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link, and a run folder holds its own files", str(path)) from None
        raise
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        if status.st_size > most:
            raise OSError(errno.EFBIG, f"it has {size(status.st_size)}, more than {size(most)}", str(path))
        file.seek(start)
        # what is asked for is set aside, so no more than there is; what is appended meanwhile comes in pieces
        pieces = [file.read(min(most, max(0, status.st_size - start) + 1))]
        left = most - len(pieces[0])
        while pieces[-1] and left > 0:
            pieces.append(file.read(min(PIECE, left)))
            left -= len(pieces[-1])
        return b"".join(pieces)


def create(path: str | Path) -> int:
    """Open a new file for writing, in the place of whatever has its name: a link there is removed, not followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    for _ in range(2):
        try:
            return os.open(path, flags, 0o666)
        except FileExistsError:
            os.unlink(path)
    return os.open(path, flags, 0o666)


def inside(folder: str | Path, path: str | Path) -> Path | None:
    """Where a path within a folder leads, if that is a regular file in the folder wherever links lead; else None."""
    try:
        root = Path(folder).resolve(strict=True)
        target = (root / path).resolve(strict=True)
        return target if target.is_relative_to(root) and target.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def size(count: float) -> str:
    """Bytes in words: 12 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.3g} {unit}"
        count /= 1000
    raise AssertionError


def unwritable(path: Path) -> str:
    """Why no file can be written at `path`; empty if one can. Tried, as permissions do not tell everything."""
    try:
        if path.is_dir():
            return "it is a folder"
        if path.exists() and not os.access(path, os.W_OK):
            return "it may not be changed"
        with tempfile.TemporaryFile(dir=path.parent) as file:
            file.write(b"foretell")
    except OSError as error:
        return error.strerror or str(error)
    return ""


def require_writable(path: Path, option: str) -> None:
    """Raises UsageError if no file can be written at `path`: to be found out before the work, not after."""
    if trouble := unwritable(path):
        raise UsageError(f"{option}: cannot write {path}: {trouble}")
