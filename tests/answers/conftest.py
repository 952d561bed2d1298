"""Small tables on disk."""

import pytest

from foretell.errors import UsageError


@pytest.fixture
def sheet(tmp_path, monkeypatch):
    """Writes a file in a fresh current folder and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


@pytest.fixture
def csv(sheet):
    """Writes columns as CSV."""

    def write(name, **columns):
        lines = [
            ",".join(columns),
            *(",".join(str(cell) for cell in row) for row in zip(*columns.values(), strict=True)),
        ]
        return sheet(name, "\n".join(lines) + "\n")

    return write


@pytest.fixture
def refused():
    """The message of the UsageError that a call must raise."""

    def call(function, *args, **kwargs):
        with pytest.raises(UsageError) as caught:
            function(*args, **kwargs)
        return str(caught.value)

    return call
