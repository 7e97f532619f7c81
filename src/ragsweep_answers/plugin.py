"""What this plugin brings."""

from pathlib import Path

from ragsweep.core.plugins import Plugin

PLUGIN = Plugin(
    about="task=answers: multiple-choice questions, answered from what is retrieved",
    conf=Path(__file__).parent / "conf",
)
