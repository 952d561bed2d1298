"""Tune a simulator until it predicts real episodes.

Examples:
    foretell tune study.yaml  # with a section `tune`: see docs/tune.md
    foretell tune study.yaml --way tpe --trials 40 --metric mmrv
    foretell tune study.yaml --real runs/real --space 'theta.kp_scale=[0.5, 2]'
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from foretell.cli._flags import Alpha, Confidence, Json, OutRun, Slots, StandIn, Study, Switch, Workers, choice, named

__all__ = ["main"]


def main(
    *,
    study: Study,
    real: Annotated[Path | None, named("RUN", "The run folder of the real episodes.", default="as the study says")],
    space: Annotated[tuple[str, ...] | None, named("NAME=VALUES ...", default="as the study says")],
    way: Annotated[str | None, choice("grid", "tpe", "gp", "cma", default="as the study says, else grid")],
    trials: Annotated[int | None, named("N", default="as the study says, else 30")],
    metric: Annotated[str | None, named("METRIC", default="as the study says, else pearson")],
    of: Annotated[str | None, named("COLUMN", default="as the study says, else success")],
    seed: Annotated[int | None, named("SEED", "Of the search and of resampling.", default="as the study says, else 0")],
    alpha: Alpha,
    confidence: Confidence = None,
    stand_in: StandIn,
    anyway: Switch,
    out: Annotated[OutRun, named("FOLDER", "The folder to write.", default="runs/NAME-tune")],
    workers: Workers,
    slots: Slots,
    json_: Json = False,
) -> None:
    """Search the parameters of the world (θ) for those with which simulation predicts the real episodes best. Run the
    same command to resume.

    The improvement is measured on policies and scenarios that were held out. If it is shown, a world file is written.

    Args:
        space: Fields of the world file and their values, such as 'theta.kp_scale=[0.5, 2]'. Two numbers are a range,
            other lists are choices.
        way: Every cell of a grid, Optuna's TPE or Gaussian process, or CMA-ES.
        trials: The number of values of θ that a search tries.
        metric: What is improved: a metric of `foretell predictivity`, or scenario_correlation.
        of: What is measured in each episode: success, score, or a metric of the task.
        anyway: Write the world file even if the improvement is not shown.
    """
    from foretell.cli._confidence import alpha_of
    from foretell.report.tuned import write_tuned
    from foretell.study.progress import Bar
    from foretell.tune import tune

    alpha = alpha_of(alpha, confidence)
    with Bar() as bar:
        answer = tune(
            study, real=real, space=space, way=way, trials=trials, metric=metric, of=of, seed=seed, alpha=alpha,
            stand_in=stand_in, anyway=anyway, out=out, workers=workers, slots=slots, progress=bar.update,
            notify=bar.say,
        )  # fmt: skip
    page = write_tuned(answer, answer.out / "tune.html")
    print(json.dumps(answer.to_dict(), indent=2) if json_ else f"{answer.text()}\npage: {page}")
