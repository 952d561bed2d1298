"""Strips of pictures near the top of the page, and steps beside films: only of files that lie in the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foretell.report import contents
from foretell.report.pictures import SHOWN
from foretell.study.films import steps

JPEG = b"\xff\xd8\xff\xe0" + b"x" * 100


def filmed(folder: Path, outcomes: dict[str, list[bool]]) -> Path:
    scenarios, _ = made.rows({}, max(map(len, outcomes.values())))
    episodes = [
        made.row(policy, scenario, solved, video=f"videos/{policy}-{i}.mp4")
        for policy, all_ in outcomes.items()
        for i, (scenario, solved) in enumerate(zip(scenarios, all_, strict=False))
    ]
    run = made.run(folder, scenarios, episodes)
    (run / "steps").mkdir()
    for episode in episodes:
        (run / steps(episode.episode)).with_suffix(".jpg").write_bytes(JPEG)
        rows = {"time": [0.0, 0.05], "cube/z": [0.02, 0.12345678], "action/6 gripper": [-1.0, 1.0]}
        pq.write_table(pa.table(rows), run / steps(episode.episode))
        (run / str(episode.video)).write_bytes(b"\0\0\0\x18ftyp" + b"x" * 10)
    return run


def strips(run: Path) -> list[dict[str, Any]]:
    (found,) = [s for s in contents([run])["sections"] if s["id"] == "pictures"]
    return found["blocks"][0]["films"]


def test_a_success_and_a_failure_of_each_policy(tmp_path: Path) -> None:
    run = filmed(tmp_path / "run", {"p": [True, False, True, False], "q": [True, True]})
    said = contents([run])
    order = [section["id"] for section in said["sections"]]
    assert order.index("pictures") == 1, "near the top"
    shown = strips(run)
    assert [(film["said"].split(" · ")[0], film["outcome"]) for film in shown] == [
        ("lift, p", "success"),
        ("lift, p", "failure"),
        ("lift, q", "success"),
    ]
    assert all(film["picture"].startswith("data:image/jpeg;base64,/9j/") for film in shown)
    assert said["sections"][1]["says"] == "3 films: 2 successes and 1 failure."
    found = said["episodes"]["steps"]
    assert len(found) == 6 and found[shown[0]["episode"]]["series"]["cube/z"] == [0.02, 0.1235]


def test_the_clean_scene_comes_before_the_perturbed(tmp_path: Path) -> None:
    scenarios, _ = made.rows({}, 1)
    arms = ("Table_Texture", "none")
    episodes = [made.row("p", scenarios[0], arm=arm, video=f"videos/{arm}.mp4") for arm in arms]
    run = made.run(tmp_path / "run", scenarios, episodes)
    (run / "steps").mkdir()
    for episode in episodes:
        (run / steps(episode.episode)).with_suffix(".jpg").write_bytes(JPEG)
    assert [film["said"] for film in strips(run)] == ["lift, p · success", "lift, p, arm Table_Texture · success"]


def test_there_are_not_too_many(tmp_path: Path) -> None:
    assert len(strips(filmed(tmp_path / "run", {f"p{i}": [True] for i in range(SHOWN + 3)}))) == SHOWN


def test_only_pictures_of_the_run_itself(tmp_path: Path) -> None:
    run = filmed(tmp_path / "run", {"p": [True], "q": [True], "r": [True]})
    secret = tmp_path / "secret.jpg"
    secret.write_bytes(JPEG + b"secret")
    first, second, _ = sorted((run / "steps").glob("*.jpg"))
    first.unlink()
    first.symlink_to(secret)
    second.write_bytes(b"<svg onload=alert(1)>")
    (run / "steps" / f"{second.stem}.parquet").write_bytes(b"no parquet")
    assert len(strips(run)) == 1, "neither a link out of the run nor what is no JPEG"
    assert len(contents([run])["episodes"]["steps"]) == 2


def test_without_films_there_is_no_such_section(tmp_path: Path) -> None:
    scenarios, episodes = made.rows({"p": 0.5}, 4)
    run = made.run(tmp_path / "run", scenarios, episodes)
    assert "pictures" not in [section["id"] for section in contents([run])["sections"]]


@pytest.mark.parametrize("columns", [{"cube/z": [1.0]}, {"time": ["soon"]}])
def test_steps_that_make_no_sense_are_left_out(tmp_path: Path, columns: dict[str, list[Any]]) -> None:
    run = filmed(tmp_path / "run", {"p": [True]})
    (path,) = (run / "steps").glob("*.parquet")
    pq.write_table(pa.table(columns), path)
    assert contents([run])["episodes"]["steps"] == {}
