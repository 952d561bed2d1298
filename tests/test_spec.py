"""Specs: what a policy speaks is compared with what the controller hears, before the first episode."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest

from foretell import clock
from foretell.errors import UsageError, suggest
from foretell.fingerprint.source import source_hash
from foretell.policy import Chunk, PolicySpec, as_chunk
from foretell.spec import EE_DELTA, ActionSpec, Stream, compare, ee_delta, joint_positions


def test_ee_delta_is_as_designed() -> None:
    assert EE_DELTA.size == 7 and set(EE_DELTA.low) == {-1.0} and set(EE_DELTA.high) == {1.0}
    translation, turn, gripper = EE_DELTA.dims
    assert (translation.scale, translation.unit, turn.scale, turn.unit) == (0.05, "m", 0.5, "rad")
    assert turn.rotation == "axis_angle" and translation.frame == "base" and translation.anchor == "achieved"
    assert gripper.mode == "absolute"


@pytest.mark.parametrize(
    ("field", "value"),
    [("unit", "cm"), ("scale", 0.1), ("frame", "world"), ("mode", "absolute"), ("anchor", "target"), ("low", -2.0)],
)
def test_each_disagreement_is_named(field: str, value: object) -> None:
    other = dataclasses.replace(EE_DELTA.dims[0], **{field: value})
    with pytest.raises(UsageError, match=f"translation.*{field}"):
        compare(ActionSpec("ee_delta", (other, *EE_DELTA.dims[1:])), EE_DELTA)


def test_agreement_passes_and_sizes_are_compared() -> None:
    compare(ee_delta("achieved"), EE_DELTA)
    with pytest.raises(UsageError, match="dimensions"):
        compare(joint_positions((-1.0,) * 7, (1.0,) * 7), EE_DELTA)


@pytest.mark.parametrize(
    "spec",
    [
        PolicySpec(reads={"x": Stream(history=0)}),
        PolicySpec(reads={"x": Stream(rate=0)}),
        PolicySpec(action_rate=0),
        PolicySpec(chunk=4, execute=5),
        PolicySpec(chunk=0),
        PolicySpec(batch=0),
    ],
)
def test_senseless_specs_are_refused(spec: PolicySpec) -> None:
    with pytest.raises(UsageError, match="policy"):
        spec.validate("policy")


def test_what_act_may_return() -> None:
    one, chunked = PolicySpec(), PolicySpec(chunk=4)
    assert as_chunk(np.zeros((3, 7)), 3, one).actions.shape == (3, 1, 7)
    assert as_chunk(np.zeros((3, 4, 7)), 3, chunked).actions.shape == (3, 4, 7)
    done = as_chunk(Chunk(np.zeros((3, 4, 7)), np.ones((3, 4))), 3, chunked)
    assert done.terminate is not None and done.terminate.dtype == bool


def test_clocks() -> None:
    assert clock.parse("sync").to_dict() == {"kind": "sync"}
    with pytest.raises(UsageError, match="did you mean 'sync'"):
        clock.parse("synch")
    with pytest.raises(UsageError, match="it takes none"):
        clock.parse({"sync": {"speed": 2}})
    with pytest.raises(UsageError, match="one name"):
        clock.parse(3)


def test_an_edited_policy_is_another_policy(tmp_path, monkeypatch) -> None:
    import importlib.util

    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python takes an edit within a second for none
    hashes = []
    for body in ("return 1", "return 2"):
        file = tmp_path / "mine.py"
        file.write_text(f"class Mine:\n    def act(self):\n        {body}\n")
        spec = importlib.util.spec_from_file_location("mine", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        hashes.append(source_hash(module.Mine))
    assert hashes[0] != hashes[1]


def test_suggestions() -> None:
    assert suggest("lfit", ["lift", "can"]) == "did you mean 'lift'?"
    assert suggest("zzz", ["lift", "can"]) == "known: can, lift"
    for slip in ("cam", "cna", "ca", "cann"):
        assert suggest(slip, ["can", "square"]) == "did you mean 'can'?"
    assert suggest("LIFT", ["lift", "can"]) == "did you mean 'lift'?"
    assert suggest("drawer", ["drawer-apple", "can"]) == "did you mean 'drawer-apple'?"


@pytest.mark.parametrize(
    ("given", "known"),
    [("light", "lift"), ("franka", "panda"), ("time", "name"), ("banana", "panda"), ("plot", "report")],
)
def test_what_is_hardly_alike_is_not_suggested(given: str, known: str) -> None:
    assert suggest(given, [known]) == f"known: {known}"


def test_all_names_with_a_word_are_suggested() -> None:
    known = ["RO_Texture", "MO_Texture", "MO_Color"]
    assert suggest("texture", known) == "did you mean 'MO_Texture' or 'RO_Texture'?"
