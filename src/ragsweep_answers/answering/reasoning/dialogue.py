"""What a reasoning method asks a language model about one question, what the model returns, and what that costs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ragsweep.core.timing import put_together
from ragsweep.models.language.language_model import Completion, Conversation, Exchange, Message, OptionScores
from ragsweep.models.language.writing import as_data, prompt_beside
from ragsweep_answers.answering.answer_letters import LABEL, option_of, plain_text, spoken
from ragsweep_answers.answering.json_answer import JsonAnswer, read_confidence, read_json_answer
from ragsweep_answers.answering.question import Answer, Question

AS_TEXT, AS_JSON = (prompt_beside(__file__, part) for part in ("_text", "_json"))
CONFIDENCE = re.compile(r"\W*confidence\W*:", re.I)
CITATION = re.compile(r"\[([\d,; ]+)\]")  # [1], [1, 3]


class Dialogue:
    """Prompts about one question and their responses.

    Every prompt opens with the passages and the question, so that a model can compute this part once.
    """

    def __init__(self, question: Question, model: Conversation) -> None:
        self._question, self._model = question, model
        self._described = described(question)
        self._calls: list[Answer] = []  # of each, its exchange and costs

    def complete(self, task: str, *, as_json: bool = False) -> str:
        """What the model returns.

        Args:
            task: What to do with the question.
            as_json: Whether to return the fields of `AnswerFields`; only if the model is `structured`.
        """
        prompt = self._prompt(task)
        completion = self._model.complete([Message("user", prompt)], as_json=as_json)
        self._add(prompt, completion.text, completion.tokens_out, completion)
        return completion.text

    def scores(self, task: str, opening: str, continuations: Sequence[str]) -> tuple[float, ...] | None:
        """The log-likelihoods of several ways to continue the model's reply, shape [continuations].

        None if the model cannot tell.

        Args:
            task: What to do with the question.
            opening: How the reply opens.
            continuations: How it may go on.
        """
        prompt = self._prompt(task)
        scores = self._model.option_scores([Message("user", prompt), Message("assistant", opening)], continuations)
        if scores is None:
            return None
        pairs = zip(continuations, scores.log_likelihoods, strict=True)
        shown = ", ".join(f"{continuation.strip()} {score:.4f}" for continuation, score in pairs)
        self._add(f"{prompt}\n\n{opening}", f"log-likelihoods: {shown}", 0, scores)
        return scores.log_likelihoods

    def conclude(self, task: str) -> Answer:
        """Ask for the answer and read it: a field of JSON, or the line `Answer: LETTER` at the end of a text.

        If none can be read, its letter is None.
        """
        as_json = self._model.structured
        text = self.complete(f"{task}\n\n{AS_JSON if as_json else AS_TEXT}", as_json=as_json)
        if as_json and (fields := read_json_answer(text)):
            return self._of_fields(fields)
        lines = plain_text(spoken(text)).rstrip().splitlines()
        if lines and CONFIDENCE.match(lines[-1]):
            lines = "\n".join(lines[:-1]).rstrip().splitlines()
        label = LABEL.fullmatch(lines[-1]) if lines else None
        letter = option_of(label["value"], self._question.options) if label else None
        confidence = read_confidence(text)
        return self.answer(letter, confidence, reasoning=text, cited=self.cited_in(text), unread=text)

    def answer(self, letter: str | None, confidence: float | None = None, *, unread: str = "", **more: Any) -> Answer:
        """An answer with all exchanges so far and their costs. Without a letter there is no confidence.

        Args:
            letter: Of the answer; None if there is none.
            confidence: That it is correct.
            unread: The text that has the answer; noted if there is no letter.
            **more: Further fields of `Answer`.
        """
        stated, unread = (None, unread) if letter is None else (confidence, "")
        return Answer(letter, stated, unread=unread, **more, **costs_of(self._calls))

    def _of_fields(self, fields: JsonAnswer) -> Answer:
        """The answer in a JSON object. All fields were asked for."""
        letter = option_of(fields.answer, self._question.options)
        reasoning, cited = "\n".join(fields.steps), self._units(fields.cited)
        lost = (*fields.lost, *fields.missing)
        return self.answer(letter, fields.confidence, reasoning=reasoning, cited=cited, lost=lost, unread=fields.answer)

    def cited_in(self, text: str) -> tuple[str, ...]:
        """The units of the passages that a text cites as "[1]" or "[1, 3]", in this order, each once."""
        numbers = [number for listed in CITATION.findall(text) for number in re.findall(r"\d{1,4}", listed)]
        return self._units(map(int, numbers))

    def _units(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """The units of passages by their numbers. Numbers that no passage has are left out."""
        evidence = self._question.evidence
        return tuple(dict.fromkeys(evidence[number - 1].unit for number in numbers if 1 <= number <= len(evidence)))

    def _prompt(self, task: str) -> str:
        return f"{self._described}\n\n{task}"

    def _add(self, prompt: str, response: str, tokens_out: int | None, timed: Completion | OptionScores) -> None:
        call = Answer(None, exchanges=(Exchange(prompt, response),), tokens_in=timed.tokens_in, tokens_out=tokens_out)
        self._calls.append(replace(call, time_ms=timed.time_ms, machines=timed.machines))


def described(question: Question) -> str:
    """The passages, numbered from 1, the case, the question and the options."""
    passages = [f"[{number}] {as_data(passage.text)}" for number, passage in enumerate(question.evidence, 1)]
    options = [f"{option.letter}. {as_data(option.text)}" for option in question.options]
    blocks = [
        "\n".join(["Passages:", *passages]) if passages else "",
        f"Case: {as_data(question.case)}" if question.case else "",
        f"Question: {as_data(question.question)}",
        "\n".join(["Options:", *options]),
    ]
    return "\n\n".join(block for block in blocks if block)


def costs_of(answers: Collection[Answer]) -> dict[str, Any]:
    """All exchanges and costs of several answers, as fields of `Answer`; None where those of one are not known."""
    fields = ("tokens_in", "tokens_out", "time_ms")
    values = {name: [getattr(answer, name) for answer in answers] for name in fields}
    return {
        "exchanges": tuple(exchange for answer in answers for exchange in answer.exchanges),
        **{name: None if None in of_answers else sum(of_answers) for name, of_answers in values.items()},
        "machines": put_together([answer.machines for answer in answers]),
    }
