"""Test sets from one's own documents: generators of questions, and the checks that a question has to pass."""

from pathlib import Path

from ragsweep.core.plugins import Command, Plugin

PLUGIN = Plugin(
    about="test sets from your own documents",
    conf=Path(__file__).parent / "conf",
    commands={"generate": Command("make a test set from your own documents", "ragsweep_generate.command:main")},
)
