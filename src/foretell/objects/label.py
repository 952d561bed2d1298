"""Labels: what is printed on cans, drawn dot by dot, and pictures as materials."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from foretell.arrays import Bytes

__all__ = ["Label", "material"]

Colour = tuple[int, int, int]
WIDTH, HEIGHT = 256, 96
GLYPHS = {
    "A": ("01110", "10001", "10001", "11111", "10001", "10001", "10001"),
    "B": ("11110", "10001", "10001", "11110", "10001", "10001", "11110"),
    "C": ("01110", "10001", "10000", "10000", "10000", "10001", "01110"),
    "D": ("11110", "10001", "10001", "10001", "10001", "10001", "11110"),
    "E": ("11111", "10000", "10000", "11110", "10000", "10000", "11111"),
    "I": ("01110", "00100", "00100", "00100", "00100", "00100", "01110"),
    "L": ("10000", "10000", "10000", "10000", "10000", "10000", "11111"),
    "M": ("10001", "11011", "10101", "10101", "10001", "10001", "10001"),
    "N": ("10001", "11001", "10101", "10011", "10001", "10001", "10001"),
    "O": ("01110", "10001", "10001", "10001", "10001", "10001", "01110"),
    "S": ("01111", "10000", "10000", "01110", "00001", "00001", "11110"),
    "U": ("10001", "10001", "10001", "10001", "10001", "10001", "01110"),
}


@dataclass(frozen=True)
class Label:
    """What is printed on a can: its colour, and in another a word with a wavy band under it, or a disc."""

    word: str
    ground: Colour
    ink: Colour
    disc: Colour | None = None
    """Upper colour of a disc in place of the band; its lower half is the ink's."""

    def picture(self) -> Bytes:
        """(HEIGHT, WIDTH, 3) the print around the can, its top first."""
        image = np.empty((HEIGHT, WIDTH, 3), dtype=np.uint8)
        image[:] = self.ground
        row, column = np.mgrid[:HEIGHT, :WIDTH]
        wave = 0.70 * HEIGHT + 0.07 * HEIGHT * np.sin(4 * np.pi * column / WIDTH)
        if self.disc is None:
            image[np.abs(row - wave) < 0.05 * HEIGHT] = self.ink
            image[np.abs(row - wave - 0.10 * HEIGHT) < 0.012 * HEIGHT] = self.ink
        else:
            across = (column + 0.5) % (WIDTH // 2) - WIDTH / 4  # two discs, on opposite sides
            inside = np.hypot(across / 1.1, row - 0.74 * HEIGHT) < 0.20 * HEIGHT
            image[inside] = self.ink
            image[inside & (row < 0.74 * HEIGHT + 3 * np.sin(across / 7))] = self.disc
        across, up = 4, 6  # pixels of a dot
        for start in (8, 8 + WIDTH // 2):  # on two sides: turned to the robot's camera, and away from it
            for number, letter in enumerate(self.word):
                for y, dots in enumerate(GLYPHS[letter]):
                    for x, dot in enumerate(dots):
                        if dot == "1":  # slanted
                            left, top = start + (6 * number + x) * across + (7 - y) * 2, 12 + y * up
                            image[top : top + up, left : left + across] = self.ink
        return np.roll(image, WIDTH // 4, axis=1)


def material(spec: mujoco.MjSpec, name: str, image: Bytes) -> str:
    """A material that shows a picture (height, width, 3), made once in a scene. Returns its name."""
    if spec.material(name) is not None:
        return name
    height, width, _ = image.shape
    texture = spec.add_texture(name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, width=width, height=height, nchannel=3)
    texture.data = image.tobytes()
    made = spec.add_material(name=name, specular=0.3, shininess=0.4)
    made.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name
    return name
