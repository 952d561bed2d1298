"""Objects on the table: our own models, from primitives and small generated meshes."""

from foretell.objects.asset import ASSETS, Asset, Fixture, Joint, ObjectPhysics, asset
from foretell.objects.can import CAN
from foretell.objects.cube import CUBE
from foretell.objects.distractors import DISTRACTORS
from foretell.objects.nut import SQUARE_NUT

__all__ = ["ASSETS", "CAN", "CUBE", "DISTRACTORS", "SQUARE_NUT", "Asset", "Fixture", "Joint", "ObjectPhysics", "asset"]
