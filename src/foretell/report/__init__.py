"""A report: what runs show, in one page that opens from disk."""

from foretell.report.contents import contents
from foretell.report.page import page
from foretell.report.runs import OneRun, Runs
from foretell.report.section import Chart, Section, Sheet, Words
from foretell.report.write import Written, report

__all__ = ["Chart", "OneRun", "Runs", "Section", "Sheet", "Words", "Written", "contents", "page", "report"]
