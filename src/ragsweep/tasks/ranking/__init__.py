"""Measures how well passages are ranked for queries."""
