"""What a run shows: rates by group, and every episode with the key that replays it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import foretell
from foretell.cli import main


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shown") / "run"
    policies = {"expert": "expert", "[/bold] *wild*": "random"}
    foretell.run({"tasks": ["lift"], "policies": policies, "scenarios": {"count": 3}}, out=path, workers=0)
    return path


def test_every_episode_is_listed_with_its_outcome(run: Path) -> None:
    listed = foretell.show(run, episodes=True)
    assert len(listed) == 6
    assert {(r["policy"], r["success"]) for r in listed} == {("expert", True), ("[/bold] *wild*", False)}
    assert [r["policy"] for r in foretell.show(run, failed=True)] == ["[/bold] *wild*"] * 3
    assert foretell.replay(run, listed[0]["episode"][:8]).identical


def test_the_command_prints_keys_and_names_as_they_are(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["show", str(run), "--failed"])
    said = capsys.readouterr().out
    assert said.count("[/bold] *wild*") == 3 and "no reach" in said and "expert" not in said
    main(["show", str(run), "--episodes", "--json"])
    assert len(json.loads(capsys.readouterr().out)) == 6
