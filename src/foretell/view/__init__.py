"""The live view: the report's page, served while a study runs."""

from foretell.view.serve import Served, view

__all__ = ["Served", "view"]
