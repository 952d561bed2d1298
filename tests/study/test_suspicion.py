"""Reading by column is as suspicious as reading rows: a part counts for all readers or for none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import made
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foretell.answers.show import show
from foretell.episodes import parts
from foretell.episodes.columns import plain_text, written_out
from foretell.episodes.journal import plain, to_table
from foretell.episodes.parts import DamagedError, read_part, write_table
from foretell.episodes.planned import CELL, PLAN, is_retired, plan_table, read_plan
from foretell.episodes.read import read, read_columns
from foretell.episodes.tally import Tally
from foretell.errors import UsageError
from foretell.study.store import Store


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with one sound part, of two rows."""
    scenarios, _ = made.rows({}, 2)
    return Path(made.run(tmp_path / "run", scenarios, [made.row("a", s) for s in scenarios]))


def spoilt(run: Path, **changes: Any) -> Path:
    """A second part, whose one row has these cells."""
    row = plain(vars(made.row("b", made.rows({}, 1)[0][0])))
    table = to_table([row])
    for name, value in changes.items():
        at = table.column_names.index(name)
        table = table.set_column(at, table.schema.field(name), pa.array([value], table.schema.field(name).type))
    path = run / "episodes" / "part-000007.parquet"
    write_table(path, table)
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"policy_options": "[" * 100_000},
        {"factors": "7"},
        {"clock": '{"speed": 1}'},
        {"wall_s": float("nan")},
        {"wall_started": 1e300},
        {"robot": None},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_an_unsound_row_counts_for_nobody(run: Path, changes: dict[str, Any]) -> None:
    """Whether or not its reader asks for the column that is wrong."""
    path = spoilt(run, **changes)
    name = next(iter(changes))
    with pytest.raises(DamagedError, match=f"column '{name}'"):
        read_part(path, ["success"])
    for reader in (read, lambda folder: read_columns(folder, ["success"]), show):
        with pytest.warns(UserWarning, match="part-000007.parquet is damaged"):
            assert len(reader(run)) == (1 if reader is show else 2)


def test_a_part_may_be_older_than_a_column(run: Path) -> None:
    (path,) = (run / "episodes").iterdir()
    write_table(path, pq.read_table(path).drop_columns(["task_hash", "judge", "events"]))
    assert read(run)["events"].to_pylist() == [None, None] and show(run)[0]["events"] == {}
    assert read(run)["task_hash"].to_pylist() == ["", ""] and read(run)["judge"].to_pylist() == [None, None]
    assert read_columns(run, ["task_hash"])["task_hash"].to_pylist() == ["", ""] and show(run)[0]["n"] == 2


def test_a_link_is_no_part(run: Path) -> None:
    (run / "episodes" / "part-000007.parquet").symlink_to(run / "episodes" / "part-000000.parquet")
    with pytest.warns(UserWarning, match="part-000007.parquet is damaged .*it is a link"):
        assert len(read_columns(run, ["success"])) == 2


def test_a_dictionary_is_as_large_as_its_text(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One long name and many rows: 20 MB as a dictionary takes, written out, 20 GB."""
    monkeypatch.setattr(parts, "MEMORY", 50_000_000)
    path = spoilt(run)
    table = pq.read_table(path)
    many = table.take(pa.array([0] * 1000))
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["x" * 200_000]))
    pq.write_table(many.set_column(many.column_names.index("policy"), "policy", long), path)
    for columns in (None, ["policy"], ["episode", "policy"]):
        with pytest.raises(DamagedError, match="reading it takes more than 50 MB"):
            read_part(path, columns)
    assert written_out(pa.table({"policy": long})) > 200_000_000


def test_what_is_written_out_takes_as_much_as_was_said() -> None:
    table = pa.table({"a": pa.array(["x" * 50, None, "yy"] * 100).dictionary_encode(), "b": [1.0] * 300})
    assert plain_text(table).nbytes <= written_out(table) <= 2 * plain_text(table).nbytes


def test_a_run_that_fills_the_memory_is_refused(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.episodes.read.MEMORY", 100)
    monkeypatch.setattr("foretell.episodes.read.RATIO", 0)
    with pytest.raises(UsageError, match="its rows take more than 100 bytes plus 0 times the size of their files"):
        read_columns(run, ["success"])


def entries(count: int, policy: str = "p", weights: str = "w") -> list[dict[str, str]]:
    cell = {**dict.fromkeys(CELL, "x"), "policy": policy, "policy_hash": weights, "clock": json.dumps({"kind": "sync"})}
    return [{**cell, "unit": f"u{i}", "episode": f"{policy}{weights}{i}"} for i in range(count)]


def test_a_plan_is_retired_by_column(tmp_path: Path) -> None:
    with Store(tmp_path / "run") as opened:
        assert opened.write_plan(entries(4)) == 0
        assert opened.write_plan(entries(2, "q")) == 0  # another cell: the first stays
        opened.done["pw0"] = None  # this one has run
        assert opened.write_plan(entries(3, weights="new")) == 3
        plan = read_plan(opened.path)
        assert [e["episode"] for e in plan if e["retired"]] == ["pw1", "pw2", "pw3"]
        tally = Tally(plan_table(opened.path))
        assert tally.planned == 6 and [row["retired"] for row in tally.figures()] == [False, True, False]
        assert opened.write_plan(entries(4)) == 3  # the old weights again, and what is new waits no more
        assert [e["episode"] for e in read_plan(opened.path) if e["retired"]] == ["pnew0", "pnew1", "pnew2"]
        assert opened.write_plan(entries(1, "r"), keep=False) == 5
        assert is_retired(plan_table(opened.path)).sum() == 8


def test_a_plan_may_be_older_than_a_column_and_an_odd_one_is_none(tmp_path: Path) -> None:
    whole = pa.Table.from_pylist([{**entry, "retired": ""} for entry in entries(2)], schema=PLAN)
    path = tmp_path / "plan.parquet"
    write_table(path, whole.drop_columns(["task_version", "task_hash", "retired"]))
    assert {(e["task_hash"], e["task_version"], e["retired"]) for e in read_plan(tmp_path)} == {("", "", "")}
    write_table(path, pa.Table.from_pylist([{**entries(1)[0], "retired": "", "unit": None}], schema=PLAN))
    assert read_plan(tmp_path) == []
    write_table(path, whole.set_column(0, "world", pa.array([1, 2])))
    assert read_plan(tmp_path) == []
