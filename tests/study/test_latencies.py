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

STUDY = {"name": "s", "tasks": ["lift"], "policies": {"e": "expert"}, "scenarios": {"count": 2}}


def run(folder: Path, latency: Any, **more: Any) -> list[dict[str, Any]]:
    foretell.run({**STUDY, **more, "clocks": [{"virtual": {"latency": latency}}]}, out=folder)
    return foretell.read(folder).to_pylist()


def values(row: dict[str, Any]) -> list[float]:
    return json.loads(row["clock"])["latency"]["values"]


def test_measured_once_and_kept(tmp_path: Path) -> None:
    first = run(tmp_path / "run", "measured")
    trace = [float(line) for line in (tmp_path / "run" / "latency" / "e-lift.txt").read_text().split()]
    assert len(trace) == 100 and 0 < min(trace) < 0.05
    assert all(values(row) == trace for row in first)
    assert dict(first[0]["metrics"])["latency_per_inference_s"] >= 0.002  # taken up at the next tick
    again = run(tmp_path / "run", "measured", scenarios={"count": 3})
    assert len(again) == 3 and all(values(row) == trace for row in again), "a resumed study measures nothing"
    shown = foretell.show(tmp_path / "run")
    assert {row["clock"] for row in shown} == {"virtual measured"}


def test_a_profile_by_policy_task_and_scale(tmp_path: Path) -> None:
    profile = tmp_path / "lab.yaml"
    profile.write_text(
        yaml.safe_dump(
            {
                "desk": {"expert": 0.02, "noisy-expert": {"uniform": [0.03, 0.04]}},
                "shelf": {"lift": {"e": 0.05}},
                "jetson": {"scale": 1000},
                "any": 0.07,
            }
        )
    )
    for device, expected in (("desk", [0.02]), ("shelf", [0.05]), ("any", [0.07])):
        rows = run(tmp_path / device, {"profile": str(profile), "device": device})
        assert values(rows[0]) == expected
        assert {r["clock"] for r in foretell.show(tmp_path / device)} == {f"virtual {device}"}
    slow = run(tmp_path / "jetson", {"profile": str(profile), "device": "jetson"})
    assert min(values(slow[0])) > 0.05, "a thousand times what is measured here"


def test_what_a_profile_does_not_know_is_named(tmp_path: Path) -> None:
    profile = tmp_path / "lab.yaml"
    profile.write_text("desk: {bc: 0.02}\nshelf: 0.1\n")
    for latency, message in (
        ({"profile": str(profile), "device": "dask"}, "did you mean 'desk'"),
        ({"profile": str(profile)}, "one of desk, shelf"),
        ({"profile": str(profile), "device": "desk"}, "says nothing of policy 'e'.*it has bc"),
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
