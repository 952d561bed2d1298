"""What a policy is known by: its source, the modules of the user's that it imports, and the files that it loads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import foretell
from foretell.checks import check_policy
from foretell.checks.setting import task_of, world_of
from foretell.errors import UsageError
from foretell.fingerprint import loaded
from foretell.policies.make import bind, covers, make_policy

POLICY = """
import json
from functools import lru_cache
from pathlib import Path

import numpy as np

from foretell import Policy, PolicySpec

HERE = Path(__file__).parent


@lru_cache
def kept(path):
    return np.load(path)


class Loads(Policy):
    spec = PolicySpec()

    def __init__(self, weights="weights.npy"):
        self.weights = np.load(HERE / weights)
        (HERE / "log.txt").write_text("made")
        assert (HERE / "log.txt").read_text() == "made"
        Path("/proc/self/status").read_text()

    def act(self, slots, observations):
        return np.zeros((len(slots), 7))


class Keeps(Loads):
    def __init__(self):
        self.weights = kept(HERE / "weights.npy")


class Declares(Loads):
    files = ["other.bin"]


class Late(Loads):
    def __init__(self):
        pass

    def bind(self, task, action):
        self.weights = np.load(HERE / "weights.npy")


class Lazy(Loads):
    def __init__(self):
        self.weights = None

    def act(self, slots, observations):
        if self.weights is None:
            self.weights = np.load(HERE / "weights.npy")
        return super().act(slots, observations)


class Honest(Lazy):
    files = ["weights.npy"]


class Own(Loads):
    def fingerprint(self):
        return "mine"


class Options(Loads):
    def __init__(self, model="", folder=""):
        pass
"""


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (tmp_path / "policy.py").write_text(POLICY)
    save(tmp_path / "weights.npy", 1.0)
    (tmp_path / "other.bin").write_bytes(b"1")
    return tmp_path


def save(path: Path, value: float) -> None:
    np.save(path, np.full(4, value))


WORLD = world_of(task_of("lift"), "mujoco", slots=1)


def hash_of(use: str, **options: Any) -> str:
    return bind(make_policy(use, options), WORLD, "p", options=options).hash


@pytest.mark.parametrize("name", ["Loads", "Keeps", "Late"])
def test_weights_overwritten_under_the_same_name_are_another_policy(lab: Path, name: str) -> None:
    use = f"{lab / 'policy.py'}:{name}"
    first = hash_of(use)
    assert hash_of(use) == first  # also where the loader keeps what it has read
    save(lab / "weights.npy", 2.0)
    second = hash_of(use)
    assert second != first
    save(lab / "weights.npy", 1.0)
    assert hash_of(use) == first


def test_what_it_writes_and_what_the_system_has_do_not_count(lab: Path) -> None:
    made = make_policy(f"{lab / 'policy.py'}:Loads")
    found = covers(made)
    assert found is not None and [f.name for f in found.files] == ["weights.npy"] and not found.declared
    assert "class Loads in policy.py" in found.text() and "weights.npy (160 bytes, SHA-256 " in found.text()


@pytest.mark.parametrize(("name", "late"), [("Loads", False), ("Late", False), ("Lazy", True), ("Honest", False)])
def test_the_check_names_files_that_are_read_too_late(lab: Path, name: str, late: bool) -> None:
    report = check_policy(f"{lab / 'policy.py'}:{name}")
    wrong = [finding for finding in report.findings if not finding.passed]
    assert [finding.name for finding in wrong] == ["files"] * late
    assert not late or "it read weights.npy in `act` or `reset`" in wrong[0].detail


@pytest.mark.parametrize(
    ("path", "system"),
    [
        ("/etc/hosts", True),
        ("/usr/share/fonts/a.ttf", True),
        ("/var/cache/fonts", True),
        ("/run/lock/a", True),
        ("/var/home/ada/weights.pt", False),  # where some systems have their homes
        ("/run/media/ada/disk/weights.pt", False),
        ("/usr/local/share/models/weights.pt", False),
        ("/var/lib/models/weights.pt", False),
        ("/data/weights.pt", False),
    ],
)
def test_folders_of_people_are_not_the_systems(path: str, system: bool) -> None:
    assert loaded.of_system(Path(path)) == system


def test_what_libraries_cache_does_not_count(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(lab))
    made = make_policy(f"{lab / 'policy.py'}:Options")
    names = (".cache/fonts.json", ".config/x", "a/__pycache__/f.nbi", ".cache/huggingface/m.safetensors", "kept.npz")
    for name in names:
        (lab / name).parent.mkdir(parents=True, exist_ok=True)
        (lab / name).write_bytes(b"1")
    loaded.remember(made, [lab / name for name in names])
    found = covers(made)
    assert found is not None
    assert [f.name for f in found.files] == [".cache/huggingface/m.safetensors", "kept.npz"]


def test_a_class_may_declare_its_files(lab: Path) -> None:
    use = f"{lab / 'policy.py'}:Declares"
    first = hash_of(use)
    save(lab / "weights.npy", 2.0)
    assert hash_of(use) == first
    (lab / "other.bin").write_bytes(b"2")
    assert hash_of(use) != first
    (lab / "other.bin").unlink()
    with pytest.raises(UsageError, match=r"Declares: `files` names 'other.bin', and there is no such file"):
        hash_of(use)


def test_its_own_fingerprint_says_it_all(lab: Path) -> None:
    use = f"{lab / 'policy.py'}:Own"
    assert hash_of(use) == "mine" and covers(make_policy(use)) is None


def test_files_that_options_name_count_though_python_does_not_open_them(lab: Path) -> None:
    use, model = f"{lab / 'policy.py'}:Options", lab / "model"
    model.mkdir()
    (model / "a.safetensors").write_bytes(b"1")
    first = [hash_of(use, model=str(lab / "other.bin")), hash_of(use, folder=str(model))]
    (model / "notes.txt").write_bytes(b"1")
    assert first == [hash_of(use, model=str(lab / "other.bin")), hash_of(use, folder=str(model))]
    (model / "a.safetensors").write_bytes(b"2")
    (lab / "other.bin").write_bytes(b"2")
    second = [hash_of(use, model=str(lab / "other.bin")), hash_of(use, folder=str(model))]
    assert first[0] != second[0] and first[1] != second[1]


def test_a_policy_that_moves_with_its_files_is_the_same(lab: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    moved = tmp_path_factory.mktemp("moved")
    for path in lab.iterdir():
        (moved / path.name).write_bytes(path.read_bytes())
    assert hash_of(f"{lab / 'policy.py'}:Loads") == hash_of(f"{moved / 'policy.py'}:Loads")


def test_modules_of_ones_own_count_wherever_they_are_imported(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(lab)
    package = lab / "nets_for_coverage"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "deep.py").write_text("GAIN = 1\n")
    (package / "top.py").write_text("def gain():\n    from . import deep\n    return deep.GAIN\n")
    (lab / "uses.py").write_text(POLICY + "\nfrom nets_for_coverage import top\n")
    use = f"{lab / 'uses.py'}:Loads"
    first = hash_of(use)
    found = covers(make_policy(use))
    assert found is not None and [m.name for m in found.modules] == ["__init__.py", "deep.py", "top.py"]
    (package / "deep.py").write_text("GAIN = 2\n")
    assert hash_of(use) != first
    for name in [name for name in sys.modules if name.startswith("nets_for_coverage")]:
        del sys.modules[name]


def test_many_and_large_files_are_bounded(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, least in {"FILES": 2, "WHOLE": 10_000, "BLOCK": 16}.items():
        monkeypatch.setattr(loaded, name, least)
    paths = []
    for i in range(4):
        paths.append(lab / f"{i}.bin")
        paths[-1].write_bytes(bytes(1000))
    assert [bool(f.sha256) for f in loaded.digests(paths)] == [True, True, False, False]
    large = lab / "large.bin"
    large.write_bytes(bytes(100_000))
    (before,) = loaded.digests([large])
    large.write_bytes(b"\1" * 16 + bytes(99_984))
    (after,) = loaded.digests([large])
    assert before.sha256 != after.sha256


def test_built_in_policies_are_known_as_before() -> None:
    """Rows that are there must stay valid: their keys hold these hashes."""
    for name in ("expert", "noisy-expert", "random", "zoo:bc"):
        made = make_policy(name)
        bind(made, WORLD, name)
        assert covers(made) is None
    assert hash_of("zoo:bc") == made.fingerprint()


def test_foretells_own_files_are_installed_ones_wherever_it_lies() -> None:
    """In a checkout too: else its own sources would count as the user's, and every row would get another key."""
    from foretell.fingerprint.source import installed

    root = Path(foretell.__file__).parent
    assert all(installed(path) for path in (root / "tasks" / "lift.py", root / "fingerprint" / "source.py"))
    assert not installed(root.parent / "mine.py")
