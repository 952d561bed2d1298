"""What people get wrong in files and commands, and what they are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made
import numpy as np
import pytest
from studies import refused

import foretell
from foretell import Policy, PolicySpec
from foretell.checks import check_task
from foretell.cli import main
from foretell.clock import parse, wrong
from foretell.errors import UsageError
from foretell.latency.latency import parse_latency
from foretell.policies.make import make_policy
from foretell.scenario import Placement, Scenario
from foretell.sim.params import load_world
from foretell.study.config import load_study
from foretell.study.rows import WORDS
from foretell.tasks.lift import Lift

STUDY = {"tasks": ["lift"], "policies": ["random"]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"policies": {"p": {"use": "x" * 5000}}}, ""),
        ({"policies": ["x" * 5000 + ".py:A"]}, ""),
        ({"world": {"name": "w", "theta": {"kp_scale": float("inf")}}}, ""),
        ({"scenarios": {"seed": 2**70}}, "scenarios.seed: Input should be less than or equal to"),
        ({"clocks": [{"virtual": {"speed": 10**400}}]}, "speed is 1000"),
        ({"clocks": [{"virtual": {"latency": 0.1, "speed": 1e18}}]}, "it must be above 0 and at most 1000"),
        ({"clocks": [{"virtual": {"latency": {"normal": [1e300, 1e308]}}}]}, "1e+300 s is longer than any episode"),
        ({"clocks": [{"virtual": {"latency": 10**400}}]}, "s is longer than any episode"),
        ({"clocks": [{"virtual": {1: 2}}]}, "clocks: virtual: "),
        ({"clocks": {"virtual": {"latency": 50}}}, "latency: 50 is in seconds: for milliseconds write 50 ms, or 0.05"),
        ({"trials": 10**400}, "trials"),
    ],
    ids=range(11),
)
def test_a_field_out_of_all_bounds_is_named(changes: dict[str, object], said: str) -> None:
    def take() -> None:
        study = load_study({**STUDY, **changes})
        load_world(study.world)
        make_policy(next(iter(study.policies.values())).use)

    with pytest.raises(UsageError) as refused:
        take()
    assert said in str(refused.value) and len(str(refused.value)) < 500


def test_a_number_of_scenarios_is_enough() -> None:
    assert load_study({**STUDY, "scenarios": 20}).scenarios.count == 20
    with pytest.raises(UsageError, match=r"scenarios.count: .* greater than or equal to 1"):
        load_study({**STUDY, "scenarios": 0})
    with pytest.raises(UsageError, match="scenarios: "):
        load_study({**STUDY, "scenarios": True})


def test_latencies_may_say_their_unit() -> None:
    assert parse_latency("50 ms") == parse_latency(0.05) == parse_latency("0.05 s")
    assert parse_latency({"uniform": ["20ms", 0.05]}) == parse_latency({"uniform": [0.02, 0.05]})
    assert parse_latency("20 s").values == (20.0,) and parse_latency({"lognormal": [0.1, 12]}).values == (0.1, 12.0)
    with pytest.raises(UsageError, match="if seconds are meant, write 20 s"):
        parse_latency({"uniform": [20, 50]})
    stored = parse({"virtual": {"latency": "20 s"}}).to_dict()
    assert parse(stored).to_dict() == stored, "a row says what was run"


def test_the_clock_of_a_row_opens_nothing(tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    trace.write_text("0.1\n0.2\n")
    assert parse({"virtual": {"latency": {"trace": str(trace)}}}).latency.values == (0.1, 0.2)  # type: ignore[attr-defined]
    for kind in ("trace", "replay"):
        with pytest.raises(UsageError, match="the clock of a row holds values, and this one names a file"):
            parse({"kind": "virtual", "latency": {kind: str(trace)}})
    assert "names a file" in wrong('{"kind": "virtual", "latency": {"trace": "/dev/zero"}}')
    assert wrong("[" * 100_000) == "it is nested too deep" and wrong("3") == "it has no kind"
    assert wrong('{"kind": "of next year", "x": 1}') == wrong('{"kind": "sync"}') == ""


class Nothing(Lift):
    name = "nothing"

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        return {}


class Askew(Lift):
    name = "askew"

    def place(self, rng: np.random.Generator) -> dict[str, Placement]:
        return {"cube": Placement(asset="cube", pos=(0, 0, 0), quat=(1, 1, 0, 0))}


def test_a_task_that_places_wrongly_is_told_how() -> None:
    with pytest.raises(
        UsageError, match=r"'nothing': place\(\) for seed 3 returns nothing: 'cube', which the robot is"
    ):
        Nothing().scenario(3)
    with pytest.raises(UsageError, match=r"quat: must be a unit quaternion \(w, x, y, z\); its norm is 1.414"):
        Askew().scenario(0)
    (failed,) = (finding for finding in check_task(Askew).findings if not finding.passed)
    assert "its norm is 1.414" in failed.detail


class Copied(Lift):
    """Checks nothing: pydantic's `model_copy` does not."""

    name = "copied"

    def scenario(self, seed: int) -> Scenario:
        made = super().scenario(seed)
        cube = made.placements["cube"].model_copy(update={"quat": (1, 1, 0, 0)})
        return made.model_copy(update={"placements": {"cube": cube}})

    def layouts(self) -> list[Scenario]:
        return [super().scenario(0), self.scenario(1)]


class Odd(Lift):
    name = "odd"

    def scenario(self, seed: int) -> Any:
        return {"seed": seed}


@pytest.mark.parametrize(
    ("task", "scenarios", "said"),
    [
        (Copied, 3, r"tasks: copied: scenario of seed 0: placements.cube.quat: must be a unit quaternion .* is 1.414"),
        (Copied, {"layouts": "all"}, r"Copied: layout 1: placements.cube.quat: must be a unit quaternion"),
        (Odd, 1, r"tasks: odd: scenario of seed 0 returns dict, it should be a foretell.Scenario"),
    ],
)
def test_a_task_whose_scenarios_are_wrong_is_told_when_the_study_is_planned(
    tmp_path: Path, task: type, scenarios: Any, said: str
) -> None:
    study = {"tasks": [f"{__name__}:{task.__name__}"], "policies": ["random"], "scenarios": scenarios}
    with pytest.raises(UsageError, match=said):
        foretell.run(study, out=tmp_path / "run", workers=0)
    assert not (tmp_path / "run").exists()


def test_policies_that_are_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'model.onnx' is a file: write onnx:model.onnx"):
        make_policy("model.onnx")
    with pytest.raises(UsageError, match=r"known: adapt, batch, execute, threads$"):
        make_policy("onnx:model.onnx", {"zzz": 1})


class Loud(Policy):
    spec = PolicySpec(reads={})

    def act(self, slots: np.ndarray, observations: Any) -> Any:
        raise RuntimeError("x" * 10**6)


def test_what_a_policy_says_of_its_error_is_cut(tmp_path: Path) -> None:
    done = foretell.run({"tasks": ["lift"], "scenarios": 1}, policies={"loud": Loud()}, out=tmp_path / "run")
    (error,) = foretell.read(done.path)["error"].to_pylist()
    assert WORDS <= len(error) < WORDS + 50 and error.endswith(" characters)") and "RuntimeError: xxx" in error
    assert all(len(note) < WORDS + 300 for note in done.notes)


def test_commands_that_lack_something(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in {
        ("report",): "foretell: runs: give at least one run folder, such as runs/demo\n",
        (
            "run",
            "--worker",
            "2",
            "x.yaml",
        ): "foretell: run has no flag --worker; did you mean '--workers'?",
        ("show", "--jsn", "x"): "foretell: show has no flag --jsn; did you mean '--json'?",
    }.items():
        with pytest.raises(SystemExit, match="2"):
            main(list(arguments))
        assert capsys.readouterr().err.startswith(said)
    scenarios, rows = made.rows({"p": 1.0}, 1)
    run = made.run(tmp_path / "run", scenarios, rows)
    main(["show", "--alpha=0.1", str(run)])
    assert "90% interval" in capsys.readouterr().out


def test_one_trial_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "größe.csv").write_text("policy,task,success\np,lift,1\n")
    main(["import", "größe.csv"])
    assert capsys.readouterr().out.endswith("1 trial added; everything is in runs/größe\n")


def test_an_error_fits_a_screen(tmp_path: Path) -> None:
    lines = "".join(f"  p{i}: {{use: {'x' * 200}, execute: -{i}}}\n" for i in range(200))
    (tmp_path / "s.yaml").write_text(f"tasks: [lift]\npolicies:\n{lines}")
    message = refused("run", "s.yaml", cwd=tmp_path)
    assert (
        len(message.splitlines()) < 24 and "s.yaml: policies.p0.execute: " in message and "192 problems more" in message
    )
