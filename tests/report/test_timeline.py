"""The timeline of an episode: figures known by hand, a trace that Perfetto can read, and a picture."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from studies import cli, refused

import foretell
from foretell.episode import Episode
from foretell.errors import ForetellError, UsageError
from foretell.study.store import Store

KEYS = "abc0", "abd1"
VIRTUAL = '{"kind": "virtual", "latency": {"kind": "constant", "values": [0.1]}, "speed": 1.0, "chunks": "replace"}'
SCHEMA = pa.schema(
    {"kind": pa.string(), "sim_s": pa.float64(), "until_s": pa.float64(), "wall_s": pa.float64()}
    | {"inference": pa.int64(), "action": pa.int64(), "value": pa.float64()}
)
# kind, sim_s, until_s, wall_s, inference, action, value
EVENTS: list[tuple[Any, ...]] = [
    ("frame", 0.0, 0.03, 0.0, None, None, 0.0),
    ("frame", 0.0, 0.05, 0.0, None, None, 1.0),
    ("look", 0.0, None, 0.0, 0, None, None),
    ("think", 0.0, 0.1, 0.0, 0, None, None),
    ("starve", 0.0, 0.1, 0.0, None, None, None),
    ("look", 0.05, None, 0.05, 1, None, None),
    ("think", 0.05, 0.25, 0.05, 1, None, None),  # while inference 0 still runs
    ("chunk", 0.1, None, 0.1, 0, None, 0.0),
    ("action", 0.1, 0.2, 0.1, 0, 0, 0.1),
    ("action", 0.2, 0.3, 0.2, 0, 1, 0.2),
    ("chunk", 0.25, None, 0.25, 1, None, 2.0),
    ("seam", 0.25, None, 0.25, 1, None, 0.5),
    ("action", 0.3, 0.4, 0.3, 1, 2, 0.3),
    ("hold", 0.4, None, 0.4, None, None, None),
    ("starve", 0.4, 0.5, 0.4, None, None, None),
    ("look", 0.45, None, 0.45, 2, None, None),
    ("think", 0.45, 0.5, 0.45, 2, None, None),  # cut short by the end
]


def write(run: Path, key: str, events: list[tuple[Any, ...]]) -> None:
    (run / "events").mkdir(exist_ok=True)
    columns = [list(c) for c in zip(*events, strict=True)] if events else [[]] * len(SCHEMA)
    table = pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)
    pq.write_table(table, run / "events" / f"{key}.parquet")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "hand"
    names = {"study": "hand", "world": "mujoco", "world_params": "{}", "world_hash": "w", "robot": "panda"}
    names |= {"controller": "ee", "task": "can", "policy": "<bc> & co", "policy_hash": "p", "base": "s", "arm": "none"}
    more: dict[str, Any] = {"task_version": 1, "trial": 0, "clock": VIRTUAL, "success": True, "sim_s": 0.5}
    with Store(folder) as store:
        store.append([Episode(episode=key, scenario=f"s{i}", **names, **more) for i, key in enumerate(KEYS)])
    write(folder, KEYS[0], EVENTS)
    return folder


def test_figures_by_hand(run: Path) -> None:
    found = foretell.timeline(run, "abc")
    assert (found.episode, found.inferences, found.actions, found.seams, found.holds) == ("abc0", 2, 3, 1, 1)
    assert (found.latency_median_s, found.latency_max_s) == pytest.approx((0.15, 0.2))
    assert (found.observation_age_mean_s, found.observation_age_max_s) == pytest.approx((0.2, 0.3))
    assert (found.starvation_s, found.starvation_share, found.seam_max) == pytest.approx((0.2, 0.4, 0.5))
    assert (found.frames, found.frame_delay_median_s, found.frame_delay_max_s) == (2, pytest.approx(0.04), 0.05)
    assert found.text().splitlines() == [
        "episode abc0: can, <bc> & co, virtual 100 ms, replace, success, 0.50 s",
        "2 inferences: median 150 ms, at most 200 ms",
        "3 actions on observations 200 ms old, at most 300 ms",
        "40% of the time without a fresh action (0.20 s)",
        "1 seams, the largest a jump of 0.5 in action units",
        "the last action was issued again once",
        "2 frames delivered after 40 ms, at most 50 ms",
    ]


def test_trace(run: Path, tmp_path: Path) -> None:
    foretell.timeline(run, "abc", tmp_path / "new" / "trace.json")
    trace = json.loads((tmp_path / "new" / "trace.json").read_text())
    rows = trace["traceEvents"]
    tracks = {r["tid"]: r["args"]["name"] for r in rows if r["name"] == "thread_name"}
    wanted = ["frames", "frames 2", "observations", "inference", "inference 2", "actions", "starvation", "seams"]
    assert list(tracks.values()) == wanted
    events = [r for r in rows if r["ph"] != "M"]
    assert len(events) == len(EVENTS) and {r["ph"] for r in events} == {"X", "i"}
    lasting = defaultdict(list)
    for r in events:
        assert {"name", "pid", "tid", "ts"} <= r.keys() and (r["ph"] == "X") == ("dur" in r)
        if r["ph"] == "X":
            lasting[r["tid"]].append((r["ts"], r["ts"] + r["dur"]))
    for spans in lasting.values():  # what overlaps in the data has lanes of its own
        assert all(a[1] <= b[0] for a, b in pairwise(spans))
    second = next(r for r in events if r["name"] == "think 1")
    assert (second["ts"], second["dur"], tracks[second["tid"]]) == (50_000, 200_000, "inference 2")
    action = next(r for r in events if r["name"] == "action 1.2")
    assert action["args"] == {"inference": 1, "action": 2, "wall_s": 0.3, "age_of_observation_s": 0.3}
    assert trace["otherData"]["inferences"] == 2


def test_picture(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "line.svg"
    foretell.timeline(run, "abc", path)
    root = ElementTree.fromstring(path.read_text())
    texts = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "can, <bc> & co, virtual 100 ms, replace, success" in texts and {"inference", "seams", "0.5 s"} <= set(texts)
    boxes = [e for e in root.iter("{http://www.w3.org/2000/svg}rect") if len(e)]
    assert len(boxes) == sum(e[2] is not None for e in EVENTS)
    assert all(float(b.get("x", 0)) >= 110 for b in boxes)
    assert all(float(b.get("x", 0)) + float(b.get("width", 0)) <= 1180.6 for b in boxes)
    foretell.timeline(run, "abc", path, start=0.26, stop=0.39)
    fewer = [e for e in ElementTree.fromstring(path.read_text()).iter("{http://www.w3.org/2000/svg}rect") if len(e)]
    assert len(fewer) == 2  # two actions; nothing else lasts into that part


def test_refusals(run: Path, tmp_path: Path) -> None:
    for arguments, told in (
        (("abd",), r"no events of episode abd1; there are events of 1 other, such as abc0. `record: \{events: N\}`"),
        (("ab",), "2 episodes begin with 'ab'"),
        (("abc", tmp_path / "x.png"), r"should end in .json .* or .svg .*save it as PNG"),
        (("abc", tmp_path / "x"), "should end in .json"),
        (("abc", "/proc/none/x.svg"), "cannot write"),
    ):
        with pytest.raises(UsageError, match=told):
            foretell.timeline(run, *arguments)
    with pytest.raises(UsageError, match="stop above it"):
        foretell.timeline(run, "abc", tmp_path / "x.svg", start=2.0, stop=1.0)
    with pytest.raises(UsageError, match="start must be 0 or more"):
        foretell.timeline(run, "abc", start=-1.0)
    with pytest.raises(UsageError, match=r"lasts 0.5 s"):
        foretell.timeline(run, "abc", tmp_path / "x.svg", start=2.0)
    write(run, "abd1", [])
    with pytest.raises(UsageError, match="has no events"):
        foretell.timeline(run, "abd")
    (run / "events" / "abd1.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(ForetellError, match="is damaged"):
        foretell.timeline(run, "abd")


def test_the_verb(run: Path, tmp_path: Path) -> None:
    done = cli("timeline", run, "abc", "--out", "a.svg", cwd=tmp_path)
    assert done.stdout.endswith("written: a.svg\n") and (tmp_path / "a.svg").exists()
    found = json.loads(cli("timeline", run, "abc", "--json", cwd=tmp_path).stdout)
    assert found["inferences"] == 2 and found["out"] is None and "events" not in found
    assert "record: {events: N}" in refused("timeline", run, "abd", cwd=tmp_path)


def test_a_recorded_episode(tmp_path: Path) -> None:
    (tmp_path / "kept.yaml").write_text(
        "name: kept\ntasks: [lift]\npolicies: [expert]\nscenarios: {count: 1}\n"
        "clocks: [sync, {virtual: {latency: 0.1}}]\nrecord: {events: 1}\n"
    )
    cli("run", "kept.yaml", cwd=tmp_path)
    rows = {json.loads(r["clock"])["kind"]: r for r in foretell.read(tmp_path / "runs" / "kept").to_pylist()}
    for kind, row in rows.items():
        found = foretell.timeline(tmp_path / "runs" / "kept", row["episode"], tmp_path / f"{kind}.json")
        assert found.actions == row["steps"] and found.sim_s == pytest.approx(row["sim_s"])
        json.loads((tmp_path / f"{kind}.json").read_text())
        if kind == "virtual":
            metrics = dict(row["metrics"])
            assert found.latency_median_s == pytest.approx(0.1)
            assert found.starvation_s == pytest.approx(metrics["starvation_s"])
            assert found.observation_age_mean_s == pytest.approx(metrics["observation_age_s"])
