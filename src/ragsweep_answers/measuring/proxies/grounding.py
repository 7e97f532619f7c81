"""Whether the evidence supports a reasoning and fits the question, judged by the words that they share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from ragsweep.datasets.model.cases import Case
from ragsweep.statistics.intervals import Array
from ragsweep.text.content_words import reasoning_stems
from ragsweep.text.sentences import SENTENCE_OR_LINE_END
from ragsweep_answers.answering.question import Answer, Evidence

PROXY = (
    "Coherence, evidence used by content, and hallucination compare words, not meaning: a sentence counts as supported "
    "by a text that contains at least half of its content words, so a paraphrase can be missed, and a wrong number or "
    "a missing 'not' goes unnoticed."
)
RELEVANCE_PROXY = (
    "Context relevance is the share of the question's words that the evidence contains, in three levels: it does not "
    "tell whether the evidence answers the question."
)
SUPPORTED = 0.5  # share of the content words of a claim
SHORTEST_CLAIM = 3  # content words; shorter sentences are headings such as "Differential diagnosis"
HIGHLY_RELEVANT, SOMEWHAT_RELEVANT = 0.8, 0.4  # shares of the concepts of the question
GROUNDED_TEXTS_KEPT = (
    1 << 15
)  # whose words are kept: passages come back for many questions, cases for every configuration


class Grounding(NamedTuple):
    """How each question and the claims of its reasoning relate to the evidence.

    A claim is a sentence with at least `SHORTEST_CLAIM` content words. A text supports a claim if it contains at least
    the share `SUPPORTED` of the claim's content words, whatever their endings and order. This is a rough proxy; see
    `PROXY`. Everything is 0 if no evidence was found, since there is nothing to compare with. If evidence was not asked
    for, or is not known, the coverage is nan.

    Attributes:
        claims: Claims of the reasoning, shape [answers].
        supported: Claims that at least one passage of the evidence supports, shape [answers].
        grounded: Claims that a passage, or the case with its question, supports, shape [answers].
        passages: Passages of the evidence, shape [answers].
        used: Passages that support at least one claim, shape [answers].
        coverage: Share of the concepts of the case and its question that the passages together contain, 0 to 1, shape
            [answers]. Concepts are content words.
    """

    claims: Array
    supported: Array
    grounded: Array
    passages: Array
    used: Array
    coverage: Array


def grounding(
    cases: Sequence[Case], answers: Sequence[Answer], evidence: Sequence[Sequence[Evidence] | None]
) -> Grounding:
    """Compare every claim of each reasoning with every passage that the answerer got.

    Args:
        cases: What was asked.
        answers: The answers with their reasoning, shape [cases].
        evidence: The passages that the answerer got for each case; empty if none were found, None if it was not given
            any or if they are not known.
    """
    rows = [_ground(*row) for row in zip(cases, answers, evidence, strict=True)]
    return Grounding(*np.array(rows, np.float64).reshape(-1, len(Grounding._fields)).T)


def coherence(found: Grounding) -> Array:
    """Share of the claims of a reasoning that the evidence supports.

    The reference calls it "% of reasoning backed by evidence". It does not judge whether one step follows from another.
    A rough proxy; see `PROXY`.

    Returns:
        Values in [0, 1], shape [answers]; nan without a claim or without evidence.
    """
    return _share(found.supported, found.claims, found)


def evidence_used(found: Grounding) -> Array:
    """Share of the given passages that support at least one claim of the reasoning. A rough proxy; see `PROXY`.

    Returns:
        Values in [0, 1], shape [answers]; nan without a claim or without evidence.
    """
    return _share(found.used, found.passages, found)


def hallucinated(found: Grounding) -> Array:
    """Whether more than half of the claims of a reasoning are supported neither by the evidence nor by the case.

    Repeating what the case says is no hallucination, although no passage supports it. A rough proxy; see `PROXY`.

    Returns:
        0.0 or 1.0, shape [answers]; nan without a claim or without evidence: nothing can be said of such an answer.
    """
    unsupported = _share(found.claims - found.grounded, found.claims, found)
    return np.where(np.isnan(unsupported), np.nan, unsupported > 0.5)


def context_relevance(found: Grounding) -> Array:
    """How much of what is asked occurs in the evidence. A rough proxy; see `RELEVANCE_PROXY`.

    Returns:
        2.0 if the passages contain at least 80 % of the concepts, 1.0 if at least 40 %, else 0.0; shape [answers]. 0
        if no evidence was found; nan if it was not asked for or is not known.
    """
    levels = np.digitize(found.coverage, (SOMEWHAT_RELEVANT, HIGHLY_RELEVANT))
    return np.where(np.isnan(found.coverage), np.nan, levels)


def _share(part: Array, whole: Array, found: Grounding) -> Array:
    measured = (found.claims > 0) & (found.passages > 0)
    share: Array = np.divide(part, whole, out=np.full(len(whole), np.nan), where=measured)
    return share


def _ground(case: Case, answer: Answer, evidence: Sequence[Evidence] | None) -> tuple[float, ...]:
    if not evidence:
        return 0, 0, 0, 0, 0, np.nan if evidence is None else 0
    asked, passages = _words_of(case.text), [_words_of(passage.text) for passage in evidence]
    stems = map(reasoning_stems, SENTENCE_OR_LINE_END.split(answer.reasoning))
    claims = [each for each in stems if len(each) >= SHORTEST_CLAIM]
    supports = [[_supports(passage, claim) for passage in passages] for claim in claims]
    supported = [any(row) for row in supports]
    grounded = [found or _supports(asked, claim) for claim, found in zip(claims, supported, strict=True)]
    used = [any(column) for column in zip(*supports, strict=True)]
    coverage = len(asked.intersection(chain.from_iterable(passages))) / max(len(asked), 1)
    return len(claims), sum(supported), sum(grounded), len(evidence), sum(used), coverage


def _supports(text: frozenset[str], claim: frozenset[str]) -> bool:
    return len(claim & text) >= SUPPORTED * len(claim)


@lru_cache(GROUNDED_TEXTS_KEPT)
def _words_of(text: str) -> frozenset[str]:
    return reasoning_stems(text)
