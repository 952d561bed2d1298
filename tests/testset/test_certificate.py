"""Certificates: what they are made of, and that an edited one is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import foretell
from foretell.errors import UsageError
from foretell.stats import clopper_pearson, wilson
from foretell.study.scenario_file import read_scenario_file
from foretell.testset.certificate import certificate, read_testset, write_testset


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As if the expert had solved 3 of 4 clean scenarios, and all of the others."""
    path = tmp_path_factory.mktemp("built") / "set.jsonl"
    header = foretell.testset("build", "lift", out=path, arms=["MO_Size"], episodes=4, certify=False).header
    given: dict[str, Any] = {"protocol": header.protocol.model_copy(update={"required": 0.9})}
    given["certificates"] = certificate("lift", "none", 3, 4, 0.9), certificate("lift", "MO_Size", 4, 4, 0.9)
    write_testset(path, header.model_copy(update=given), read_scenario_file(path).lines)
    return path


def edited(built: Path, path: Path, change: Callable[[Any], Any], sealed: bool = True) -> Path:
    first, *rest = built.read_text().splitlines()
    about = json.loads(first)
    change(about["testset"])
    if not sealed:
        del about["seal"]
    path.write_text("\n".join([json.dumps(about), *rest]))
    return path


def wilson_instead(testset: Any) -> None:
    for one in testset["certificates"]:
        ends = wilson(one["successes"], one["n"])
        one.update(low=ends.low, high=ends.high)
        del one["method"]


EDITS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda t: t["certificates"][0].update(certified=True), "lift under none does not follow from 3 of 4"),
    (lambda t: t["certificates"][0].update(rate=0.95), "does not follow from 3 of 4 at a required rate of 0.9"),
    (lambda t: t["certificates"][0].update(low=0.7), "does not follow"),
    (lambda t: t["certificates"][0].update(successes=4), "does not follow from 4 of 4"),
    (lambda t: t["certificates"][0].update(successes=5), "5 successes in 4 episodes"),
    (lambda t: t["certificates"][0].update(n=40), "3 successes in 40 episodes, and the file 4 episodes"),
    (lambda t: t["certificates"].pop(), "lift under MO_Size has 0 certificates, it should have 1"),
    (lambda t: t["certificates"].append(t["certificates"][1]), "lift under MO_Size has 2 certificates"),
    (lambda t: t["certificates"][1].update(arm="MO_Mass"), "lift under MO_Mass has 1 certificates, it should have 0"),
    (lambda t: t["certificates"].clear(), "it has 0 certificates, and the rate required is 0.9"),
    (lambda t: t["protocol"].update(required=0.5), "lift under none does not follow"),
    (lambda t: t["protocol"].update(episodes=100), "lift under none has 4 episodes, and the protocol 100"),
    (lambda t: t["protocol"].update(required=None), "it has 2 certificates, and the rate required is None"),
]


@pytest.mark.parametrize(("change", "wrong"), EDITS)
def test_an_edited_certificate_is_refused(built: Path, tmp_path: Path, change: Any, wrong: str) -> None:
    with pytest.raises(UsageError, match="was edited after it was built"):
        read_testset(edited(built, tmp_path / "sealed.jsonl", change))
    with pytest.raises(UsageError, match=f"was not built like this: .*{wrong}.*Build it again"):
        read_testset(edited(built, tmp_path / "bare.jsonl", change, sealed=False))


def test_an_edited_protocol_is_refused_by_show_and_leaderboard(built: Path, tmp_path: Path) -> None:
    path = edited(built, tmp_path / "set.jsonl", lambda t: t["protocol"].update(seed=3))
    with pytest.raises(UsageError, match="was edited"):
        foretell.testset("show", path)
    run = tmp_path / "run"
    task = {"name": "s", "tasks": ["lift"], "policies": ["random"], "scenarios": {"file": str(path), "count": 1}}
    foretell.run(task, out=run, workers=0)
    with pytest.raises(UsageError, match=r"run/testset.jsonl was edited"):
        foretell.leaderboard(run)
    with pytest.raises(UsageError, match="was edited"):
        foretell.leaderboard(run, testset=path)


def test_what_was_built_is_read(built: Path, tmp_path: Path) -> None:
    file, header = read_testset(built)
    assert header == file.header and header.certificates[0].low == clopper_pearson(3, 4).low
    shown = foretell.testset("show", built)
    assert (shown.cells, shown.certified, shown.to_dict()["certified"]) == (2, 1, 1)
    assert "certified: 1 of 2 cells" in shown.text()
    assert read_testset(edited(built, tmp_path / "old.jsonl", lambda t: None, sealed=False))[1] == header
    before = edited(built, tmp_path / "wilson.jsonl", wilson_instead, sealed=False)  # as older versions wrote it
    assert read_testset(before)[1].certificates[0].low == wilson(3, 4).low
    (plain := tmp_path / "plain.jsonl").write_text(file.scenarios[0].model_dump_json())
    with pytest.raises(UsageError, match="is a plain file of scenarios"):
        read_testset(plain)
