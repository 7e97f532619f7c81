"""One table of the answers: a row per case, to which `evaluate` adds what is measured of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.core.terminal import counted, verb
from ragsweep.datasets import Dataset
from ragsweep.models.language.response import CAUSE_NAMES, Cause
from ragsweep.statistics.intervals import Array
from ragsweep_answers.answering import Answer, Question
from ragsweep_answers.measuring.contexts import NEED_RANKING, Source
from ragsweep_answers.measuring.measures.accuracy import NOT_ANSWERED, WITHHELD

if TYPE_CHECKING:
    import pandas as pd

OF_CASES = ("query_id", "specialty", "difficulty")
OF_ANSWERS = {"letter": "letter", "time_ms": "time_ms", "tokens/in": "tokens_in", "tokens/out": "tokens_out"}
LEAST_COMPARED = 10  # questions with other evidence, of which it is said that all their answers are the same


def case_table(
    items: Dataset, questions: Sequence[Question], answers: Sequence[Answer], source: Source, threshold: float | None
) -> pd.DataFrame:
    """A row per case of a dataset, with what it was asked and what was answered.

    Columns:
        case, question, answer: The case, the question with its evidence, and the answer, as objects.
        query_id, query, specialty, difficulty: Of the case; None if it has none of the latter.
        letter, time_ms, tokens/in, tokens/out: Of the answer; None or NaN if there is none.
        group: Name of its group of cases that depend on each other, such as paraphrases; empty if it is alone.
        read: Position of the option that was read; `NOT_ANSWERED` if there is none.
        chosen: As `read`; `WITHHELD` for an answer that is not given.
        expected: Position of the correct option; -1 if there is none.
        correct: Whether an answer is given and correct, 0 or 1.
        right: Whether the answer is correct, given or not, 0 or 1.
        chance: Probability of guessing the correct option.
        confidence: Probability that the answer is correct: as stated, else that of the chosen option; NaN if there is
            none, or no answer.
        units: Units of the evidence, best first: those that the answering system retrieved by itself, otherwise those
            of the question. Several passages of a unit repeat it.
        evidence: The passages of the evidence; empty if none were found, None if none are needed or known.

    Args:
        items: The dataset.
        questions: What was asked of each case.
        answers: What was answered.
        source: Where the evidence of the questions comes from; `none` also for recorded answers.
        threshold: The lowest confidence of an answer that is given; None gives all.
    """
    import pandas as pd

    rows = [*zip(items.cases, questions, answers, strict=True)]
    read = np.array([case.letters.find(answer.letter or "\0") for case, _, answer in rows], dtype=np.int64)
    expected = np.array([case.position for case in items.cases], dtype=np.int64)
    confidence = np.array([_confidence(answer, option) for answer, option in zip(answers, read.tolist(), strict=True)])
    chosen = read
    if threshold is not None:
        chosen = np.where((read != NOT_ANSWERED) & (np.nan_to_num(confidence) < threshold), WITHHELD, read)
    return pd.DataFrame(
        {
            "case": _objects(items.cases),
            "question": _objects(questions),
            "answer": _objects(answers),
            **{name: _objects([getattr(case, name) for case in items.cases]) for name in OF_CASES},
            "query": [case.text for case in items.cases],
            **{column: _objects([getattr(answer, name) for answer in answers]) for column, name in OF_ANSWERS.items()},
            "group": [query.group or "" for query in items.queries],
            "read": read,
            "chosen": chosen,
            "expected": expected,
            "correct": (chosen == expected).astype(float),
            "right": (read == expected).astype(float),
            "chance": [1 / len(case.options) for case in items.cases],
            "confidence": confidence,
            "units": _objects([_units(question, answer) for _, question, answer in rows]),
            "evidence": _objects([_evidence(question, answer, source) for _, question, answer in rows]),
        }
    )


def retrieves(answers: Iterable[Answer]) -> bool:
    """Whether the answering system retrieved evidence by itself."""
    return any(answer.retrieved is not None for answer in answers)


def as_control(cases: pd.DataFrame, source: Source) -> Array:
    """Whether each answer is correct, 0 or 1; NaN for a case without a judged page, if these are its evidence."""
    has_evidence = [source != "judged" or bool(question.evidence) for question in cases["question"]]
    return np.where(has_evidence, cases["correct"], np.nan)


def doubts_of_controls(cases: pd.DataFrame, source: Source, controls: Mapping[Source, pd.DataFrame]) -> Iterator[str]:
    """Sentences on what a comparison with a control may not show: all answers are the same, or some cannot be read."""
    for other, control in controls.items():
        pairs = [
            _stated(answer) == _stated(again)
            for question, asked_again, answer, again in zip(
                cases["question"], control["question"], cases["answer"], control["answer"], strict=True
            )
            if question.evidence != asked_again.evidence
        ]
        if len(pairs) >= LEAST_COMPARED and all(pairs):
            yield (
                f"The answers to all {len(pairs)} questions with other evidence are the same with the evidence "
                f"{source!r} and {other!r}: evidence changes nothing here, or the answerer keeps "
                "answers by the text of the question, and then this control measures nothing."
            )
        compared = control[~np.isnan(as_control(control, other))]
        if unread := int((compared["chosen"] == NOT_ANSWERED).sum()):
            named = ", ".join(f"{CAUSE_NAMES[cause]} {count}" for cause, count in causes_of(compared["answer"]).items())
            yield (
                f"With the evidence {other!r}, {unread} of {counted(len(compared), 'question')} "
                f"{verb(unread, 'have')} no answer that could be read{named and f' ({named})'}, "
                f"and {verb(unread, 'count')} as wrong in the comparison with it."
            )


def causes_of(answers: Iterable[Answer]) -> dict[Cause, int]:
    """For how many answers a response had no usable text, by cause; without those that no answer has."""
    counts = Counter(cause for answer in answers for cause in {*answer.causes})
    return {cause: counts[cause] for cause in Cause if counts[cause]}


def _objects(values: Sequence[object]) -> pd.Series[Any]:
    import pandas as pd

    return pd.Series([*values], dtype=object)


def _confidence(answer: Answer, read: int) -> float:
    if read == NOT_ANSWERED:
        return np.nan
    if answer.confidence is not None:
        return answer.confidence
    return answer.probabilities[read] if answer.probabilities else np.nan


def _units(question: Question, answer: Answer) -> tuple[str, ...]:
    return tuple(passage.unit for passage in question.evidence) if answer.retrieved is None else answer.retrieved


def _evidence(question: Question, answer: Answer, source: Source) -> object:
    none_found = source in NEED_RANKING if answer.retrieved is None else not answer.retrieved
    return question.evidence or (() if none_found else None)


def _stated(answer: Answer) -> tuple[object, ...]:
    """What an answer says, apart from what it cost."""
    return answer.letter, answer.confidence, answer.probabilities, answer.reasoning
