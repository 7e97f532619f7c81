"""The rows of `scripts/benchmark.py`, by what they measure."""
