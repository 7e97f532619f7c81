"""What this plugin brings."""

from pathlib import Path

from ragsweep.core.plugins import Command, Plugin

PLUGIN = Plugin(
    about="retrieval by letters",
    conf=Path(__file__).parent / "conf",
    defaults={"alphabet": "latin", "vowels": "default"},
    commands={"letters": Command("count the letters of a text", "ragsweep_letters.components:count")},
    checks={"vowels": "ragsweep_letters.components:VowelCheck"},
)
