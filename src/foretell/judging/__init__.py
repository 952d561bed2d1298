"""Judging from pictures: detectors of success, which propose, and the coin that decides what a person confirms."""

from foretell.judging.confirm import confirms
from foretell.judging.detector import Detector, NamedDetector, Proposal, load_detector

__all__ = ["Detector", "NamedDetector", "Proposal", "confirms", "load_detector"]
