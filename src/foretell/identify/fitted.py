"""A fit of θ: what was fitted to what, how well it follows, and how certain it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from foretell.arrays import Floats
from foretell.identify.certainty import Certainty, Ratio
from foretell.identify.loss import Losses
from foretell.identify.motion import Motion
from foretell.identify.recording import Recording
from foretell.sim.params import MujocoFile

__all__ = ["Fitted", "Unexplained", "unexplained"]


@dataclass(frozen=True)
class Unexplained:
    """What is left of one output after the fit."""

    output: str
    rms: float
    """m, or rad (of the tool half the angle), over all recordings."""
    linked: float
    """Correlation of successive residuals: near 0 for noise, near 1 for motion that no parameter explains."""


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """The result of a fit."""

    way: str
    to: tuple[str, ...]
    parameters: tuple[Certainty, ...]
    ratios: tuple[Ratio, ...]
    """Of parameters that only their ratio is known of."""
    training: tuple[str, ...]
    held_out: tuple[str, ...]
    before: Mapping[str, Losses]
    """Recording -> losses in the world as it was."""
    after: Mapping[str, Losses]
    unexplained: tuple[Unexplained, ...]
    tried: int
    """Values of θ that were tried, each on every recording of the training."""
    seconds: float
    notes: tuple[str, ...]
    world: MujocoFile
    recordings: Sequence[Recording]
    motions: tuple[Sequence[Motion], Sequence[Motion]]
    """Before and after, of each recording."""

    def mean(self, names: Sequence[str], loss: str, after: bool) -> float | None:
        """Mean loss of some recordings; None where it was not recorded."""
        table = self.after if after else self.before
        values = [table[name][loss] for name in names if loss in table[name]]
        return float(np.mean(values)) if values else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; traces are left out."""
        return {
            "way": self.way,
            "to": list(self.to),
            "tried": self.tried,
            "seconds": self.seconds,
            "parameters": [_finite(asdict(p)) for p in self.parameters],
            "ratios": [asdict(r) for r in self.ratios],
            "training": list(self.training),
            "held_out": list(self.held_out),
            "before": {name: _finite(losses) for name, losses in self.before.items()},
            "after": {name: _finite(losses) for name, losses in self.after.items()},
            "unexplained": [_finite(asdict(u)) for u in self.unexplained],
            "notes": list(self.notes),
            "world": self.world.model_dump(mode="json", exclude_defaults=True),
        }

    def text(self) -> str:
        lines = [
            f"{self.way}: {self.tried} values of θ in {self.seconds:.0f} s "
            f"({self.tried / max(self.seconds, 1e-9):.1f} a second), each on {len(self.training)} recordings",
            "",
            f"{'':<12}{'':>12}  {'before':>10}  {'after':>10}  times less",
        ]
        for title, names in (("training", self.training), ("held out", self.held_out)):
            for loss, unit, scale in SHOWN:
                before, after = self.mean(names, loss, False), self.mean(names, loss, True)
                if before is not None and after is not None:
                    ratio = f"{before / after:.1f}" if 1000 * after > before else "over 1000"
                    label = f"{loss}, {unit}"
                    lines.append(
                        f"{title:<12}{label:>12}  {scale * before:>10.3f}  {scale * after:>10.3f}  {ratio:>10}"
                    )
                    title = ""
        wide = max(len(p.name) for p in self.parameters)
        lines += ["", f"{'parameter':<{wide}}  before   fitted   95% interval"]
        for p in self.parameters:
            interval = f"{p.low:.3f} to {p.high:.3f}"
            why = f"  {'' if p.identified else 'not identified: '}{p.why}" if p.why else ""
            lines.append(f"{p.name:<{wide}}  {p.before:<7.3f}  {p.value:<7.3f}  {interval}{why}")
        for r in self.ratios:
            lines.append(f"{' / '.join(r.names)}: {r.value:.3f}, {r.low:.3f} to {r.high:.3f}")
        left = sorted(self.unexplained, key=lambda u: -u.rms)[:3]
        if left:
            lines += ["", "left unexplained, largest first (rms, correlation of successive residuals):"]
            lines += [f"  {u.output}: {1000 * u.rms:.3f} mm or mrad, {u.linked:.2f}" for u in left]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def write(self, path: Path) -> Path:
        """Write the world file, which any study can name."""
        contents = self.world.model_dump(mode="json", exclude_defaults=True)
        contents = {"name": self.world.name, "kind": self.world.kind, "about": self.world.about} | contents
        path.write_text(yaml.safe_dump(contents, sort_keys=False, allow_unicode=True, width=110))
        return path


SHOWN = (("translation", "mm", 1e3), ("rotation", "mrad", 1e3), ("joints", "mrad", 1e3))
"""Losses of the text: name, unit, and what it is multiplied by."""


def _finite(values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: None."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}


def unexplained(outputs: Sequence[str], residuals: Sequence[Floats]) -> tuple[Unexplained, ...]:
    """Of residuals (T, outputs) of each recording."""
    squares = sum(np.sum(r * r, axis=0) for r in residuals)
    links = sum(np.sum(r[1:] * r[:-1], axis=0) for r in residuals)
    count = sum(len(r) for r in residuals)
    rms = np.sqrt(squares / count)
    linked = links / np.maximum(squares, 1e-300)
    return tuple(Unexplained(name, float(a), float(b)) for name, a, b in zip(outputs, rms, linked, strict=True))
