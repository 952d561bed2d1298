"""What a run says of where it ran."""

from __future__ import annotations

import io

import pytest

from foretell.episodes import provenance


@pytest.mark.parametrize(
    ("flags", "named"),
    [("fpu avx avx2 avx512f", "EPYC (AVX-512)"), ("fpu avx avx2", "EPYC (AVX2)"), ("fpu", "EPYC")],
)
def test_processors_of_one_name_are_told_apart(monkeypatch: pytest.MonkeyPatch, flags: str, named: str) -> None:
    text = f"processor : 0\nmodel name\t: EPYC\nflags\t\t: {flags}\n"
    monkeypatch.setattr(provenance, "open", lambda _: io.StringIO(text), raising=False)
    assert provenance.provenance()["machine"]["cpu"] == named
