"""The task of answering multiple-choice questions: answerers, reasoning methods, and what is measured of answers."""

from pathlib import Path

from ragsweep.core.plugins import Plugin

PLUGIN = Plugin(
    about="task=answers: multiple-choice questions, answered from what is retrieved",
    conf=Path(__file__).parent / "conf",
)
