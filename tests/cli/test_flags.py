"""The command line and Python are twins: for every verb the same names and the same defaults. Help names things."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import foretell
from foretell.cli import commands, main
from foretell.cli._defaults import defaults, function_of, with_defaults
from foretell.cli._spelling import positional

MAINS = {verb: with_defaults(verb, import_module(module).main) for verb, module in commands().items()}

SHELL = {"json", "confidence"}
"""Flags of every verb that has them. Python returns objects, and takes `alpha`."""

PYTHON = {"progress", "notify", "policies", "options", "first"}
"""Arguments that are Python objects: functions to call, policies, options and sections."""

ONLY_SHELL = {
    "bound": {"trials"},  # `foretell bound 14/20` is short for --real 14/20
    "figure": {"runs_and_name"},  # NAME comes last, without a flag
    "leaderboard": {"html"},  # pages belong to foretell.report
    "match camera": {"click", "port", "open"},  # foretell.view.clicks.click_points
    "match check": {"out"},  # as of leaderboard
    "reproduce": {"brief", "out"},  # about printing; pages belong to foretell.report
    "run": {"dry_run"},  # foretell.study.estimate.estimate
}
ONLY_PYTHON = {"figure": {"runs", "name"}, "tune": {"folds", "hold_out"}, "serve-policy": {"stop"}}
OPTIONAL = {"bound": {"real"}, "cards": {"run"}}
"""Arguments that only Python requires: counts are another way to give `real`; `cards --stl` goes without a run."""


def parameters(of: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return {name.removesuffix("_"): p for name, p in inspect.signature(of).parameters.items()}


@pytest.mark.parametrize("verb", MAINS)
def test_the_same_names(verb: str) -> None:
    shell, python = parameters(MAINS[verb]), parameters(attrgetter(function_of(verb))(foretell))
    assert set(shell) - set(python) == (SHELL & set(shell)) | ONLY_SHELL.get(verb, set())
    assert set(python) - set(shell) == (PYTHON & set(python)) | ONLY_PYTHON.get(verb, set())
    assert "json" in shell


@pytest.mark.parametrize("verb", MAINS)
def test_the_same_defaults(verb: str) -> None:
    shell, python = parameters(MAINS[verb]), parameters(attrgetter(function_of(verb))(foretell))
    common = (set(shell) & set(python)) - OPTIONAL.get(verb, set())
    assert {name: shell[name].default for name in common} == {name: python[name].default for name in common}


@pytest.mark.parametrize("verb", MAINS)
def test_what_is_given_by_place_is_so_in_python_too(verb: str) -> None:
    hints = typing.get_type_hints(MAINS[verb], include_extras=True)
    places = [name for name in inspect.signature(MAINS[verb]).parameters if positional(hints[name])]
    python = parameters(attrgetter(function_of(verb))(foretell))
    placed = [name for name, p in python.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)]
    if verb not in ("bound", "figure"):
        assert placed[: len(places)] == places


def test_a_default_that_is_no_plain_data_is_left_out() -> None:
    found = defaults("testset")
    assert found["arms"] == ("colosseum:each", "colosseum:all") and "notify" not in found
    assert defaults("bound")["alpha"] == foretell.stats.ALPHA  # through two imports


def helped(verb: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as end:
        main(["help", *verb.split()])
    assert not end.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", ["80", "120"])
@pytest.mark.parametrize("verb", MAINS)
def test_help_names_things(
    verb: str, columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    said = helped(verb, capsys)
    _usage, *lines = said.splitlines()  # the parser does not wrap it
    assert "None" not in said
    assert not re.search(r"\b(STR|INT|FLOAT|PATH|BOOL)\b", said)
    assert not re.search(r"default: *(True|False|\))", said) and "--no-json" not in said
    assert "examples:" in lines[-6:] and lines[-1].startswith(f"  foretell {verb}")
    assert all(len(line) <= int(columns) for line in lines), max(lines, key=len)


@pytest.mark.parametrize("verb", MAINS)
def test_every_argument_has_a_sentence(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A whole one, that ends with a full stop, and shows its default once."""
    text = " ".join(line.strip("│ ") for line in helped(verb, capsys).partition("positional")[2].splitlines())
    assert not re.search(r"default [^.]*\(default", text)
    for name, hint in typing.get_type_hints(MAINS[verb], include_extras=True).items():
        if name == "return":
            continue
        own = [mark.help for mark in hint.__metadata__ if getattr(mark, "help", None)]
        found = re.search(rf"^    {name}: (.*)$", MAINS[verb].__doc__ or "", re.M)
        sentence = own[-1] if own else found.group(1) if found else ""
        assert sentence.endswith(".") and sentence[0].isupper(), f"{verb} {name}: {sentence!r}"


def test_every_line_of_the_list_of_verbs_fits(capsys: pytest.CaptureFixture[str]) -> None:
    main(["help"])
    assert all(len(line) <= 80 for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "s.yaml", "--workers", "many"], "Error parsing --workers: 'many' is not a whole number"),
        (["bound", "14/20", "--alpha", "x"], "Error parsing --alpha: 'x' is not a number"),
        (["bound", "14/20", "--horizon", "x"], "'x' is neither a whole number nor `open`"),
        (["testset", "build", "lift", "--severity", "1", "x"], "Error parsing --severity: 'x' is not a number"),
        (["list", "taks"], "did you mean 'tasks'?"),
        (["check", "polcy", "random"], "did you mean 'policy'?"),
        (["testset", "bild"], "it is build or show"),
        (["reproduce", "simplr"], "did you mean 'simpler'?"),
        (["bound", "14/20", "--design", "x"], "design must be iid, grid or chosen, got 'x'"),
    ],
)
def test_a_value_that_cannot_be(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    said = capsys.readouterr()
    assert end.value.code == 2 and told in said.err and said.out == ""


def test_one_policy_or_several(tmp_path: Path) -> None:
    """`policy="a"` and `policy=["a"]` are the same, as on the command line."""
    lines = "".join(
        f"{policy},s{i},{(i + shift) % 3 > 0}\n" for policy, shift in (("a", 0), ("b", 1)) for i in range(9)
    )
    for name in ("t.csv", "sim.csv"):
        (tmp_path / name).write_text("policy,scenario,success\n" + lines)
    plan: dict[str, Any] = {"real": tmp_path / "t.csv", "sim": tmp_path / "sim.csv", "width": 0.2, "stand_in": True}
    assert foretell.budget(**plan, policy="a").to_dict() == foretell.budget(**plan, policy=["a"]).to_dict()
    assert foretell.compare(tmp_path / "t.csv", policy=["a", "b"]).pairs
    with pytest.raises(foretell.UsageError, match="only one policy to compare"):
        foretell.compare(tmp_path / "t.csv", policy="a")
