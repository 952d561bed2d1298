"""Moved to `foretell.checks`."""

from foretell.checks import Finding, Report, check, check_policy, check_task, check_world

__all__ = ["Finding", "Report", "check", "check_policy", "check_task", "check_world"]
