"""References that are not in the text that a parser has read: how many, and which questions are not measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragsweep.core.terminal import counted, named, one_line
from ragsweep.datasets import Dataset
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.task import Measure

LOST = Metric("coverage/lost_references", "Lost references", "references", higher_is_better=False, low=0)
LONGEST_SHOWN = 60  # characters of a reference


def measured(dataset: Dataset) -> Iterator[Measure]:
    """The number of the references that the text lacks, where references were looked for in it."""
    if dataset.reading and dataset.reading.references:
        yield Measure(LOST, float(len(dataset.reading.lost)))


def in_words(dataset: Dataset) -> Iterator[str]:
    """Which parser loses how many references; nothing where none is lost."""
    if dataset.reading and (lost := dataset.reading.lost):
        of = f"{len(lost)} of {counted(dataset.reading.references, 'reference')}"
        questions = counted(len({each.query_id for each in lost}), "question")
        texts = [one_line(each.text)[:LONGEST_SHOWN] for each in lost]
        yield f"{dataset.reading.parser or 'The text'} loses {of}{named(texts)}: {questions} left out."


def facts(dataset: Dataset) -> dict[str, Any]:
    """Which parser read the documents, and the references that its text lacks; empty if that is not known."""
    reading = dataset.reading
    if reading is None:
        return {}
    lost = [{"query": each.query_id, "source": each.source, "text": each.text} for each in reading.lost]
    of_references = {"references": reading.references, "lost_references": lost} if reading.references else {}
    return {"parser": reading.parser, **of_references}
