"""Clean plates: what moves is gone, what rests is hidden on request, and what was never seen is said."""

from __future__ import annotations

import json
import struct
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image
from reference import ASSETS
from studies import cli, refused

from foretell.errors import UsageError
from foretell.match import background
from foretell.match.background import clean
from foretell.match.mask import read_frame
from foretell.sim.params import load_world
from foretell.sim.photo import decode

HEIGHT, WIDTH = 96, 128
GONE = (slice(60, 90), slice(90, 120))
"""Where a block rests for the whole video."""


def scene() -> np.ndarray:
    """A smooth picture, as tables are."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    return np.stack([80 + rows, 60 + columns, 150 + 0 * rows], axis=-1).astype(np.uint8)


def frames(count: int = 24) -> np.ndarray:
    """A dark block passes over the scene, another rests; with noise."""
    rng = np.random.default_rng(0)
    made = np.repeat(scene()[None], count, axis=0)
    for number, frame in enumerate(made):
        left = round(number * (WIDTH - 40) / (count - 1))
        frame[20:50, left : left + 40] = 15
    made[:, GONE[0], GONE[1]] = 30
    return np.clip(made + rng.normal(0, 2, made.shape), 0, 255).astype(np.uint8)


def write(path: Path, pictures: np.ndarray) -> Path:
    with av.open(str(path), "w") as file:
        stream = file.add_stream("libx264", rate=Fraction(10))
        stream.width, stream.height, stream.pix_fmt = pictures.shape[2], pictures.shape[1], "yuv420p"
        stream.options = {"crf": "10"}
        for picture in pictures:
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        file.mux(stream.encode(None))
    return path


@pytest.fixture
def video(tmp_path: Path) -> Path:
    return write(tmp_path / "table.mp4", frames())


def test_what_moves_is_gone_and_what_rests_is_hidden() -> None:
    hidden = np.zeros((HEIGHT, WIDTH), dtype=bool)
    plain = clean(frames(), hidden)
    apart = np.abs(plain.image.astype(int) - scene())
    outside = np.ones((HEIGHT, WIDTH), dtype=bool)
    outside[GONE] = False
    assert apart[outside].max() <= 9 and apart[GONE].max() > 50  # noise; the block that rests is still there
    assert not plain.unseen.any() and plain.moved > 0.25
    hidden[GONE] = True
    made = clean(frames(), hidden)
    apart = np.abs(made.image.astype(int) - scene())
    assert made.unseen[GONE].all() and made.unseen.mean() == pytest.approx(36 * 36 / (HEIGHT * WIDTH))
    assert apart[outside].max() <= 9 and apart[GONE].mean() < 8  # from its neighbours


def test_a_box_that_is_covered_for_most_of_the_time_is_taken_from_when_it_is_free() -> None:
    """A robot that stands still for most of a video and then goes away."""
    made = frames(30)
    made[:, GONE[0], GONE[1]] = scene()[GONE]
    made[:20, 10:40, 5:30] = 25
    mask = np.zeros((HEIGHT, WIDTH), dtype=bool)
    assert np.abs(clean(made, mask).image[12:38, 7:28].astype(int) - scene()[12:38, 7:28]).mean() > 50
    mask[10:40, 5:30] = True
    when = np.arange(30) >= 20
    free = clean(made, np.zeros_like(mask), [(mask, when)])
    assert np.abs(free.image[12:38, 7:28].astype(int) - scene()[12:38, 7:28]).mean() < 3 and not free.unseen.any()


@pytest.mark.parametrize(("matrix", "turns"), [((0, 1, -1, 0), 3), ((-1, 0, 0, -1), 2), ((0, -1, 1, 0), 1)])
def test_a_video_of_a_phone_is_turned_upright(video: Path, matrix: tuple[int, ...], turns: int) -> None:
    """A phone films as its sensor lies, and writes into the file how players should turn it."""
    data = bytearray(video.read_bytes())
    at = data.index(b"tkhd") + 44
    a, b, c, d = (value << 16 for value in matrix)
    data[at : at + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    plain = background(video).image
    video.write_bytes(data)
    assert np.array_equal(background(video).image, np.rot90(plain, turns))
    assert np.abs(read_frame(video).astype(int) - np.rot90(frames()[0], turns)).mean() < 5


def test_a_moving_camera_is_noticed() -> None:
    rng = np.random.default_rng(1)
    texture = rng.integers(0, 255, (HEIGHT + 40, WIDTH + 40, 3), dtype=np.uint8)
    shaken = np.stack([texture[i : i + HEIGHT, i : i + WIDTH] for i in range(20)])
    plate = clean(shaken, np.zeros((HEIGHT, WIDTH), dtype=bool))
    assert plate.doubtful > 0.5 and "tripod" in plate.notes[0]


def test_the_verb_writes_a_plate_and_a_world(video: Path, tmp_path: Path) -> None:
    mask = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
    mask[GONE] = 255
    Image.fromarray(mask).save(tmp_path / "mask.png")
    (tmp_path / "lab.yaml").write_text("about: Our laboratory.\ntheta: {kp_scale: 0.8}\n")
    done = cli(
        "match", "background", "table.mp4", "-o", "plate.png", "--mask", "mask.png", "--world", "lab.yaml", "--camera",
        "front", "--json", cwd=tmp_path,
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert told["frames"] == 24 and 0.08 < told["never_seen_free"] < 0.12 and told["doubtful"] < 0.01
    world = load_world(tmp_path / "lab.yaml")
    (transform,) = world.transforms
    assert (transform.use, transform.cameras, world.theta.kp_scale) == ("background", ("front",), 0.8)
    assert decode((tmp_path / "plate.png").read_bytes()).shape == (HEIGHT, WIDTH, 3)
    # again, with another box: the transform is replaced, and another camera gets one of its own
    boxed = background(video, out=tmp_path / "plate.png", hide=(90, 60, 120, 90), world=tmp_path / "lab.yaml")
    assert boxed.to_dict()["never_seen_free"] == pytest.approx(told["never_seen_free"], abs=0.01)
    unchecked = background(video, out=tmp_path / "plate.png", camera="front", world=tmp_path / "lab.yaml")
    assert unchecked.notes == ["whether tasks have a camera 'front' is not checked: name a task (--task)"]
    with pytest.raises(UsageError, match="camera: 'font' is not in task 'lift'; did you mean 'front'"):
        background(video, out=tmp_path / "plate.png", camera="font", world=tmp_path / "lab.yaml", task="lift")
    assert [t.cameras for t in load_world(tmp_path / "lab.yaml").transforms] == [("front",), "all"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["lost.mp4"], "video: cannot read lost.mp4: No such file"),
        (["text.mp4"], "video: cannot read text.mp4: Invalid data"),
        (["one.mp4"], "video: one.mp4 has 1 frame, and a clean plate needs at least 3"),
        (["table.mp4", "--mask", "small.png"], "mask: small.png has 10x8 pixels, and the picture 128x96"),
        (["table.mp4", "--hide", "1", "2", "3"], "hide: 3 numbers; a box has four"),
        (["table.mp4", "--free", "0", "0", "20", "40"], "free: 4 numbers; a box has six"),
        (["table.mp4", "--free", "0", "0", "20", "40", "9", "12"], "free: 9 to 12 s has 0 of the frames"),
        (["table.mp4", "--hide", "0", "0", "200", "40"], "hide: 0 0 200 40 is no box"),
        (["table.mp4", "--hide", "0", "0", "128", "96"], "hide and mask cover the whole picture"),
        (["table.mp4", "-o", "plate.jpg"], "out: plate.jpg should end in .png"),
        (["table.mp4", "--world", "lab.yaml"], "world: lab.yaml needs the plate as a file"),
        (["table.mp4", "-o", "p.png", "--world", "mujoco"], "world: mujoco should be a world file (.yaml)"),
        (["table.mp4", "--camera", "front"], "camera: 'front' is named, and no world"),
    ],
)
def test_what_is_wrong_is_said(video: Path, tmp_path: Path, arguments: list[str], told: str) -> None:
    (tmp_path / "text.mp4").write_text("not a video")
    write(tmp_path / "one.mp4", frames(2)[:1])
    Image.new("L", (10, 8)).save(tmp_path / "small.png")
    assert told in refused("match", "background", *arguments, cwd=tmp_path)


def test_without_opencv_it_says_what_to_install(video: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(
        UsageError, match=r"match needs OpenCV, which is not installed: pip install 'foretell\[match\]'"
    ):
        background(video)


REAL = {
    # where and when the scene is free of the robot, what never is, and the mean difference from SIMPLER's own plate
    "bridge_real_1": ((0, 0, 296, 480, 0.0, 1.6, 296, 0, 640, 480, 4.0, 7.4), (), 7.5),
    "bridge_real_2": ((0, 0, 330, 480, 0.0, 2.0, 330, 0, 640, 330, 2.6, 5.0), (), 5.5),
    "rt1_real_standing_coke_can_1": ((0, 0, 320, 256, 0.0, 0.3), (266, 6, 320, 136), 4.0),
}


@pytest.mark.daily
@pytest.mark.parametrize("name", REAL)
def test_the_real_videos_of_simpler(name: str) -> None:
    """Mean grey levels from the first frame that SIMPLER's authors cleaned up by hand: nearer than the median alone."""
    folder = ASSETS / "simpler" / "debug"
    if not folder.exists():
        pytest.skip("SIMPLER's real videos are not there; set FORETELL_ASSETS")
    free, hide, most = REAL[name]
    cleaned = decode((folder / f"{name}_cleanup.png").read_bytes()).astype(int)
    plate = background(folder / f"{name}.mp4", free=free, hide=hide)
    alone = background(folder / f"{name}.mp4")
    apart = np.abs(plate.image - cleaned).mean()
    assert apart < most and apart < np.abs(alone.image - cleaned).mean()
