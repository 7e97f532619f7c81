"""Whether the evidence supports a reasoning and fits the question, judged by the words that they share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from statistics import fmean
from typing import NamedTuple

import numpy as np

from ragsweep.datasets.model.cases import Case
from ragsweep.statistics.intervals import Array
from ragsweep.text.content_words import reasoning_stems
from ragsweep.text.sentences import SENTENCE_OR_LINE_END
from ragsweep_answers.answering.question import Answer, Evidence

SUPPORTED = 0.5  # share of the content words of a claim
SHORTEST_CLAIM = 3  # content words; shorter sentences are headings such as "Differential diagnosis"
LEVELS = (0.4, 0.8)  # of relevance: shares of the concepts of the question
GROUNDED_TEXTS_KEPT = 1 << 15  # whose words are kept: passages come back for many questions


class Grounding(NamedTuple):
    """How each question and the claims of its reasoning relate to the evidence, each of shape [answers].

    A claim is a sentence with at least `SHORTEST_CLAIM` content words. A text supports a claim if it contains at least
    the share `SUPPORTED` of the claim's content words, whatever their endings and order. This is a rough proxy: a
    paraphrase can be missed, and a wrong number or a missing "not" goes unnoticed.

    Attributes:
        coherence: Share of the claims that the evidence supports. The reference calls it "% of reasoning backed by
            evidence". It does not judge whether one step follows from another. nan without a claim or evidence.
        used: Share of the given passages that support at least one claim; nan without a claim or evidence.
        hallucinated: 1 if more than half of the claims are supported neither by the evidence nor by the case, else 0;
            nan without a claim or evidence. Repeating what the case says is no hallucination.
        relevance: 2 if the passages together contain at least 80 % of the content words of the case and its question,
            1 if at least 40 %, else 0. 0 if no evidence was found, nan if none was asked for or it is not known.
    """

    coherence: Array
    used: Array
    hallucinated: Array
    relevance: Array


def grounding(
    cases: Iterable[Case], answers: Iterable[Answer], evidence: Iterable[Sequence[Evidence] | None]
) -> Grounding:
    """Compare every claim of each reasoning with every passage that the answerer got.

    Args:
        cases: What was asked.
        answers: The answers with their reasoning.
        evidence: The passages that the answerer got for each case; empty if none were found, None if it was not given
            any or if they are not known.
    """
    rows = [_ground(*row) for row in zip(cases, answers, evidence, strict=True)]
    return Grounding(*np.array(rows, np.float64).reshape(-1, len(Grounding._fields)).T)


def _ground(case: Case, answer: Answer, evidence: Sequence[Evidence] | None) -> tuple[float, ...]:
    if not evidence:
        return np.nan, np.nan, np.nan, np.nan if evidence is None else 0
    asked, passages = _words_of(case.text), [_words_of(passage.text) for passage in evidence]
    covered = len(asked.intersection(chain.from_iterable(passages))) / max(len(asked), 1)
    relevance = float(sum(covered >= level for level in LEVELS))
    stems = map(reasoning_stems, SENTENCE_OR_LINE_END.split(answer.reasoning))
    claims = [claim for claim in stems if len(claim) >= SHORTEST_CLAIM]
    if not claims:
        return np.nan, np.nan, np.nan, relevance
    supports = [[_supports(passage, claim) for passage in passages] for claim in claims]
    supported, used = [*map(any, supports)], [*map(any, zip(*supports, strict=True))]
    unsupported = [
        not by_passage and not _supports(asked, claim) for claim, by_passage in zip(claims, supported, strict=True)
    ]
    return fmean(supported), fmean(used), fmean(unsupported) > 0.5, relevance


def _supports(text: frozenset[str], claim: frozenset[str]) -> bool:
    return len(claim & text) >= SUPPORTED * len(claim)


@lru_cache(GROUNDED_TEXTS_KEPT)
def _words_of(text: str) -> frozenset[str]:
    return reasoning_stems(text)
