"""A plug-in factor may use every hook. The world asks the factors of a scenario, and knows none of them by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import foretell
from foretell import factors, registry
from foretell.episode import unmarked as factors_of
from foretell.errors import UsageError
from foretell.factors import Factor, Setting, draw, perturb
from foretell.factors.arms import expand, parse, severity_of
from foretell.scenario import Placement, Scenario
from foretell.sim.bench import Bench
from foretell.spec import ActionSpec, Feature
from foretell.study.config import load_study
from foretell.study.plan import make_task
from foretell.tasks.task import Task

SOURCE = Path(foretell.__file__).parent


class Everything(Factor):
    """Changes a little of all; a value is how much."""

    name = "Everything"
    changes = "physics"

    def draw(self, rng: Any, scenario: Scenario, task: Task, severity: float, given: Any = None) -> float:
        return float(severity * rng.uniform(0.9, 1.0))

    def instruct(self, value: Any, instruction: str) -> str:
        return f"please {instruction}"

    def place(self, value: Any, placements: Mapping[str, Placement], task: Task) -> Mapping[str, Placement]:
        x, y, z = placements["cube"].pos
        return {**placements, "cube": placements["cube"].model_copy(update={"pos": (x + 0.1 * value, y, z)})}

    def sizes(self, value: Any, task: Task) -> Mapping[str, float]:
        return {"cube": 1 + value}

    def apply(self, value: Any, setting: Setting) -> None:
        for geom in setting.geoms("cube"):
            geom.rgba = [0, 0, 1, 1]

    def start(self, value: Any, start: Mapping[str, tuple[float, ...]], task: Task) -> Mapping[str, tuple[float, ...]]:
        return {**start, "panda/gripper": (0.01, 0.01)}

    def sense(self, value: Any, feature: Feature, sample: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return sample + value if feature.kind == "position" else -sample if feature.kind == "orientation" else sample

    def act(self, value: Any, action: np.ndarray, spec: ActionSpec, rng: np.random.Generator) -> np.ndarray:
        return np.zeros_like(action)


HOOKS = ("instruct", "place", "sizes", "apply", "start", "sense", "act")


@pytest.fixture(autouse=True)
def plugged(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    known = {**registry.BUILTIN["factors"], "Everything": f"{__name__}:Everything"}
    monkeypatch.setitem(registry.BUILTIN, "factors", known)
    factors._ranks.cache_clear()
    yield
    for known in (factors._ranks, factors.factor, factors.version):
        known.cache_clear()


def test_every_hook_of_a_plug_in_is_called() -> None:
    task = make_task("lift")
    clean = task.scenario(0)
    changed = perturb(clean, {"Everything": 0.5})
    assert changed.base == clean.base and changed.instruction == "please lift the cube"
    bench, usual = Bench(task, scenario=changed), Bench(task, scenario=clean)
    moved = bench.state.pos("cube")[0] - usual.state.pos("cube")[0]
    assert moved == pytest.approx([0.05, 0, 0])
    assert bench.state.size("cube") == pytest.approx([1.5]) and usual.state.size("cube") == pytest.approx([1])
    assert bench.model.geom("cube/body").rgba.tolist() == [0, 0, 1, 1]
    assert bench.see("panda/gripper")["panda/gripper"] == pytest.approx([0.02])
    assert bench.see("cube/pos")["cube/pos"] == pytest.approx(bench.state.pos("cube")[0] + 0.5)
    assert bench.see("cube/quat")["cube/quat"] == pytest.approx(-bench.state.quat("cube")[0])
    assert bench.see("panda/ee_pos")["panda/ee_pos"] == pytest.approx(bench.state.ee_pos("panda")[0]), "it has no noise"
    before = bench.state.ee_pos("panda")[0].copy()
    bench.run(0.2, [1, 0, 0, 0, 0, 0, 1])
    assert bench.state.ee_pos("panda")[0] == pytest.approx(before, abs=2e-3), "the action was taken away"
    usual.run(0.2, [1, 0, 0, 0, 0, 0, 1])
    assert usual.state.ee_pos("panda")[0, 0] > before[0] + 0.01


def test_a_plug_in_is_an_arm_like_any_other() -> None:
    task = make_task("lift")
    (arm,) = expand(["Everything"], task)
    clean = task.scenario(0)
    changed = arm.on(clean, task)
    assert changed.factors == {"Everything": draw("Everything", clean, task)}
    assert changed.instruction == "please lift the cube" and changed.base == clean.base


def test_a_base_factor_has_every_hook_and_changes_nothing() -> None:
    idle: Any = Factor()
    task = make_task("lift")
    clean = task.scenario(0)
    assert idle.instruct(1, "lift") == "lift" and idle.sizes(1, task) == {}
    assert idle.place(1, clean.placements, task) is clean.placements and idle.start(1, clean.start, task) is clean.start
    assert all(callable(getattr(Factor, hook)) for hook in HOOKS)


def test_neither_worlds_nor_drivers_know_a_factor_by_name() -> None:
    names = "|".join(name for name in registry.names("factors"))
    quoted = re.compile(rf"""["'](?:{names})["']""")
    files = [p for folder in ("sim", "rollout", "robots") for p in (SOURCE / folder).rglob("*.py")]
    files += [SOURCE / "factors" / "__init__.py", SOURCE / "factors" / "factor.py", SOURCE / "world.py"]
    assert len(files) > 25
    assert {str(p.relative_to(SOURCE)): found for p in files if (found := quoted.findall(p.read_text()))} == {}


def test_the_factor_on_the_page_opens_the_drawer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "factors.md").read_text()
    block = next(b for b in re.findall(r"```python\n(.*?)```", page, re.S) if "DrawerStart" in b)
    (tmp_path / "drawer_start.py").write_text(block)
    known = {**registry.BUILTIN["factors"], "Drawer_Start": f"{tmp_path}/drawer_start.py:DrawerStart"}
    monkeypatch.setitem(registry.BUILTIN, "factors", known)
    drawer = registry.load(f"{root}/examples/09_drawer.py:Drawer")()
    bench = Bench(drawer, scenario=perturb(drawer.scenario(0), {"Drawer_Start": 0.07}))
    assert bench.state.joint("cabinet/drawer") == pytest.approx([0.07])
    assert factors.factor("Drawer_Start").applies(make_task("lift")) is not None


class Spoken(Everything):
    """Its instruction is no text."""

    name = "Spoken"

    def instruct(self, value: Any, instruction: str) -> Any:
        return 7


class Arrays(Everything):
    """Its value is none that a row could hold."""

    name = "Arrays"

    def draw(self, rng: Any, scenario: Scenario, task: Task, severity: float, given: Any = None) -> Any:
        return rng.uniform(size=2)


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        (Spoken, r"arms: Spoken on scenario \w{16}: instruction: Input should be a valid string \(given: 7\)"),
        (Arrays, r"arms: Arrays on scenario \w{16}: factors.Arrays: must be plain data .*\(given: array\("),
    ],
)
def test_what_a_plug_in_draws_is_checked_when_the_study_is_planned(
    arm: type[Factor], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry.BUILTIN["factors"], arm.name, f"{__name__}:{arm.__name__}")
    study = {"tasks": ["lift"], "policies": ["random"], "arms": ["none", arm.name], "scenarios": 1}
    with pytest.raises(UsageError, match=message):
        foretell.run(study, out=tmp_path / "run", workers=0)
    assert not (tmp_path / "run").exists()


def test_a_scenario_with_a_factor_that_its_task_cannot_have_is_refused_when_the_study_is_planned(
    tmp_path: Path,
) -> None:
    scenario = perturb(make_task("lift").scenario(0), {"RO_Size": 1.1})
    (tmp_path / "s.jsonl").write_text(scenario.model_dump_json() + "\n")
    study = {"tasks": ["lift"], "policies": ["random"], "scenarios": {"file": str(tmp_path / "s.jsonl")}}
    with pytest.raises(UsageError, match=rf"s.jsonl: scenario {scenario.id}: RO_Size does not apply to 'lift': it has"):
        foretell.run(study, out=tmp_path / "run", workers=0)
    assert not (tmp_path / "run").exists()


SHOVE = """
from foretell.factors import Factor


class Shove(Factor):
    name, changes = "Shove", "sensing"

    def draw(self, rng, scenario, task, severity, given=None):
        return 1.0

    def act(self, value, action, spec, rng):
        return 0.5 * action
"""


def test_an_edited_factor_is_another_arm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its name in rows and tables has the version, and so the key of an episode has. Those of ours have none."""
    monkeypatch.chdir(tmp_path)
    known = {**registry.BUILTIN["factors"], "Shove": "shoves.py:Shove"}
    monkeypatch.setitem(registry.BUILTIN, "factors", known)
    study = {"name": "it", "tasks": [{"use": "lift", "time_limit": 0.1}], "policies": ["random"], "scenarios": 1}
    study |= {"arms": ["none", "Shove@0.5", "Sensor_Noise"], "record": {"video": 0}}
    for number, share in enumerate(("0.5", "0.25"), start=1):
        (tmp_path / "shoves.py").write_text(SHOVE.replace("0.5", share))
        factors.factor.cache_clear(), factors.version.cache_clear(), factors._ranks.cache_clear()
        assert foretell.run(study, out="it", workers=0).ran == (3 if number == 1 else 1)
        assert foretell.run(study, out="it", workers=0).ran == 0
        arms = sorted(set(foretell.read("it")["arm"].to_pylist()))
        assert arms[:2] == ["Sensor_Noise", arms[1]] and arms[-1] == "none" and len(arms) == 2 + number
        assert all(re.fullmatch(r"Shove#[0-9a-f]{8}@0\.5", arm) for arm in arms[1:-1])
        assert parse(arms[1]).uses == parse("Shove@0.5").uses and severity_of(arms[1]) == 0.5
    version = factors.version("Shove")
    old = next(r for r in foretell.read("it").to_pylist() if "Shove" in r["arm"] and version not in r["arm"])
    with pytest.raises(UsageError, match=r"factor 'Shove' .* has changed since the run"):
        foretell.replay("it", old["episode"])


@pytest.mark.parametrize("how", [{"workers": 0}, {"workers": 1}])
def test_a_study_names_a_factor_by_its_file(how: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Workers load it too; a path in a study file is relative to that file, and reading the file runs nothing."""
    monkeypatch.setattr(registry, "_ADOPTED", {})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "shoves.py").write_text(SHOVE.replace("0.5 *", "0.0 *"))
    text = "tasks: [{use: lift, time_limit: 0.2}]\npolicies: [random]\nscenarios: 1\nrecord: {video: 0, steps: all}\n"
    text += 'arms: [none, "shoves.py:Shove", {use: "shoves.py:Shove+Sensor_Noise", severity: 0.5}]\n'
    (tmp_path / "lab" / "it.yaml").write_text(text)
    assert load_study("lab/it.yaml").arms[1].own and not registry.adopted("factors"), "nothing was imported"
    foretell.run("lab/it.yaml", out="it", **how)
    rows = {factors_of(row["arm"]): row for row in foretell.read("it").to_pylist()}
    assert set(rows) == {"none", "Shove", "Sensor_Noise@0.5+Shove@0.5"}
    arm = rows["Shove"]["arm"]
    assert re.fullmatch(r"Shove#[0-9a-f]{8}", arm)
    assert foretell.run("lab/it.yaml", out="it", **how).ran == 0
    assert "Shove" not in registry.names("factors"), "what `each` means does not depend on what ran before"
    registry.adopted("factors").clear()
    factors.factor.cache_clear()
    assert foretell.replay("it", rows["Shove"]["episode"]).differences == {}
    assert foretell.judge("it").differences == []


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (SHOVE.replace('"Shove"', '"MO_Size"'), "is called 'MO_Size', as another factor is: give it another `name`"),
        (SHOVE.replace("(Factor)", ""), "should be a subclass of foretell.factors.Factor with a word as `name`"),
    ],
)
def test_a_factor_of_a_file_needs_a_name_of_its_own(
    source: str, why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shoves.py").write_text(source)
    with pytest.raises(UsageError, match=why):
        foretell.run({"tasks": ["lift"], "policies": ["random"], "scenarios": 1, "arms": ["shoves.py:Shove"]}, out="it")
