"""Policies that come with foretell."""
