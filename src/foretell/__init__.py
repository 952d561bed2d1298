"""foretell tells how a robot policy will do in the real world, and how far to trust the answer.

    import foretell

    foretell.run("study.yaml")
    foretell.show("runs/study")
    foretell.read("runs/study")   # every episode, as an Arrow table

Names are imported when first used, so that `import foretell` costs little. It makes `gymnasium.make` know
`foretell/Lift-v2`, `foretell/Can-v2` and `foretell/Square-v3`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from foretell.bridges.register import register_when_imported as _register

__version__ = "0.1.0"

_WHERE = {
    "Chunk": "foretell.policy",
    "Episode": "foretell.episode",
    "ForetellError": "foretell.errors",
    "Placement": "foretell.scenario",
    "Policy": "foretell.policy",
    "PolicySpec": "foretell.policy",
    "Scenario": "foretell.scenario",
    "Stream": "foretell.spec",
    "Study": "foretell.study.config",
    "TabletopTask": "foretell.tasks.tabletop",
    "Task": "foretell.tasks.task",
    "UsageError": "foretell.errors",
    "bound": "foretell.answers.bound",
    "budget": "foretell.answers.budget",
    "cards": "foretell.reality.cards",
    "catalogue": "foretell.catalogue",
    "check": "foretell.checks",
    "clocks": "foretell.answers.clocks",
    "compare": "foretell.answers.compare",
    "demo": "foretell.demo",
    "demos": "foretell.export.demos",
    "doctor": "foretell.doctor.doctor",
    "evaluate": "foretell.answers.evaluate",
    "export": "foretell.export.export",
    "figure": "foretell.report.figure",
    "gate": "foretell.answers.gate",
    "identify": "foretell.identify.identify",
    "import_": "foretell.reality",
    "import_object": "foretell.import_object.import_object",
    "import_room": "foretell.import_room.import_room",
    "judge": "foretell.study.judge",
    "latency": "foretell.study.measure",
    "leaderboard": "foretell.leaderboard",
    "merge": "foretell.study.merge",
    "offline": "foretell.answers.offline",
    "predictivity": "foretell.answers.predictivity",
    "read": "foretell.episodes.read",
    "redteam": "foretell.redteam",
    "replay": "foretell.study.replay",
    "report": "foretell.report",
    "reproduce": "foretell.reproduction",
    "run": "foretell.study.run",
    "serve_policy": "foretell.serving.serve_policy",
    "show": "foretell.answers.show",
    "slurm": "foretell.study.slurm",
    "testset": "foretell.testset.testset",
    "timeline": "foretell.report.timeline",
    "tune": "foretell.tune.tune",
    "view": "foretell.view",
}
__all__ = [*_WHERE, "__version__"]

if TYPE_CHECKING:
    from foretell.answers.bound import bound as bound
    from foretell.answers.budget import budget as budget
    from foretell.answers.clocks import clocks as clocks
    from foretell.answers.compare import compare as compare
    from foretell.answers.evaluate import evaluate as evaluate
    from foretell.answers.gate import gate as gate
    from foretell.answers.offline import offline as offline
    from foretell.answers.predictivity import predictivity as predictivity
    from foretell.answers.show import show as show
    from foretell.catalogue import catalogue as catalogue
    from foretell.checks import check as check
    from foretell.demo.demo import demo as demo
    from foretell.doctor.doctor import doctor as doctor
    from foretell.episode import Episode as Episode
    from foretell.episodes.read import read as read
    from foretell.errors import ForetellError as ForetellError
    from foretell.errors import UsageError as UsageError
    from foretell.export.demos import demos as demos
    from foretell.export.export import export as export
    from foretell.identify.identify import identify as identify
    from foretell.import_object.import_object import import_object as import_object
    from foretell.import_room.import_room import import_room as import_room
    from foretell.leaderboard import leaderboard as leaderboard
    from foretell.policy import Chunk as Chunk
    from foretell.policy import Policy as Policy
    from foretell.policy import PolicySpec as PolicySpec
    from foretell.reality import import_ as import_
    from foretell.reality.cards import cards as cards
    from foretell.redteam.redteam import redteam as redteam
    from foretell.report import report as report
    from foretell.report.figure import figure as figure
    from foretell.report.timeline import timeline as timeline
    from foretell.reproduction import reproduce as reproduce
    from foretell.scenario import Placement as Placement
    from foretell.scenario import Scenario as Scenario
    from foretell.serving.serve_policy import serve_policy as serve_policy
    from foretell.spec import Stream as Stream
    from foretell.study.config import Study as Study
    from foretell.study.judge import judge as judge
    from foretell.study.measure import latency as latency
    from foretell.study.merge import merge as merge
    from foretell.study.replay import replay as replay
    from foretell.study.run import run as run
    from foretell.study.slurm import slurm as slurm
    from foretell.tasks.tabletop import TabletopTask as TabletopTask
    from foretell.tasks.task import Task as Task
    from foretell.testset.testset import testset as testset
    from foretell.tune.tune import tune as tune
    from foretell.view import view as view


class _Package(ModuleType):
    """Importing the submodule `foretell.testset` must not put it in the place of the function `foretell.testset`."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _WHERE and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
_register()


def __getattr__(name: str) -> Any:
    if name in ("env", "match"):  # verbs of several parts: `foretell.match.camera`
        return import_module(f"foretell.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module 'foretell' has no attribute {name!r}")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
