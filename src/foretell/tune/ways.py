"""Ways to search θ: every cell of a grid, Optuna's TPE and Gaussian process, or CMA-ES.

A judge gives the value of a point, larger is better; -inf where it is undefined. Each way is deterministic, so that a
search that is issued again asks for the same points, and their finished episodes are there. The world as it is, the
empty point, is always tried first, and a tie is the earlier point's.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from foretell.errors import UsageError
from foretell.tune.space import Point, SearchSpace

__all__ = ["check_way", "search"]

Judge = Callable[[Point], float]


def search(space: SearchSpace, judge: Judge, *, way: str, trials: int, seed: int) -> Point:
    """The best point that a way finds."""
    check_way(space, way)
    best: Point = {}
    most = judge(best)
    for point, value in _WAYS[way](space, judge, trials, seed):
        if value > most:
            best, most = point, value
    return best


def check_way(space: SearchSpace, way: str) -> None:
    """Raises UsageError where a way cannot search a space, or lacks a package."""
    if way == "grid":
        space.grid()
    elif way == "cma":
        if words := [p.name for p in space.parameters if p.kind == "choice"]:
            raise UsageError(f"tune: way: cma searches numbers, and {words[0]} has choices; use way tpe")
        if len(space.parameters) < 2:
            raise UsageError("tune: way: cma needs two parameters or more; use way grid or tpe for one")
        _needs("cma", way)
    else:
        _needs("optuna", way)
        if way == "gp":
            _needs("torch", way, "torch")


def _grid(space: SearchSpace, judge: Judge, trials: int, seed: int) -> Iterator[tuple[Point, float]]:
    for point in space.grid():
        yield point, judge(point)


def _optuna(sampler: str) -> Callable[[SearchSpace, Judge, int, int], Iterator[tuple[Point, float]]]:
    def way(space: SearchSpace, judge: Judge, trials: int, seed: int) -> Iterator[tuple[Point, float]]:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # samplers call themselves experimental
            made = getattr(optuna.samplers, sampler)(seed=seed)
        study = optuna.create_study(direction="maximize", sampler=made)
        begin = {p.name: p.start for p in space.parameters if p.start is not None}
        if len(begin) == len(space.parameters) and all(_inside(space, name, v) for name, v in begin.items()):
            study.enqueue_trial(begin)
        worst = math.inf
        for _ in range(trials):
            with _one_thread(sampler == "GPSampler"):
                trial = study.ask()
                point = {p.name: _suggest(trial, p) for p in space.parameters}
            value = judge(point)
            worst = min(worst, value) if math.isfinite(value) else worst
            # what is undefined counts as the worst so far: a search must have a number
            study.tell(trial, value if math.isfinite(value) else min(worst, 0.0))
            yield point, value

    return way


@contextmanager
def _one_thread(torch_works: bool) -> Iterator[None]:
    """PyTorch sums in another order with other threads, and two searches could part."""
    if not torch_works:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _suggest(trial: Any, parameter: Any) -> Any:
    v = parameter.values
    if parameter.kind == "choice":
        return trial.suggest_categorical(parameter.name, list(v.choices))
    if parameter.kind == "int":
        return trial.suggest_int(parameter.name, int(v.low), int(v.high), log=v.log)
    return trial.suggest_float(parameter.name, v.low, v.high, log=v.log)


def _inside(space: SearchSpace, name: str, value: Any) -> bool:
    (parameter,) = (p for p in space.parameters if p.name == name)
    v = parameter.values
    return value in v.choices if parameter.kind == "choice" else bool(v.low <= value <= v.high)


def _cma(space: SearchSpace, judge: Judge, trials: int, seed: int) -> Iterator[tuple[Point, float]]:
    import numpy as np

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for matplotlib
        import cma
    begin = [0.5 if p.start is None else p.share(float(p.start)) for p in space.parameters]
    strategy = cma.CMAEvolutionStrategy(begin, 0.25, {"bounds": [0, 1], "seed": seed + 1, "verbose": -9})
    tried, worst = 0, math.inf
    while tried < trials and not strategy.stop():
        shares = strategy.ask()
        values = []
        for share in shares:
            point = {p.name: p.at(float(x)) for p, x in zip(space.parameters, share, strict=True)}
            value = judge(point) if tried < trials else -math.inf
            if tried < trials:
                yield point, value
            tried += 1
            values.append(value)
        finite = [value for value in values if math.isfinite(value)]
        worst = min([worst, *finite])
        last = worst if math.isfinite(worst) else 0.0
        strategy.tell(shares, [-(value if math.isfinite(value) else last) for value in np.array(values).tolist()])


def _needs(module: str, way: str, install: str = "foretell[tune]") -> None:
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise UsageError(f"tune: way {way} needs the package {module}: pip install '{install}'")


_WAYS: dict[str, Callable[[SearchSpace, Judge, int, int], Iterator[tuple[Point, float]]]] = {
    "grid": _grid,
    "tpe": _optuna("TPESampler"),
    "gp": _optuna("GPSampler"),
    "cma": _cma,
}
