"""The command line. One file per verb, no logic: each verb is also a Python function of the same name.

A verb that does several things is a folder, with a file for each: `foretell match camera` is match/camera.py.
"""

from __future__ import annotations

import ast
import functools
import inspect
import os
import re
import shutil
import signal
import sys
import textwrap
import threading
import traceback
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["main"]


JOURNEY = {
    "Start here": ("demo", "doctor", "list"),
    "Check your policy, task or world": (
        "check",
        "identify",
        "match",
        "import-object",
        "import-room",
        "latency",
        "serve-policy",
        "env",
    ),
    "Run in simulation and look at the results": ("run", "view", "show", "replay", "timeline", "judge"),
    "Run on many machines": ("slurm", "merge"),
    "Find what breaks a policy": ("clocks", "testset", "leaderboard", "redteam"),
    "Plan and record real trials": ("budget", "cards", "import"),
    "Predict and compare real performance": ("bound", "compare", "gate", "predictivity", "offline", "tune"),
    "Share the results": ("report", "figure", "export", "demos", "reproduce"),
}
"""What a user does, in order -> the verbs for it."""


def verbs() -> dict[str, Path]:
    """Verb -> its file, in alphabetical order. That of a folder is its __init__.py."""
    folders = {path.parent.name: path for path in Path(__file__).parent.glob("[a-z]*/__init__.py")}
    return dict(sorted({**_files(Path(__file__).parent), **folders}.items()))


def commands() -> dict[str, str]:
    """All that can be typed after `foretell`, such as `run` and `match camera` -> its module."""
    commands = {}
    for verb, path in verbs().items():
        if path.stem != "__init__":
            commands[verb] = f"foretell.cli.{path.stem}"
        else:
            parts = _files(path.parent)
            commands |= {f"{verb} {part}": f"foretell.cli.{verb}.{file.stem}" for part, file in parts.items()}
    return commands


def _files(folder: Path) -> dict[str, Path]:
    files = sorted(folder.glob("*.py"))
    return {f.stem.rstrip("_").replace("_", "-"): f for f in files if not f.stem.startswith("_")}


RESUMES = ". Every finished episode is kept. Run the same command to resume"
STOPPED = {
    **dict.fromkeys(("demo", "redteam", "run", "testset"), RESUMES),
    **dict.fromkeys(("identify", "import-object"), ". Nothing was written"),
}
"""Verb -> what a person should know when it was stopped."""
USUAL = {"usage": 2, "failed": 1}
CODES = {"gate": {"usage": 64, "failed": 65, "crashed": 70}}
"""Verb -> its exit codes of errors, where the usual ones have another meaning. 0, 1 and 2 are the decisions of `gate`,
and a crash must not look like one of them."""


def main(arguments: list[str] | None = None) -> None:
    """Run one verb. Errors a user can act on are printed in a line or two; others show their traceback."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # an ASCII terminal must not turn a tick into a traceback
    from foretell.errors import ForetellError, UsageError
    from foretell.terminal import brief, safe

    def message_of(error: Exception) -> str:
        return brief(safe(str(error)))

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminate)
    before, warnings.formatwarning = warnings.formatwarning, _warned  # type: ignore[assignment]
    others = _helpers()
    codes = CODES.get(arguments[0], USUAL) if arguments else USUAL
    try:
        _run(arguments)
        sys.stdout.flush()
    except UsageError as error:
        _fail(message_of(error), codes["usage"])
    except ForetellError as error:
        _fail(message_of(error), codes["failed"])
    except KeyboardInterrupt as stop:
        code = 128 + (stop.args[0] if stop.args else signal.SIGINT)
        _fail(f"stopped{STOPPED.get(arguments[0], '') if arguments else ''}", code)
    except BrokenPipeError:  # the reader of our output has gone: `foretell show RUN | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception:
        if "crashed" not in codes:
            raise
        traceback.print_exc()
        raise SystemExit(codes["crashed"]) from None
    finally:
        warnings.formatwarning = before
        for process in _helpers() - others:
            process.kill()


def _helpers() -> set[Any]:
    """Processes that a policy has started in this one. Python would wait for their end, which may never come."""
    module = sys.modules.get("multiprocessing")
    return set() if module is None else set(module.active_children())


def _warned(message: Warning | str, *_: object) -> str:
    """A warning is for users, who need no line of ours."""
    from foretell.terminal import brief, safe

    return f"warning: {brief(safe(str(message)))}\n"


def _run(arguments: list[str]) -> None:
    known = verbs()
    if arguments and arguments[0] == "help" and len(arguments) > 1:
        arguments = [*arguments[1:], "--help"]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_help(known))
        return
    if arguments[0] in ("-V", "--version"):
        from foretell import __version__

        print(f"foretell {__version__}")
        return
    verb, *rest = arguments
    from foretell.errors import UsageError, suggest

    if verb not in known:
        raise UsageError(f"there is no verb {verb!r}; {suggest(verb, known)}")
    if known[verb].stem == "__init__":
        parts = _files(known[verb].parent)
        if not rest or rest[0] in ("-h", "--help"):
            print(_help_of_parts(verb, known[verb], parts))
            return
        if rest[0] not in parts:
            raise UsageError(f"{verb} has no part {rest[0]!r:.100}; {suggest(rest[0], parts)}")
        verb, rest = f"{verb} {rest[0]}", rest[1:]
    _call(verb, rest)


def _call(verb: str, rest: list[str]) -> None:
    from foretell.cli._confidence import check_once
    from foretell.cli._defaults import with_defaults
    from foretell.cli._spelling import check_flags

    module = import_module(commands()[verb])
    main = with_defaults(verb, module.main)
    check_flags(verb, main, rest)
    check_once(rest)
    try:
        parse(verb, _plain(main), rest)
    except SystemExit as end:
        if not end.code and {"-h", "--help"} & set(rest):
            print("\n".join(["examples:", *(f"  {line}" for line in examples(module.__doc__ or ""))]))
        if type(end) is SystemExit and end.code == USUAL["usage"] and verb in CODES:  # of the parser
            raise SystemExit(CODES[verb]["usage"]) from None
        raise


def parse(verb: str, main: Callable[..., None], arguments: list[str]) -> None:
    """Call a verb's `main` with the arguments of a command line."""
    import tyro

    from foretell.cli._numbers import numbers

    about = (inspect.getdoc(main) or "").partition("\nArgs:\n")[0]
    wide = min(shutil.get_terminal_size().columns, 120)
    lines = [
        textwrap.fill(part, wide, initial_indent=" ", subsequent_indent=" ") for part in about.strip().split("\n\n")
    ]
    tyro.cli(
        main,
        prog=f"foretell {verb}",
        description="\n".join(lines),  # the parser keeps the breaks before lines that begin with a space
        args=arguments,
        config=(tyro.conf.FlagCreatePairsOff, tyro.conf.DisallowNone),
        registry=numbers(),
    )


def examples(text: str) -> list[str]:
    """The commands under "Examples:" in the docstring of a verb's file."""
    _, _, below = text.partition("\nExamples:\n")
    return [re.sub(" +#", "  #", line.strip()) for line in below.splitlines() if line.strip()]


def _plain(main: Callable[..., None]) -> Callable[..., None]:
    """The verb, with names and reasons in what it prints as text that no terminal obeys."""
    from foretell.terminal import plainly

    @functools.wraps(main)
    def plain_main(*arguments: Any, **options: Any) -> None:
        with plainly():
            main(*arguments, **options)

    return plain_main


def _terminate(number: int, frame: object) -> None:
    """A polite kill stops a study as Ctrl-C does."""
    raise KeyboardInterrupt(number)


def _fail(message: str, code: int) -> None:
    print(f"foretell: {message}", file=sys.stderr)
    raise SystemExit(code)


def _help(known: dict[str, Path]) -> str:
    """One line per verb, read from the files without importing them: help must be instant."""
    lines = [
        "foretell predicts how a robot policy will do in the real world, and how far to",
        "trust the answer.",
        "",
        "usage: foretell VERB [options]",
        "       foretell help VERB            shows the options of a verb, with examples",
    ]
    placed = {verb for group in JOURNEY.values() for verb in group}
    rest = tuple(verb for verb in known if verb not in placed)
    for title, group in {**JOURNEY, **({"More": rest} if rest else {})}.items():
        lines += ["", title]
        for verb in group:
            lines.append(f"  {verb:<14} {_about(known[verb])}")
    return "\n".join(lines)


def _help_of_parts(verb: str, file: Path, parts: dict[str, Path]) -> str:
    """One line for each part of a verb."""
    lines = [
        _about(file),
        "",
        f"usage: foretell {verb} PART [options]",
        f"       foretell help {verb} PART     shows the options of a part, with examples",
        "",
    ]
    return "\n".join([*lines, *(f"  {part:<13} {_about(path)}" for part, path in parts.items())])


def _about(file: Path) -> str:
    """The first line of a file's docstring."""
    return (ast.get_docstring(ast.parse(file.read_text())) or "").partition("\n")[0]
