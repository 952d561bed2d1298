"""Paired and extra scenarios: what moves the estimate is said, and what was drawn otherwise is warned of."""

import json
from dataclasses import replace

import made
import numpy as np
import pytest

from foretell.answers.bound import bound
from foretell.answers.compare import compare
from foretell.errors import UsageError
from foretell.tasks.lift import Lift


def tables(real, paired, extra):
    n, names = len(real), [f"s{i}" for i in range(len(real) + len(extra))]
    return {"scenario": names[:n], "success": real}, {"scenario": names, "success": [*paired, *extra]}


def ones(share, n):
    """1 and 0 in turn, so that order says nothing, with so many ones."""
    return (np.floor(np.arange(1, n + 1) * share) - np.floor(np.arange(n) * share)).astype(int).tolist()


def test_an_estimate_that_leaves_the_real_mean_is_explained():
    real = [1] * 13 + [0] * 7
    paired = [1] * 11 + [0] * 9  # 65 % and 55 % of the same scenarios
    found = bound(*tables(real, paired, ones(0.76, 100)), method="control_variate")
    assert found.intervals[0].estimate > 0.75
    estimate = f"{found.intervals[0].estimate:.1%}"
    explained = f"The estimate is {estimate}, but the mean of the real trials is 65.0%: simulation solves "
    assert (
        f"{explained}55.0% of the tried scenarios and 76.0% of the others, so the tried ones were hard." in found.text()
    )
    assert "warning: simulation moves the estimate by 1" in found.text()  # 10 points and more
    shift = found.to_dict()["shift"]
    assert (shift["real_mean"], shift["sim_tried"], shift["sim_others"]) == pytest.approx((0.65, 0.55, 0.76))
    easy = bound(*tables(real, paired, ones(0.5, 100)), method="control_variate").text()
    assert "so the tried ones were easy." in easy and "warning" not in easy
    even = bound(*tables(real, paired, ones(0.56, 100)), method="control_variate").text()
    assert "55.0% of the tried scenarios and 56.0% of the others." in even and "the tried ones were" not in even
    against = bound(*tables(real, paired[::-1], ones(0.76, 100)), method="control_variate").text()
    assert "and real scores fell where simulated ones rose." in against
    alike = bound(*tables(real, ones(0.5, 20), ones(0.5, 100)), method="control_variate")
    assert "where the real trials' mean" not in alike.text()
    alone = bound(tables(real, real, real)[0])
    assert alone.to_dict()["shift"] is None and "the estimate is" not in alone.text().lower()


def test_other_scenarios_than_the_paired_ones_are_warned_of():
    easier = bound(*tables(ones(0.5, 60), ones(0.5, 60), ones(0.75, 300)))
    assert "were probably drawn differently from the tried ones" in easier.text()
    assert easier.to_dict()["shift"]["p_value"] < 0.01 and "fewer than 1% of studies" in easier.text()
    alike = bound(*tables(ones(0.5, 60), ones(0.5, 60), ones(0.55, 300)))
    assert "drawn otherwise" not in alike.text()


def test_compare_warns_of_them_too():
    real, sim = tables(ones(0.5, 40), ones(0.5, 40), ones(0.5, 200))
    other, ahead = tables(ones(0.4, 40), ones(0.4, 40), [0] * 200)
    both = [{name: [*x[name], *y[name]] for name in x} for x, y in ((real, other), (sim, ahead))]
    named = [{**x, "policy": ["a"] * (len(x["success"]) // 2) + ["b"] * (len(x["success"]) // 2)} for x in both]
    assert (
        "warning: simulation puts a +10.0 points before b in the tried scenarios and +50.0 in"
        in compare(named[0], sim=named[1]).text()
    )
    alike = {**named[1], "success": [*sim["success"], *ones(0.4, 240)]}
    assert "warning" not in compare(named[0], sim=alike).text()


def test_choosing_with_or_without_simulation_is_said_once():
    both = tables(ones(0.5, 20), ones(0.5, 20), ones(0.6, 100))
    told = "Choose the method, and whether to use simulation, before you look at outcomes"
    assert bound(*both).text().count(told) == 1 and told not in bound(both[0]).text()
    assert bound(*both, method="all").text().count("before you look") == 1


def test_assumptions_name_the_draw_and_the_fit():
    both = tables(ones(0.5, 20), ones(0.5, 20), ones(0.6, 100))
    for method in ("blocked", "suresim", "control_variate"):
        relies = next(x for x in bound(*both, method=method).text().splitlines() if x.startswith("This relies on"))
        assert "paired and extra scenarios drawn from the same distribution" in relies
        assert "a simulator that was not fitted to these real trials" in relies


def test_what_the_rows_say_of_the_draw(tmp_path):
    scenarios, rows = made.rows({"p": 0.6}, 40)
    robot = {"world": "real", "world_hash": "r" * 16, "judge": "person"}
    lab = made.run(tmp_path / "lab", scenarios[:10], [replace(r, **robot) for r in rows[:10]])

    def told(*extra):
        run = made.run(tmp_path / f"sim{len(list(tmp_path.iterdir()))}", scenarios, [*rows[:10], *extra])
        return "\n".join(bound(lab, run).notes)

    assert not any(word in told(*rows[10:]) for word in ("paired and extra", "paired ones", "drawn otherwise"))
    other = [replace(r, task_version=Lift.version + 1) for r in rows[10:]]
    with pytest.raises(UsageError, match="several tasks"):  # two versions of one name are two tasks
        told(*other)
    factors = [replace(r, factors='{"MO_Size": 1.2}') for r in rows[10:]]
    assert "drawn under different factors (none and MO_Size)" in told(*factors)
    again = [replace(r, base=rows[0].base) for r in rows[10:]]
    assert "1 extra scenario has the layout and seed of a paired one" in told(*again)
    more = made.run(tmp_path / "more", scenarios[10:], rows[10:])
    first = made.run(tmp_path / "first", scenarios[:10], rows[:10])
    assert "are iid" not in "\n".join(bound(lab, first, more).notes)
    (more / "provenance.json").write_text(json.dumps({"design": "grid"}))
    assert "are iid, those of" in "\n".join(bound(lab, first, more).notes)
