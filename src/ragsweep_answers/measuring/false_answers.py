"""Answers to cases that the documents do not answer: every one of them is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import Array
from ragsweep.tasks.false_finds import FalseFinds, Kind, ThresholdWords
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.task import Measurement
from ragsweep_answers.measuring.answer_tables import answer_lines
from ragsweep_answers.measuring.measures.accuracy import NOT_ANSWERED

if TYPE_CHECKING:
    import pandas as pd

ANSWER_FILE = "answers.jsonl"
ANSWERS = Kind(
    Metric("false_answer_rate", "False answer rate", higher_is_better=False, low=0, high=1, binary=True, wilson=True),
    Metric("right_or_abstain", "Right or abstain", low=0, high=1),
    Metric("false_answer_auc", "False answer AUC", low=0, high=1),
    "accuracy",
    "When no answer should be given",
    ThresholdWords("confidence", "give no answer", "get an answer", "get the right answer"),
)


def with_false_answers(
    measured: Measurement, cases: pd.DataFrame, unanswerable: pd.DataFrame, resamples: int, seed: int
) -> Measurement:
    """The measurement of the answers to cases that have one, with that of the others.

    Args:
        measured: What is measured without them.
        cases: The answers to cases that have one; see `case_table`.
        unanswerable: The answers to those that have none, at least one.
        resamples: Number of bootstrap resamples.
        seed: Of the bootstrap.
    """
    measured = false_answers(cases, unanswerable).added_to(measured, resamples, seed)
    return replace(
        measured,
        summary=[*measured.summary, *measured.sections[ANSWERS.heading][:1]],
        tables={**measured.tables, "unanswerable.csv": table(unanswerable)},
        files={**measured.files, ANSWER_FILE: [*measured.files[ANSWER_FILE], *answer_lines(unanswerable)]},
    )


def false_answers(cases: pd.DataFrame, unanswerable: pd.DataFrame) -> FalseFinds:
    """What cases without an answer get, and those with one; the arguments are those of `with_false_answers`."""
    confidence, right = _confidence(cases), cases["right"].to_numpy()
    return FalseFinds(
        ANSWERS,
        unanswerable=_confidence(unanswerable),
        false_finds=(unanswerable["chosen"].to_numpy() >= 0).astype(float),
        answerable=confidence,
        answered=(cases["chosen"].to_numpy() >= 0).astype(float),
        hits=cases["correct"].to_numpy(),
        right_scores=np.where(right == 1, confidence, -np.inf),
        groups=Groups.named([*cases["group"], *unanswerable["group"]]),
    )


def table(unanswerable: pd.DataFrame) -> pd.DataFrame:
    """A row for each case without an answer: what it gets, and how sure of that the answerer is."""
    columns = {"answer": unanswerable["letter"].fillna(""), "given": (unanswerable["chosen"] >= 0).astype(int)}
    table = unanswerable.assign(**columns)[["query_id", "answer", "confidence", "given", "query"]]
    return table.reset_index(drop=True)


def _confidence(cases: pd.DataFrame) -> Array:
    """The confidence of each answer, 0 for one without; -inf where there is no answer at any threshold."""
    return np.where(cases["read"] == NOT_ANSWERED, -np.inf, np.nan_to_num(cases["confidence"]))
