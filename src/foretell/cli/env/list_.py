"""List the environments that foretell makes, and say which are there.

Examples:
    foretell env list
"""

from __future__ import annotations

import json

from foretell.cli._flags import Json

__all__ = ["main"]


def main(*, json_: Json = False) -> None:
    """List the environments that foretell makes. Each line says what it has, and where it is."""
    from foretell import env

    listed = env.list()
    print(json.dumps([one.to_dict() for one in listed], indent=2) if json_ else "\n".join(one.text() for one in listed))
