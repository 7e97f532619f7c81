"""Judges only what can change a decision, and stops when it is decided."""
