"""Drivers: they bring a policy and a world together under a clock. Nothing else calls either."""

from foretell.rollout.job import Job, Outcome
from foretell.rollout.realtime import run_realtime
from foretell.rollout.sync import run_sync
from foretell.rollout.virtual import run_virtual

__all__ = ["Job", "Outcome", "run_realtime", "run_sync", "run_virtual"]
