"""Answers to cases that the documents do not answer: every one of them is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import Array
from ragsweep.tasks import false_find_chart
from ragsweep.tasks.false_finds import FalseFinds, Kind, ThresholdWords
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.task import Measurement
from ragsweep_answers.measuring.answer_tables import answer_lines
from ragsweep_answers.measuring.answered import Answered
from ragsweep_answers.measuring.measures.accuracy import NOT_ANSWERED

if TYPE_CHECKING:
    import pandas as pd

ANSWER_FILE = "answers.jsonl"
HEADING = "When no answer should be given"
ANSWERS = Kind(
    Metric("false_answer_rate", "False answer rate", higher_is_better=False, low=0, high=1, binary=True, wilson=True),
    Metric("right_or_abstain", "Right or abstain", low=0, high=1),
    Metric("false_answer_auc", "False answer AUC", low=0, high=1),
    "accuracy",
    "false_answers",
    ThresholdWords("confidence", "give no answer", "get an answer", "get the right answer"),
    "A right answer has a higher confidence than an answer to a question without one",
    ("confidence", "An answer without a confidence counts as one of confidence 0."),
)


def parted(everything: Answered, rows: Indices) -> tuple[Answered, Answered]:
    """The answers to the cases that have one, at these positions, and those to the others."""
    known = everything.only(rows)
    return known, everything.only(_others(everything, rows))


def _others(everything: Answered, rows: Indices) -> Indices:
    return np.setdiff1d(np.arange(len(everything.cases)), rows)


def with_false_answers(
    measured: Measurement, everything: Answered, rows: Indices, resamples: int, seed: int
) -> Measurement:
    """The measurement of the answers to cases that have one, with that of the others.

    Args:
        measured: What is measured without them.
        everything: All answers.
        rows: Positions of the cases that have an answer; at least one has none.
        resamples: Number of bootstrap resamples.
        seed: Of the bootstrap.
    """
    known, others = parted(everything, rows)
    of_all = everything.groups.of[np.concatenate([rows, _others(everything, rows)])]
    found = false_answers(known, others, Groups.named(of_all.tolist()))
    scores = found.scores(resamples, seed)
    sections = {HEADING: [*found.sentences(scores)]}
    lines = measured.files[ANSWER_FILE]
    return replace(
        measured,
        scores=[*measured.scores, *scores],
        facts={**measured.facts, "false_finds": found.facts},
        sections={**measured.sections, **sections},
        summary=[*measured.summary, *sections[HEADING][:1]],
        tables={**measured.tables, f"{ANSWERS.files}.csv": found.curve(), "unanswerable.csv": table(others)},
        files={**measured.files, ANSWER_FILE: [*lines, *answer_lines(others, others.confidence)]},
        charts=(false_find_chart.draw, found, *measured.charts),
    )


def false_answers(known: Answered, others: Answered, groups: Groups) -> FalseFinds:
    """What cases without an answer get, and those with one.

    Args:
        known: The answers to cases that have one.
        others: The answers to cases that have none, at least one.
        groups: Those of all cases, the known ones first.
    """
    confidence = _confidence(known)
    return FalseFinds(
        ANSWERS,
        unanswerable=_confidence(others),
        false_finds=(others.chosen >= 0).astype(float),
        answerable=confidence,
        answered=(known.chosen >= 0).astype(float),
        hits=known.correct,
        found=np.where(known.right == 1, confidence, -np.inf),
        groups=groups,
    )


def table(others: Answered) -> pd.DataFrame:
    """A row for each case without an answer: what it gets, and how sure of that the answerer is."""
    import pandas as pd

    return pd.DataFrame(
        {
            "query_id": [case.query_id for case in others.cases],
            "answer": [each.letter or "" for each in others.answers],
            "confidence": others.confidence,
            "given": (others.chosen >= 0).astype(int),
            "query": [case.text for case in others.cases],
        }
    )


def _confidence(answered: Answered) -> Array:
    """The confidence of each answer, 0 for one without; -inf where there is no answer at any threshold."""
    return np.where(answered.read == NOT_ANSWERED, -np.inf, np.nan_to_num(answered.confidence))
