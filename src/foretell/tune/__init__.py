"""Tune a simulator so that it predicts: search θ for the best agreement with real episodes, and check it on others."""

from foretell.tune.config import WAYS, Tuning
from foretell.tune.tune import tune
from foretell.tune.tuned import Tuned

__all__ = ["WAYS", "Tuned", "Tuning", "tune"]
