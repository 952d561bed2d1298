"""What a check found: findings, each one sentence with figures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from foretell.errors import ForetellError

__all__ = ["Finding", "Report"]


@dataclass(frozen=True)
class Finding:
    """One thing looked at."""

    name: str
    passed: bool
    detail: str
    """One sentence, with figures."""
    code: str | None = None
    """What is wrong, as a word that stays the same in later versions; None where nothing is, or it has none."""


@dataclass
class Report:
    """What a check found. It stops early where what follows could not be told."""

    subject: str
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return bool(self.findings) and all(f.passed for f in self.findings)

    def __getitem__(self, name: str) -> Finding:
        return next(f for f in self.findings if f.name == name)

    def to_dict(self) -> dict[str, Any]:
        return {"subject": self.subject, "ok": self.ok, "findings": [dataclasses.asdict(f) for f in self.findings]}

    def look(self, name: str, check: Callable[[], tuple[bool, str] | tuple[bool, str, str]]) -> bool:
        """Add a finding, with a code where `check` gives one; a check that raises has failed."""
        code: str | None = None
        try:
            passed, detail, *codes = check()
            code = codes[0] if codes and not passed else None
        except ForetellError as error:
            passed, detail, code = False, str(error), getattr(error, "code", None)
        except Exception as error:  # user code may raise anything, and that is a finding too
            passed, detail = False, f"raised {type(error).__name__}: {error}"
        self.findings.append(Finding(name, bool(passed), detail, code))
        return bool(passed)
