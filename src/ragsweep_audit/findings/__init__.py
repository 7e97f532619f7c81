"""What is wrong with a dataset: each kind of problem is found by one class."""

from ragsweep_audit.findings.finding import Audited, Finder, Finding

__all__ = ["Audited", "Finder", "Finding"]
