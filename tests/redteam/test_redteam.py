"""A failure search from end to end, on policies whose weakness is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from studies import Lab

import foretell
from foretell.cli import main
from foretell.errors import UsageError
from foretell.policies.expert import Expert
from foretell.redteam import RedTeam
from foretell.redteam.verify import least, too_few
from foretell.scenario import Scenario
from foretell.seeding import seed
from foretell.study.plan import make_task

POLICY = '''
import numpy as np

from foretell.policies.expert import Expert


class Literal(Expert):
    """Acts on the one instruction that it knows."""

    def __init__(self):
        self.knows = {}

    def reset(self, slots, instructions, seeds):
        super().reset(slots, instructions, seeds)
        self.knows |= {s: told == "lift the cube" for s, told in zip(slots.tolist(), instructions)}

    def act(self, slots, observations):
        return super().act(slots, observations) * np.array([[self.knows[s]] for s in slots.tolist()])


class Measured(Expert):
    """Takes hold only of a cube whose middle is as high above the table as it has learned."""

    def __init__(self):
        self.fits = {}

    def reset(self, slots, instructions, seeds):
        super().reset(slots, instructions, seeds)
        for slot in slots.tolist():
            self.fits.pop(slot, None)

    def act(self, slots, observations):
        for slot, (_, _, z) in zip(slots.tolist(), observations["cube/pos"]):
            self.fits.setdefault(slot, abs(z - 0.021) < 0.0012)
        return super().act(slots, observations) * np.array([[self.fits[s]] for s in slots.tolist()])
'''


weak: dict[str, Any] = {"__name__": __name__}
exec(POLICY, weak)
Literal: Any = weak["Literal"]


def lab(folder: Path, policy: str) -> Path:
    made = Lab(folder)
    (folder / "weak.py").write_text(POLICY)
    (folder / "task.py").write_text((folder / "task.py").read_text().replace("time_limit = 4.0", "time_limit = 2.5"))
    return made.study("study", policies={"weak": f"weak.py:{policy}"}, policy_timeout=60.0)


def ask(study: Path, **how: Any) -> RedTeam:
    how = {"budget": 200, "fresh": 20, "workers": 0, "out": study.parent / "out", "most": 1} | how
    return foretell.redteam(study, **how)


@pytest.fixture(scope="module")
def literal(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RedTeam]:
    study = lab(tmp_path_factory.mktemp("literal"), "Literal")
    return study, ask(study, factors=("Instruction", "MO_Color"))


def test_a_known_weakness_is_found_and_verified(literal: tuple[Path, RedTeam]) -> None:
    _, answer = literal
    finding = answer.finding
    assert finding is not None and finding.verified
    assert finding.combination.severities == (("Instruction", 0.125),)
    assert (finding.clean.estimate, finding.broken.estimate, finding.change.estimate) == (1.0, 0.0, -1.0)
    assert finding.expert == (20, 20) and finding.clean.n == finding.broken.n == 20
    assert finding.margin.high is not None and finding.margin.high < 0
    assert finding.margin.alpha == pytest.approx(0.05 / 3)
    assert {s.arm: s.verdict for s in answer.seen}["MO_Color"] == "holds"
    assert sum(answer.spent.values()) == answer.ran <= answer.budget
    text = answer.text()
    assert "weak on brief breaks under Instruction@0.125 (1 factor, total severity 0.125)" in text
    assert "0 of 20 (0%, 0 to 17 %)" in text


@pytest.mark.parametrize(("breaks", "alpha"), [(0.5, 0.05), (0.3, 0.05), (0.5, 0.01), (0.9, 0.2)])
def test_as_few_fresh_scenarios_as_are_accepted_can_verify(breaks: float, alpha: float) -> None:
    fewest = least(breaks, alpha)
    assert [too_few(n, breaks, alpha) for n in (fewest - 1, fewest, 2 * fewest)] == [True, False, False]


@pytest.mark.daily
def test_the_fewest_fresh_scenarios_verify_a_clear_weakness(literal: tuple[Path, RedTeam]) -> None:
    study, _ = literal
    answer = ask(study, fresh=12, factors=("Instruction",), out=study.parent / "fewest", video=False).finding
    assert answer is not None and answer.verified and answer.clean.n == 12


def test_the_verification_has_never_been_searched_on(literal: tuple[Path, RedTeam]) -> None:
    _, answer = literal
    searched, fresh = (foretell.read(answer.out / name).to_pylist() for name in ("search", "verify"))
    assert not {r["base"] for r in searched} & {r["base"] for r in fresh}
    assert sorted({r["arm"] for r in fresh}) == ["Instruction@0.125", "none"] and len(fresh) == 40
    pairs = [{r["base"] for r in fresh if r["arm"] == arm} for arm in ("none", "Instruction@0.125")]
    assert pairs[0] == pairs[1]
    assert {r["policy"] for r in foretell.read(answer.out / "expert").to_pylist()} == {"expert"}
    rows = sum(len(foretell.read(answer.out / name)) for name in ("search", "verify", "expert"))
    assert rows == sum(answer.spent.values())


def test_the_same_command_again_runs_nothing(literal: tuple[Path, RedTeam]) -> None:
    study, answer = literal
    again = ask(study, factors=("Instruction", "MO_Color"))
    assert again.ran == 0
    assert again.to_dict() == {**answer.to_dict(), "ran": 0}
    assert json.loads((answer.out / "redteam.json").read_text()) == again.to_dict()


def test_a_failure_is_shown(
    literal: tuple[Path, RedTeam], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both commands do what they say: the very episode again, and its scenario in a study of its own."""
    study, answer = literal
    assert answer.episode and answer.scenario and answer.video
    assert answer.video.stat().st_size > 1000
    (line,) = answer.scenario.read_text().splitlines()
    scenario = Scenario.model_validate_json(line)
    assert scenario.instruction != "lift the cube" and list(scenario.factors) == ["Instruction"]
    monkeypatch.chdir(study.parent)
    foretell_, *replay = answer.commands["replay"].split()
    main(replay)
    assert foretell_ == "foretell"
    assert f"identical: episode {answer.episode} (failure)" in capsys.readouterr().out
    main([*answer.commands["run"].split()[1:], "--workers", "0", "--json"])
    (row,) = foretell.read(json.loads(capsys.readouterr().out)["path"]).to_pylist()
    assert (row["arm"], row["success"], row["scenario"]) == ("given:Instruction", False, scenario.id)


def test_another_policy_under_the_same_name_is_not_mixed_in(literal: tuple[Path, RedTeam]) -> None:
    study, _ = literal
    changed = study.with_name("changed.py")
    changed.write_text(POLICY.replace("Acts on", "Does"))
    other = study.with_name("other.yaml")
    other.write_text(study.read_text().replace("weak.py", "changed.py"))
    with pytest.raises(UsageError, match=r"search holds rows of 2 kinds of 'weak' \(column policy_hash\)"):
        ask(other, factors=("Instruction", "MO_Color"))


@pytest.mark.daily
def test_a_weakness_that_grows_with_severity(tmp_path: Path) -> None:
    """It takes cubes up to about 4 % off; MO_Size is off by up to 25 % times severity."""
    study = lab(tmp_path, "Measured")
    answer = ask(study, factors=("MO_Size",), video=False, budget=400)
    assert answer.finding is not None
    ((name, severity),) = answer.finding.combination.severities
    assert name == "MO_Size" and severity >= 0.25
    assert answer.finding.clean.estimate > 0.8
    assert answer.finding.broken.estimate < 0.4
    assert answer.video is None and answer.episode


class Steady(Expert):
    """The expert."""


def test_a_robust_policy_is_not_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = yaml.safe_load(lab(tmp_path, "Literal").read_text()) | {"tasks": [f"{tmp_path / 'task.py'}:Brief"]}
    how: dict[str, Any] = {
        "factors": ("MO_Color", "Instruction"),
        "budget": 120,
        "fresh": 20,
        "out": tmp_path / "o",
        "workers": 0,
    }
    answer = foretell.redteam(study, policy="steady", policies={"steady": Steady}, **how)
    assert answer.finding is None and answer.episode is None and answer.refuted == ()
    assert answer.spent == {"search": 28, "certificates": 0, "verification": 0}
    assert answer.text().startswith("not found within the budget: no combination tried brings steady on brief below")


class Unlucky(Literal):
    """Minds other words in the scenarios of the search only."""

    searched: frozenset[str] = frozenset()

    def reset(self, slots: np.ndarray, instructions: Sequence[str], seeds: Sequence[int]) -> None:
        told = ["lift the cube" if str(s) not in self.searched else i for i, s in zip(instructions, seeds, strict=True)]
        super().reset(slots, told, seeds)


@pytest.mark.daily
def test_what_fresh_scenarios_do_not_confirm_is_not_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = yaml.safe_load(lab(tmp_path, "Literal").read_text()) | {"tasks": [f"{tmp_path / 'task.py'}:Brief"]}
    made = make_task(study["tasks"][0])
    monkeypatch.setattr(
        Unlucky, "searched", frozenset(str(seed(made.scenario(i).base, 0, "policy")) for i in range(32))
    )
    answer = foretell.redteam(
        study,
        policy="p",
        policies={"p": Unlucky},
        factors=("Instruction",),
        budget=280,
        fresh=20,
        workers=0,
        out=tmp_path / "o",
    )
    assert answer.finding is None and answer.episode is None and answer.video is None
    assert answer.why.startswith("not found within the budget: what broke p on brief in the search was not confirmed")
    assert [f.combination.arm for f in answer.refuted] == ["Instruction@0.125", "Instruction@0.25"]
    assert {(f.broken.estimate, f.verified) for f in answer.refuted} == {(1.0, False)}
    assert "not confirmed on fresh scenarios: Instruction@0.125, 20 of 20" in answer.text()


def test_a_policy_that_cannot_do_it_has_nothing_to_break(tmp_path: Path) -> None:
    answer = ask(Lab(tmp_path).study(task="Blink", policies={"weak": "random"}), factors=("MO_Color",))
    assert answer.why == "nothing to break: weak on blink solves 0 of 16 clean scenarios"
    assert answer.seen == () and sum(answer.spent.values()) == 16


@pytest.mark.parametrize(
    ("changes", "arguments", "said"),
    [
        ({"policies": ["expert", "random"]}, (), "policy: the study has 'expert', 'random'; choose one with --policy"),
        ({}, ("--policy", "faulti"), "policy: 'faulti' is not in the study; did you mean 'faulty'?"),
        ({"clocks": ["realtime"]}, (), "clocks: a search needs one clock that reproduces"),
        ({"scenarios": {"like": "x"}}, (), "scenarios: a search needs fresh ones"),
        ({}, ("--factors", "MO_Colour"), "factors: 'MO_Colour' is not known; did you mean 'MO_Color'?"),
        ({}, ("--factors", "RO_Size"), "factors: RO_Size does not apply to 'brief'"),
        ({}, ("--factors", "7"), "factors: RO_Size does not apply to 'brief'"),
        ({}, ("--budget", "100"), "budget: 100 episodes are too few"),
        ({}, ("--breaks", "1.5"), "breaks: 1.5 should lie between 0 and 1"),
        ({}, ("--fresh", "0"), "fresh: 0 scenarios verify nothing"),
        ({}, ("--fresh", "11"), "breaks 0.5 at alpha 0.05 needs at least 12"),
        ({}, ("--fresh", "26", "--breaks", "0.2"), "breaks 0.2 at alpha 0.05 needs at least 27"),
        ({}, ("--severity", "0"), "severity: 0 should be above 0"),
        ({}, ("--most", "0"), "most: 0 should be at least 1 factor"),
    ],
)
def test_what_cannot_be_asked(
    changes: dict[str, Any], arguments: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = Lab(tmp_path).study(**changes)
    with pytest.raises(SystemExit) as stop:
        main(["redteam", str(study), *arguments])
    assert stop.value.code == 2
    assert said in capsys.readouterr().err


def test_without_an_expert_nothing_can_be_certified(tmp_path: Path) -> None:
    study = Lab(tmp_path).study(task="Deadly", policies=["random"])
    with (tmp_path / "task.py").open("a") as file:
        file.write("\n    def expert(self):\n        raise NotImplementedError\n")
    with pytest.raises(UsageError, match="task: 'deadly' has no scripted expert"):
        ask(study)
