"""Reads `samples_*.jsonl`, the log of lm-evaluation-harness.

A task of multiple choice logs the log-likelihood of each option. The answer is the most likely one, as in the harness's
metric `acc`, and the probabilities are the softmax: what the model itself finds, not fitted to the correct answers. A
task that generates text logs the text as each of its filters left it.

A sample belongs to the case with its id; without ids, to the case at its position, whose texts it must have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, fsum, inf, isnan
from pathlib import Path
from typing import Any

from ragsweep.core.errors import DatasetError
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS, listed
from ragsweep.models.language.language_model import Exchange
from ragsweep.text.normalisation import composed
from ragsweep_answers.answering.answer_parsing import read_letter
from ragsweep_answers.answering.option_letters import bare_letter, option_with_text
from ragsweep_answers.answering.question import Answer, Question
from ragsweep_answers.answering.rows import Row, UnknownCaseError, read_rows, samples_of, unknown_case

IDS = ("id", "query_id", "question_id")  # fields of a document that may have the id of its case
SAMPLE = ("doc_id", "doc", "filtered_resps")  # fields by which a row of the harness is known
MUTUAL_INFORMATION = "acc_mutual_info"  # the metric for which the harness logs each option twice


@dataclass(frozen=True)
class HarnessLog:
    """The samples of one task, as one filter left them."""

    rows: tuple[Row, ...]

    @classmethod
    def read(cls, path: Path, name: str | None) -> HarnessLog:
        """Read a log.

        Args:
            path: The file.
            name: Of the filter; None if the log has only one.

        Raises:
            DatasetError: The file or a row cannot be read.
            ConfigError: The filter is not in the log, or there are several and none is chosen.
        """
        by_filter: dict[str, list[Row]] = {}
        for row in read_rows(path):
            if missing := [field for field in SAMPLE if field not in row.fields]:
                raise DatasetError(f"{row.where}: the field {missing[0]!r} is missing; expected a sample of lm-eval")
            by_filter.setdefault(str(row.fields.get("filter", "none")), []).append(_needed(row))
        if not by_filter:
            raise DatasetError(f"{path}: contains no samples; expected samples_*.jsonl of lm-eval")
        return cls(samples_of(name, by_filter, "filter", path))

    @cached_property
    def has_confidence(self) -> bool:
        """Whether there are log-likelihoods."""
        return any(_log_likelihoods(row) is not None for row in self.rows)

    def answers(self, asked: Mapping[str, Question]) -> Iterator[tuple[str, str, Answer | DatasetError]]:
        """The place and the case of each sample, and its answer, or why that does not fit its question or has none.

        Args:
            asked: The questions by their ids, which are in NFC, in the order of the dataset.
        """
        questions = list(asked.values())
        for row in self.rows:
            case = row.where  # until the question is known
            try:
                question = _question(row, asked, questions)
                case, scores = composed(question.question_id), _log_likelihoods(row)
                yield row.where, case, _read(row, question) if scores is None else _most_likely(row, question, scores)
            except DatasetError as error:
                yield row.where, case, error


def _needed(row: Row) -> Row:
    """What is needed of a sample, which has a whole prompt for each option."""
    arguments = row.fields.get("arguments")
    if isinstance(arguments, dict):
        arguments = [[each.get("arg_0"), each.get("arg_1")] for each in arguments.values() if isinstance(each, dict)]
    listing = arguments if isinstance(arguments, list) else []  # as older versions log them
    requests = [each for each in listing if isinstance(each, list) and len(each) > 1]
    prompt = next(_texts([each[0] for each in requests]), "")
    kept = {name: row.fields.get(name) for name in (*SAMPLE, "metrics", "resps")}
    return Row(row.where, {**kept, "prompt": prompt, "options": [each[1] for each in requests]})


def _question(row: Row, asked: Mapping[str, Question], questions: Sequence[Question]) -> Question:
    """The question of a sample: by an id in its document, else by its position in the dataset."""
    document = row.fields["doc"]
    found = [document.get(name) for name in IDS] if isinstance(document, dict) else []
    ids = [text for each in found if isinstance(each, str | int) and (text := composed(str(each).strip()))]
    if known := [each for each in ids if each in asked]:
        return asked[known[0]]
    position: int | None = row.field("doc_id", int, "a whole number")
    told = (
        [*ids, *([] if position is None else [str(position + 1)])] if ids else []
    )  # cases without ids are numbered, whatever the log calls them
    if position is None or (not 0 <= position < len(questions) and str(position + 1) not in asked):
        raise unknown_case(row.where, next(iter(ids), f"number {position}"), asked, told)
    by_place = questions[position] if 0 <= position < len(questions) else None
    by_number = asked.get(str(position + 1))  # cases without ids are numbered, and some may have been left out
    candidates = [each for each in dict.fromkeys((by_number, by_place)) if each is not None]
    wrong = {question: _wrong_text(row, question) for question in candidates}
    fitting = [question for question, kind in wrong.items() if not kind]
    if not fitting:
        question, kind = candidates[-1], wrong[candidates[-1]]
        raise UnknownCaseError(
            f"{row.where}: the text of sample {position} does not have the {kind} of case "
            f"{question.question_id[:SHOWN_CHARACTERS]!r}; expected the samples in the order of the cases, or with "
            "their ids",
            told,
        )
    return fitting[0]


def _wrong_text(row: Row, question: Question) -> str:
    """Which text of a question a sample does not have; empty if it has all."""
    document = row.fields["doc"]
    shown = [_folded(text) for text in _texts([document, row.fields["prompt"], row.fields["options"]])]
    options = [option.text for option in question.options]
    for kind, texts in (("question", [question.question]), ("case", question.case.splitlines()), ("options", options)):
        if not all(any(_folded(text) in each for each in shown) for text in texts):
            return kind
    return ""


def _most_likely(row: Row, question: Question, scores: list[float]) -> Answer:
    """The answer with the highest log-likelihood, the first of equal ones."""
    count = len(question.options)
    if len(scores) == 2 * count and MUTUAL_INFORMATION in str(row.fields.get("metrics")):
        scores = scores[:count]
    if len(scores) != count:
        found = (
            f"{len(scores)} log-likelihoods; its case {question.question_id[:SHOWN_CHARACTERS]!r} has {count} options"
        )
        raise DatasetError(f"{row.where}: found {found}")
    letters = _order(row, question)
    largest = max(scores)
    if any(isnan(score) for score in scores) or largest == -inf:  # the harness takes the first of them, usually A
        return Answer(None)
    shares = {letter: exp(score - largest) for letter, score in zip(letters, scores, strict=True)}
    total = fsum(shares.values())
    probabilities = tuple(shares[letter] / total for letter in question.letters)
    return Answer(letters[scores.index(largest)], probabilities=probabilities)


def _order(row: Row, question: Question) -> str:
    """The letters of the options in the order in which the harness scored them.

    It scores the texts of the options, in any order, or their letters, which then stand for the options in the prompt.
    """
    scored = [text if isinstance(text, str) else "" for text in row.fields["options"][: len(question.options)]]
    of_texts = "".join(option_with_text(text, question.options) or "" for text in scored)
    of_letters = "".join(bare_letter(text) or "" for text in scored)
    of_both = "".join(read_letter(text, question.options) or "" for text in scored)  # A. Malaria
    orders = {of_texts} if sorted(of_texts) == sorted(question.letters) else set()
    if of_letters == question.letters:
        orders.add(of_letters)
        _check_order_in_prompt(row, question)
    if not orders and sorted(of_both) == sorted(question.letters):
        orders.add(of_both)
    if len(orders) != 1:
        problem = "could be letters or texts of options in another order" if orders else "are not its options"
        case = f"case {question.question_id[:SHOWN_CHARACTERS]!r}"
        raise DatasetError(f"{row.where}: what the harness scored for {case} {problem}: {listed(scored)}")
    return orders.pop()


def _check_order_in_prompt(row: Row, question: Question) -> None:
    """Raise `DatasetError` if the prompt shows the options in another order, so that letters mean other options."""
    asks = _folded(question.question) or "?"  # which is in no folded text
    _, asked, shown = _folded(row.fields["prompt"]).rpartition(asks)
    texts = [_folded(option.text) for option in question.options]
    end = 0
    for text in texts if asked and all(text in shown for text in texts) else ():
        found = shown.find(text, end)
        if found < 0:
            case = f"case {question.question_id[:SHOWN_CHARACTERS]!r}"
            raise DatasetError(f"{row.where}: the prompt has the options of {case} in another order than the dataset")
        end = found + len(text)


def _read(row: Row, question: Question) -> Answer:
    """The answer in a generated text, as the filter left it."""
    filtered = list(_texts(row.fields["filtered_resps"]))
    if len(filtered) != 1:
        raise row.error("filtered_resps", "one text per sample; set answerer.filter to a filter that takes one")
    responses = list(_texts(row.fields["resps"]))
    response = responses[0] if len(responses) == 1 else filtered[0]
    letter = read_letter(filtered[0], question.options, row.fields["prompt"])
    if letter and not option_with_text(filtered[0], question.options):
        _check_order_in_prompt(row, question)
    return Answer(letter, reasoning=response, exchanges=(Exchange(row.fields["prompt"], response),))


def _log_likelihoods(row: Row) -> list[float] | None:
    """The log-likelihoods of the options, each logged with whether the option was the greedy one; None for a text."""
    responses = row.fields["filtered_resps"]
    if not isinstance(responses, list) or len(responses) < 2:
        return None
    scores = []
    for response in responses:
        if not isinstance(response, list) or len(response) != 2 or str(response[1]) not in ("True", "False"):
            return None
        try:
            score = float(response[0])
        except (TypeError, ValueError):
            return None
        except OverflowError:  # a whole number of hundreds of digits
            score = inf
        if score == inf:
            raise row.error("filtered_resps", "log-likelihoods, which are at most 0")
        scores.append(score)
    return scores


def _texts(value: Any) -> Iterator[str]:
    """The texts in nested lists and objects, in order. Halves of characters, which cannot be written, become "?"."""
    if isinstance(value, str):
        yield value.encode(errors="replace").decode()
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _folded(text: str) -> str:
    """The letters and digits of a text, without case."""
    return re.sub(r"[\W_]+", "", text.casefold())
