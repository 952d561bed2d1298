"""Timing a policy, and a study that replays what was timed."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

import foretell
from foretell.cli import main
from foretell.errors import UsageError
from foretell.policy import Policy, PolicySpec


class Slow(Policy):
    """Thinks for 5 ms, and for much longer the first few times, as networks do."""

    spec = PolicySpec(chunk=2)

    def __init__(self) -> None:
        self.calls = 0

    def act(self, slots, observations):
        self.calls += 1
        time.sleep(0.2 if self.calls <= 3 else 0.005)
        return np.zeros((len(slots), 2, 7))


def test_a_trace_is_of_single_calls_without_the_warm_up() -> None:
    trace = foretell.latency(Slow(), calls=20)
    found = trace.to_dict()
    assert found["calls"] == len(trace.seconds) == 20
    assert 0.005 <= found["p5"] <= found["median"] < 0.1, "the slow first calls are not in it"
    assert found["median_per_action"] == pytest.approx(found["median"] / 2)


def test_failures_are_the_policys() -> None:
    class Broken(Policy):
        spec = PolicySpec()

        def act(self, slots, observations):
            raise RuntimeError("no weights")

    with pytest.raises(UsageError, match="no weights"):
        foretell.latency(Broken())
    with pytest.raises(UsageError, match="calls"):
        foretell.latency("expert", calls=0)


@pytest.mark.parametrize("out", ["/proc/t.txt", "nope/t.txt", "."])
def test_a_trace_that_cannot_be_written_is_told_before_timing(tmp_path, monkeypatch, capsys, out) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["latency", "expert", "--calls", "100000000", "--out", out])
    assert left.value.code == 2 and f"out: cannot write {out}: " in capsys.readouterr().err


def test_a_study_replays_a_trace_file_and_keeps_it(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    main(["latency", "random", "--calls", "12", "--out", "trace.txt"])
    assert "12 inferences" in capsys.readouterr().out
    assert len((tmp_path / "trace.txt").read_text().split()) == 12
    folder = tmp_path / "deep"
    folder.mkdir()
    (tmp_path / "trace.txt").rename(folder / "mine.txt")
    (folder / "study.yaml").write_text(
        "tasks: [lift]\npolicies: {a: expert}\nscenarios: {count: 2}\n"
        "clocks: [sync, {virtual: {latency: {trace: mine.txt}}}, {virtual: {latency: 0.3, speed: 2}}]\n"
    )
    done = foretell.run(folder / "study.yaml", out="run", workers=0)
    (folder / "mine.txt").unlink()  # what was read is in the run folder
    rows = foretell.show(done.path)
    assert len({row["clock"] for row in rows}) == 3 and "virtual 300 ms, speed 2" in {row["clock"] for row in rows}
    clocks = {json.loads(row["clock"])["kind"]: row for row in foretell.read("run").to_pylist()}
    again = foretell.replay("run", clocks["virtual"]["episode"])
    assert again.identical
