"""World files that came from real data name the scenarios they saw; all others are what they were."""

from pathlib import Path

import pytest

from foretell.errors import UsageError
from foretell.sim.params import load_world


def test_worlds_without_the_list_keep_their_hash() -> None:
    assert (load_world("mujoco").hash, load_world("standin").hash) == ("f1a073fff215961a", "339626a6cb5485d8")
    assert load_world({"name": "x", "fitted_to": []}).hash == load_world("mujoco").hash


def test_the_list_names_a_world_whatever_its_order(tmp_path: Path) -> None:
    one = load_world({"name": "x", "fitted_to": ["b", "a", " a "]})
    assert one.fitted_to == ("a", "b") and one.hash != load_world("mujoco").hash
    assert one.hash == load_world({"name": "y", "fitted_to": ["a", "b"]}).hash
    (tmp_path / "seen.txt").write_text("# tuned on Monday\na\n\nb\n")
    (tmp_path / "tuned.yaml").write_text("fitted_to: seen.txt\n")
    assert load_world(tmp_path / "tuned.yaml").hash == one.hash


def test_a_bad_list_is_refused_by_its_field(tmp_path: Path) -> None:
    (tmp_path / "tuned.yaml").write_text("fitted_to: none.txt\n")
    with pytest.raises(UsageError, match=r"tuned.yaml: fitted_to: cannot read the list of scenarios in .*none.txt"):
        load_world(tmp_path / "tuned.yaml")
    with pytest.raises(UsageError, match="fitted_to: every entry should be the id of a scenario"):
        load_world({"name": "x", "fitted_to": ["a", " "]})
    with pytest.raises(UsageError, match=r"fitted_to.1: Input should be a valid string \(given: 7\)"):
        load_world({"name": "x", "fitted_to": ["a", 7]})
