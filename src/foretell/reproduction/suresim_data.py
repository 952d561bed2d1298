"""Data in the place of SureSim's, which is not published: tables with the printed moments, and the generator of
its Appendix D.2.

Moments do not fix a distribution. Among those on the score levels the paper describes, the one of largest entropy
is taken; it adds nothing beyond the moments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from foretell.stats.regimes import Regime

__all__ = ["LEVELS", "artificial", "like"]

Floats = NDArray[np.float64]

LEVELS = {
    "diffusion policy": (21, 21),  # means of five trials in quarters: multiples of 1/20; of 100 simulations: finer
    "pi0, moderate": (5, 41),  # one trial in quarters; mean of 20 simulations in halves: multiples of 1/40
    "pi0, low": (5, 41),
    "pi0, sim2sim": (41, 41),  # both simulated
}
"""Numbers of equally spaced levels of the real and the simulated score."""


def sim_deviation(correlation: float, real_variance: float, rectifier_variance: float) -> float:
    """Standard deviation of the simulated score, which is not printed but follows from the other moments.

    It solves a quadratic; of two roots the larger is taken (nearer to the real one), of none the nearest point.
    """
    middle = correlation * math.sqrt(real_variance)
    return middle + math.sqrt(max(middle**2 - real_variance + rectifier_variance, 0.0))


def like(name: str, moments: Mapping[str, float], n: int, extra: int) -> Regime:
    """A regime with the given moments (columns of Table 1), of largest entropy on the levels of `name`.

    Paired and extra simulations share one distribution, as the methods require; Table 1 has two means for them.
    """
    size = LEVELS[name]
    y, f = np.linspace(0.0, 1.0, size[0]), np.linspace(0.0, 1.0, size[1])
    a, b = np.repeat(y, size[1]), np.tile(f, size[0])
    my, mf, vy = (float(moments[k]) for k in ("real mean", "paired sim mean", "real variance"))
    sf = sim_deviation(float(moments["correlation"]), vy, float(moments["rectifier variance"]))
    features = np.stack([a - my, b - mf, (a - my) ** 2 - vy, (b - mf) ** 2 - sf**2,
                         (a - my) * (b - mf) - float(moments["correlation"]) * vy**0.5 * sf])  # fmt: skip
    weights = _tilt(features)
    return Regime(name=name, real_levels=y, sim_levels=f, table=weights.reshape(size), n=n, extra=extra)


def _tilt(features: Floats) -> Floats:
    """Weights of largest entropy under which every feature, shape (K, cells), has mean zero: Newton on the dual."""
    scale = features.std(axis=1, keepdims=True)
    x = features / scale
    slope = np.zeros(len(x))

    def weigh(s: Floats) -> tuple[Floats, float]:
        power = s @ x
        top = power.max()
        w = np.exp(power - top)
        total = w.sum()
        return w / total, float(top + np.log(total))

    w, value = weigh(slope)
    for _ in range(500):
        gradient = x @ w
        if np.abs(gradient).max() < 1e-10:
            break
        spread = (x * w) @ x.T - np.outer(gradient, gradient)
        step = np.linalg.solve(spread + 1e-12 * np.eye(len(x)), -gradient)
        size = 1.0
        while True:
            trial, height = weigh(slope + size * step)
            if height <= value + 1e-4 * size * float(gradient @ step) or size < 1e-9:
                break
            size *= 0.5
        slope, w, value = slope + size * step, trial, height
    return w


def artificial(
    rng: np.random.Generator,
    size: int,
    correlation: float,
    mean: float = 0.5,
    sim_mean: float = 0.5,
    tolerance: float = 1e-3,
) -> tuple[Floats, Floats]:
    """Real and proxy scores after Appendix D.2, both of shape (size,).

    Real scores are uniform on [max(0, 2 mean - 1), min(2 mean, 1)]. The proxy starts as a copy moved to `sim_mean`
    and is pushed by small noise, or back towards the real scores, until the sample correlation is as asked. The
    sizes of the pushes are not printed: 0.1 of noise, or a tenth of the way, halved at each overshoot. The proxy is
    kept in [0, 1].
    """
    y = rng.uniform(max(0.0, 2.0 * mean - 1.0), min(2.0 * mean, 1.0), size)
    f = np.clip(y - mean + sim_mean, 0.0, 1.0)
    push, above = 0.1, True
    for _ in range(5000):
        r = float(np.corrcoef(y, f)[0, 1])
        if abs(r - correlation) <= tolerance:
            break
        if (r > correlation) != above:
            push, above = max(0.5 * push, 1e-4), not above
        f = f + push * (rng.standard_normal(size) if above else y - f - sim_mean + mean)
        f = np.clip(f, 0.0, 1.0)
    return y, f
