"""What a world cannot do is refused before the first episode, in words that name the world and what asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy_world
import pytest
from numpy_world import SEEK, TASK

import foretell


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return numpy_world.enter(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("world", "more", "said"),
    [
        (
            "Restless",
            {},
            r"the clock `sync` needs a world that can wait .* and world 'restless' cannot: use .*realtime`",
        ),
        (
            "Patient",
            {"policies": ["random"]},
            r"world 'patient': its action's 'velocity' has duration 'until_done', and every clock gives",
        ),
        ("Turns", {"clocks": [{"virtual": {"latency": 0.1}}]}, r"the clock `virtual` needs .* pause .* 'turns' cannot"),
        ("Blind", {"record": {"video": 1}}, r"record: video needs a world that can draw .* 'blind' cannot: record no"),
        (
            "Still",
            {"record": {"video": 1}, "clocks": ["realtime"]},
            r"video under the clock `realtime` needs a world that can snapshot .* 'still' cannot",
        ),
    ],
)
def test_it_is_refused(world: str, more: dict[str, Any], said: str) -> None:
    study = {"world": f"more.py:{world}", "tasks": [TASK], "policies": {"seek": SEEK}, "scenarios": 1, **more}
    for engine in ("here", "processes"):
        with pytest.raises(foretell.UsageError, match=said):
            foretell.run(study, out="it", engine=engine, workers=1 if engine == "processes" else None)
    assert not Path("it").exists()


def test_what_it_can_do_runs() -> None:
    pytest.importorskip("av")
    study = {"world": "more.py:Still", "tasks": [TASK], "policies": {"seek": SEEK}, "scenarios": 1}
    foretell.run({**study, "record": {"video": 1}}, out="still", engine="here")
    assert len(list(Path("still/videos").glob("*.mp4"))) == 1
    foretell.run({**study, "world": "more.py:Turns"}, out="turns", engine="here")
    foretell.run({**study, "world": "more.py:Restless", "clocks": ["realtime"]}, out="restless", workers=1)
    assert foretell.read("restless").num_rows == 1
