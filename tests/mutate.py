"""Spoils files in thousands of ways, and looks how foretell takes them: refused in words, or read; never a traceback.

    python tests/mutate.py --count 5000                  # of each kind; --kind study for one, --seed for other ones
    python tests/mutate.py --kind run --only 1234        # one of them again, with its traceback

A file may be refused (one line a problem, which fits a screen) or accepted. It may not raise anything else, nor take
more than 2 s of processor time, nor more than 500 MB. `tests/test_mutated.py` runs some hundreds.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import hashlib
import io
import json
import os
import random
import resource
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import made
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from meshes import box

from foretell.answers.show import list_episodes, show
from foretell.clock import Virtual
from foretell.digest import digest
from foretell.errors import ForetellError
from foretell.import_object.mesh import read_mesh
from foretell.import_object.parts import closed, convex_parts, weigh
from foretell.import_room import import_room
from foretell.objects import asset
from foretell.objects.imported import FILE, imported
from foretell.policies.make import bind, make_policy
from foretell.reality.cards import cards
from foretell.report.contents import contents
from foretell.rooms import Geodesic, Room, picture
from foretell.study.config import TaskEntry, load_study
from foretell.study.latencies import Settler
from foretell.study.plan import make_task, plan, resolve_scenarios
from foretell.study.scenario_file import Header, Protocol, identify, read_scenario_file
from foretell.study.store import Store
from foretell.tasks.lift import Lift
from foretell.terminal import LINES
from foretell.testset.certificate import read_testset, write_testset
from foretell.view.standing import Standing
from foretell.world_file import make_world

SECONDS, MEGABYTES, LONGEST = 2.0, 500, 2000
"""What a file may cost, and how many characters a refusal may have."""
MANY = 10_000
"""Episodes above which a mutated study is not planned here: it would be asked about."""
NASTY: list[Any] = [
    None, True, -1, 0, 1, 2**31, 2**63, -(2**63) - 1, 10**30, 10**400, 1e-320, 1e308, float("inf"), float("nan"), -0.0,
    "", " ", ".", "..", "/", "x" * 5000, "a/" * 3000, "\x1b[31mred", "\u2028", "ö", "../../etc/passwd", "/dev/zero",
    "~no/x", "2024-13-45", "2024-02-30", "file.py:X", ":", "a:b:c", "onnx:", "zoo:", "zoo:../../x", "none", "all",
    "measured", "50 ms", [], {}, [[]], [None], [1, 2], {"a": 1}, {"a": {"b": [1]}}, {"use": "x" * 5000}, {"use": None},
    {"kind": "virtual"}, {"virtual": {"latency": {"trace": "/dev/zero"}}}, {"trace": "/etc/passwd"},
    {"profile": "/dev/zero"}, {"count": "x"}, {"realtime": {"speed": float("inf")}}, {"constructor": 1}, {"": ""},
    [["x"] * 30] * 30,
]  # fmt: skip
BOMBS = [
    "[" * 400 + "]" * 400, "{a: " * 350 + "1" + "}" * 350, "a: &a [*a]\n", "&a a: *a\n", "a: 2024-13-45\n",
    "? [a]\n: b\n",
    "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{y}: &{y} [{','.join(['*' + x] * 9)}]\n" for x, y in zip("abcdefghi", "bcdefghij", strict=True)),
    "a: 1" + "0" * 5000 + "\n", "a: !!python/object/apply:os.system [ls]\n", "a: !!binary x\n", "<<: 3\n", "<<: *q\n",
    "\t- x\n", "a: !!timestamp x\n", "--- a\n--- b\n", "%YAML 9.9\n---\na\n", "a: \x00\n", "\ufeffa: b\n",
    "- " * 5000 + "\n", "=: =\n",
]  # fmt: skip


def spoil_value(value: Any, draw: random.Random) -> Any:
    """A copy with something else at a place or two."""
    value = copy.deepcopy(value)
    for _ in range(draw.choice((1, 1, 2))):
        places = list(_places(value))
        if not places:
            return copy.deepcopy(draw.choice(NASTY))
        holder, key = draw.choice(places)
        act = draw.randrange(6)
        if act == 0:
            del holder[key]
        elif act == 1 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif act == 1:
            holder[str(draw.choice(NASTY))[:100]] = copy.deepcopy(holder[key])
        elif act == 2:
            holder[key] = [holder[key]] if draw.random() < 0.5 else {"x": holder[key]}
        else:
            holder[key] = copy.deepcopy(draw.choice(NASTY))
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    if not isinstance(value, dict | list):
        return
    for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        yield from _places(inner)


def spoil_bytes(data: bytes, draw: random.Random) -> bytes:
    """Flipped bits, spans cut out, doubled or moved, an end cut off, odd bytes put in."""
    data = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8))):
        at = draw.randrange(len(data) + 1)
        to = min(len(data), at + draw.choice((1, 2, 8, 64, 1000)))
        act = draw.randrange(6)
        if act == 0 and at < len(data):
            data[at] ^= 1 << draw.randrange(8)
        elif act == 1:
            del data[at:to]
        elif act == 2:
            data[at:at] = data[at:to]
        elif act == 3:
            del data[at:]
        elif act == 4:
            odd = (b"\0", b"\xff\xfe", b"\n", b": ", b"{", b"[", b'"', b"&a ", b"*a", b"- ", b"\x1b[2J")
            data[at:at] = draw.choice(odd)
        else:
            data[at:to] = draw.randbytes(to - at)
    return bytes(data)


def spoil_yaml(good: Any, draw: random.Random) -> bytes:
    act = draw.randrange(4)
    text = yaml.safe_dump(good, sort_keys=False)
    if act == 0:
        return spoil_bytes(text.encode(), draw)
    if act == 1:
        lines = text.splitlines(keepends=True)
        at = draw.randrange(len(lines) + 1)
        bomb = draw.choice(BOMBS)
        if draw.random() < 0.5 and at < len(lines) and ":" in lines[at]:  # as the value of a key
            lines[at] = lines[at].partition(":")[0] + ": " + bomb.removeprefix("a: ")
        else:
            lines.insert(at, bomb)
        return "".join(lines).encode("utf-8", "surrogatepass")
    return yaml.safe_dump(spoil_value(good, draw), sort_keys=False).encode()


def spoil_lines(lines: list[Any], draw: random.Random) -> bytes:
    """Of JSON, a value a line."""
    if draw.random() < 0.3:
        return spoil_bytes("".join(json.dumps(line) + "\n" for line in lines).encode(), draw)
    at = draw.randrange(len(lines))
    texts = [json.dumps(spoil_value(line, draw) if i == at else line) for i, line in enumerate(lines)]
    if draw.random() < 0.1:
        texts[at] = draw.choice(("[" * 100_000, '{"testset": ' + "[" * 2000, "1" * 5000, "NaN", '"\\ud800"'))
    return ("\n".join(texts) + "\n").encode()


def spoil_parquet(path: Path, draw: random.Random) -> None:
    """A Parquet file with its bytes spoilt, or sound with wrong contents."""
    if draw.random() < 0.4:
        path.write_bytes(spoil_bytes(path.read_bytes(), draw))
        return
    table = pq.read_table(path)
    name = draw.choice(table.column_names)
    at, act = table.column_names.index(name), draw.randrange(5)
    if act == 0:
        table = table.drop_columns([name])
    elif act == 1:
        table = table.set_column(at, name, pa.nulls(len(table), table.schema.field(name).type))
    elif act == 2:
        other = draw.choice((pa.nulls(len(table)), pa.array([b"\xff"] * len(table)), pa.array([[1]] * len(table))))
        table = table.set_column(at, name, other)
    elif act == 3:
        table = table.append_column(name, table[name])
    else:
        values = table[name].to_pylist()
        row = draw.randrange(len(values))
        given = values[row]
        with contextlib.suppress(ValueError, TypeError):
            given = json.dumps(spoil_value(json.loads(given), draw))
        odd = [given, str(draw.choice(NASTY)), draw.choice(NASTY)]
        for value in draw.sample(odd, len(odd)):
            with contextlib.suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
                values[row] = value
                kind = table.schema.field(name).type
                table = table.set_column(at, name, pa.array(values, kind))
                break
    pq.write_table(table, path)


STUDY = {
    "name": "s", "world": {"name": "w", "kind": "mujoco", "theta": {"kp_scale": 1.1, "sensor_delay": 0.01}},
    "tasks": ["lift", {"use": "can", "controller": "joint"}],
    "policies": {"a": "random", "b": {"use": "noisy-expert", "noise": 0.1, "execute": 1}, "z": "zoo:bc"},
    "scenarios": {"count": 2, "seed": 3}, "trials": 1, "arms": ["none", {"MO_Size": [0.9, 1.1]}, "Light_Color"],
    "clocks": ["sync", {"virtual": {"speed": 1.0, "latency": {"uniform": [0.02, 0.05]}}}, {"realtime": {"speed": 1}}],
    "record": {"video": 1, "events": "none"}, "policy_timeout": 60.0,
}  # fmt: skip
WORLD = {"name": "w", "kind": "mujoco", "about": "x", "theta": {"kp_scale": 1.1, "samples": 4, "joint_noise": 0.01},
         "physics": {"timestep": 0.002, "integrator": "euler", "backlash": 0.01}}  # fmt: skip
PROFILE = {"phone": {"bc": 0.01, "dp/8": {"lognormal": [0.5, 0.1]}}, "box": {"lift": {"a": {"trace": [0.1, 0.2]}}},
           "slow": {"uniform": [0.1, 0.2]}}  # fmt: skip


def _study(folder: Path, draw: random.Random) -> Callable[[], Any]:
    path = folder / "s.yaml"
    path.write_bytes(spoil_yaml(STUDY, draw))

    def take() -> None:
        study = load_study(path)
        count = (study.scenarios.count or 50) * study.trials * len(study.policies) * len(study.clocks)
        if count < MANY:
            plan(study, resolve_scenarios(study)[0])
        world = _build(study.world, make_task(study.tasks[0].use))
        for name, entry in study.policies.items():
            bind(make_policy(entry.use, entry.options), world, name, entry.execute, entry.options)

    return take


def _world(folder: Path, draw: random.Random) -> Callable[[], Any]:
    path = folder / "w.yaml"
    path.write_bytes(spoil_yaml(WORLD, draw))
    return lambda: _build(str(path), Lift())


def _build(world: Any, task: Any) -> Any:
    made = make_world(world, task, slots=1, threads=1)
    made.reset(np.zeros(1, dtype=np.int32), [task.scenario(0)], [0])
    made.close()
    return made


def _profile(folder: Path, draw: random.Random) -> Callable[[], Any]:
    path = folder / "p.yaml"
    path.write_bytes(spoil_yaml(PROFILE, draw))
    device = draw.choice(("phone", "box", "slow", ""))
    study = {"tasks": ["lift"], "policies": {"a": "zoo:bc"}, "scenarios": {"count": 1}}
    loaded = load_study({**study, "clocks": [{"virtual": {"latency": {"profile": str(path), "device": device}}}]})

    def take() -> None:
        clock = Virtual(latency={"profile": str(path), "device": device})  # type: ignore[arg-type]
        if "scale" not in path.read_text(errors="replace"):  # that one measures, which takes seconds
            Settler(loaded, folder)(clock, "a", TaskEntry(use="lift"))

    return take


def _lines() -> list[Any]:
    return [json.loads(Lift().scenario(i).model_dump_json()) for i in range(3)]


def _scenarios(folder: Path, draw: random.Random) -> Callable[[], Any]:
    path = folder / "f.jsonl"
    path.write_bytes(spoil_lines(_lines(), draw))

    def take() -> None:
        for scenario in read_scenario_file(path).scenarios:
            scenario.card()
        study = {"tasks": ["lift"], "policies": ["random"], "scenarios": {"file": str(path)}}
        plan(load_study(study), resolve_scenarios(load_study(study))[0])

    return take


def _testset(folder: Path, draw: random.Random) -> Callable[[], Any]:
    path = folder / "t.jsonl"
    drawn = [Lift().scenario(i) for i in range(3)]
    about = {"tasks": {"lift": 1}, "protocol": Protocol(arms=("none",), episodes=3, seed=0)}
    header = Header(name="t", id=identify({"lift": 1}, (("lift", "none", s.id) for s in drawn)), **about)  # type: ignore[arg-type]
    write_testset(path, header, [("none", s) for s in drawn])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    if draw.random() < 0.6:  # with a seal that fits, to get behind it
        lines[0] = {"testset": spoil_value(lines[0]["testset"], draw)}
        with contextlib.suppress(ValueError):
            lines[0]["seal"] = digest(lines[0]["testset"])
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    else:
        path.write_bytes(spoil_lines(lines, draw))
    return lambda: read_testset(path)


class _Good:
    """Sound folders and files, made once."""

    run: Path | None = None
    world: Any = None
    object: dict[str, bytes] = {}
    mesh: dict[str, Any] = {}


def _run(folder: Path, draw: random.Random) -> Callable[[], Any]:
    if _Good.run is None or not _Good.run.is_dir():
        scenarios, rows = made.rows({"a": 0.5, "b": 0.8}, 4)
        _Good.run = made.run(Path(tempfile.mkdtemp()) / "good", scenarios, rows)
        with Store(_Good.run) as store:  # one more row, left in the journal
            store.append([made.row("c", scenarios[0])])
            shutil.copytree(_Good.run / "journal", folder / "journal")
        shutil.copytree(folder / "journal", _Good.run / "journal", dirs_exist_ok=True)
        shutil.rmtree(folder / "journal")
        (_Good.run / "episodes" / "part-000001.parquet").unlink()
    run = folder / "run"
    shutil.copytree(_Good.run, run)
    files = [run / "study.yaml", run / "scenarios.parquet", run / "provenance.json", *sorted(run.glob("*/*"))]
    path = draw.choice([file for file in files if file.is_file()])
    _spoil(path, draw)
    looks = [show, list_episodes, cards, lambda run: Standing(run).look(), _open]
    if draw.random() < 0.4:  # takes half a second
        looks.insert(0, lambda run: contents([run]))

    def take() -> None:
        errors = []
        for look in looks:
            try:
                look(run)
            except ForetellError as error:
                errors.append(error)
        if errors:
            raise max(errors, key=lambda error: len(str(error)))

    return take


def _spoil(path: Path, draw: random.Random) -> None:
    """Damage a file of a run folder in the way of its kind."""
    if draw.random() < 0.08:  # no file at all, but something of its name
        path.unlink()
        act = draw.randrange(4)
        if act == 0:
            os.mkfifo(path)
        elif act == 1:
            path.symlink_to(draw.choice(("/dev/zero", "/etc/passwd", path.name)))
        elif act == 2:
            path.mkdir()
    elif path.suffix == ".parquet":
        spoil_parquet(path, draw)
    elif path.suffix == ".yaml":
        path.write_bytes(spoil_yaml(yaml.safe_load(path.read_text()), draw))
    else:
        values = [json.loads(line) for line in path.read_text().splitlines()] if path.suffix == ".jsonl" else None
        path.write_bytes(spoil_lines(values or [json.loads(path.read_text())], draw))


def _open(run: Path) -> None:
    with Store(run):
        pass


def _onnx(folder: Path, draw: random.Random) -> Callable[[], Any]:
    import foretell.zoo

    source = Path(foretell.zoo.__file__).parent / "models" / "lift" / "bc.onnx"
    data, path = source.read_bytes(), folder / "m.onnx"
    if draw.random() < 0.5:  # names, shapes and metadata stand at the ends, weights in between
        edge = draw.choice((slice(0, 2000), slice(len(data) - 3000, len(data))))
        data = data[: edge.start] + spoil_bytes(data[edge], draw) + data[edge.stop :]
    else:
        data = spoil_bytes(data, draw)
    path.write_bytes(data)
    if _Good.world is None:
        _Good.world = make_world("mujoco", Lift(), slots=1, threads=1)
    return lambda: bind(make_policy(f"onnx:{path}"), _Good.world, "p")


def _object(folder: Path, draw: random.Random) -> Callable[[], Any]:
    """An imported object of someone else. Half of them keep the hashes of what is in the folder."""
    if not _Good.object:
        with tempfile.TemporaryDirectory() as there:
            kept = box(Path(there) / "brick.obj", (0.04, 0.05, 0.06), mass=0.1).folder
            _Good.object = {path.name: path.read_bytes() for path in kept.iterdir()}
    files, about = dict(_Good.object), json.loads(_Good.object[FILE])
    part = draw.choice(("part-00.obj", "look-00.obj"))
    if draw.random() < 0.5:
        files[part] = spoil_bytes(files[part], draw)
        if draw.random() < 0.9:
            about["sha256"][part] = hashlib.sha256(files[part]).hexdigest()
        files[FILE] = json.dumps(about).encode()
    else:
        files[FILE] = spoil_lines([about], draw)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return lambda: asset(imported(folder))


def _mesh(folder: Path, draw: random.Random) -> Callable[[], Any]:
    """A mesh of someone else."""
    import trimesh

    kind = draw.choice(("stl", "obj", "glb", "dae"))
    if kind not in _Good.mesh:
        _Good.mesh[kind] = (
            trimesh.Scene([trimesh.creation.box((0.04, 0.05, 0.06))]).to_geometry().export(file_type=kind)
        )
    data = _Good.mesh[kind]
    path = folder / f"thing.{kind}"
    path.write_bytes(spoil_bytes(data.encode() if isinstance(data, str) else data, draw))

    def take() -> None:
        pieces, _, _ = read_mesh(path)
        weigh(convex_parts(closed(pieces)[0], 1, 0.05)[0], None, 500.0)

    return take


def _room(folder: Path, draw: random.Random) -> Callable[[], Any]:
    """A room of someone else, in which a robot drives."""
    path = folder / "room.json"
    path.write_bytes(spoil_lines([Room.named("lab_easy").to_dict()], draw))

    def take() -> None:
        room = Room.load(path)
        Geodesic(room, 0.175)
        picture.plan(room)
        room.damaged(0.05)

    return take


def _map(folder: Path, draw: random.Random) -> Callable[[], Any]:
    """An occupancy map of someone else, and its image."""
    cells = np.full((30, 40), 254, dtype=np.uint8)
    cells[[0, -1]], cells[:, [0, -1]], cells[10:14, 10:20] = 0, 0, 0
    image = b"P5\n40 30\n255\n" + cells.tobytes()
    about = {"image": "map.pgm", "resolution": 0.1, "origin": [0, 0, 0], "negate": 0}
    about |= {"occupied_thresh": 0.65, "free_thresh": 0.25, "mode": "trinary"}
    pixels = draw.random() < 0.4
    (folder / "map.pgm").write_bytes(spoil_bytes(image, draw) if pixels else image)
    (folder / "map.yaml").write_bytes(yaml.safe_dump(about).encode() if pixels else spoil_yaml(about, draw))
    return lambda: import_room(folder / "map.yaml", out=folder / "room.json")


KINDS: dict[str, Callable[[Path, random.Random], Callable[[], Any]]] = {
    "study": _study, "run": _run, "onnx": _onnx, "scenarios": _scenarios, "testset": _testset, "world": _world,
    "profile": _profile, "object": _object, "mesh": _mesh,
    "room": _room, "map": _map,
}  # fmt: skip


@dataclass
class Tally:
    """How spoilt files of one kind were taken."""

    kind: str
    taken: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    """Number and what happened, of each that should not have gone so."""
    slowest: float = 0.0
    megabytes: float = 0.0


def mutate(kind: str, count: int, seed: int = 0, only: int | None = None) -> Tally:
    """Spoil `count` files of a kind and let foretell read each."""
    tally = Tally(kind)
    for number in range(count) if only is None else [only]:
        draw = random.Random(f"{kind}/{seed}/{number}")
        with tempfile.TemporaryDirectory() as folder:
            take = KINDS[kind](Path(folder), draw)
            if number == 0 or only is not None:
                before = _peak()
            said, trouble, took = _taken(take, only is not None)
        tally.taken[said] += 1
        tally.slowest = max(tally.slowest, took)
        if trouble:
            tally.wrong.append(f"{kind} {number}: {trouble}")
        tally.megabytes = _peak() - before
    if tally.megabytes > MEGABYTES:
        tally.wrong.append(f"{kind}: {tally.megabytes:.0f} MB")
    return tally


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _taken(take: Callable[[], Any], loud: bool) -> tuple[str, str, float]:
    """What came of it, what is wrong with that, and the processor seconds it took."""
    began = time.process_time()
    said, trouble = "accepted", ""

    def late(*_: object) -> None:
        raise TimeoutError("it hangs")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(60)  # wall seconds: a hang that waits takes no processor time
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            take()
    except ForetellError as error:
        said, text = "refused", str(error)
        lines = text.split("\n")
        if len(lines) > LINES or len(text) > LONGEST or not text.strip():
            trouble = f"a refusal of {len(lines)} lines, {len(text)} characters: {text[:300]}"
        if loud:
            print(text)
    except BaseException as error:
        said = "traceback"
        where = traceback.extract_tb(error.__traceback__)[-1]
        trouble = f"{type(error).__name__}: {str(error)[:200]} ({Path(where.filename).name}, line {where.lineno})"
        if loud:
            traceback.print_exc()
    finally:
        signal.alarm(0)
    took = time.process_time() - began
    if took > SECONDS and not trouble:
        trouble = f"{took:.1f} s"
    return said, trouble, took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    failed = 0
    for kind in given.kind or KINDS:
        tally = mutate(kind, given.count, given.seed, given.only)
        counts = ", ".join(f"{n} {what}" for what, n in sorted(tally.taken.items()))
        cost = f"at most {tally.slowest:.1f} s, {tally.megabytes:.0f} MB"
        print(f"{kind}: {counts}; {len(tally.wrong)} wrong; {cost}", flush=True)
        print("".join(f"  {line}\n" for line in tally.wrong[:40]), end="", flush=True)
        failed += len(tally.wrong)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
