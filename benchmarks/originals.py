"""How near are our pictures to SIMPLER's own, before and after light and looks are matched to them?

    python benchmarks/originals.py                        # the table of docs/matching.md
    python benchmarks/originals.py widowx_stack_cube -o FOLDER     # one task, with pictures of what differs

Needs SIMPLER's pictures (FORETELL_DATA), its photographs and scans (FORETELL_ASSETS) and MuJoCo Menagerie. Photographs,
layouts and cameras are those of the original engine. `as it is`: the world as it is. `light`: after `foretell match
light` on the original's picture. `looks`: after `foretell match texture` on the objects of the Google robot's tasks
too, because some of the original's are no scans of the pack. `light of another task`: that of another task of the same
robot.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from foretell.match import light, texture
from foretell.match.picture import write_picture
from foretell.registry import resolve
from foretell.sim.bench import Bench
from foretell.sim.photo import decode
from foretell.sim.world import MujocoWorld
from foretell.spec import Stream

BESIDE = Path(__file__).parents[2] / "shared"
DATA = Path(os.environ.get("FORETELL_DATA", BESIDE / "data")) / "simpler_reference" / "images"
ASSETS = Path(os.environ.get("FORETELL_ASSETS", BESIDE / "assets"))
SLOT = np.zeros(1, dtype=np.int32)
BEHIND = ("arena", "sink", "dummy_sink_target_plane", "ground", "")
"""What the original shows the photograph of."""


@dataclass(frozen=True, kw_only=True)
class Original:
    """A picture of the original engine."""

    task: str
    layout: int = 0
    google: bool = False
    photo: str = "bridge_real_eval_1"
    keep: tuple[str, ...] = ("robots", "objects")
    parts: tuple[str, ...] = ()
    """What light is fitted to, where some objects are others."""
    objects: tuple[tuple[str, int], ...] = ()
    """Objects that take the looks of the picture, and their numbers in its segmentation."""
    other: str = ""
    """The original whose light is tried too."""

    @property
    def camera(self) -> str:
        return "google_robot/overhead" if self.google else "third_view"

    @property
    def size(self) -> tuple[int, int]:
        return (512, 640) if self.google else (480, 640)


ORIGINALS = {
    "widowx_spoon_on_towel": Original(task="widowx_spoon_on_towel", other="widowx_carrot_on_plate"),
    "widowx_carrot_on_plate": Original(task="widowx_carrot_on_plate", other="widowx_spoon_on_towel"),
    "widowx_stack_cube": Original(task="widowx_stack_cube", other="widowx_carrot_on_plate"),
    "widowx_put_eggplant_in_basket": Original(
        task="widowx_put_eggplant_in_basket", photo="bridge_sink", keep=("robots", "eggplant"),
        other="widowx_carrot_on_plate",
    ),
    "google_robot_pick_coke_can": Original(
        task="google_robot_pick_standing_coke_can", layout=11, google=True, photo="google_coke_can_real_eval_1",
        parts=("google_robot",), objects=(("can", 39),), other="google_robot_move_near",
    ),
    "google_robot_move_near": Original(
        task="google_robot_move_near", google=True, photo="google_move_near_real_eval_1",
        parts=("google_robot", "target"), objects=(("source", 39), ("target", 40), ("other", 41)),
        other="google_robot_pick_coke_can",
    ),
}  # fmt: skip
"""In SIMPLER's eggplant task, sink and basket are those of the photograph."""


class Compared:
    """An original, and a world file that comes nearer to it."""

    def __init__(self, name: str, folder: Path):
        self.name, self.about = name, ORIGINALS[name]
        camera = "overhead" if self.about.google else "3rd_view"
        self.file = DATA / f"{name}_ep0_overlay_{camera}_camera.png"
        segments = np.load(DATA / f"{name}_ep0_seg.npz")
        names = json.loads(str(segments["actor_ids"]))
        self.segments = segments["seg"]
        self.front = ~np.isin(self.segments, [0, *(int(n) for n, called in names.items() if called in BEHIND)])
        self.picture = decode(self.file.read_bytes())
        self.world = folder / f"{name}.yaml"
        photo = ASSETS / "simpler" / "real_inpainting" / f"{self.about.photo}.png"
        self.write([
            {"use": "asset_pack", "folder": str(ASSETS)},
            {"use": "background", "image": str(photo), "keep": list(self.about.keep)},
        ])  # fmt: skip

    def write(self, transforms: list[dict[str, Any]]) -> None:
        self.world.write_text(yaml.safe_dump({"looks": "menagerie", "transforms": transforms}, sort_keys=False))

    def transforms(self) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = yaml.safe_load(self.world.read_text())["transforms"]
        return made

    def match_light(self) -> None:
        about = self.about
        given: dict[str, Any] = {"task": about.task, "camera": about.camera, "layout": about.layout}
        light(self.file, **given, parts=about.parts, world=self.world)

    def match_objects(self) -> None:
        about = self.about
        for part, number in about.objects:
            mask = self.world.with_name(f"{part}.png")
            write_picture(mask, self.segments == number)
            given: dict[str, Any] = {"task": about.task, "camera": about.camera, "layout": about.layout}
            texture(self.file, **given, object=part, mask=mask, world=self.world)

    def seen(self) -> tuple[np.ndarray, np.ndarray]:
        """What our camera shows, and where that is simulated."""
        about, task = self.about, resolve("tasks", self.about.task)()
        world = MujocoWorld(task, self.world, slots=1)
        world.reset(SLOT, [task.layouts()[about.layout]], [0])
        kinds = {"rgb": 3, "segmentation": 1}
        streams = {f"{about.camera}/{kind}": Stream((*about.size, depth)) for kind, depth in kinds.items()}
        seen, parts = world.observe(SLOT, streams), Bench.on(world).parts
        kept = [parts.ids[part] for part in parts.named(about.keep)]
        return seen[f"{about.camera}/rgb"][0], np.isin(seen[f"{about.camera}/segmentation"][0, ..., 0], kept)

    def differing(self, out: Path | None = None) -> dict[str, float]:
        """What differs -> share of pixels: in whether they are photograph or simulation, and by so many grey levels."""
        ours, front = self.seen()
        apart = np.abs(ours.astype(int) - self.picture).max(axis=2)
        if out is not None:
            grey = np.repeat(np.minimum(5 * apart, 255).astype(np.uint8)[..., None], 3, axis=2)
            write_picture(out, np.concatenate([self.picture, ours, grey], axis=1))
        return {"outline": (front != self.front).mean(), **{f"> {n}": (apart > n).mean() for n in (10, 30)}}


def table(names: list[str], folder: Path, out: Path | None) -> None:
    print("| task, first episode | outline | as it is: > 10, > 30 | light | looks | light of another task |")
    print("|---|---|---|---|---|---|")
    lights: dict[str, dict[str, Any]] = {}

    def light_of(name: str) -> dict[str, Any]:
        if name not in lights:
            made = Compared(name, folder)
            made.match_light()
            (lights[name],) = (t for t in made.transforms() if t["use"] == "light")
        return lights[name]

    for name in names:
        compared = Compared(name, folder)
        plain, bare = compared.differing(out and out / f"{name}_plain.png"), compared.transforms()
        compared.write([*bare, light_of(name)])
        lit = looked = compared.differing(out and out / f"{name}_light.png")
        if compared.about.objects:
            compared.match_objects()
            looked = compared.differing(out and out / f"{name}_looks.png")
        compared.write([*bare, light_of(compared.about.other)])
        other = compared.differing()
        cells = ["{:.1%}, {:.1%}".format(each["> 10"], each["> 30"]) for each in (plain, lit, looked, other)]
        print(f"| `{name}` | {plain['outline']:.2%} | {' | '.join(cells)} |".replace("%", " %"), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="of SIMPLER; default: all")
    parser.add_argument("-o", "--out", type=Path, help="a folder for pictures")
    given = parser.parse_args()
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("MENAGERIE_ROOT", str(ASSETS / "menagerie"))
    with tempfile.TemporaryDirectory() as folder:
        table(given.tasks or list(ORIGINALS), Path(folder), given.out)


if __name__ == "__main__":
    main()
