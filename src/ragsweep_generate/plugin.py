"""What this plugin brings."""

from pathlib import Path

from ragsweep.core.plugins import Command, Plugin

PLUGIN = Plugin(
    about="test sets from your own documents",
    conf=Path(__file__).parent / "conf",
    commands={"generate": Command("make a test set from your own documents", "ragsweep_generate.command:main")},
)
