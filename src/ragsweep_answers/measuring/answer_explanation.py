"""Explains the answer to one case: question, evidence, prompts, answer, and what would have been right."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from ragsweep.core.terminal import one_line
from ragsweep.datasets.model.cases import Case
from ragsweep.tasks.task import Record
from ragsweep_answers.answering import Answer, Evidence, Question

LONGEST_PASSAGE = 300  # characters
LONGEST_TEXT = 4000
INDENT = "    "


@dataclass(frozen=True)
class Explanation:
    """The answer to one case of a recorded run.

    Attributes:
        record: What was recorded.
        case: The case.
        question: What the answerer is asked, with the evidence.
        given: Its answer now.
        relevant: The relevant units of the case.
    """

    record: Record
    case: Case
    question: Question
    given: Answer
    relevant: frozenset[str]

    def text(self, width: int) -> Iterator[str]:
        """The explanation, line by line, for a terminal of `width` columns."""
        yield f"{one_line(self.record.name)} ({one_line(self.record.run_id)}), case {one_line(self.case.query_id)}"
        yield ""
        if self.case.case:
            yield from _wrapped(self.case.case, width)
        yield from _wrapped(self.question.question, width)
        for option in self.case.options:
            correct, answered = option.letter == self.case.correct, option.letter == self.given.letter
            yield from _wrapped(f"{option.letter}) {option.text}{_marks(correct=correct, answered=answered)}", width)
        yield ""
        yield from self._outcome()
        yield ""
        yield from self._evidence(width)
        for number, exchange in enumerate(self.given.exchanges, start=1):
            yield ""
            yield f"prompt {number} of {len(self.given.exchanges)}:"
            yield from _block(exchange.prompt, width)
            yield "response:"
            yield from _block(exchange.response, width)
        if self.given.reasoning and not self.given.exchanges:
            yield ""
            yield "reasoning:"
            yield from _block(self.given.reasoning, width)

    def _outcome(self) -> Iterator[str]:
        answered = self.given.letter or "no answer could be read"
        outcome = "right" if self.given.letter == self.case.correct else f"wrong, correct is {self.case.correct}"
        if self.case.correct is None:
            outcome = "the documents do not answer this: every answer is wrong"
        yield f"answer: {answered} ({outcome})"
        table = self.record.per_query
        rows = table[table["query_id"].astype(str) == self.case.query_id]
        if not len(rows):
            return
        recorded = rows.iloc[0]
        if "answer" in rows and (recorded["answer"] or None) != self.given.letter:
            recorded_answer = one_line(str(recorded["answer"] or "none"))
            yield f"the run recorded another answer: {recorded_answer}. What follows is of the answer now"
            return
        for name in ("confidence", "error"):
            if name in rows and (text := one_line(str(recorded[name] or ""))):
                yield f"{name}: {text}"

    def _evidence(self, width: int) -> Iterator[str]:
        evidence = self.question.evidence or [Evidence(unit, "") for unit in self.given.retrieved or ()]
        if not evidence:
            yield "no evidence was given"
        for number, passage in enumerate(evidence, start=1):
            relevant, cited = passage.unit in self.relevant, passage.unit in self.given.cited
            yield f"[{number}] {one_line(passage.unit)}{_marks(relevant=relevant, cited=cited)}"
            yield from _wrapped(textwrap.shorten(passage.text, LONGEST_PASSAGE, placeholder=" ..."), width, INDENT)
        if missed := sorted(self.relevant - {passage.unit for passage in evidence}):
            yield f"relevant, but not in the evidence: {', '.join(map(one_line, missed))}"


def _marks(**marks: bool) -> str:
    """The names of those that hold, in brackets."""
    named = ", ".join(name for name, holds in marks.items() if holds)
    return f" ({named})" if named else ""


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(one_line(text), max(width, 40), initial_indent=indent, subsequent_indent=indent)


def _block(text: str, width: int) -> Iterator[str]:
    """A text with its line breaks, cut if it is very long."""
    shown = text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} ..."
    for line in shown.splitlines():
        yield from _wrapped(line, width, INDENT) or [""]
