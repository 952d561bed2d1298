"""Objects on the table: our own models, from primitives and small generated meshes."""

from foretell.objects.asset import ASSETS, Asset, Fixture, Joint, ObjectPhysics, Round, asset
from foretell.objects.block import GREEN_BLOCK, YELLOW_BLOCK
from foretell.objects.bottle import BOTTLE
from foretell.objects.cabinet import CABINET
from foretell.objects.can import CAN
from foretell.objects.carrot import CARROT
from foretell.objects.cube import CUBE
from foretell.objects.distractors import DISTRACTORS
from foretell.objects.eggplant import EGGPLANT
from foretell.objects.fruit import APPLE, ORANGE, RIPE_APPLE, RIPE_ORANGE
from foretell.objects.nut import SQUARE_NUT
from foretell.objects.plate import PLATE
from foretell.objects.sink import BASKET
from foretell.objects.soda import CANS, COKE_CAN
from foretell.objects.sponge import SPONGE
from foretell.objects.spoon import SPOON
from foretell.objects.towel import TOWEL

__all__ = [
    "APPLE",
    "ASSETS",
    "BASKET",
    "BOTTLE",
    "CABINET",
    "CAN",
    "CANS",
    "CARROT",
    "COKE_CAN",
    "CUBE",
    "DISTRACTORS",
    "EGGPLANT",
    "GREEN_BLOCK",
    "ORANGE",
    "PLATE",
    "RIPE_APPLE",
    "RIPE_ORANGE",
    "SPONGE",
    "SPOON",
    "SQUARE_NUT",
    "TOWEL",
    "YELLOW_BLOCK",
    "Asset",
    "Fixture",
    "Joint",
    "ObjectPhysics",
    "Round",
    "asset",
]

ASSETS.seal()
