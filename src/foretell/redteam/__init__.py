"""Failure search: the mildest combination of factors that breaks a policy."""

from foretell.redteam.answer import RedTeam
from foretell.redteam.redteam import redteam

__all__ = ["RedTeam", "redteam"]
