"""Latencies that depend on the policy: measured once and kept, or those of a device."""

from __future__ import annotations

import csv
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

import foretell
from foretell.errors import UsageError
from foretell.latency.trace import read_trace, rounded
from foretell.study.config import PolicyEntry, load_study
from foretell.study.latencies import _of_policy, _whose
from foretell.study.store import Store

STUDY = {"name": "s", "tasks": ["lift"], "policies": {"e": "expert"}, "scenarios": {"count": 2}}


def run(folder: Path, latency: Any, **more: Any) -> list[dict[str, Any]]:
    foretell.run({**STUDY, **more, "clocks": [{"virtual": {"latency": latency}}]}, out=folder, add=True)
    return foretell.read(folder).to_pylist()


def values(row: dict[str, Any]) -> list[float]:
    return json.loads(row["clock"])["latency"]["values"]


def test_measured_once_and_kept(tmp_path: Path) -> None:
    """An empty trace, as a kill could leave it once, is measured anew."""
    study = load_study(STUDY)
    (tmp_path / "run" / "latency").mkdir(parents=True)
    (tmp_path / "run" / "latency" / f"e-lift-{_whose(study, 'e', study.tasks[0])}.txt").touch()
    first = run(tmp_path / "run", "measured")
    (kept,) = (tmp_path / "run" / "latency").glob("e-lift-*.txt")
    trace = [float(line) for line in kept.read_text().split()]
    assert len(trace) == 100 and 0 < min(trace) < 0.05
    assert all(values(row) == trace for row in first)
    assert dict(first[0]["metrics"])["latency_per_inference_s"] >= 0.002  # taken up at the next tick
    again = run(tmp_path / "run", "measured", scenarios={"count": 3})
    assert len(again) == 3 and all(values(row) == trace for row in again), "a resumed study measures nothing"
    shown = foretell.show(tmp_path / "run")
    assert {row["clock"] for row in shown} == {"virtual measured"}


def test_a_trace_is_written_whole_and_stands(tmp_path: Path) -> None:
    trace = rounded([0.1, 0.2000000004])
    with Store(tmp_path / "run") as store:
        store.write_latencies({"p.txt": trace})
        path = store.path / "latency" / "p.txt"
        assert read_trace(path) == trace
        assert [p.name for p in path.parent.iterdir()] == ["p.txt"]
        with pytest.raises(foretell.ForetellError, match="another process measured this latency meanwhile"):
            store.write_latencies({"p.txt": [0.3]})
        assert read_trace(path) == trace
        for torn in ("", "0.1\n0.", "0.1\nx\n", "nan\n", "\x00" * 9):
            path.write_text(torn)
            assert read_trace(path) is None
        store.write_latencies({"p.txt": [0.3]})
        assert read_trace(path) == [0.3]


def test_a_trace_is_of_one_policy_and_no_other(tmp_path: Path) -> None:
    """Another policy under the same name, other weights in the same file, names that look alike on a disk."""
    weights = tmp_path / "p.py"
    weights.write_text("from foretell.policies.expert import Expert\nclass P(Expert): pass\n")
    study = load_study({**STUDY, "policies": {"e 1": "expert", "e_1": "random", "file": f"{weights}:P"}})
    (task,) = study.tasks
    names = [_whose(study, policy, task) for policy in study.policies]
    weights.write_text(weights.read_text() + "# trained for longer\n")
    names.append(_whose(study, "file", task))
    other = load_study({**STUDY, "policies": {"e 1": "random"}, "world": "standin"})
    names.append(_whose(other, "e 1", task))
    assert len(set(names)) == 5


@pytest.mark.daily
def test_a_profile_by_policy_task_and_scale(tmp_path: Path) -> None:
    profile = tmp_path / "lab.yaml"
    profile.write_text(
        yaml.safe_dump(
            {
                "desk": {"expert": 0.02, "noisy-expert": {"uniform": [0.03, 0.04]}},
                "shelf": {"lift": {"e": 0.05}},
                "jetson": {"scale": 1000},
                "any": 0.07,
                4090: 0.08,  # which YAML takes for a number
            }
        )
    )
    for device, expected in (("desk", [0.02]), ("shelf", [0.05]), ("any", [0.07]), (4090, [0.08])):
        rows = run(tmp_path / str(device), {"profile": str(profile), "device": device})
        assert values(rows[0]) == expected
        assert {r["clock"] for r in foretell.show(tmp_path / str(device))} == {f"virtual {device}"}
    slow = run(tmp_path / "jetson", {"profile": str(profile), "device": "jetson"})
    assert min(values(slow[0])) > 0.05, "a thousand times what is measured here"


def test_what_a_profile_does_not_know_is_named(tmp_path: Path) -> None:
    profile = tmp_path / "lab.yaml"
    profile.write_text("desk: {bc: 0.02}\nshelf: 0.1\nback: {scale: -1}\nnone: {scale: null}\n1080: 0.1\n")
    for latency, message in (
        ({"profile": str(profile), "device": "dask"}, "did you mean 'desk'"),
        ({"profile": str(profile)}, "one of desk, shelf"),
        ({"profile": str(profile), "device": "back"}, "device 'back': scale is -1, it should be a number above 0"),
        ({"profile": str(profile), "device": "none"}, "scale is None"),
        ({"profile": str(profile), "device": "desk"}, "has no latency for policy 'e'.*it has bc"),
        ({"profile": "nowhere.yaml"}, "asyncrobosim"),
    ):
        with pytest.raises(UsageError, match=message):
            run(tmp_path / "run", latency)


def test_a_policy_that_cannot_be_timed_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "import foretell\nclass Bad(foretell.Policy):\n    spec = foretell.PolicySpec()\n"
        "    def act(self, slots, observations):\n        raise ValueError('no')\n"
    )
    with pytest.raises(UsageError, match=r"latency of policy 'e' on lift.*no"):
        run(tmp_path / "run", "measured", policies={"e": f"{tmp_path}/bad.py:Bad"})


def test_the_shipped_profile_knows_what_a_policy_runs_by_default() -> None:
    given = yaml.safe_load((files("foretell") / "profiles" / "asyncrobosim.yaml").read_text())["asyncrobosim"]
    for execute, known in ((None, "dp/8"), (2, "dp/2")):
        entry = PolicyEntry(use="zoo:dp", execute=execute)
        assert _of_policy(given, "asyncrobosim", "mine", entry, "can") == given["can"][known]


def test_the_shipped_profile_is_the_papers_table() -> None:
    shipped = yaml.safe_load((files("foretell") / "profiles" / "asyncrobosim.yaml").read_text())["asyncrobosim"]
    text = (files("foretell") / "papers" / "async" / "table_3.csv").read_text().splitlines()
    names = {"BC-TF": "bc-transformer", "BC-TF-GMM": "bc-transformer-gmm", "BC": "bc", "BC-VAE": "bc-vae"}
    names |= {"BC-Gaussian": "bc-gaussian", "BC-GMM": "bc-gmm"}
    names |= {f"DP (chunk={k})": f"dp/{k}" for k in (1, 2, 4, 8, 16)}
    rows = [r for r in csv.DictReader(line for line in text if not line.startswith("#")) if r["task"] in shipped]
    found = {
        task: {names[r["policy"]]: round(float(r["latency"]) / 1000, 5) for r in rows if r["task"] == task}
        for task in shipped
    }
    assert found == shipped and set(shipped) == {"lift", "can", "square"}
