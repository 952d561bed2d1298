"""Policies of foretell, served to other programs."""

from foretell.serving.serve_policy import ServedPolicy, serve_policy

__all__ = ["ServedPolicy", "serve_policy"]
