"""Sweeps: a policy for each file, and a study that grows with its checkpoints."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

import foretell
from foretell.errors import UsageError
from foretell.study.config import load_study
from foretell.study.difference import difference
from foretell.zoo.card import MODELS

STUDY = {
    "tasks": ["lift"],
    "policies": {"expert": "expert", "step_*": "checkpoints/*.onnx"},
    "scenarios": 2,
    "record": {"video": "none"},
}


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (tmp_path / "checkpoints").mkdir()
    model = next(iter(sorted((MODELS / "lift").glob("bc.onnx"))))
    for step in (1000, 200):
        shutil.copy(model, tmp_path / "checkpoints" / f"{step}.onnx")
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(STUDY))
    return tmp_path


def test_a_pattern_gives_a_policy_for_each_file_by_number(lab: Path) -> None:
    study = load_study(lab / "sweep.yaml")
    assert list(study.policies) == ["expert", "step_200", "step_1000"]
    assert study.policies["step_200"].use == f"onnx:{lab}/checkpoints/200.onnx"
    assert load_study(yaml.safe_load(study.to_yaml())) == study, "as a run folder has it"


def test_new_checkpoints_are_the_same_study_and_run_alone(lab: Path) -> None:
    done = foretell.run(lab / "sweep.yaml", out=lab / "run", workers=0)
    assert (done.planned, done.ran) == (6, 6)
    before = load_study(lab / "sweep.yaml")
    shutil.copy(lab / "checkpoints" / "200.onnx", lab / "checkpoints" / "3000.onnx")
    assert difference(before, load_study(lab / "sweep.yaml")) == []
    done = foretell.run(lab / "sweep.yaml", out=lab / "run", workers=0)
    assert (done.planned, done.ran, done.skipped) == (8, 2, 6)
    shown = {row["policy"] for row in foretell.show(lab / "run")}
    assert shown == {"expert", "step_200", "step_1000", "step_3000"}


def test_a_name_may_have_a_star_of_its_own() -> None:
    study = load_study({"tasks": ["lift"], "policies": {"*wild*": "random"}})
    assert list(study.policies) == ["*wild*"] and not study.sweeps


def test_a_file_that_went_keeps_its_rows(lab: Path) -> None:
    foretell.run(lab / "sweep.yaml", out=lab / "run", workers=0)
    (lab / "checkpoints" / "200.onnx").unlink()
    foretell.run(lab / "sweep.yaml", out=lab / "run", workers=0)
    assert "step_200" in [row["policy"] for row in foretell.show(lab / "run")]


@pytest.mark.parametrize(
    ("policies", "words"),
    [
        ({"step_*": "none/*.onnx"}, "there is no file .*none"),
        ({"step": "checkpoints/*.onnx"}, "have one \\* each"),
        ({"*_*": "checkpoints/*.onnx"}, "have one \\* each"),
    ],
)
def test_wrong_patterns_are_refused(lab: Path, policies: dict[str, str], words: str) -> None:
    (lab / "wrong.yaml").write_text(yaml.safe_dump({**STUDY, "policies": policies}))
    with pytest.raises(UsageError, match=words):
        load_study(lab / "wrong.yaml")
