"""Makes matching_originals.jpg of what `python benchmarks/originals.py -o FOLDER` draws: SIMPLER's picture, ours as it
is, ours matched, and five times the difference that is left.

The photographs are those of SIMPLER (simpler-env/ManiSkill2_real2sim, Apache-2.0).

python docs/pictures/matching_originals.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from foretell.match.opencv import opencv
from foretell.match.picture import read_picture

SHOWN = (("widowx_stack_cube", "light"), ("google_robot_move_near", "looks"))
TILE = (240, 186)


if __name__ == "__main__":
    cv2, folder, rows = opencv(), Path(sys.argv[1]), []
    for name, last in SHOWN:
        plain, matched = (
            np.split(read_picture(folder / f"{name}_{which}.png", name), 3, axis=1) for which in ("plain", last)
        )
        tiles = plain[0], plain[1], matched[1], matched[2]
        rows.append(np.concatenate([cv2.resize(tile, TILE, interpolation=cv2.INTER_AREA) for tile in tiles], axis=1))
    image = np.ascontiguousarray(np.concatenate(rows)[..., ::-1])
    cv2.imwrite(str(Path(__file__).with_suffix(".jpg")), image, [cv2.IMWRITE_JPEG_QUALITY, 85])
