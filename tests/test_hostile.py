"""A run folder made to harm who opens it. SECURITY.md says what is safe to do with one: here it is done."""

from __future__ import annotations

import base64
import contextlib
import faulthandler
import json
import os
import re
import resource
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import made
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import foretell
from foretell.cli import main, verbs
from foretell.episodes import parts
from foretell.episodes.parts import DamagedError, read_part
from foretell.episodes.read import read
from foretell.errors import UsageError
from foretell.reality import import_
from foretell.study.store import Store
from foretell.view.board import Board

FILM = b"\0\0\0\x18ftypisom" + b"a film of the run itself"
PRIVATE = b"\0\0\0\x18ftypisom" + b"a private film of the reader's"
SECRET = "-----BEGIN OPENSSH PRIVATE KEY----- s3cret"
ESCAPE = "\x1b]0;owned\x07\x1b[2J"
ZEROS = """
import pyarrow as pa, pyarrow.parquet as pq, sys
table = pa.table({"episode": pa.array([bytes(100 << 20)])})
pq.write_table(table, sys.argv[1], compression="zstd", use_dictionary=False, write_statistics=False)
"""
EVIL = """
from pathlib import Path
from typing import Any
Path({marker!r}).write_text("somebody else's code ran")
from foretell.tasks.lift import Lift
class Evil(Lift):
    name = "evil"
"""


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    """A pipe that is opened waits for ever, and would hold up all tests."""
    faulthandler.dump_traceback_later(120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """The folder, beside the reader's own files."""
    (tmp_path / "id_rsa").write_text(SECRET)
    (tmp_path / "private.mp4").write_bytes(PRIVATE)
    (tmp_path / "config.yaml").write_text(f"token: {SECRET}\n")
    (tmp_path / "victim").write_text("precious")
    scenarios, _ = made.rows({}, 9)
    run = tmp_path / "hostile"
    os.mkfifo(tmp_path / "pipe")
    videos = {
        "in": "videos/good.mp4",
        "absolute": str(tmp_path / "private.mp4"),
        "above": "../private.mp4",
        "linked": "videos/link.mp4",
        "key": str(tmp_path / "id_rsa"),
        "no video": "videos/text.mp4",
        "pipe": "videos/pipe.mp4",
        "odd": "a\0b",
    }
    rows = [
        made.row(f"{ESCAPE}{n}", s, n != "in", video=v) for (n, v), s in zip(videos.items(), scenarios, strict=False)
    ]
    rows.append(replace(rows[0], episode=f"'; touch {tmp_path}/marker; '", failure_reason=f"{ESCAPE}why", error=ESCAPE))
    named = {"kind": "virtual", "speed": 1.0, "latency": {"trace": str(tmp_path / "pipe")}}
    made.run(run, scenarios, rows, tasks=[{"use": f"{run}/evil.py:Evil"}])
    line = {**made.row("bad clock", scenarios[0]).to_dict(), "clock": json.dumps(named)}
    (run / "journal" / "000007-1.jsonl").write_text(json.dumps(line) + "\n")
    os.mkfifo(run / "journal" / "000008-1.jsonl")
    (run / "videos" / "good.mp4").write_bytes(FILM)
    (run / "videos" / "text.mp4").write_text(SECRET)
    (run / "videos" / "link.mp4").symlink_to(tmp_path / "private.mp4")
    os.mkfifo(run / "videos" / "pipe.mp4")
    (run / "evil.py").write_text(EVIL.format(marker=str(tmp_path / "marker")))
    (run / "lock").unlink()
    (run / "lock").symlink_to(tmp_path / "victim")
    (run / ".study.yaml.tmp").symlink_to(tmp_path / "victim")
    (run / "provenance.json").unlink()
    (run / "provenance.json").symlink_to(tmp_path / "id_rsa")
    bomb = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000, pa.int32()), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"episode": bomb}), run / "episodes" / "part-000009.parquet", store_schema=False)
    return run


def unharmed(hostile: Path) -> bool:
    return not (hostile.parent / "marker").exists() and (hostile.parent / "victim").read_text() == "precious"


BOTH = "--real RUN --sim RUN --stand-in"
SAFE = {
    "show": ["show RUN", "show RUN --episodes", "show RUN --json"],
    "cards": ["cards RUN", "cards RUN --csv OUT/cards.csv", "cards RUN --html OUT/cards.html"],
    "timeline": ["timeline RUN x"],
    "list": ["list", "list tasks"],
    "report": ["report RUN", "report RUN -o OUT/page.html"],
    "figure": ["figure RUN", "figure RUN success -o OUT/success.svg", "figure RUN success -o OUT/success.csv"],
    "view": ["view RUN"],
    "bound": [f"bound {BOTH}", "bound --real RUN"],
    "compare": ["compare RUN", "compare RUN --json"],
    "gate": ["gate RUN RUN", "gate RUN RUN --json"],
    "predictivity": [f"predictivity {BOTH}"],
    "budget": [f"budget --width 0.1 {BOTH.removesuffix(' --stand-in')}"],
    "clocks": ["clocks RUN"],
    "leaderboard": ["leaderboard RUN"],
    "import": ["import OUT/sheet.csv -o OUT/trials", "import OUT/sheet.csv --like RUN -o OUT/like"],
    "testset show": ["testset show RUN/testset.jsonl"],
}
"""Each command that SECURITY.md calls safe -> how it is tried. RUN is the hostile folder, OUT one of the reader's."""


def named_safe() -> set[str]:
    """The commands of the first table of SECURITY.md."""
    text = (Path(__file__).parents[1] / "SECURITY.md").read_text().partition("## What runs its code")[0]
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {match for cell in cells for match in re.findall(r"`(testset show|[a-z]+)[^`]*`", cell)}


def test_every_command_that_is_called_safe_is_tried() -> None:
    assert named_safe() == set(SAFE)


def test_every_verb_is_called_safe_or_not() -> None:
    text = (Path(__file__).parents[1] / "SECURITY.md").read_text()
    spans = re.findall(r"`([^`]+)`", text)
    assert not set(verbs()) - {match for span in spans for match in re.findall("^[a-z-]+", span)}


def tries() -> list[Any]:
    """The first way of each command at every run, the others once a day."""
    ways = [(line, number) for lines in SAFE.values() for number, line in enumerate(lines)]
    return [pytest.param(line, marks=pytest.mark.daily if number else ()) for line, number in ways]


@pytest.mark.parametrize("command", tries())
def test_what_is_called_safe_is_safe(
    hostile: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    mine = hostile.parent / "mine"
    mine.mkdir()
    monkeypatch.chdir(mine)
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)  # else `view` serves until Ctrl-C
    (mine / "sheet.csv").write_text(f"policy,task,success,video\n{ESCAPE}p,lift,1,../id_rsa\n=1+1,lift,0,\n")
    scenario = made.Lift().scenario(0).model_copy(update={"factors": {f"{hostile}/evil.py:Evil": ESCAPE}})
    (hostile / "testset.jsonl").write_text(f'{{"testset": "{hostile}/evil.py:Evil"}}\n{scenario.model_dump_json()}\n')
    with contextlib.suppress(SystemExit), warnings.catch_warnings():  # some find too little in it to answer
        warnings.simplefilter("ignore")
        main([word.replace("RUN", str(hostile)).replace("OUT", str(mine)) for word in command.split()])
    said = "".join(capsys.readouterr())
    assert said.strip() and "\x1b" not in said and "\x07" not in said and SECRET not in said
    assert "Traceback" not in said and len(said.splitlines()) < 400
    written = [path for path in (*mine.rglob("*"), hostile / "report.html") if path.is_file()]
    for secret in (PRIVATE, SECRET.encode()):
        for path in written:
            data = path.read_bytes()
            assert secret not in data and base64.b64encode(secret) not in data, path
    for path in (mine / "success.csv", mine / "success.svg"):
        assert not path.exists() or not any(mark in path.read_text() for mark in ("\x1b", "\n="))
    assert unharmed(hostile)


def test_a_report_holds_nothing_of_the_readers_disk(hostile: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (hostile / "study.yaml").unlink()
    (hostile / "study.yaml").symlink_to(hostile.parent / "config.yaml")
    with pytest.warns(UserWarning, match="part-000009.parquet is damaged"):
        read(hostile)
    written = foretell.report(hostile, out=hostile.parent / "page.html")
    page = written.path.read_text()
    assert base64.b64encode(FILM).decode() in page and written.videos == 1
    for secret in (PRIVATE, SECRET.encode()):
        assert base64.b64encode(secret).decode() not in page and secret.decode() not in page
    notes = "\n".join(written.notes)
    assert "4 videos are not shown of hostile: it is not in the run folder. Named: " in notes
    assert "2 videos are not shown of hostile: it is no mp4 or webm file" in notes
    assert "the clock of a row holds values, and this one names a file" in notes
    assert "000008-1.jsonl cannot be read (it is not a regular file)" in notes
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 700_000, "kB: a bomb takes little more than the rest"
    assert unharmed(hostile)


def test_the_live_view_looks_without_harm(hostile: Path) -> None:
    board = Board([hostile])
    (state,) = board.progress()["runs"]
    assert state["writer"] is None and "part-000009.parquet is damaged" in state["problem"]
    assert board._maker is not None
    board._maker.join(60)
    assert board.contents and SECRET.encode() not in board.contents
    assert unharmed(hostile)


@pytest.mark.parametrize("name", ["episodes", "journal", "events", "steps"])
def test_reading_follows_no_linked_folder(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    scenarios, rows = made.rows({"a": 0.5}, 3)
    run = made.run(tmp_path / "run", scenarios, rows)
    other = made.run(tmp_path / "other", scenarios, made.rows({"secret": 1.0}, 3)[1])
    if (run / name).is_dir():
        os.rename(run / name, tmp_path / "was")
    (run / name).symlink_to(other / name)
    for verb in ("show", "cards", "report", "compare"):
        with pytest.raises(SystemExit) as left:
            main([verb, str(run)])
        said = "".join(capsys.readouterr())
        assert left.value.code == 2 and f"{name} is a link: put the folder itself there" in said
        assert "secret" not in said
    (state,) = Board([run]).progress()["runs"]
    assert state["state"] == "unreadable" and f"{name} is a link" in state["problem"] and state["rows"] == 0


def test_writing_follows_no_link(hostile: Path) -> None:
    with pytest.raises(UsageError, match="lock is a link: remove it"):
        Store(hostile)
    (hostile / "lock").unlink()
    (hostile / "journal" / "000008-1.jsonl").unlink()
    with Store(hostile) as store:
        store.write_study("name: mine\n")
        store.write_provenance({})
    assert (hostile / "study.yaml").read_text() == "name: mine\n" and not (hostile / "provenance.json").is_symlink()
    os.rename(hostile / "episodes", hostile.parent / "elsewhere")
    (hostile / "episodes").symlink_to(hostile.parent / "elsewhere")
    with pytest.raises(UsageError, match="episodes is a link: put the folder itself there"):
        Store(hostile)
    (hostile / "lock").unlink()
    os.mkfifo(hostile / "lock")
    (hostile / "episodes").unlink()
    with pytest.raises(UsageError, match="lock is not a regular file"):
        Store(hostile)
    assert unharmed(hostile)


def test_objects_to_print_import_no_code_untold(hostile: Path, tmp_path: Path) -> None:
    task = made.Lift()
    scenarios = [task.scenario(0).model_copy(update={"task": "evil"})]
    run = made.run(
        tmp_path / "evil", scenarios, [made.row("p", scenarios[0])], tasks=[{"use": f"{hostile}/evil.py:Evil"}]
    )
    with pytest.raises(UsageError, match=r"evil.py:Evil', which is code: give --trust"):
        foretell.cards(run, stl=tmp_path / "stl")
    assert unharmed(hostile)
    assert foretell.cards(run, stl=tmp_path / "stl", trust=True)[0]["print"]
    assert not unharmed(hostile)
    odd = [task.scenario(0).model_copy(update={"factors": {f"{hostile}/evil.py:Evil": 1.0}})]
    with pytest.raises(UsageError, match=r"factors: .*evil.py:Evil' is not known"):
        foretell.cards(made.run(tmp_path / "odd", odd, [made.row("p", odd[0])]), stl=tmp_path / "stl")


def test_a_page_of_zeros_is_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """100 MB in 3 kB; the footer may say that they are few, and the bound holds all the same."""
    monkeypatch.setattr(parts, "MEMORY", 50_000_000)
    path = tmp_path / "p.parquet"
    subprocess.run([sys.executable, "-c", ZEROS, path], check=True)  # elsewhere, so that they are not in memory yet
    about = pq.ParquetFile(path).metadata.row_group(0)
    with pytest.raises(DamagedError, match="reading it takes more than 50 MB"):
        read_part(path)
    data = path.read_bytes()
    assert len(data) < 20_000 < 50_000_000 < about.total_byte_size
    for size in {about.total_byte_size, about.column(0).total_uncompressed_size}:
        old = _varint(2 * size)
        data = data.replace(old, bytes([0x80 | 2, *[0x80] * (len(old) - 2), 0]))  # a 1, as long
    path.write_bytes(data)
    assert pq.ParquetFile(path).metadata.row_group(0).total_byte_size == 1
    with pytest.raises(DamagedError, match="reading it takes more than 50 MB"):
        read_part(path)


def _varint(value: int) -> bytes:
    found = []
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def test_a_film_beside_the_sheet_is_shown_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lab = tmp_path / "lab"
    lab.mkdir()
    (lab / "a.mp4").write_bytes(FILM)
    (tmp_path / "private.mp4").write_bytes(PRIVATE)
    sheet = "policy,task,success,video\n" + "".join(
        f"p,lift,1,{v}\n" for v in ("a.mp4", "../private.mp4", "/etc/passwd")
    )
    (lab / "s.csv").write_text(sheet)
    run = import_(lab / "s.csv").path
    films = [base64.b64encode(data).decode() for data in (FILM, PRIVATE)]
    written = foretell.report(run)
    assert [film in written.path.read_text() for film in films] == [True, False]
    assert any("2 videos are not shown" in note for note in written.notes)
    (lab / "s.csv").write_text(sheet.replace("p,", "q,"))  # then nothing says that this is still the sheet
    assert films[0] not in foretell.report(run).path.read_text()
