"""Test sets: frozen scenarios with certificates, on which policies of different people can be compared."""

from foretell.testset.testset import testset

__all__ = ["testset"]
