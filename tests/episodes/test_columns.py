"""Columns in bulk give what rows one by one do."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.episodes.columns import by_name, cells, codes, grouped, ordered, plain_text, spread
from foretell.episodes.planned import CELL, PLAN
from foretell.episodes.tally import Tally

TEXT = pa.dictionary(pa.int32(), pa.string())


def column(*chunks: list[str | None]) -> pa.ChunkedArray:
    """A dictionary in several chunks, each with its own."""
    return pa.chunked_array([pa.array(chunk, pa.string()).dictionary_encode() for chunk in chunks], TEXT)


def test_cells_and_codes_are_those_of_every_chunk() -> None:
    text = column(["b", None, "a"], [], ["a", "c"])
    assert cells(text) == text.to_pylist() == ["b", None, "a", "a", "c"]
    index, values = codes(text)
    assert [None if i < 0 else values[i] for i in index] == cells(text)
    assert codes(pa.chunked_array([], TEXT))[1] == [] and cells(pa.chunked_array([], TEXT)) == []
    assert spread(["x", None, "x"], np.array([0, 1, 2, 0])).to_pylist() == ["x", None, "x", "x"]


def test_equal_text_is_one_object_whether_or_not_it_is_encoded() -> None:
    """Scenarios recur in every policy, and 200,000 texts of their own take 13 MB."""
    column = pa.chunked_array([["scenario 1", None, "scenario 2"], ["scenario 1", ""]])
    for one in (column, column.dictionary_encode()):
        found = cells(one)
        assert found == ["scenario 1", None, "scenario 2", "scenario 1", ""]
        assert found[0] is found[3]


def test_groups_come_in_the_order_of_their_first_rows() -> None:
    rng = random.Random(0)
    rows = [(rng.choice("abc"), rng.choice([True, False, None]), rng.randrange(3)) for _ in range(200)]
    one, two, three = zip(*rows, strict=True)
    given = [column(list(one[:90]), list(one[90:])), pa.chunked_array([pa.array(two)]), pa.chunked_array([list(three)])]
    group, names = grouped(given)
    assert names == list(dict.fromkeys(rows))
    assert [names[i] for i in group] == rows


def test_rows_are_told_apart_by_the_last_column_only_where_all_others_are_equal() -> None:
    rng = random.Random(0)
    for several in (1, 4):  # with one row of each, the last column decides nothing
        rows = [(t, s, f"{rng.random()}") for t in (None, "b", "a") for s in ("y", None, "x") for _ in range(several)]
        rng.shuffle(rows)
        first, second, last = zip(*rows, strict=True)
        table = pa.table({"t": column(list(first[:5]), list(first[5:])), "s": pa.chunked_array([second]), "k": [*last]})
        found = plain_text(ordered(table, ["t", "s", "k"])).to_pylist()
        expected = sorted(rows, key=lambda row: [(one is None, one or "") for one in row])
        assert [tuple(row.values()) for row in found] == expected


def test_maps_by_name_and_rows_in_order() -> None:
    kind = pa.map_(pa.string(), pa.float64())
    maps = pa.chunked_array([pa.array([[("a", 1.0)], None, []], kind), pa.array([[("b", 2.0), ("a", 3.0)]], kind)])
    found = by_name(maps.slice(0, 4))
    assert {name: np.nan_to_num(values).tolist() for name, values in found.items()} == {
        "a": [1.0, 0.0, 0.0, 3.0],
        "b": [0.0, 0.0, 0.0, 2.0],
    }
    assert by_name(maps.slice(3))["b"].tolist() == [2.0]
    table = pa.table({"t": column(["b", "a"], ["a", None]), "n": [1, 3, 2, 0], "s": ["x", "y", "y", None]})
    plain = plain_text(table).sort_by([("t", "ascending"), ("s", "ascending"), ("n", "ascending")])
    assert plain_text(ordered(table, ["t", "s", "n"])).to_pylist() == plain.to_pylist()


def test_a_tally_of_a_table_is_that_of_its_rows_one_by_one() -> None:
    """Planned, given up and not planned, judged and not, blamed on any; and it goes on counting from there."""
    rng = random.Random(1)

    def cell(policy: str) -> dict[str, Any]:
        return {**dict.fromkeys(CELL, "x"), "policy": policy, "clock": '{"kind": "sync"}'}

    plan = [
        {**cell(p), "unit": f"u{i // 2}", "episode": f"{p}{i}", "retired": "yes" if p == "c" and i > 14 else ""}
        for p in "abc"
        for i in range(20)
    ]
    rows = []
    for entry in [*plan, *({**cell("d"), "episode": f"d{i}"} for i in range(12))]:
        blame = rng.choice([None, None, None, "policy", "machine", "world"])
        success = rng.random() < 0.5 if blame is None else False if blame == "policy" else None
        timed = {"wall_started": 100.0 + rng.random(), "wall_s": 1.0}
        names = {"episode": entry["episode"], "scenario": f"s{len(rows) // 3}", "parent": rng.choice([None, "p"])}
        events = {} if success is None else {"dropped": float(rng.randrange(3)), "stuck": 1.0}
        row = {**{c: entry[c] for c in CELL}, **names, "success": success, "blame": blame, "events": events, **timed}
        rows += [row] if entry["policy"] == "a" or rng.random() < 0.7 else []
    slow, rest = Tally(plan, since=50.0), rows[-4:]
    for row in rows[:-4]:
        slow.add(row)
    table = pa.Table.from_pylist([{**row, "events": None} for row in rows[:-4]])
    events = pa.array([list(row["events"].items()) for row in rows[:-4]], pa.map_(pa.string(), pa.float64()))
    table = table.set_column(table.column_names.index("events"), "events", events)
    quick = Tally(pa.Table.from_pylist(plan, schema=PLAN), since=50.0, rows=table)
    assert any(entry["events"].get("dropped") for entry in quick.figures(now=200.0))
    for row in (*rest, {**rows[0], "blame": None, "success": True}, rows[1]):
        assert slow.figures(now=200.0) == quick.figures(now=200.0)
        assert (slow.planned, slow.finished, slow.failing()) == (quick.planned, quick.finished, quick.failing())
        slow.add(row)
        quick.add(row)
    assert slow.figures(now=200.0) == quick.figures(now=200.0)
