"""Databases that keep passages and search them elsewhere."""
