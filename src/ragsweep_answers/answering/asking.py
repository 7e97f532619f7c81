"""Asks an answerer, and checks what it returns before anything is measured.

It is asked about one kind of evidence so that it cannot join it with what it is asked about another kind.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from math import isclose, isfinite
from typing import Any, TypeVar

from ragsweep.core.digest import digest
from ragsweep.core.errors import Terminated
from ragsweep.models.language.response import Cause
from ragsweep.store.code import kind_of
from ragsweep.store.stage_store import Store
from ragsweep_answers.answering.question import Answer, Answerer, AnswererError, Question

Component = TypeVar("Component")

ID_LENGTH = 16
SHARED_METHODS = ("rank", "encode")  # of parts that see neither judgments nor evidence, and may hold a large model
SUM_ERROR = 1e-6  # by how much probabilities may miss a sum of 1


def ask_apart(answerer: Answerer, questions: Sequence[Question], part: str) -> list[Answer]:
    """Answers of a fresh copy of an answerer, in the order of the questions.

    The questions come in an order, and with ids, that are others for each part, so neither leads from the evidence of
    one part to that of another. Only their texts are the same.

    Args:
        answerer: What is asked. It is not called itself.
        questions: What it is asked.
        part: Names these questions with this evidence. The answerer does not see it.

    Raises:
        AnswererError: As of `answer`, with the ids of the questions as they are here.
    """
    hidden, asked = _hidden(questions, part)
    try:
        answers = answer(fresh(answerer), asked)
    except AnswererError as error:
        text = str(error)
        for shown, question in hidden.items():
            text = text.replace(shown, question.question_id)
        raise AnswererError(text) from error
    by_id = {hidden[shown].question_id: given for shown, given in zip(hidden, answers, strict=True)}
    return [by_id[question.question_id] for question in questions]


def _hidden(questions: Sequence[Question], part: str) -> tuple[dict[str, Question], list[Question]]:
    """Questions by other ids, in the order of these, and the same questions with these ids."""
    hidden = {digest([part, question.question_id])[:ID_LENGTH]: question for question in questions}
    hidden = dict(sorted(hidden.items()))
    return hidden, [replace(question, question_id=shown) for shown, question in hidden.items()]


def answer(answerer: Answerer, questions: Sequence[Question], left_out: Sequence[str | None] = ()) -> list[Answer]:
    """Answer the questions.

    Args:
        answerer: Answers them.
        questions: What is asked.
        left_out: The ids of further questions of the dataset, which recorded answers may be of.

    Raises:
        AnswererError: What the answerer returned is not an answer to each question.
        RuntimeError: The answerer called `sys.exit`.
    """
    try:
        answers = answerer.answer_some(questions, left_out) if left_out else answerer.answer(questions)
    except Terminated:
        raise
    except SystemExit as error:  # ending the process is not for an answerer to decide
        raise RuntimeError(f"{kind_of(answerer)} called sys.exit({error.code!r})") from error
    if not isinstance(answers, list | tuple) or len(answers) != len(questions):
        returned = f"{len(answers)} answers" if isinstance(answers, list | tuple) else type(answers).__name__
        raise AnswererError(f"{kind_of(answerer)}: returned {returned}, expected a list of {len(questions)} answers")
    for question, given in zip(questions, answers, strict=True):
        if problem := _problem(question, given):
            raise AnswererError(f"{kind_of(answerer)}: question {question.question_id!r}: {problem}")
    return list(answers)


def _problem(question: Question, given: object) -> str:
    """What is wrong with an answer; empty if nothing is."""
    if not isinstance(given, Answer):
        return f"returned {type(given).__name__}, expected an Answer"
    if given.letter is not None and (len(given.letter) != 1 or given.letter not in question.letters):
        return f"the letter {given.letter!r} is not an option ({question.letters}); None is no answer"
    if given.confidence is not None and not 0 <= given.confidence <= 1:
        return f"the confidence {given.confidence!r} is not within 0 to 1"
    values = given.probabilities
    if values and (len(values) != len(question.options) or not all(map(isfinite, values))):
        return f"probabilities: found {values!r}, expected {len(question.options)} finite numbers"
    if values and not (min(given.probabilities) >= 0 and _is_one(sum(given.probabilities))):
        return f"probabilities: found {given.probabilities!r}, expected numbers of at least 0 that add up to 1"
    if unknown := [cause for cause in given.causes if cause not in [*Cause]]:
        return f"causes: found {unknown[0]!r}, expected {', '.join(Cause)}"
    for name in ("tokens_in", "tokens_out", "time_ms"):
        value = getattr(given, name)
        if value is not None and not (isfinite(value) and value >= 0):
            return f"{name}: found {value!r}, expected a number of at least 0"
    return ""


def _is_one(total: float) -> bool:
    return isclose(total, 1, abs_tol=SUM_ERROR)


def fresh(component: Component) -> Component:
    """A component with the same settings that has not noted anything: what one copy keeps, another one cannot see.

    Rankers, encoders and stores within it are shared, and so is what cannot be copied, such as an open connection. What
    a class keeps outside of its objects, such as in its module or in a file, is shared, too.
    """
    made = copy.copy(component)
    settings = vars(made)
    memo = {id(part): part for part in _shared(component)}
    for name, value in [*settings.items()]:
        if isinstance(inspect.getattr_static(type(component), name, None), cached_property):
            del settings[name]
            continue
        with suppress(Exception):  # copying a user's object can raise anything
            settings[name] = copy.deepcopy(value, {**memo})
    return made


def _shared(component: object) -> Iterator[Any]:
    """The parts of a component that its copies share."""
    for field in fields(component) if is_dataclass(component) else ():
        value = getattr(component, field.name, None)
        parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else [value]
        for part in parts:
            if isinstance(part, Store) or any(callable(getattr(part, name, None)) for name in SHARED_METHODS):
                yield part
            else:
                yield from _shared(part)
