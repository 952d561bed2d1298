"""What is finished stays finished: kills, full disks, torn lines, damaged parts, readers beside writers."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.cli import main
from foretell.episode import SCHEMA, Episode, arrow_schema
from foretell.episodes import journal
from foretell.episodes import parts as part_files
from foretell.episodes.read import read
from foretell.episodes.scenarios import read_scenarios
from foretell.errors import ForetellError, UsageError
from foretell.scenario import Placement, Scenario
from foretell.study import store
from foretell.study.store import Store

HOSTILE = "a\nb\r\n\"c\"\\ 'd' \x00 \u2028 \x85 ü 木 🤖 {}"


def episode(n: int, **changes: object) -> Episode:
    row = Episode(
        episode=f"key-{n:05d}",
        study="s",
        world="mujoco",
        world_params="{}",
        world_hash="w",
        robot="panda",
        controller="osc",
        task="lift",
        task_version=1,
        policy="bc",
        policy_hash="p",
        scenario=f"scenario-{n % 7}",
        base="b",
        trial=n,
        arm="none",
        clock='{"kind": "sync"}',
        success=bool(n % 2),
        stages={"grasp": n / 3},
        metrics={"spl": 0.1 * n, "collisions": 0.0},
        steps=n,
        sim_s=n / 20,
    )
    return Episode(**{**row.to_dict(), **changes})


def episodes(start: int, stop: int, **changes: object) -> list[Episode]:
    return [episode(n, **changes) for n in range(start, stop)]


def keys(run: Path) -> list[str]:
    """Keys that `read` returns; any warning is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read(run)["episode"].to_pylist()
    assert len(set(found)) == len(found)
    return sorted(found)


def names(stop: int) -> list[str]:
    return [f"key-{n:05d}" for n in range(stop)]


def crash(s: Store) -> None:
    """The process ends here: files stay as they are, and the kernel frees the lock."""
    s._release(unlock=False)


def journals(run: Path) -> list[Path]:
    return sorted((run / "journal").glob("*.jsonl"))


def parts(run: Path) -> list[Path]:
    return sorted((run / "episodes").glob("*.parquet"))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return tmp_path / 'it\'s a "run" * [x] ü'


@pytest.fixture
def seal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "SEAL", 10)


# Rows


def test_rows_come_back_as_they_went_in(run: Path) -> None:
    rows = episodes(0, 5)
    with Store(run) as s:
        s.append(rows)
        live = read(run)
    for table in (live, read(run)):
        assert table.schema.equals(arrow_schema(), check_metadata=True)
        back = [
            Episode.from_dict(
                {**r, "stages": dict(r["stages"]), "metrics": dict(r["metrics"]), "events": dict(r["events"])}
            )
            for r in table.to_pylist()
        ]
        assert sorted(back, key=lambda r: r.episode) == rows
    assert live.equals(read(run))
    assert not journals(run)
    (part,) = parts(run)
    assert part.name == "part-000000.parquet"
    assert pq.read_schema(part).metadata[b"foretell.schema"] == str(SCHEMA).encode()


@settings(max_examples=60, deadline=None)
@given(
    text=st.text(st.characters()),  # lone surrogates too
    value=st.floats(),
    score=st.none() | st.floats(),
    metrics=st.dictionaries(st.text(max_size=5), st.floats(), max_size=3),
)
def test_any_row_survives_journal_and_part(
    text: str, value: float, score: float | None, metrics: dict[str, float]
) -> None:
    row = journal.plain(episode(0, error=text, sim_s=value, score=score, metrics=metrics).to_dict())
    line = journal.encode(row)
    assert line.count(b"\n") == 1
    json.loads(line, parse_constant=pytest.fail)  # NaN and Infinity are not JSON
    (back,) = journal.parse(line, Path("j")).rows
    assert repr(back) == repr(row)  # repr: NaN equals itself
    (arrow,) = journal.to_table([back]).to_pylist()
    assert repr(
        {**arrow, "stages": dict(arrow["stages"]), "metrics": dict(arrow["metrics"]), "events": dict(arrow["events"])}
    ) == repr(row)


def test_numpy_scalars_and_missing_metrics_are_taken(run: Path) -> None:
    odd = episode(0, steps=np.int32(3), success=np.bool_(True), sim_s=np.float32(0.5), metrics={"n": 2, "x": None})
    with Store(run) as s:
        s.append([odd])
    (row,) = read(run).to_pylist()
    assert (row["steps"], row["success"], row["sim_s"]) == (3, True, 0.5)
    metrics = dict(row["metrics"])
    assert metrics["n"] == 2.0
    assert math.isnan(metrics["x"])


@pytest.mark.parametrize(
    "bad", [{"steps": 1.5}, {"success": "yes"}, {"steps": 2**63}, {"task": None}, {"metrics": [1]}]
)
def test_a_row_that_no_part_could_hold_is_refused_before_the_journal(run: Path, bad: dict[str, object]) -> None:
    with Store(run) as s:
        with pytest.raises(ForetellError, match=f"key-00001 cannot be stored: column '{next(iter(bad))}'"):
            s.append([episode(0), episode(1, **bad)])
        s.append([episode(2)])
    assert keys(run) == ["key-00002"]


def test_hostile_strings_everywhere(run: Path) -> None:
    row = episode(0, episode=HOSTILE, task=HOSTILE, error=HOSTILE, metrics={HOSTILE: 1.0}, video=HOSTILE)
    with Store(run) as s:
        s.append([row])
        assert read(run)["error"].to_pylist() == [HOSTILE]
    assert read(run)["task"].to_pylist() == [HOSTILE]
    with Store(run) as s:
        assert s.done == {HOSTILE: None}
        assert s.problems == []


def test_order_does_not_depend_on_who_finished_first(tmp_path: Path, seal: None) -> None:
    rows = [episode(n, policy=f"p{n % 2}", arm=f"a{n % 3}", task=f"t{n % 2}") for n in range(35)]
    tables = []
    for i in range(3):
        random.Random(i).shuffle(rows)
        with Store(tmp_path / str(i)) as s:
            for row in rows:
                s.append([row])
            tables.append(read(tmp_path / str(i)))
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    order = [
        tuple(r[c] for c in ("world", "task", "policy", "clock", "arm", "scenario", "trial", "episode"))
        for r in tables[0].to_pylist()
    ]
    assert order == sorted(order)


def test_seals_per_thousand_and_at_close(run: Path) -> None:
    with Store(run) as s:
        s.append(episodes(0, 999))
        assert not parts(run)
        s.append(episodes(999, 1001))
        assert len(parts(run)) == 1
        assert not journals(run)
        s.append(episodes(1001, 1005))
        assert keys(run) == names(1005)
    assert [pq.read_metadata(p).num_rows for p in parts(run)] == [1001, 4]
    assert keys(run) == names(1005)


def test_small_parts_become_one_in_the_same_order(run: Path, seal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(run) as s:
        for n in range(19):
            s.append(episodes(10 * n, 10 * n + 10))
        plain, before = read(run), len(parts(run))
        stored = [key for path in parts(run) for key in pq.read_table(path)["episode"].to_pylist()]
        s.append(episodes(190, 200))
        assert (before, len(parts(run))) == (19, 1)
        s.append(episodes(200, 210))
    assert [pq.read_metadata(p).num_rows for p in parts(run)] == [200, 10]
    assert keys(run) == names(210)
    assert read(run).filter([n in set(stored) for n in read(run)["episode"].to_pylist()]).equals(plain)
    assert pq.read_table(parts(run)[0])["episode"].to_pylist()[:190] == stored
    assert pq.read_table(parts(run)[0]).schema.equals(pq.read_table(parts(run)[1]).schema)
    monkeypatch.setattr(part_files, "SMALL", 10)  # now all are large
    with Store(run) as s:
        for n in range(21, 45):
            s.append(episodes(10 * n, 10 * n + 10))
    assert len(parts(run)) == 26


def test_a_damaged_part_is_not_merged(run: Path, seal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_files, "MERGE", 3)
    with Store(run) as s:
        s.append(episodes(0, 10))
        parts(run)[0].write_bytes(b"PAR1 and no more")
        s.append(episodes(10, 20))
        s.append(episodes(20, 30))
        assert len(parts(run)) == 3
    with pytest.warns(UserWarning, match="is damaged"):
        assert len(read(run)) == 20


def test_machine_rows_give_way_to_others_and_to_later_tries(run: Path) -> None:
    with Store(run) as s:
        s.append([episode(0, blame="machine", error="first", wall_started=1.0)])
        s.append([episode(1, blame="machine", error="first", wall_started=1.0)])
        s.append([episode(2, blame="policy")])
    with Store(run) as s:
        assert s.done == {"key-00000": "machine", "key-00001": "machine", "key-00002": "policy"}
        s.append([episode(0, wall_started=2.0), episode(1, blame="machine", error="second", wall_started=2.0)])
        assert s.done["key-00000"] is None
        s.append([episode(2, blame="machine", wall_started=9.0)])
        assert s.done["key-00002"] == "policy"
        live = read(run)
    for table in (live, read(run)):
        rows = {r["episode"]: (r["blame"], r["error"]) for r in table.to_pylist()}
        assert rows == {
            "key-00000": (None, None),
            "key-00001": ("machine", "second"),
            "key-00002": ("policy", None),
        }
    with Store(run) as s:
        assert s.done == {"key-00000": None, "key-00001": "machine", "key-00002": "policy"}


# Folders


def test_a_run_without_rows_is_empty_and_a_folder_that_is_no_run_is_refused(tmp_path: Path, run: Path) -> None:
    Store(run).close()
    assert read(run).schema.equals(arrow_schema())
    assert read(str(run)).num_rows == 0
    assert read_scenarios(run) == []
    copied = tmp_path / "copied"  # as git leaves it, without empty folders
    copied.mkdir()
    (copied / "study.yaml").write_text("name: x\n")
    assert read(copied).num_rows == 0
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for name in ("empty", "missing", "file"):
        for ask in (read, read_scenarios):
            with pytest.raises(UsageError, match=f"{tmp_path}/{name} is not a run folder: "):
                ask(tmp_path / name)
    with pytest.raises(UsageError, match=r"file .* cannot be opened for writing: "):
        Store(tmp_path / "file")


def test_reading_changes_nothing(run: Path) -> None:
    def stat() -> list[tuple[str, int, int]]:
        return sorted((str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in run.rglob("*"))

    with Store(run) as s:
        s.append(episodes(0, 3))
        before = stat()
        read(run)
        assert stat() == before


def test_study_and_provenance_are_replaced_whole(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(run) as s:
        s.write_study("name: ü\n")
        s.write_provenance({"machine": HOSTILE, "path": Path("/x"), "versions": {"numpy": "2"}})
        assert (run / "study.yaml").read_text(encoding="utf-8") == "name: ü\n"
        assert json.loads((run / "provenance.json").read_text(encoding="utf-8"))["machine"] == HOSTILE

        def fail(*_: object) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(ForetellError, match="Input/output error"):
            s.write_study("other")
        monkeypatch.undo()
    assert (run / "study.yaml").read_text(encoding="utf-8") == "name: ü\n"
    assert not list(run.glob(".*"))


def scenario(seed: int) -> Scenario:
    place = Placement(asset="cube", pos=(0.1 + 0.2, -1e-17, 1 / 3))
    return Scenario(
        task="lift",
        seed=seed,
        placements={"MO": place},
        instruction=HOSTILE.replace("\x00", ""),
        factors={"x": [1, 2.5]},
    )


def test_scenarios_merge_by_id_in_stored_order(run: Path) -> None:
    first, second = [scenario(n) for n in (5, 3, 4)], [scenario(n) for n in (4, 1, 5, 1)]
    child = first[0].near(1, 0.1)[0]
    with Store(run) as s:
        s.write_scenarios(iter(first))
        s.write_scenarios(second)
    with Store(run) as s:
        s.write_scenarios([child])
        s.write_scenarios([])
    back = read_scenarios(run)
    assert [b.seed for b in back[:4]] == [5, 3, 4, 1]
    assert [b.id for b in back] == [x.id for x in (*first, scenario(1), child)]
    table = pq.read_table(run / "scenarios.parquet")
    assert table.column_names == ["id", "base", "parent", "task", "seed", "json"]
    assert table["parent"].to_pylist()[-1] == first[0].id


def test_damaged_scenarios_are_kept_aside_and_written_anew(run: Path) -> None:
    with Store(run) as s:
        s.write_scenarios([scenario(0)])
        (run / "scenarios.parquet").write_bytes(b"PAR1 not")
        with pytest.raises(ForetellError, match=r"scenarios\.parquet is damaged .* run the study again"):
            read_scenarios(run)
        s.write_scenarios([scenario(1)])
        assert "scenarios.parquet: damaged" in s.problems[0]
    assert [x.seed for x in read_scenarios(run)] == [1]
    assert (run / "scenarios.parquet.damaged").read_bytes() == b"PAR1 not"


# Damage


@pytest.mark.daily
def test_a_last_line_torn_at_any_byte_is_reported_and_ignored(run: Path, tmp_path: Path) -> None:
    s = Store(run)
    s.append(episodes(0, 2))
    s.append([episode(2, error="ü\n")])
    crash(s)
    (path,) = journals(run)
    whole = path.read_bytes()
    last = whole[:-1].rfind(b"\n") + 1
    for size in range(last, len(whole) + 1):
        path.write_bytes(whole[:size])
        expected = names(3 if size == len(whole) else 2)
        assert keys(run) == expected
        s = Store(run)
        assert sorted(s.done) == expected
        if size in (last, len(whole)):
            assert s.problems == []
        else:
            (problem,) = s.problems
            assert f"{path}: the last line is incomplete ({size - last} bytes" in problem
            assert "run again" in problem
        if size % 100 == 0:  # the whole way: run again, and seal
            clone = tmp_path / "clone"
            shutil.copytree(run, clone)
            with Store(clone) as again:
                again.append([episode(n) for n in range(3) if f"key-{n:05d}" not in again.done])
                assert len(journals(clone)) == 2  # never appended to what another process left
            assert keys(clone) == names(3)
            assert not journals(clone)
            shutil.rmtree(clone)
        crash(s)


@pytest.mark.parametrize("junk", [b"{]", b"[1]", b"{}", b"\x00" * 9, b"\xff\xfe", b'{"episode": 3}', b"[" * 99999])
def test_a_bad_line_in_the_middle_is_named_and_kept(run: Path, junk: bytes) -> None:
    s = Store(run)
    s.append(episodes(0, 3))
    crash(s)
    (path,) = journals(run)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], junk + b"\n", lines[2]]))
    with pytest.warns(UserWarning, match="line 2 is not an episode"):
        assert sorted(read(run)["episode"].to_pylist()) == ["key-00000", "key-00002"]
    with Store(run) as s:
        (problem,) = s.problems
        assert problem.startswith(f"{path}: line 2 is not an episode")
        s.append([episode(1)])
    assert keys(run) == names(3)
    assert junk in path.with_name(path.name + ".damaged").read_bytes()
    with Store(run) as s:
        assert s.problems == []


def damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    middle = len(data) // 3
    flipped = data[:middle] + bytes(255 - b for b in data[middle : middle + 8]) + data[middle + 8 :]
    path.write_bytes({"truncated": data[:-20], "empty": b"", "zeros": bytes(len(data)), "flipped": flipped}[how])


@pytest.mark.parametrize("how", ["truncated", "empty", "zeros", "flipped"])
def test_a_damaged_part_is_named_kept_aside_and_run_again(run: Path, seal: None, how: str) -> None:
    with Store(run) as s:
        for n in range(0, 30, 10):
            s.append(episodes(n, n + 10))
    path = parts(run)[1]
    damage(path, how)
    with pytest.warns(UserWarning, match=r"part-000001\.parquet is damaged .* rows are missing is unknown"):
        assert sorted(read(run)["episode"].to_pylist()) == names(10) + names(30)[20:]
    assert path.exists()
    with Store(run) as s:
        (problem,) = s.problems
        assert problem.startswith(f"{path}: damaged (")
        assert "kept as part-000001.parquet.damaged, and its episodes are run again" in problem
        s.append([episode(n) for n in range(30) if f"key-{n:05d}" not in s.done])
    assert keys(run) == names(30)
    assert path.with_name(path.name + ".damaged").exists()
    assert [p.name for p in parts(run)] == [f"part-{n:06d}.parquet" for n in (0, 2, 3)]


def test_no_flipped_bit_passes_for_data(run: Path) -> None:
    with Store(run) as s:
        s.append([episode(n, base=os.urandom(8).hex()) for n in range(50)])
    whole = read(run)
    (path,) = parts(run)
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")  # Parquet has no checksum of its footer
    for at in range(4, footer, 37):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :])
        refused = contextlib.suppress(UsageError)  # it is the only part
        with warnings.catch_warnings(record=True) as caught, refused:
            warnings.simplefilter("always")
            assert read(run).equals(whole) or caught, at


def test_no_flipped_bit_of_the_journal_passes_for_data(run: Path) -> None:
    """Every row is either as it was, or missing and named; a last line without its end is one being written."""
    s = Store(run)
    s.append(episodes(0, 3))
    crash(s)
    (path,) = journals(run)
    data, whole = path.read_bytes(), read(run).to_pylist()
    for at in range(0, len(data) - 1, 5):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = read(run).to_pylist()
        assert caught, at
        assert all(row in whole for row in found) and len(found) < 3, at
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert read(run).to_pylist() == whole[:2]


def test_a_journal_without_checksums_is_read_and_its_columns_are_looked_at(run: Path) -> None:
    """As older versions wrote it."""
    s = Store(run)
    s.append(episodes(0, 3))
    crash(s)
    (path,) = journals(run)
    lines = [journal._body(line) for line in path.read_bytes().splitlines()]
    assert not any(b"crc" in line for line in lines)
    older = [line.replace(b'"task_hash":"",', b"").replace(b'"events":{},', b"") for line in lines]
    for written in (lines, older):
        path.write_bytes(b"".join(line + b"\n" for line in written))
        assert keys(run) == names(3)
    assert older != lines and set(read(run)["task_hash"].to_pylist()) == {""}
    assert b"events" not in older[0] and read(run)["events"].to_pylist() == [[]] * 3
    for spoilt, fault in {
        lines[1].replace(b'"success":', b'"succes3":'): "column 'success' is missing",
        lines[1][:-1] + b',"colour":1}': "column 'colour' is not known",
    }.items():
        path.write_bytes(b"".join(line + b"\n" for line in (lines[0], spoilt, lines[2])))
        with pytest.warns(UserWarning, match=f"line 2 is not an episode .{fault}"):
            assert len(read(run)) == 2


def test_rows_of_a_newer_schema_ask_for_an_upgrade(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(run) as s, pytest.raises(UsageError, match="upgrade foretell"):
        s.append([episode(0, schema=SCHEMA + 1)])
    for module in ("parts", "journal"):
        monkeypatch.setattr(f"foretell.episodes.{module}.SCHEMA", SCHEMA + 1)
    s = Store(run)
    s.append([episode(0, schema=SCHEMA + 1)])
    shutil.copytree(run, run.with_name("in journal"))
    s.close()
    monkeypatch.undo()
    for path in (run, run.with_name("in journal")):
        for _ in range(2):  # the lock is free again
            with pytest.raises(UsageError, match=rf"schema {SCHEMA + 1}; .* up to {SCHEMA}: upgrade foretell"):
                Store(path)
        with pytest.raises(UsageError, match="upgrade"):
            read(path)
    assert len(parts(run)) == 1  # not taken for damaged


# Several processes

WRITER = """
    import os, sys
    sys.path[:0] = {paths!r}
    from test_store import *
    from foretell.episodes import parts as part_files
    store.SEAL, part_files.MERGE = 7, 3
    run = Path(sys.argv[1])
"""


def script(body: str) -> list[str]:
    paths = [str(Path(__file__).parent), str(Path(store.__file__).parents[2])]
    text = textwrap.dedent(WRITER.format(paths=paths)) + textwrap.dedent(body)
    return [sys.executable, "-c", text]


def test_a_second_process_is_told_who_writes(run: Path) -> None:
    body = "s = Store(run); s.append(episodes(0, 3)); print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen([*script(body), run], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        with pytest.raises(UsageError, match="is being written by process") as caught:
            Store(run)
        text = str(caught.value)
        assert run.name in text
        assert f"process {other.pid} " in text
        assert f"since {time.strftime('%Y-')}" in text
        assert "stop it, then run the same command again" in text
        assert keys(run) == names(3)
        os.kill(other.pid, signal.SIGKILL)
    with Store(run) as s:
        assert sorted(s.done) == names(3)
        with pytest.raises(UsageError, match=f"process {os.getpid()} "):
            Store(run)
    with pytest.raises(ForetellError, match="is closed"):
        s.append(episodes(3, 4))
    s.close()


def test_a_forked_worker_neither_keeps_the_lock_nor_seals(run: Path) -> None:
    body = """
    import time
    with Store(run) as s:
        s.append(episodes(0, 3))
        if os.fork() == 0:
            s.close()  # as an inherited `with` would
            print(os.getpid(), flush=True)
            time.sleep(60)
            os._exit(0)
        time.sleep(60)
    """
    with subprocess.Popen([*script(body), run], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        worker = int(other.stdout.readline())
        try:
            assert len(journals(run)) == 1
            with pytest.raises(UsageError, match=f"process {other.pid} "):
                Store(run)
            os.kill(other.pid, signal.SIGKILL)
            other.wait()
            with Store(run) as s:
                assert sorted(s.done) == names(3)
        finally:
            os.kill(worker, signal.SIGKILL)


@pytest.mark.daily
def test_kill_at_random_moments_loses_and_doubles_nothing(run: Path) -> None:
    body = """
    def write(out):
        s = Store(run)
        assert all("torn" in p for p in s.problems), s.problems
        n = len(s.done)
        while True:
            batch = [e for e in episodes(n, n + 1 + n % 3) if e.episode not in s.done]
            s.append(batch)
            os.write(out, "".join(e.episode + chr(10) for e in batch).encode())
            n += len(batch)

    journal.to_table([])  # Arrow's imports are slow, and not what is to be interrupted
    rng, reported = random.Random(0), set()
    for kill in range(25):
        inp, out = os.pipe()
        if (pid := os.fork()) == 0:  # not a new interpreter: that takes a second
            try:
                write(out)
            finally:
                os._exit(1)
        os.close(out)
        time.sleep(rng.uniform(0, 0.25))
        os.kill(pid, signal.SIGKILL)
        assert os.waitpid(pid, 0)[1] == signal.SIGKILL
        with open(inp) as pipe:
            reported.update(pipe.read().split())
        found = keys(run)  # fails on doubles
        assert reported <= set(found), reported - set(found)
        assert found == names(len(found))
    with Store(run) as s:
        assert sorted(s.done) == found
    assert keys(run) == found
    print(len(reported), int(parts(run)[-1].stem.removeprefix("part-")), len(parts(run)))
    """
    done = subprocess.run([*script(body), run], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows, sealed, left = map(int, done.stdout.split())
    assert rows > 30  # the machine may be busy
    assert sealed > 3
    assert left < 3, "small parts became larger ones"


def test_kill_at_every_state_of_the_disk(tmp_path: Path) -> None:
    """A child dies at each line of the store that finds the disk changed, starting from what kills had left."""
    body = """
    pure = {"plain", "_cast", "encode", "_finite", "rank", "rank_of", "_note", "to_table", "parse"}  # no disk
    files = (store.__file__, journal.__file__, part_files.__file__)
    store.SEAL, part_files.MERGE = 4, 2

    template = run / "template"
    with Store(template) as s:
        s.append(episodes(0, 2))
    s = Store(template)
    s.append([episode(2), episode(9, blame="machine")])
    (old,) = journals(template)
    left = old.read_bytes()
    s.close()
    old.write_bytes(left)  # sealed, and killed before the journal was deleted
    torn = journal.encode(journal.plain(episode(3).to_dict())) + b'{"to'
    (template / "journal" / "000007-1.jsonl").write_bytes(torn)
    (template / "episodes" / ".part-000099.parquet.tmp").write_bytes(b"PAR1")

    def work(path, out):
        with Store(path) as s:
            for batch in (episodes(4, 5), episodes(5, 7), episodes(7, 9)):
                todo = [e for e in batch if e.episode not in s.done]
                s.append(todo)
                for e in todo:
                    os.write(out, (e.episode + chr(10)).encode())
            s.append([episode(9)] if s.done["key-00009"] == "machine" else [])
            s.write_study("name: x")

    def traced(path, out, at_line):
        def trace(frame, event, arg):
            if frame.f_code.co_filename not in files or frame.f_code.co_name in pure:
                return None
            if event == "line":
                trace.count += 1
                at_line(trace.count)
            return trace
        trace.count = 0
        sys.settrace(trace)
        work(path, out)
        sys.settrace(None)

    def fresh():
        shutil.rmtree(run / "clone", ignore_errors=True)
        shutil.copytree(template, run / "clone")
        return run / "clone"

    states, moments = [None], []
    def look(n):
        state = sorted((str(p), p.stat().st_size) for p in path.rglob("*"))
        if state != states[-1]:
            states.append(state)
            moments.append(n)
    path = fresh()
    null = os.open(os.devnull, os.O_WRONLY)
    traced(path, null, look)

    for moment in moments:
        path = fresh()
        inp, out = os.pipe()
        if (pid := os.fork()) == 0:
            traced(path, out, lambda n: n == moment and os.kill(os.getpid(), signal.SIGKILL))
            os._exit(0)
        os.close(out)
        assert os.waitpid(pid, 0)[1] == signal.SIGKILL
        with open(inp) as pipe:
            reported = pipe.read().split()
        assert set(names(4) + reported) <= set(keys(path)), (moment, reported, keys(path))
        work(path, null)
        assert keys(path) == names(10), moment
        assert set(read(path)["blame"].to_pylist()) == {None}
        assert not journals(path)
        assert not [p for p in path.rglob("*") if p.suffix in (".tmp", ".damaged")], moment
    print(len(moments))
    """
    done = subprocess.run([*script(body), tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


@pytest.mark.daily
def test_a_reader_beside_a_sealing_writer_misses_and_doubles_nothing(run: Path) -> None:
    body = """
    store.SEAL = 5
    with Store(run) as s:
        for n in range(0, 900, 3):
            s.append(episodes(n, n + 3))
            os.write(1, b"%d\\n" % (n + 3))
    """
    with subprocess.Popen([*script(body), run], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        appended, reads = int(writer.stdout.readline()), 0
        os.set_blocking(writer.stdout.fileno(), False)
        seen: set[str] = set()
        while writer.poll() is None and reads < 150:
            appended = int((writer.stdout.read() or b"%d\n" % appended).split(b"\n")[-2])
            found = set(keys(run))  # fails on doubles and on warnings
            assert seen <= found
            assert set(names(appended)) <= found
            seen, reads = found, reads + 1
        writer.kill()
    assert reads > 10


def test_a_journal_sealed_between_listing_and_opening_is_found_in_its_part(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = Store(run)
    s.append(episodes(0, 3))
    listed = journal.journals

    def list_then_seal(path: Path) -> list[Path]:
        found = listed(path)
        monkeypatch.undo()
        s.close()
        assert not any(p.exists() for p in found)
        return found

    monkeypatch.setattr(store, "journals", list_then_seal)
    assert keys(run) == names(3)


# Full disks

FILL = """
    s = Store(run)
    {limit}
    try:
        for n in range(0, 100000, 3):
            s.append(episodes(n, n + 3, error="x" * 300))
            os.write(1, b"%d\\n" % (n + 3))
    except ForetellError as error:
        os.write(2, str(error).encode())
        for path in journals(run):
            assert path.read_bytes()[-1:] in (b"\\n", b""), "the partial line was not cut off"
        s.close()
        sys.exit(7)
"""


def check_full(run: Path, done: subprocess.CompletedProcess[str]) -> int:
    assert done.returncode == 7, done.stderr
    assert "Traceback" not in done.stderr
    assert run.name in done.stderr
    assert "bytes are free" in done.stderr
    assert "All episodes appended before are kept: free some space and run the same command to resume" in done.stderr
    appended = int(done.stdout.split()[-1])
    found = keys(run)
    assert len(found) >= appended
    assert found == names(len(found))
    return len(found)


def test_a_full_disk_keeps_all_that_was_appended(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("cannot mount a small disk here")
    try:
        run = disk / "full run"
        body = FILL.format(limit="store.SEAL = 20")
        found = check_full(run, subprocess.run([*script(body), run], capture_output=True, text=True))
        # Still full: it opens, says so again, and loses nothing.
        s = Store(run)
        assert sorted(s.done) == names(found)
        with contextlib.suppress(OSError), open(disk / "ballast", "wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(4096))
        with contextlib.suppress(ForetellError):
            while True:
                s.append([episode(found)])
                found += 1
        s.close()
        assert keys(run) == names(found)
        (disk / "ballast").unlink()
        subprocess.run(["mount", "-o", "remount,size=2m", disk], check=True)
        with Store(run) as s:
            assert s.problems == []
            s.append(episodes(found, found + 10))
        assert keys(run) == names(found + 10)
        assert not journals(run)
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("size", [20000, 20001, 20777])
def test_a_file_size_limit_cuts_the_partial_line_off(run: Path, size: int) -> None:
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size})); store.SEAL = 10**6"
    done = subprocess.run([*script(FILL.format(limit=limit)), run], capture_output=True, text=True)
    assert "File too large" in done.stderr
    found = check_full(run, done)
    with Store(run) as s:
        assert s.problems == []
        s.append(episodes(found, found + 10))
    assert keys(run) == names(found + 10)


def test_appending_goes_on_after_an_error_even_if_the_line_could_not_be_cut(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def half(fd: int, data: memoryview) -> int:
        monkeypatch.setattr(os, "write", full)
        return write(fd, data[:1000])

    def full(fd: int, data: memoryview) -> int:
        raise OSError(28, "No space left on device")

    s = Store(run)
    s.append(episodes(0, 1))
    monkeypatch.setattr(os, "write", half)
    monkeypatch.setattr(os, "ftruncate", full)
    with pytest.raises(ForetellError, match="No space left"):
        s.append(episodes(1, 3))
    monkeypatch.undo()
    s.append(episodes(1, 3))
    assert len(journals(run)) == 2
    assert keys(run) == names(3)
    s.close()
    assert keys(run) == names(3)


def test_close_does_not_hide_the_first_error(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def fail(s: Store) -> None:
        with s:
            s.append(episodes(0, 3))
            monkeypatch.setattr(os, "replace", full)
            raise KeyError("first")

    with pytest.warns(UserWarning, match="not sealed"), pytest.raises(KeyError, match="first"):
        fail(Store(run))
    assert keys(run) == names(3)
    s = Store(run)
    with pytest.warns(UserWarning, match="not sealed, but complete"):
        s.close()
    assert "not sealed" in s.problems[-1]
    monkeypatch.undo()
    Store(run).close()
    assert keys(run) == names(3)
    assert not journals(run)


@pytest.mark.parametrize("where", ["part", "journal"])
def test_a_run_of_which_nothing_can_be_read_is_damaged_not_empty(
    run: Path, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store(run) as s:
        s.append(episodes(0, 3))
        lines = next((run / "journal").iterdir())
        kept = lines.read_bytes()
    if where == "journal":
        parts(run)[0].unlink()
        lines.write_bytes(kept.replace(b'"', b"'"))
    else:
        damage(parts(run)[0], "truncated")
    with (
        pytest.warns(UserWarning, match="ignored|damaged"),
        pytest.raises(UsageError, match="is damaged: no episode in it can be read; run"),
    ):
        read(run)
    for verb in ("show", "report"):
        with pytest.raises(SystemExit) as left:
            main([verb, str(run)])
        assert left.value.code and "is damaged: no episode in it can be read" in capsys.readouterr().err
    shown = subprocess.run([sys.executable, "-m", "foretell", "show", run], capture_output=True, text=True, check=False)
    assert shown.returncode == 2 and shown.stderr.startswith("warning: "), "in words, and not as Python warns"
    assert "UserWarning" not in shown.stderr and ".py:" not in shown.stderr


def test_planned_rows_follow_the_scenarios_of_the_run(tmp_path: Path) -> None:
    """Bets see trials one by one, in this order; what the run does not list comes last, as it stands."""
    import pyarrow as pa

    from foretell.episodes.planned import planned_rows

    given = pa.chunked_array([["x", "b", None], ["a", "b", "c"]])
    assert planned_rows(tmp_path, given).tolist() == [0, 1, 2, 3, 4, 5]
    pq.write_table(pa.table({"id": ["c", "a", "b"]}), tmp_path / "scenarios.parquet")
    assert planned_rows(tmp_path, given).tolist() == [5, 3, 1, 4, 0, 2]


def test_the_rows_found_when_a_store_is_opened_are_those_that_are_read(tmp_path: Path) -> None:
    """Of parts and of a journal that nobody sealed, with a row of the machine that was run again."""
    from foretell.episodes.read import read_columns
    from foretell.episodes.tally import COLUMNS

    with Store(tmp_path) as opened:
        assert opened.earlier() is None
        opened.append([*episodes(0, 3), episode(3, success=None, end="error", blame="machine", error="killed")])
    with Store(tmp_path) as opened:
        opened.append(episodes(3, 6))
        (line,) = (tmp_path / "journal").iterdir()
        shutil.copy(line, tmp_path / "kept")
    sorted((tmp_path / "episodes").iterdir())[-1].unlink()
    shutil.move(tmp_path / "kept", line)
    with Store(tmp_path) as opened:
        found = opened.earlier()
        assert found is not None and found.column_names == list(COLUMNS)
        assert found.to_pylist() == read_columns(tmp_path, COLUMNS).to_pylist()
        assert found.num_rows == 6 and set(found["blame"].to_pylist()) == {None}
