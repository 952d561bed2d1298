"""A simulator in another Python environment, behind calls that wait for so long and no longer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foretell.errors import UsageError
from foretell.hardware.calls import CallFailed, HostedCalls
from foretell.hardware.wire import LinkLost

__all__ = ["CallFailed", "LinkLost", "Simulator"]


class Simulator(HostedCalls):
    """`worker.py` with one environment of a simulator. It ends with this process."""

    what, peer = "simulator", "simulator"
    script = Path(__file__).with_name("worker.py")
    grace = 2.0
    quiet = True

    def __init__(
        self,
        kind: str,
        *,
        options: Mapping[str, Any],
        where: str,
        python: Path,
        packages: Mapping[str, str | None],
        patience: float,
        opening: float,
    ):
        """where: how errors call the world. packages: package -> the version that is expected, None: any. patience,
        opening: wall seconds for an answer, and for the environment to be made or begun."""
        super().__init__(f"{kind} in {python}", python=python, opening=opening)
        self._kind, self._options, self._packages, self._where = kind, dict(options), dict(packages), where
        self.patience = patience
        self.about: dict[str, Any] = {}
        """What the worker says of its environment."""
        self.open()

    def open(self) -> None:
        """Start the process, and make the environment in it."""
        try:
            self._open()
        except UsageError as error:
            raise UsageError(f"{self._where}: {error}") from None
        except LinkLost as error:
            raise UsageError(f"{self._where}: {error}{self._last_words()}") from None

    def call(self, name: str, *, slow: bool = False, **arguments: Any) -> Any:
        """Call the environment. Raises LinkLost where the process is gone or silent, CallFailed where it raised."""
        try:
            return self._call(name, arguments, self.opening if slow else self.patience)
        except LinkLost as error:
            raise LinkLost(f"{error}{self._last_words()}") from None

    def _last_words(self) -> str:
        lines = self.printed().strip().splitlines()
        return f"; it said last: {lines[-1].strip()[:300]}" if lines else ""

    def _first(self) -> dict[str, Any]:
        pins = {package: version for package, version in self._packages.items() if version is not None}
        return {"kind": self._kind, "options": self._options, "packages": list(self._packages), "pins": pins}

    def _describe(self, hello: dict[str, Any]) -> None:
        self.about = hello
