"""Check this machine and list what to install.

Examples:
    foretell doctor
"""

from __future__ import annotations

import json

from foretell.cli._flags import Json

__all__ = ["main"]


def main(*, json_: Json = False) -> None:
    """Try everything that foretell uses on this machine. It takes about ten seconds. The exit code is 1 if something
    necessary does not work, or if this folder is not writable."""
    from foretell import doctor

    answer = doctor()
    if json_:
        print(json.dumps(answer.to_dict(), indent=2))
    else:
        wide = max(len(line.name) for line in answer.lines)
        first = max(7, *(len(line.status) for line in answer.lines))
        for line in answer.lines:
            print(f"{line.status:<{first}}  {line.name:<{wide}}  {line.detail}")
            if line.fix and line.status != "ok":
                print(f"{'':<{first}}  {'':<{wide}}  -> {line.fix}")
        print(answer.verdict)
    if not answer.ok:
        raise SystemExit(1)
