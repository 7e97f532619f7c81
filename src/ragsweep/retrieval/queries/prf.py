"""Pseudo-relevance feedback: a second search, with the first passages of a first one taken as relevant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.core.terminal import counted
from ragsweep.retrieval.feedback import Feedback
from ragsweep.retrieval.ranking import Expansion, Ranker, Search
from ragsweep.retrieval.stage_capabilities import uses_feedback
from ragsweep.retrieval.stages import feedback_changes, rank
from ragsweep.store.code import name_of


@dataclass(frozen=True)
class PseudoRelevanceFeedback:
    """Searches twice: the first passages of the first ranking change the query of the second.

    BM25 gets terms of the passages (RM3), dense retrieval moves the query to their mean (Rocchio), and in a hybrid both
    get the same passages. It knows no judgments: a first ranking that is wrong makes the second one worse.

    Attributes:
        passages: How many are taken as relevant.
        terms: How many of their terms a sparse query gets.
        common: A term in more than this share of the passages of the corpus is not one of them.
        weight: Of the original query, 0 to 1; the passages have the rest.
    """

    passages: Annotated[int, Between(1)] = 10
    terms: Annotated[int, Between(1)] = 10
    common: Annotated[float, Between(0, 1)] = 0.1
    weight: Annotated[float, Between(0, 1)] = 0.5

    def check(self, search: Search, ranker: Ranker) -> None:
        """Refuse a ranker that would ignore the passages."""
        if not uses_feedback(ranker):
            expected = "expected sparse or dense retrieval, or a fusion of these"
            raise ConfigError(f"query=prf: {name_of(ranker)} cannot search with feedback; {expected}")

    def expand(self, search: Search, ranker: Ranker) -> Expansion:
        """The same queries, with the first passages of each as feedback."""
        self.check(search, ranker)
        first = rank(ranker, search, self.passages)
        feedback = Feedback(first.passages, first.scores, self.terms, self.common, self.weight)
        searched = replace(search, feedback=feedback)
        changes = zip((first.passages >= 0).sum(axis=1).tolist(), feedback_changes(ranker, searched), strict=True)
        return Expansion((searched,), first.latency_ms, tuple(_in_words(*each) for each in changes))


def _in_words(passages: int, terms: str) -> str:
    used = f"{counted(passages, 'passage')} as feedback"
    return f"{used}: {terms}" if terms and passages else used if passages else ""
