"""Questions asked of tables: `bound`, `predictivity`, `compare` and `budget`, one file each.

Each takes CSV or Parquet files, run folders or tables in memory, and returns an answer with `to_dict()` (what
`--json` prints) and `text()` (what the command line prints otherwise). The arithmetic is in `foretell.stats`.
"""
