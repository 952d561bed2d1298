"""Real trials, from a lab's spreadsheet into a run folder: reality is just another world."""

from foretell.reality.folder import Imported, import_

__all__ = ["Imported", "import_"]
