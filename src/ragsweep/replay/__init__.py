"""Reproduces, explains and compares recorded runs."""
