"""Chunkers: each cuts a text into passages, given as character offsets."""
