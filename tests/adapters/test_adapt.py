"""Names, options and the chain."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from spoken import WIDOWX, Spoken, ask, ready

from foretell.adapters import Adapter, adapt, chain, entries, unwrapped
from foretell.errors import UsageError
from foretell.policies.make import make_policy
from foretell.policy import Policy, PolicySpec
from foretell.spec import EE_DELTA
from foretell.study.config import load_study

STATISTICS = {"bridge": {"action": {"q01": [-1.0] * 6 + [0.0], "q99": [3.0] * 6 + [1.0]}}}


def test_entries_are_written_out_with_every_option() -> None:
    written = entries([{"sticky_gripper": 3}, "ensemble", {"gripper": {"open": -1, "closed": 1}}])
    assert written == [
        {"sticky_gripper": {"steps": 3, "threshold": 0.5}},
        {"ensemble": {"temperature": 0.0}},
        {"gripper": {"open": -1, "closed": 1, "binary": False}},
    ]
    assert entries(written) == written


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ("brigde", "adapt: 'brigde' is no adapter and no preset; did you mean 'bridge'?"),
        ([{"stiky_gripper": 15}], "adapt: 'stiky_gripper' is no adapter and no preset; did you mean 'sticky_gripper'?"),
        ({"sticky_gripper": {"step": 3}}, "adapt: 'sticky_gripper' has no option 'step'; did you mean 'steps'?"),
        ({"rotation": "euler", "gripper": 1}, "should be a name or a mapping of one name to its options"),
        (7, "adapt: 7 should be a name"),
        ({"bridge": {"statistic": "x.json"}}, "adapt: 'bridge' has no option 'statistic'; did you mean 'statistics'?"),
        ({"unnormalise": "nowhere.json"}, "statistics: there is no file nowhere.json"),
    ],
)
def test_what_is_wrong_is_named(by: object, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("?", r"\?").replace("[", r"\[")):
        entries(by)


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ({"sticky_gripper": 0}, "adapter 'sticky_gripper': steps is 0, it should be a whole number, 1 or more"),
        ({"ensemble": "warm"}, "adapter 'ensemble': temperature is 'warm'"),
        ({"rotation": "euler_xy"}, "format 'euler_xy' is not known; did you mean 'euler_xyz'?"),
        ({"gripper": {"open": 0}}, r"adapter 'gripper': open is 0, it should be another value than closed \(0.0\)"),
        ({"history": 1}, "adapter 'history': steps is 1, it should be a whole number, 2 or more"),
        ({"image": {"filter": "cubic"}}, "adapter 'image': filter is 'cubic', it should be 'lanczos3' or 'bilinear'"),
        ({"image": {"crop": 2}}, "adapter 'image': crop is 2, it should be above 0, and 1 at most"),
        ({"unnormalise": None}, "adapter 'unnormalise': statistics is None"),
    ],
)
def test_wrong_values_name_option_value_and_fix(by: object, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("?", r"\?")):
        adapt(Spoken([[0.0] * 7]), by)


def test_actions_pass_the_list_from_the_first_to_the_last() -> None:
    by = [{"unnormalise": {"statistics": {"q01": [-1.0] * 6 + [0], "q99": [3.0] * 6 + [1]}}}, {"gripper": {}}]
    policy = ready(adapt(Spoken([[0.0] * 6 + [1.0]]), by), WIDOWX)
    assert ask(policy, 0)[0, 0].tolist() == [1.0] * 6 + [1.0]  # 0 is the middle of -1 and 3, and 1 opens
    assert [adapter.name for adapter in chain(policy)] == ["gripper", "unnormalise"]
    assert isinstance(unwrapped(policy), Spoken)
    assert unwrapped(policy).action.dims[2].low == 0.0 and unwrapped(policy).action.dims[0].unit == "1"


def test_a_policy_of_another_convention_is_refused_before_the_first_episode() -> None:
    class Fixed(Policy):
        spec = PolicySpec(action=EE_DELTA)

    with pytest.raises(UsageError, match=r"adapter 'rotation': Fixed: action part 0 \(translation\)"):
        adapt(Fixed(), {"rotation": "euler_xyz"}).bind(None, WIDOWX)


def test_an_adapter_for_a_part_that_is_not_there_is_refused() -> None:
    no_gripper = dataclasses.replace(WIDOWX, dims=WIDOWX.dims[:2])
    with pytest.raises(UsageError, match="has no part for it: it has translation, rotation; take it out of `adapt`"):
        adapt(Spoken([[0.0] * 6]), "gripper").bind(None, no_gripper)


def test_a_study_holds_statistics_by_value(tmp_path: Path) -> None:
    (tmp_path / "statistics.json").write_text(json.dumps(STATISTICS))
    (tmp_path / "study.yaml").write_text(
        "tasks: [widowx_stack_cube]\n"
        "policies:\n  mine: {use: expert, adapt: [{unnormalise: statistics.json}, {rotation: euler_xyz}]}\n"
        "  plain: {use: expert, adapt: []}\n"
    )
    study = load_study(tmp_path / "study.yaml")
    first, second = study.policies["mine"].options["adapt"]
    assert first["unnormalise"]["statistics"] == STATISTICS["bridge"]["action"]
    assert second == {"rotation": {"format": "euler_xyz"}}
    assert study.policies["plain"].options == {}
    (tmp_path / "statistics.json").unlink()
    (tmp_path / "again.yaml").write_text(study.to_yaml())
    assert load_study(tmp_path / "again.yaml").policies == study.policies


def test_a_study_names_the_policy_whose_adapters_are_wrong(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text("tasks: [lift]\npolicies: {mine: {use: expert, adapt: brigde}}\n")
    with pytest.raises(UsageError, match=r"policies\.mine.*'brigde' is no adapter and no preset"):
        load_study(tmp_path / "study.yaml")


def test_the_option_adapt_makes_a_chain() -> None:
    policy = make_policy("expert", {"adapt": {"bridge": {"pictures": False}}})
    assert [adapter.name for adapter in chain(policy)] == ["gripper", "rotation"]


@dataclasses.dataclass(eq=False)
class Doubled(Adapter):
    factor: float = 2.0
    name = "doubled"

    def changed(self, slots, chunk, observations):  # type: ignore[no-untyped-def]
        return dataclasses.replace(chunk, actions=chunk.actions * self.factor)


def test_an_adapter_of_ones_own_is_a_dataclass_with_one_method() -> None:
    policy = ready(Doubled(Spoken([[1.0] * 7]), 3.0), WIDOWX)
    assert np.all(ask(policy, 0) == 3.0) and policy.options == {"factor": 3.0}
