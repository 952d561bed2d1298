"""Meshes of users as objects of a scene: scale, convex parts, mass, looks."""

from foretell.import_object.import_object import ImportedObject, import_object

__all__ = ["ImportedObject", "import_object"]
