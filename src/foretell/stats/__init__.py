"""Statistics of foretell: pure functions on arrays, numpy and scipy only."""

from foretell.stats.binomial import clopper_pearson, newcombe, newcombe_paired, wilson
from foretell.stats.bounds import *  # noqa: F403
from foretell.stats.bounds import __all__ as _bounds
from foretell.stats.interval import ALPHA, Guarantee, Interval

__all__ = ["ALPHA", "Guarantee", "Interval", "clopper_pearson", "newcombe", "newcombe_paired", "wilson"]
__all__ += _bounds
