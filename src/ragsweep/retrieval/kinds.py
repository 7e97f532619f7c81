"""The kinds of stages that retrieval is made of, each a base class whose optional members have harmless defaults."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Self

from ragsweep.core.arrays import Indices, Milliseconds, Scores
from ragsweep.retrieval.normalising import NORMS, Normalisation
from ragsweep.retrieval.ranking import Ranking, Search
from ragsweep.store.code import name_of
from ragsweep.store.component import Component


@dataclass(frozen=True)
class Method:
    """How a configuration works, in words for tables and charts.

    Attributes:
        name: In a few words, such as `hybrid, alpha 0.7`; empty for the name by which a configuration chooses it.
        title: In a sentence, such as `pure sparse retrieval`; empty where no sentence names it.
        advantage: An advantage apart from its scores, such as `needs no encoder`.
        is_baseline: Whether others are usually compared with it.
        stands_for: Settings of another method that give the same ranking: sparse retrieval is a hybrid with alpha 0.
        chosen_by: The settings that choose the method, besides those that it stands for.
        vary: What to vary next if this method is the best, as a request, such as `sweep the encoder`.
        tag: How a system calls itself in a TREC file of its rankings; empty for other methods.
    """

    name: str = ""
    title: str = ""
    advantage: str = ""
    is_baseline: bool = False
    stands_for: Mapping[str, int | float] = field(default_factory=dict)
    chosen_by: Sequence[str] = ()
    vary: str = ""
    tag: str = ""


class Words(NamedTuple):
    """What each word of a query adds to a score.

    Attributes:
        stage: Whose score; empty for the score of the ranking itself.
        added: By word, for each passage, shape [passages] each.
    """

    stage: str
    added: Mapping[str, Scores]


@dataclass(frozen=True)
class Trace:
    """How one query got its ranking.

    Attributes:
        stages: The class of each stage by its name, in the order in which they work; empty for a ranker without stages.
        searched: The query as it was searched for; None if it was not rewritten.
        change: What was changed in it, in a few words; empty if that does not say more.
        parts: The rankings that later stages fused or reordered, by the name of their stage.
        formula: How the score is made; empty if the ranker does not say.
        normalisation: How the scores of `parts` are shown beside each other.
        words: What each word of the query adds; None if no stage counts words.
    """

    stages: Mapping[str, str] = field(default_factory=dict)
    searched: str | None = None
    change: str = ""
    parts: Mapping[str, Ranking] = field(default_factory=dict)
    formula: str = ""
    normalisation: Normalisation = NORMS["minmax"]
    words: Words | None = None


def within(name: str, inner: Mapping[str, str], stage: object) -> dict[str, str]:
    """The stages of a stage, by names that say where they are; the stage itself if it has none."""
    return {f"{name}.{stage_name}": kind for stage_name, kind in inner.items()} or {name: name_of(stage)}


class Retriever(Component):
    """What stands at the setting `retriever`: a `Ranker`, or an `ExternalRetriever`."""

    brings_passages: ClassVar[bool] = False  # whether it has passages of its own
    finds_by_name: ClassVar[bool] = False  # whether its rankings are elsewhere, so that it ranks for one corpus alone
    learns: ClassVar[bool] = False  # whether it learns from judgments, so that it ranks for one dataset alone
    is_record: ClassVar[bool] = False  # whether its rankings were made elsewhere, and end where the record ends

    @property
    def method(self) -> Method:
        """Words for what it does."""
        return Method()

    @property
    def score_threshold(self) -> float | None:
        """The lowest score of a passage that is retrieved; None retrieves whatever the score."""
        return None

    def without_threshold(self) -> Self:
        """The same ranker without a lowest score; it shares what this one has loaded."""
        return self

    def never_asked(self, search: Search, queries: Indices) -> Indices:
        """Those of these queries, by their positions, of which a record does not say what they get."""
        return queries[:0]


class Ranker(Retriever, ABC):
    """Ranks the passages of a corpus; write your own as a class that inherits from this one and has `rank`.

    A ranker that is made of others names them by `parts`, and the other members ask those.
    """

    role: ClassVar[str] = ""  # its part in a hybrid, such as `sparse`; empty takes the name of the setting
    cuts: ClassVar[Sequence[str]] = ()  # settings that remove passages which were ranked; None turns each off
    may_have_cut: bool = False  # whether such settings worked where the ranking was made
    has_scores: bool = True  # False if its scores say no more than the order

    @abstractmethod
    def rank(self, search: Search, depth: int) -> Ranking:
        """At most `depth` passages for every query; `ranked` makes a ranking of scores."""

    def parts(self) -> Mapping[str, Ranker]:
        """The rankers that it is made of and that are used, by their paths in its settings."""
        return {}

    def check(self, search: Search) -> None:
        """Raise an error for a search that it cannot work with, before anything is recorded."""
        for part in self.parts().values():
            part.check(search)

    def details(self, search: Search) -> Mapping[str, Sequence[str]]:
        """Texts for the table of queries by column, one for each query."""
        return {name: texts for part in self.parts().values() for name, texts in part.details(search).items()}

    def sections(self, search: Search) -> Mapping[str, Sequence[str]]:
        """Sentences for the report by heading."""
        return {name: sentences for part in self.parts().values() for name, sentences in part.sections(search).items()}

    def trace(self, search: Search, query: int) -> Trace:
        """How one query gets its ranking."""
        return Trace()

    @property
    def files(self) -> Mapping[str, Sequence[str]]:
        """Lines of files that it adds to the results of a run, by their names."""
        return {name: lines for part in self.parts().values() for name, lines in part.files.items()}

    @property
    def chooses_by_depth(self) -> bool:
        """Whether it orders only as many candidates as are asked for, so that a lower depth may begin otherwise."""
        return any(part.chooses_by_depth for part in self.parts().values())


@dataclass(frozen=True, kw_only=True)
class Thresholded(Ranker):
    """A ranker with a lowest score; let your own inherit from it.

    Attributes:
        score_threshold: Passages with a lower score are not retrieved: `stages.rank` takes them out of what the ranker
            returns. None retrieves whatever the score.
    """

    cuts: ClassVar[Sequence[str]] = ("score_threshold",)

    score_threshold: float | None = None

    def without_threshold(self) -> Self:
        """The same ranker without a lowest score; it shares what this one has loaded."""
        if self.score_threshold is None:
            return self
        bare = copy(self)
        object.__setattr__(bare, "score_threshold", None)
        return bare


class Rewriter(Component, ABC):
    """Changes queries before they are searched for; write your own as a class that inherits from this one.

    A rewriter that needs more than the queries, or searches for several texts, is an `Expander` instead.
    """

    @abstractmethod
    def rewrite(self, queries: Sequence[str]) -> Sequence[str]:
        """A text for every query, in the same order."""


class Expansion(NamedTuple):
    """What is searched for instead of the queries.

    Attributes:
        searches: One search, or several whose rankings are fused; each has the same passages and as many queries.
        latency_ms: What expanding each query costs on its own, shape [queries]; empty if not timed.
        changes: What was changed in each query, in a few words, shape [queries]; empty for a query that was not.
        fusion: Makes one ranking of those of several searches.
    """

    searches: tuple[Search, ...]
    latency_ms: Milliseconds
    changes: tuple[str, ...]
    fusion: Fusion | None = None


class Expander(Component, ABC):
    """Changes what is searched for, by what it knows of the corpus or of a first ranking."""

    @abstractmethod
    def expand(self, search: Search, ranker: Ranker) -> Expansion:
        """What is searched for; `ranker` is the one that will rank, for a first ranking."""


class Fusion(Component, ABC):
    """Makes one ranking of several; write your own as a class that inherits from this one.

    A dataclass with the field `weights` gets those of a hybrid there.
    """

    by_rank: ClassVar[bool] = False  # whether it ignores scores

    @abstractmethod
    def fuse(self, rankings: Sequence[Ranking]) -> Ranking:
        """A ranking of the passages that are in any of the rankings, which have the same queries.

        It has at most as many places as they have together.
        """

    def formula(self, names: Sequence[str]) -> str:
        """How the score is made of rankings of these names; empty if it does not say."""
        return ""

    @property
    def normalisation(self) -> Normalisation:
        """How the scores of the rankings are shown beside each other."""
        return NORMS["minmax"]

    @property
    def weights(self) -> Collection[float] | None:
        """One for each ranking; None for those that it gives by itself."""
        return None


class Reranker(Component, ABC):
    """Reorders the first passages of a ranking; write your own as a class that inherits from this one."""

    learns: ClassVar[bool] = False  # whether it learns from judgments, so that it serves one dataset alone

    @abstractmethod
    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        """At most `depth` passages for every query, each one of those that `ranking` has for it.

        Its `latency_ms` is what reranking for each query costs on its own. If it is empty, the pipeline measures that.
        The `latency_ms` of `ranking` is always empty.
        """

    def check(self, search: Search) -> None:
        """Raise an error for a search that it cannot work with, before anything is recorded."""

    @property
    def candidates(self) -> int | None:
        """How many passages it gets; None for all, 0 for as many as the pipeline has candidates."""
        return 0

    @property
    def most(self) -> int | None:
        """For one that drops the last passages by what it sees of a fixed number: how many it leaves at most.

        It gets at least one more than this, so that a lower depth is the beginning of a higher one. None if it looks at
        all.
        """
        return None

    @property
    def formula(self) -> str:
        """How its score is made, in words; empty if it does not say."""
        return ""

    def sections(self) -> Mapping[str, Sequence[str]]:
        """Sentences for the report by heading, on what it has reranked."""
        return {}
