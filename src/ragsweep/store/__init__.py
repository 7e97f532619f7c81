"""Stored stages, and the keys that name them."""
