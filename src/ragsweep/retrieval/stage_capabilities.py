"""What a stage of retrieval may offer besides its one method.

A ranker may also be a `Traces`, an `ExplainsSilence` or a `HasMethod`, which stand beside what they return;
`LearnsFromJudgments` stands where a ranker does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import Indices
from ragsweep.core.capability import Capability, offered_with
from ragsweep.retrieval.normalising import Normalisation
from ragsweep.retrieval.ranking import Fusion, Search

RANKS = ("rank", "learn_from_judgments")


@offered_with(*RANKS)
@runtime_checkable
class ChecksSearch(Capability, Protocol):
    """A ranker that refuses what it cannot search, before anything is recorded."""

    def check(self, search: Search) -> None:
        """Raise an error for a search that it cannot work with."""


@offered_with(*RANKS)
@runtime_checkable
class HasDetails(Capability, Protocol):
    """A ranker with something to say of each query, for the table of queries."""

    def details(self, search: Search) -> Mapping[str, Sequence[str]]:
        """Texts by column, one for each query."""


@offered_with(*RANKS)
@runtime_checkable
class HasSections(Capability, Protocol):
    """A ranker with something to say in the report."""

    def sections(self, search: Search) -> Mapping[str, Sequence[str]]:
        """Sentences by heading."""


@offered_with(*RANKS)
@runtime_checkable
class HasRole(Capability, Protocol):
    """A ranker that names its part in a hybrid itself, instead of by its setting."""

    role: str  # such as `sparse`


@offered_with(*RANKS)
@runtime_checkable
class KnowsTies(Capability, Protocol):
    """A ranker that can say for which queries equal scores stand on both sides of a cutoff."""

    @property
    def order_of_ties(self) -> str:
        """What decides the order of equal scores, as the end of a sentence."""

    def tied_at(self, search: Search, k: int) -> npt.NDArray[np.bool_]:
        """Whether the passages of each query at the ranks k and k + 1 have equal scores, shape [queries]."""


@offered_with("expand")
@runtime_checkable
class FusesSearches(Capability, Protocol):
    """An expander of several searches."""

    fusion: Fusion  # makes one ranking of theirs


@offered_with("rerank")
@runtime_checkable
class ChoosesCandidates(Capability, Protocol):
    """A reranker that says how many passages it gets; any other gets as many as the pipeline has candidates."""

    candidates: int | None  # how many; None for all


@offered_with("rerank")
@runtime_checkable
class LooksAhead(Capability, Protocol):
    """A reranker that drops the last passages, by what it sees of a fixed number: it gets at least one more than this.

    So a lower depth is the beginning of a higher one.
    """

    most: int | None  # the most passages that it leaves; None if it looks at all


@offered_with("rerank")
@runtime_checkable
class StatesFormula(Capability, Protocol):
    """A reranker that says how its score is made."""

    formula: str  # in words


@offered_with("fuse")
@runtime_checkable
class WritesFormula(Capability, Protocol):
    """A fusion that says how its score is made."""

    def formula(self, names: Sequence[str]) -> str:
        """Of the rankings of these names."""


@offered_with("fuse")
@runtime_checkable
class FusesByRank(Capability, Protocol):
    """A fusion that may ignore scores."""

    by_rank: bool  # whether it fuses by ranks alone


@offered_with("fuse")
@runtime_checkable
class Normalises(Capability, Protocol):
    """A fusion that says how the scores of its parts are shown beside each other."""

    normalisation: Normalisation  # what it makes of the scores of a ranking


@offered_with("fuse")
@runtime_checkable
class HasWeights(Capability, Protocol):
    """A fusion with a weight for each ranking; a hybrid sets the field of a dataclass."""

    weights: Collection[float] | None  # one for each ranking; None for those that it gives by itself


@offered_with(*RANKS, "open")
@runtime_checkable
class ChoosesByDepth(Capability, Protocol):
    """A ranker or an index that may order only as many candidates as are asked for, chosen by something else.

    Then a lower depth need not be the beginning of a higher one.
    """

    chooses_by_depth: bool  # whether it does, with its settings


@offered_with(*RANKS, "open")
@runtime_checkable
class NeedsPassages(Capability, Protocol):
    """A ranker or an index that refuses a small corpus."""

    passages_needed: int  # the fewest that it takes


@offered_with(*RANKS)
@runtime_checkable
class FindsByName(Capability, Protocol):
    """A ranker of what is elsewhere, such as in a file: it has rankings or passages of its own, and knows them by name.

    So it ranks for the corpus alone that has these names.
    """

    finds_by_name: bool


@offered_with(*RANKS)
@runtime_checkable
class ReadsRecords(Capability, Protocol):
    """A ranker that reads what was ranked before, so that it may have nothing of a query that was never asked."""

    def never_asked(self, search: Search, queries: Indices) -> Indices:
        """Those of these queries, by their positions, of which nobody knows what they would get."""
        ...


@offered_with("open")
@runtime_checkable
class ChecksItself(Capability, Protocol):
    """An index that raises an error if it cannot be used, before anything is recorded."""

    def check(self) -> None:
        """Raise the error."""
