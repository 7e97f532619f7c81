"""Databases that keep passages and search them elsewhere."""

from pathlib import Path

from ragsweep.core.plugins import Plugin

PLUGIN = Plugin(
    about="index=lancedb, pgvector and qdrant, retriever=qdrant: databases that keep passages and search them",
    conf=Path(__file__).parent / "conf",
)
