"""Blind studies: nobody who judges or looks on learns which policy runs, until all trials are in."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy_world
import pytest
import yaml
from starlette.testclient import TestClient
from terminal import converse

import foretell
from foretell.answers.show import remarks
from foretell.episodes.blind import coded
from foretell.episodes.planned import plan_table
from foretell.episodes.provenance import read_provenance
from foretell.errors import ForetellError, UsageError
from foretell.study.follow import Follower
from foretell.view.app import application
from foretell.view.board import Board

SECRETS = ("falcon", "walrus", "feather", "tusk")
"""Names of policies, and of what they print, raise and are made with."""
POLICIES = {
    "falcon.py": """
from puck import Seek

print("the module of the falcon")


class Falcon(Seek):
    def __init__(self, feather="blue-feather"):
        super().__init__()
        print("a falcon is made")

    def act(self, slots, observations):
        print("the falcon acts")
        return super().act(slots, observations)
""",
    "walrus.py": """
import os
import sys

from puck import Seek


class Walrus(Seek):
    def act(self, slots, observations):
        print("the walrus acts", file=sys.stderr)
        if os.path.exists("ruin"):
            os.remove("ruin")
            raise ValueError("the walrus broke its tusk")
        return super().act(slots, observations)
""",
    "real.py": '''
import os

from puck import Puck
from foretell.world import Verdict


class Real(Puck):
    """Reality, and a judge who never hesitates."""

    real = True

    def reset(self, slots, scenarios, trials):
        super().reset(slots, scenarios, trials)
        if os.path.exists("stop"):
            os.remove("stop")
            raise KeyboardInterrupt

    def verdict(self, slots):
        return [Verdict(success=True, score=1.0, stages={}, judge="person") for _ in slots]
''',
}
STUDY: dict[str, Any] = {
    "name": "secret",
    "world": "judged.py:Judged",
    "tasks": ["puck.py:Reach"],
    "policies": {"falcon": {"use": "falcon.py:Falcon", "feather": "red-feather"}, "walrus": "walrus.py:Walrus"},
    "scenarios": 2,
    "record": {"video": "none", "events": "all"},
}
REAL = {**STUDY, "world": "real.py:Real", "scenarios": 4}
PROMPT = "move the puck to the mark: done? [y/n] "


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in POLICIES.items():
        (tmp_path / name).write_text(text)
        monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
    (tmp_path / "secret.yaml").write_text(yaml.safe_dump(STUDY))
    return numpy_world.enter(tmp_path, monkeypatch)


def leaks(text: str) -> list[str]:
    """What of a text gives a policy away: names, classes, files, and hashes of weights or options."""
    hashes = [h[:8] for row in raw(Path("runs/secret")) for h in (row["policy_hash"],)]
    return [word for word in (*SECRETS, *hashes) if word.lower() in text.lower()]


def raw(run: Path) -> list[dict[str, Any]]:
    """The rows on disk."""
    import pyarrow.parquet as pq

    files = sorted(run.glob("episodes/*.parquet"))
    lines = [json.loads(line) for path in run.glob("journal/*") for line in path.read_text().splitlines()]
    return [*(row for file in files for row in pq.read_table(file).to_pylist()), *lines]


def pages(run: str) -> Iterator[str]:
    """Every page that can be served or written of a run."""
    board = Board([Path(run)])
    with TestClient(application(board, "<html>", "t", "127.0.0.1"), base_url="http://127.0.0.1") as server:
        yield server.get("/progress").text
        assert board._maker is not None
        board._maker.join()
        yield server.get("/contents").text
        blind = not {"closed", "unblinded"} & {k for k, v in read_provenance(run)["blind"].items() if v}
        for path in Path(run).glob("events/*.parquet"):
            assert server.get(f"/runs/0/events/{path.name}").status_code == (404 if blind else 200)
    out = foretell.report([run], out="page.html")
    yield Path(str(getattr(out, "path", out))).read_text()


def readers(run: str) -> str:
    """What Python gives of a run."""
    follower = Follower(Path(run))
    follower.look()
    figures = [foretell.show(run), foretell.show(run, episodes=True), follower.tally.figures()]
    return json.dumps([*figures, foretell.read(run).to_pylist(), plan_table(run).to_pylist()], default=str)


def test_no_byte_on_the_screen_or_on_a_page_names_a_policy_until_all_trials_are_in(folder: Path) -> None:
    (folder / "ruin").touch()  # the walrus raises once: its error names it
    code, screen = converse(folder, "secret.yaml", [(PROMPT, "y")] * 3, "--limit", "3")
    assert code in (0, 1), screen  # 1 where the walrus had one trial, which failed: nobody knows the order beforehand
    policies = [row["policy"] for row in raw(Path("runs/secret"))]
    assert len(policies) == 3 and set(policies) == {"falcon", "walrus"}
    assert "an error of the policy, hidden until the study is closed" in screen
    for text in (screen, *pages("runs/secret"), readers("runs/secret")):
        assert leaks(text) == []
    assert set(foretell.read("runs/secret")["policy"].to_pylist()) == {"A", "B"}
    Path("runs/secret/desk").mkdir(exist_ok=True)  # as where a page stands beside the robot: it has no figures at all
    board = Board([Path("runs/secret")])
    (run,) = board.progress()["runs"]
    assert (run["figures"], run["finished"], run["planned"]) == ([], 3, 4)
    assert board._maker is not None
    board._maker.join()
    page = json.loads(board.contents)
    assert page["sections"] == [] and "has its figures when all trials are in" in page["notes"][0]
    assert "Blind: policies go by codes until all trials are in." in screen
    prints = (folder / "runs/secret/errors/prints.txt").read_text()
    assert "the falcon acts" in prints and "the walrus acts" in prints
    code, rest = converse(folder, "secret.yaml", [(PROMPT, "n"), ("why not? ", "too far")])
    assert code == 0, rest
    before, _, _after = rest.partition("1 episode run")
    assert "falcon" in before and "walrus" in before  # the table of a study that is closed
    assert leaks(before.partition("policy")[0]) == []  # up to the table
    assert re.search(r"the study is closed: A is (falcon|walrus), B is (falcon|walrus)", rest)
    assert {row["policy"] for row in foretell.read("runs/secret").to_pylist()} == {"falcon", "walrus"}
    assert any("tusk" in (row["error"] or "") for row in foretell.read("runs/secret").to_pylist())
    assert remarks("runs/secret") == []


def test_readers_answer_by_codes_and_refuse_what_needs_names(folder: Path) -> None:
    foretell.run(REAL, limit=5, workers=0)
    run = "runs/secret"
    codes = foretell.show(run)
    assert [row["policy"] for row in codes] == ["A", "B"]
    compared = foretell.compare(run, policy=["A", "B"], horizon="open")
    assert "policies go by codes" in compared.text() and leaks(compared.text()) == []
    key = foretell.read(run)["episode"][0].as_py()
    for ask in (foretell.replay, foretell.timeline):
        with pytest.raises(UsageError, match="is blind until all its trials are in"):
            ask(run, key)
    with pytest.raises(UsageError, match="judging by another rule needs the names"):
        foretell.judge(run)


def test_the_world_that_is_judged_by_a_person_is_blind_only_if_there_is_something_to_hide(folder: Path) -> None:
    alone = {**REAL, "policies": {"walrus": "walrus.py:Walrus"}}
    foretell.run(alone, out="alone", limit=1, workers=0)
    assert foretell.read("alone")["policy"].to_pylist() == ["walrus"]
    foretell.run({**REAL, "world": "puck.py:Puck"}, out="sim", limit=1, workers=0)
    assert "blind" not in read_provenance("sim") and "order" not in read_provenance("sim")
    foretell.run({**REAL, "blind": False}, out="open", limit=1, workers=0)
    assert foretell.read("open")["policy"].to_pylist() != ["A"]
    foretell.run({**REAL, "world": "puck.py:Puck", "blind": True}, out="asked", limit=1, workers=0)
    assert foretell.read("asked")["policy"].to_pylist()[0] in "AB"


def test_unblinding_early_is_asked_about_recorded_and_told_by_every_report(folder: Path) -> None:
    (folder / "secret.yaml").write_text(yaml.safe_dump(REAL))
    foretell.run("secret.yaml", limit=3, workers=0)
    code, screen = converse(folder, "secret.yaml", [("[y/N] ", "n")], "--unblind")
    assert code == 2 and "the study stays blind" in screen and leaks(screen) == []
    assert set(foretell.read("runs/secret")["policy"].to_pylist()) <= {"A", "B"}
    code, screen = converse(folder, "secret.yaml", [("[y/N] ", "y")], "--unblind")
    assert code == 0 and "unblinded after 3 of 8 trials" in screen and " is falcon" in screen
    early = read_provenance("runs/secret")["blind"]["unblinded"]
    assert (early["trials"], early["of"]) == (3, 8) and early["who"] and early["when"]
    foretell.run("secret.yaml", workers=0)
    words = "nblinded after 3 of 8 trials"
    assert words in remarks("runs/secret")[0]
    assert words in foretell.bound("runs/secret", policy="falcon").text()
    assert words in list(pages("runs/secret"))[-1]
    with pytest.raises(UsageError, match="are shown already"):
        foretell.run("secret.yaml", unblind=True)
    other = {**yaml.safe_load((folder / "secret.yaml").read_text()), "order": {"kind": "random", "seed": 1}}
    with pytest.raises(UsageError, match="nothing is put beside it or in its place"):
        foretell.run(other, out="runs/secret", workers=0, retire=True)  # which would forget it


def test_a_pilot_tells_neither_the_codes_nor_the_order_of_the_study(folder: Path) -> None:
    for name in ("pilot", "main"):
        foretell.run({**REAL, "name": name}, limit=1, workers=0)
    pilot, study = (read_provenance(f"runs/{name}") for name in ("pilot", "main"))
    assert pilot["blind"]["salt"] != study["blind"]["salt"] and pilot["order"]["key"] != study["order"]["key"]
    foretell.run({**REAL, "name": "main"}, limit=1, workers=0)
    assert read_provenance("runs/main")["blind"] == study["blind"]  # resumed, it keeps both


def test_no_code_is_the_name_of_a_policy() -> None:
    codes = coded("salt", ["A", "b", "expert"])
    assert sorted(codes.values()) == ["C", "D", "E"]
    assert coded("salt", ["A", "b", "expert", "C"], codes).items() >= codes.items()  # they stay


def test_nobody_unblinds_by_the_back_door(folder: Path) -> None:
    foretell.run(REAL, limit=2, workers=0)
    with pytest.raises(UsageError, match="give --unblind to see the names early, which is recorded"):
        foretell.run({**REAL, "blind": False}, workers=0)
    for more in ({"add": True}, {"retire": True}):
        with pytest.raises(UsageError, match="holds a blind study, and nothing is put beside it"):
            foretell.run({**REAL, "scenarios": 6}, workers=0, **more)
    with pytest.raises(UsageError, match="there is no blind study"):
        foretell.run({**REAL, "world": "puck.py:Puck", "name": "other"}, unblind=True)


def test_sittings_are_recorded_with_how_they_ended(folder: Path) -> None:
    foretell.run(REAL, limit=3, workers=0)
    (folder / "stop").touch()
    with pytest.raises(KeyboardInterrupt):
        foretell.run(REAL, workers=0)
    (folder / "falcon.py").write_text((folder / "falcon.py").read_text() + "\n\nMORE = 1\n")
    foretell.run(REAL, limit=1, workers=0)
    about = read_provenance("runs/secret")
    assert [(s["how"], s["trials"]) for s in about["sittings"]][:2] == [("unfinished", 3), ("stopped", 3)]
    assert about["until"] is None and about["sittings"][0]["of"] == 8
    page = list(pages("runs/secret"))[-1]
    assert "no rule: the number of trials is fixed" in page and "3 (unfinished, stopped, unfinished)" in page
    assert about["order"]["kind"] == "random" and about["order"]["seed"] == 0


def test_errors_in_the_middle_of_a_study_name_nobody(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from foretell.study import run as running

    def broken(*_: Any, **__: Any) -> Any:
        raise ForetellError("policy 'walrus' (walrus.py:Walrus) changed while the study ran")

    monkeypatch.setattr(running, "fill", broken)
    with pytest.raises(ForetellError, match=r"^policy '[AB]' ") as caught:
        foretell.run(REAL, workers=0)
    assert not [word for word in SECRETS if word in str(caught.value).lower()]

    def buggy(*_: Any, **__: Any) -> Any:
        raise RuntimeError("walrus")

    monkeypatch.setattr(running, "fill", buggy)
    with pytest.raises(ForetellError, match="the traceback is in") as caught:
        foretell.run(REAL, workers=0)
    assert "walrus" not in str(caught.value)
    assert "RuntimeError: walrus" in (folder / "runs/secret/errors/error.txt").read_text()


def test_the_files_of_real_episodes_name_no_policy(folder: Path) -> None:
    pytest.importorskip("av")
    foretell.run({**REAL, "record": {"video": "all"}}, limit=4, workers=0)
    names = [str(p.relative_to(folder)) for p in (folder / "runs/secret").rglob("*") if p.is_file()]
    assert any(name.endswith(".mp4") for name in names)
    assert not [name for name in names if any(word in name.lower() for word in SECRETS)]
    assert os.path.exists("runs/secret/provenance.json")
    text = (folder / "runs/secret/provenance.json").read_text()
    assert not [word for word in SECRETS if word in text.lower()]


def test_under_realtime_not_even_a_native_library_prints_on_the_screen(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    loud = "import os\n\nfrom puck import Seek\n\n\nclass Loud(Seek):\n    def reset(self, *_):\n"
    loud += "        os.write(2, b'the falcon is reset\\n')\n"
    (folder / "loud.py").write_text(loud)
    study = {**REAL, "policies": {"falcon": "loud.py:Loud", "walrus": "loud.py:Loud"}, "clocks": ["realtime"]}
    foretell.run(study, limit=1, workers=0)
    screen = capfd.readouterr()
    assert "falcon" not in screen.out + screen.err
    assert "the falcon is reset" in (folder / "runs/secret/errors/prints.txt").read_text()
