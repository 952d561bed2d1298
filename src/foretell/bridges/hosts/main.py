"""Runs a policy in an environment of its own, which needs nothing of foretell, and serves it.

    PYTHON main.py DESCRIPTOR        # `hosted.Hosted` starts it so, with one end of a pair of sockets

The first message says of which kind the policy is, where it is and its options; the answer says what it reads and
returns. Then each message is one call: `reset` or `act`. When the link ends, this process ends. The link is that of
robots' drivers (`hardware/host.py`). Python 3.8 must be able to read it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

__all__ = ["main"]

KINDS = ("lerobot", "python", "torchscript")
"""Each is a module beside this one with a function `make`."""
QUIET = {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_DISABLE_TELEMETRY": "1"}


def _module(path: Path) -> Any:
    """A file beside foretell's others, without the package that they are in."""
    spec = importlib.util.spec_from_file_location(f"foretell_{path.stem}", str(path))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class OpenedFiles:
    """Files that Python opens for reading, and does not write; what a policy is known by."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.written: set[str] = set()
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: Any) -> None:
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            flags = arguments[2] if len(arguments) > 2 and isinstance(arguments[2], int) else 0
            writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            (self.written if writes else self.paths).add(os.path.abspath(os.fsdecode(arguments[0])))

    def own(self) -> list[str]:
        """Those that are not of Python, of packages or of the system, and the user's own modules."""
        theirs = tuple({os.path.realpath(p) + os.sep for p in (sys.prefix, sys.base_prefix, sys.exec_prefix)})
        paths = (self.paths - self.written) | {
            str(m.__file__) for m in list(sys.modules.values()) if getattr(m, "__file__", None)
        }
        paths = {os.path.realpath(path) for path in paths if not path.endswith((".pyc", ".so"))}
        ours = str(Path(__file__).resolve().parents[2]) + os.sep
        system = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/lib")
        hidden = os.path.expanduser("~/.")
        return sorted(p for p in paths if os.path.isfile(p) and not p.startswith((*theirs, ours, *system, hidden)))


def _called(model: Any, name: Any, arguments: Any) -> Any:
    if name == "reset":
        model.reset(arguments["slots"], arguments["instructions"], arguments["seeds"])
        return None
    if name == "act":
        return model.act(arguments["slots"], arguments["observations"])
    raise AttributeError(f"{name!r:.50} is none of the calls reset, act")


def _policy(hello: dict[str, Any], load: Any) -> dict[str, Any]:
    """What the policy says of itself, and what is called."""
    os.environ.update({k: v for k, v in QUIET.items() if k not in os.environ})
    opened = OpenedFiles()
    if hello.get("kind") not in KINDS:
        raise ValueError(f"{hello.get('kind')!r:.50} is no kind of policy: {', '.join(KINDS)}")
    sys.path.insert(0, os.getcwd())
    module = _module(Path(__file__).resolve().with_name(f"{hello['kind']}_model.py"))
    model = module.make(hello["use"], hello["options"], load)
    about = {**model.about, "files": opened.own(), "python": sys.version.split()[0]}
    return {"about": about, "called": lambda name, arguments: _called(model, name, arguments)}


def main(descriptor: int) -> int:
    """Serve the link with this number."""
    here = Path(__file__).resolve()
    sys.path[:] = [p for p in sys.path if Path(p).resolve() != here.parent]  # hides nothing of that environment
    host = _module(here.parents[2] / "hardware" / "host.py")
    done: int = host.serve(descriptor, "main.py", lambda hello: host.Service(**_policy(hello, host.load)))
    return done


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
