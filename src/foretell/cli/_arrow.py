"""Arrow without pandas: it loads pandas at its first array, where that is installed, and takes 0.3 s and 40 MB for it.

Only for verbs that run no code of others: Arrow gives this process no pandas tables any more.
"""

from __future__ import annotations

import sys

__all__ = ["leave_pandas_out"]


class _NoPandas:
    """A finder of modules."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ImportError(name)


def leave_pandas_out() -> None:
    """Let Arrow find no pandas. Others still import it as ever."""
    import pyarrow as pa

    sys.meta_path.insert(0, _NoPandas)
    try:
        pa.array([0])  # Arrow looks for pandas here, and only once
    finally:
        sys.meta_path.remove(_NoPandas)
