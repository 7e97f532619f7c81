"""Recorded runs: measured again, explained, compared."""
