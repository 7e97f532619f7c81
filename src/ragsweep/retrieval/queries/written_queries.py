"""Queries by a language model: a passage that could answer (HyDE), or the query in other words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np

from ragsweep.core.arrays import Milliseconds
from ragsweep.core.limits import Between
from ragsweep.core.terminal import counted, say_once
from ragsweep.core.timing import sample
from ragsweep.models.language.language_model import Asking, Completion, LanguageModel, MaxTokens, most_tokens
from ragsweep.models.language.writing import listed, prose, write_each
from ragsweep.retrieval.kinds import Expander, Expansion, Fusion, Ranker
from ragsweep.retrieval.ranking import Search
from ragsweep.store.component import expect_kind

PASSAGE = "Please write a passage to answer the question.\nQuestion: {}\nPassage:"  # that of HyDE
PHRASINGS = """\
Write the question below in {} different ways, to search for passages that answer it.
Each on a line of its own, and nothing else.
Question: {}"""
QUERY_TOKENS = 256  # of a text


@dataclass(frozen=True)
class WritingExpander(Expander):
    """What expanders by a language model have in common.

    Attributes:
        model: Writes the texts.
        with_query: Whether the query itself is searched for, too.
        max_tokens: The most tokens of a text; None takes 256, or what a smaller model usually writes.
    """

    model: LanguageModel
    with_query: bool = True
    max_tokens: MaxTokens | None = None

    def __post_init__(self) -> None:
        expect_kind(self.model, LanguageModel, "query.model")
        object.__setattr__(self, "max_tokens", most_tokens(self.model, self.max_tokens, QUERY_TOKENS, "query"))

    @cached_property
    def _told(self) -> dict[str, Completion]:
        """What the model wrote in this process, by the prompt: a run needs it several times, and a store may be off."""
        return {}

    def _ask(self, prompts: Sequence[str]) -> list[Completion]:
        new = [prompt for prompt in dict.fromkeys(prompts) if prompt not in self._told]
        assert self.max_tokens is not None  # since __post_init__
        asking = Asking("query", self.max_tokens, start_will_do=True)  # what is searched for may lack its end
        written = write_each(self.model, new, asking)
        self._told.update(zip(new, written, strict=True))
        if nothing := sum(not prose(each.text) for each in written):
            say_once(f"query: the model wrote nothing to search for {nothing:,} of {len(new):,} queries")
        return [self._told[prompt] for prompt in prompts]


@dataclass(frozen=True)
class HypotheticalPassage(WritingExpander):
    """Searches for a passage that a model writes to answer the query (HyDE, arXiv:2212.10496).

    Such a passage may be wrong, but is worded as the passages are that answer. The paper averages the embeddings of
    several passages and the query; here the texts are joined, so that any ranker can search for them.
    """

    def expand(self, search: Search, ranker: Ranker) -> Expansion:
        """Search for the query followed by the passage. Where the model wrote nothing, the query is searched for."""
        said = self._ask([PASSAGE.format(query) for query in search.queries])
        passages = [prose(each.text) for each in said]
        texts = tuple(
            f"{query} {passage}".strip() if self.with_query or not passage else passage
            for query, passage in zip(search.queries, passages, strict=True)
        )
        changes = tuple(f"a passage of {counted(len(each.split()), 'word')}" if each else "" for each in passages)
        return Expansion((replace(search, queries=texts),), _times_ms(said), changes)


@dataclass(frozen=True, kw_only=True)
class SeveralPhrasings(WritingExpander):
    """Searches for the query in several phrasings that a model writes, and fuses what is found.

    If the model wrote fewer phrasings than asked for, the query is searched for in place of each one that is missing.

    Attributes:
        fusion: Makes one ranking of those of all phrasings.
        phrasings: How many are asked for.
    """

    fusion: Fusion
    phrasings: Annotated[int, Between(1, 20)] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_kind(self.fusion, Fusion, "query.fusion")

    def expand(self, search: Search, ranker: Ranker) -> Expansion:
        """A search for each phrasing, and one for the queries themselves `with_query`."""
        said = self._ask([PHRASINGS.format(self.phrasings, query) for query in search.queries])
        found = [
            [line for line in listed(each.text) if line != query][: self.phrasings]
            for each, query in zip(said, search.queries, strict=True)
        ]
        changes = tuple(counted(len(each), "phrasing") if each else "" for each in found)
        full = [
            [query] * self.with_query + phrasings + [query] * (self.phrasings - len(phrasings))
            for query, phrasings in zip(search.queries, found, strict=True)
        ]
        searches = tuple(replace(search, queries=texts) for texts in zip(*full, strict=True))
        return Expansion(searches, _times_ms(said), changes, self.fusion)


def _times_ms(completions: Sequence[Completion]) -> Milliseconds:
    """How long each took when it was written: to ask for a kept one takes no time."""
    return np.array([completions[row].time_ms for row in sample(len(completions)).tolist()], np.float64)
