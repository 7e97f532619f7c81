"""Answers by comparing each option with the evidence. It needs no model besides the encoder."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated

import numpy as np

from ragsweep.core.hardware import machine
from ragsweep.core.limits import Between
from ragsweep.models.encoders.embeddings import embed
from ragsweep.models.encoders.encoder import Embeddings, Encoder, Role
from ragsweep.statistics.intervals import Array
from ragsweep.store.stage_store import Store
from ragsweep.text.sentences import CLAUSE_OR_LINE_END
from ragsweep_answers.answering.question import Answer, Answerer, Question

SHORTEST_SENTENCE = 4  # words; shorter pieces are headings and numbers


@dataclass(frozen=True)
class EvidenceAnswerer(Answerer):
    """Chooses the option that a sentence of the evidence is most similar to.

    The similarity of an option is the highest cosine between a sentence of a passage and the question followed by the
    option. Without evidence, it is the cosine between the question and the option. Similarity is not entailment: "give
    it" and "do not give it" are nearly equal.

    The probability of an option is the softmax of the similarities, divided by `scale`.

    All questions are embedded together, so the time of an answer is an equal share of the time of all. Embeddings that
    the store has already take almost none.

    Attributes:
        encoder: Embeds questions, options and sentences.
        store: Keeps the embeddings.
        scale: A difference between similarities that counts as large: with less, confidences are higher.
    """

    encoder: Encoder
    store: Store
    scale: Annotated[float, Between(1e-3)] = 0.2

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        """The option with the highest similarity for each question, the first of equals; None if all are equal."""
        if not questions:
            return []
        started = time.perf_counter()
        clauses = [
            sorted({clause for passage in question.evidence for clause in _clauses(passage.text)})
            for question in questions
        ]
        sentences = sorted({*chain.from_iterable(clauses)})
        row_of = {clause: row for row, clause in enumerate(sentences)}
        pairs = [(question.question, option.text) for question in questions for option in question.options]
        options, alone = [f"{question} {option}" for question, option in pairs], [option for _, option in pairs]
        asked = self._embedded([*options, *alone, *(question.question for question in questions)], "query")
        evidence = self._embedded(sentences, "passage") if sentences else asked[:0]
        answers, first = [], 0
        for position, (question, of_question) in enumerate(zip(questions, clauses, strict=True)):
            last = first + len(question.options)
            if of_question:
                scores = (asked[first:last] @ evidence[[row_of[clause] for clause in of_question]].T).max(axis=1)
            else:
                scores = asked[len(options) + first : len(options) + last] @ asked[2 * len(options) + position]
            first = last
            answers.append(self._answer(question, scores.astype(float)))
        time_ms = 1000 * (time.perf_counter() - started) / len(questions)
        return [replace(answer, time_ms=time_ms, machines=(machine(),)) for answer in answers]

    def _answer(self, question: Question, similarities: Array) -> Answer:
        if similarities.max() == similarities.min():  # nothing speaks for an option
            return Answer(None)
        shares = np.exp((similarities - similarities.max()) / self.scale)
        chosen = question.letters[int(np.argmax(similarities))]
        return Answer(chosen, probabilities=tuple((shares / shares.sum()).tolist()))

    def _embedded(self, texts: Sequence[str], role: Role) -> Embeddings:
        return self.encoder.of_length_1(embed(self.encoder, self.store, texts, role))


def _clauses(passage: str) -> list[str]:
    """The clauses of a passage; the whole passage if it has none."""
    clauses = [clause for clause in CLAUSE_OR_LINE_END.split(passage) if len(clause.split()) >= SHORTEST_SENTENCE]
    return clauses or [passage]
