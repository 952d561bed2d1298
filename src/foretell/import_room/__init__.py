"""Rooms of users: occupancy maps and meshes as polygons."""

from foretell.import_room.import_room import ImportedRoom, import_room

__all__ = ["ImportedRoom", "import_room"]
