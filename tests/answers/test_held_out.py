"""A simulator that was fitted to the paired real trials is not judged by them, from the world file to the answer."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from studies import Lab

import foretell
from foretell.answers.bound import bound
from foretell.answers.budget import budget
from foretell.answers.compare import compare
from foretell.answers.predictivity import predictivity
from foretell.episodes.scenarios import read_scenarios

rng = np.random.default_rng(8)
N, EXTRA = 24, 60
NAMES = [f"s{i}" for i in range(N + EXTRA)]
REAL, SIM = (rng.random(N) < 0.6).astype(int), (rng.random(N + EXTRA) < 0.6).astype(int)


def table(scores, **columns):
    return {"scenario": NAMES[: len(scores)], "success": list(scores), **columns}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """(run, ids): eight scenarios in a world that was fitted to real trials of the first three."""
    lab = Lab(tmp_path_factory.mktemp("lab"))
    foretell.run(lab.study("plan", "Blink", 8), out=lab.folder / "plan", workers=0)
    ids = [s.id for s in read_scenarios(lab.folder / "plan")]
    (lab.folder / "seen.txt").write_text("\n".join(ids[:3]))
    (lab.folder / "tuned.yaml").write_text("theta: {kp_scale: 0.9}\nfitted_to: seen.txt\n")
    study = lab.study("sim", "Blink", 8, world="tuned.yaml")
    foretell.run(study, out=lab.folder / "sim", workers=0)
    return lab.folder / "sim", ids


def tried(ids):
    return {"scenario": ids, "success": [0, 1] * (len(ids) // 2) + [0] * (len(ids) % 2)}


def test_a_run_carries_what_its_world_was_fitted_to(tuned):
    run, ids = tuned
    assert json.loads((run / "provenance.json").read_text())["fitted_to"] == sorted(ids[:3])
    told = {r["scenario"]: json.loads(r["world_params"])["fitted_to"] for r in foretell.read(run).to_pylist()}
    assert [told[s]["seen"] for s in ids] == [True] * 3 + [False] * 5 and told[ids[0]]["count"] == 3


def test_pairs_that_the_fit_saw_are_left_out_or_refused(tuned, tmp_path):
    run, ids = tuned
    pq.write_table(foretell.read(run), tmp_path / "rows.parquet")
    for source in (run, tmp_path / "rows.parquet"):  # the rows say so wherever they go
        found = bound(tried(ids[:6]), source, method="blocked")
        assert (found.intervals[0].n, found.intervals[0].n_extra) == (3, 2)
        assert "3 of 6 pairs are left out, because the world 'tuned' was fitted to their real trials" in found.text()
        with pytest.raises(foretell.UsageError, match="'tuned' was fitted to the real trials of 3 of 4 paired scen"):
            bound(tried(ids[:4]), source)
    found = bound(tried(ids[3:6]), run, method="blocked")
    assert (
        found.intervals[0].n_extra == 2
        and "3 simulated scenarios do not count as extra either: the world 'tuned'" in found.text()
    )


def test_a_file_may_say_so_too():
    marks = ["yes"] * 10 + ["no"] * (N + EXTRA - 10)
    found = bound(table(REAL), table(SIM, fitted_to=marks))
    wanted = bound({"scenario": NAMES[10:N], "success": REAL[10:]}, {"scenario": NAMES[10:], "success": SIM[10:]})
    assert found.intervals[0] == wanted.intervals[0] and "10 of 24 pairs are left out" in found.notes[0]
    every = table(SIM, fitted_to=[True] * N + [False] * EXTRA)
    with pytest.raises(foretell.UsageError, match=r"24 of 24 paired scenarios.*or leave sim out"):
        bound(table(REAL), every)
    with pytest.raises(foretell.UsageError, match="'fitted_to': expected yes or no; given: 'maybe'"):
        bound(table(REAL), table(SIM, fitted_to=["maybe"] * (N + EXTRA)))


def test_what_the_fit_saw_is_the_reason_also_where_little_else_was_simulated():
    few = table(SIM[:3], fitted_to=[True] * 3, policy=["a"] * 3)
    for ask in (bound, predictivity):
        with pytest.raises(foretell.UsageError, match="was fitted to the real trials of 3 of 3 paired scenarios"):
            ask(real=table(REAL, policy=["a"] * N), sim=few)
    with pytest.raises(foretell.UsageError, match=r"21 of 24 scenarios of .* have no simulated partner"):
        bound(table(REAL), table(SIM[:3]))


def test_real_episodes_are_known_by_their_ids(tmp_path):
    """A world file that lists them, and no scenario: they are no evidence all the same."""
    lab = Lab(tmp_path)
    foretell.run(lab.study("real", "Blink", 8, world="standin"), out=tmp_path / "real", workers=0)
    ids = sorted(foretell.read(tmp_path / "real")["episode"].to_pylist())
    for name, listed in (("some", ids[:3]), ("all", ids)):
        (tmp_path / f"{name}.txt").write_text("\n".join(listed))
        (tmp_path / f"{name}.yaml").write_text(f"theta: {{kp_scale: 0.9}}\nfitted_episodes: {name}.txt\n")
        foretell.run(lab.study(f"in-{name}", "Blink", 8, world=f"{name}.yaml"), out=tmp_path / name, workers=0)
    kept = json.loads((tmp_path / "some" / "provenance.json").read_text())["fitted_episodes"]
    told = json.loads(foretell.read(tmp_path / "some")["world_params"][0].as_py())["fitted_episodes"]
    assert kept == ids[:3] and told["count"] == 3
    found = bound(tmp_path / "real", tmp_path / "some", stand_in=True)
    assert found.intervals[0].n == 5 and "3 of 8 pairs are left out" in found.text()
    with pytest.raises(foretell.UsageError, match="'all' was fitted to the real trials of 8 of 8 paired scenarios"):
        bound(tmp_path / "real", tmp_path / "all", stand_in=True)
    counted = bound(tmp_path / "real", tmp_path / "all", stand_in=True, fitted=True)
    assert counted.intervals[0].n == 8 and any("because you asked for it" in note for note in counted.notes)
    (tmp_path / "lost.yaml").write_text("fitted_episodes: nowhere.txt\n")
    with pytest.raises(foretell.UsageError, match=r"fitted_episodes: cannot read the list of episodes in .*nowhere"):
        foretell.run(lab.study("in-lost", "Blink", 8, world="lost.yaml"), out=tmp_path / "lost", workers=0)


def test_budget_compare_and_predictivity_take_the_held_out_ones():
    marks = [1] * 10 + [0] * (N + EXTRA - 10)
    pilot = budget(table(REAL), table(SIM, fitted_to=marks), width=0.2).pilot
    assert pilot.n == N - 10 and pilot.correlation == pytest.approx(np.corrcoef(REAL[10:], SIM[10:N])[0, 1])
    other = (rng.random(N) < 0.3).astype(int)
    real = {"scenario": NAMES[:N] * 2, "success": [*REAL, *other], "policy": ["a"] * N + ["b"] * N}
    sims = (SIM, (rng.random(N + EXTRA) < 0.3).astype(int))
    sim = {"scenario": NAMES * 2, "success": np.concatenate(sims).tolist(), "policy": ["a"] * 84 + ["b"] * 84}
    fitted = {**sim, "fitted_to": marks * 2}
    found = compare(real, sim=fitted)
    assert found.pairs[0].n_a == N - 10 and found.pairs[0].difference.n_extra == EXTRA
    assert "10 of 24 pairs of policy 'a' are left out" in found.notes[0]
    assert compare(real).pairs[0].n_a == N  # without simulation every trial counts
    board = predictivity(real=real, sim=fitted).scoreboards[""]
    assert board.n_real.tolist() == [N - 10] * 2 and board.sim[0] == pytest.approx(SIM[10:N].mean())
    whole = {**sim, "fitted_to": [True] * N + [False] * EXTRA + [True] * N + [False] * EXTRA}
    for ask in (lambda: compare(real, sim=whole), lambda: predictivity(real=real, sim=whole)):
        with pytest.raises(foretell.UsageError, match="was fitted to the real trials of 24 of 24 paired scenarios"):
            ask()
