"""Databases that keep passages and search them elsewhere, and retrievers that run already."""

from pathlib import Path

from ragsweep.core.plugins import Command, Plugin

PLUGIN = Plugin(
    about="index=pgvector: a database; retriever=callable, http, traces, ...: what runs already",
    conf=Path(__file__).parent / "conf",
    commands={"qdrant": Command("show a collection of Qdrant", "ragsweep_engines.qdrant_command:main")},
)
