"""A leaderboard: policies on one test set, ranked by success under perturbation."""

from foretell.leaderboard.board import Leaderboard, leaderboard

__all__ = ["Leaderboard", "leaderboard"]
