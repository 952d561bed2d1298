"""The world of docs/add_a_world.md, which needs no MuJoCo, as files that studies name; and variants of it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from foretell.episodes.read import read

PAGE = Path(__file__).parents[1] / "docs" / "add_a_world.md"
WORLD, TASK, SEEK = "puck.py:Puck", "puck.py:Reach", "puck.py:Seek"

MORE = '''
from dataclasses import replace

import numpy as np
from puck import PUSH, Puck, Reach, Seek

from foretell import Chunk, PolicySpec, Stream
from foretell.spec import Feature
from foretell.world import Observations, Verdict


class Blind(Puck):
    """It has no camera and cannot be filmed."""

    can = frozenset({"wait", "pause", "reset"})
    features = {name: feature for name, feature in Puck.features.items() if name != "top/rgb"}


class Still(Puck):
    """It can be drawn, but only as it is now: cameras have no process of their own."""

    can = frozenset({"wait", "pause", "draw", "reset"})


class Turns(Puck):
    """It stands still only between two actions."""

    can = frozenset({"wait", "reset"})


class Restless(Puck):
    """It never stands still, as a robot does not."""

    can = frozenset()


class Attended(Puck):
    """A person sets its table."""

    can = frozenset({"wait", "pause"})


class Undeclared(Puck):
    """A person sets its table, which its class does not tell."""

    @property
    def can(self):
        return frozenset({"wait", "pause"})


class Secret(Puck):
    """Reality, which its class does not tell."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.real = True


class Spoken(Puck):
    """It asks a person, which its class does not tell."""

    @property
    def needs(self):
        return frozenset({"terminal"})


class Recorded(Puck):
    """It can be judged again."""

    def state(self, slot):
        return np.concatenate([self._puck[slot], self._mark[slot]])

    def restore(self, slot, state, tick):
        self._puck[slot], self._mark[slot] = state[:2], state[2:]
        self._age[slot] = tick

    def trace(self, slot):
        return {"x": float(self._puck[slot, 0])}


class Loose(Reach):
    """Reach, and near is enough."""

    def solved(self, state):
        return self.reached(state)["near"]


class Rich(Puck):
    """It also has a voice, a scan and a count, of other types than a float64."""

    features = {
        **Puck.features,
        "voice": Feature(kind="text", shape=(), dtype="str"),
        "scan": Feature(kind="rays", shape=(8,), dtype="float32", unit="m"),
        "speed": Feature(kind="scalar", shape=(1,), dtype="float32"),
        "heading": Feature(kind="orientation", shape=(4,), dtype="float32"),
        "count": Feature(kind="scalar", shape=(1,), dtype="int64"),
    }

    def observe(self, slots, streams):
        n, own = len(slots), {}
        for name, feature in self.features.items():
            if name in streams and name not in Puck.features:
                own[name] = ["hello"] * n if name == "voice" else np.full((n, *feature.shape), 0.5, feature.dtype)
        seen = super().observe(slots, {name: stream for name, stream in streams.items() if name not in own})
        return Observations({**seen, **own}, {name: self._age[slots] for name in streams})


class Patient(Puck):
    """Its actions last until they are done."""

    action = replace(PUSH, dims=(replace(PUSH.dims[0], duration="until_done"),))


class Partial:
    """It lacks most of the contract."""

    def __init__(self, task, world, *, slots, threads, controller):
        self.task = task


class Broken(Puck):
    def __init__(self, *args, **kwargs):
        raise ValueError("no cable")


class Flat(Puck):
    """It shows one coordinate where two are declared."""

    def observe(self, slots, streams):
        seen = super().observe(slots, streams)
        return Observations({**seen, "puck/pos": seen["puck/pos"][:, :1]}, seen.ticks)


class Single(Puck):
    """It shows numbers of another type."""

    def observe(self, slots, streams):
        seen = super().observe(slots, streams)
        return Observations({**seen, "puck/pos": seen["puck/pos"].astype("float32")}, seen.ticks)


class Timeless(Puck):
    """It leaves out a reserved stream."""

    def observe(self, slots, streams):
        seen = super().observe(slots, streams)
        del seen["time"]
        return seen


class Mute(Puck):
    """It gives one instruction for all slots."""

    def observe(self, slots, streams):
        seen = super().observe(slots, streams)
        return Observations({**seen, "instruction": "go"}, seen.ticks)


class Fixed(Puck):
    """Its camera has one size, whatever is asked for."""

    def draw(self, slot, stream, wanted, seen=None):
        return self.picture(slot, "top", 48, 64, seen)


class Bare(Puck):
    cameras = ()


class Penless(Puck):
    picture = None


class Grey(Puck):
    """Its pictures for films have one channel."""

    def picture(self, slot, camera, height, width, seen=None):
        return super().picture(slot, camera, height, width, seen)[..., :1]

    def draw(self, slot, stream, wanted, seen=None):
        return np.repeat(super().draw(slot, stream, wanted, seen), 3, axis=2)


class Odour(Puck):
    features = {**Puck.features, "puck/pos": Feature(kind="smell", shape=(2,))}


class Boastful(Puck):
    features = {**Puck.features, "puck/speed": Feature(kind="scalar", shape=(2,))}


class Unplugged(Puck):
    """It loses its connection in the episode whose mark is farthest right of seeds 0 to 3, at a tick or at the end."""

    where, at = "advance", 50

    def _raise(self, name, slots):
        if name == self.where and ((self._mark[slots, 0] > 0.1) & (self._age[slots] >= self.at)).any():
            raise OSError("serial port lost")

    def reset(self, slots, scenarios, trials):
        super().reset(slots, scenarios, trials)
        self._raise("reset", slots)

    def observe(self, slots, streams):
        self._raise("observe", slots)
        return super().observe(slots, streams)

    def advance(self, slots, ticks):
        self._raise("advance", slots)
        super().advance(slots, ticks)

    def verdict(self, slots):
        self._raise("verdict", slots)
        return super().verdict(slots)


class Unset(Unplugged):
    where, at = "reset", 0


class Unseen(Unplugged):
    where = "observe"


class Unjudged(Unplugged):
    where = "verdict"


class Detector(Puck):
    """Only a detector can tell, at the end; it always says yes, and why not."""

    def progress(self, slots):
        return None

    def verdict(self, slots):
        lit = self._mark[slots, 0] > 0
        return [Verdict(success=won, score=None, stages={}, judge="detector", reason="no light") for won in lit]


class Grid(Reach):
    """Reach, with three published layouts."""

    name = "grid"

    def layouts(self):
        return [self.scenario(seed) for seed in (7, 3, 5)]


class Watcher(Seek):
    """Finds mark and puck in the picture."""

    spec = PolicySpec(reads={"top/rgb": Stream((48, 64, 3))}, action=PUSH, batch=None)

    def act(self, slots, observations):
        spots = [[self.middle(image, c) for c in (1, 0)] for image in observations["top/rgb"]]
        return np.array([np.clip(self.gain * (mark - puck), -1, 1) for mark, puck in spots])

    def middle(self, image, channel):
        rows, columns = np.nonzero((image[..., channel] > 100) & (image[..., 2] < 100))
        if not len(rows):
            return np.zeros(2)
        return np.array([columns.mean() / 63 - 0.5, 0.5 - rows.mean() / 47])
'''


def blocks(language: str) -> list[str]:
    """The code on the page."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.S)


def write(folder: Path) -> Path:
    """The files of the page, and `more.py` with the variants, in a folder."""
    names = {"python": ("puck.py", "judged.py"), "yaml": ("slow.yaml", "study.yaml")}
    for language, files in names.items():
        for name, text in zip(files, blocks(language), strict=True):
            (folder / name).write_text(text)
    (folder / "more.py").write_text(MORE)
    return folder


def enter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the files and work in their folder. Modules of these names may be there from the folder of another test."""
    monkeypatch.chdir(write(folder))
    monkeypatch.syspath_prepend(str(folder))
    for name in ("puck", "judged"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return folder


def rows(run: Path) -> list[dict[str, object]]:
    """What must be the same every time, row by row."""
    table: pa.Table = read(run)
    return table.select([c for c in table.column_names if not c.startswith("wall_") and c != "study"]).to_pylist()
