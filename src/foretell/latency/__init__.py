"""Inference latency as data: constants, distributions and traces."""

from foretell.latency.latency import Latency, parse_latency

__all__ = ["Latency", "parse_latency"]
