"""What a language model writes for passages or for queries, by a prompt that is a setting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np

from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between, Text
from ragsweep.core.terminal import counted, quoted, say_once
from ragsweep.datasets import Document, Passage
from ragsweep.datasets.model.collection import readable
from ragsweep.models.language.language_model import Asking, Completion, LanguageModel, MaxTokens, most_tokens
from ragsweep.models.language.writing import listed, prose, write_each
from ragsweep.retrieval.ingest.contextual import heading_paths
from ragsweep.retrieval.ingest.ingest import Ingest
from ragsweep.retrieval.kinds import Expander, Expansion, Fusion, Ranker
from ragsweep.retrieval.ranking import Search
from ragsweep.store.component import Component, expect_kind
from ragsweep.store.stage_store import NO_STORE, Store

NAME = re.compile(r"\{(\w+)\}")  # of what stands there in a prompt
USUAL_TOKENS = 256  # of a response


@dataclass(frozen=True, kw_only=True)
class Written(Component):
    """What a language model writes for each item, and how that is asked for.

    Attributes:
        language_model: Writes the texts.
        prompt: What it is asked; the texts of an item stand for the names in braces.
        lines: How many lines of a response are taken, each a text of its own; the prompt may ask for `{lines}`. None
            takes the response as one text.
        max_tokens: The most tokens of a response; None takes 256, or what a smaller model usually writes.
    """

    group: ClassVar[str]  # of the settings
    item: ClassVar[str]  # the name that a prompt must have

    language_model: LanguageModel
    prompt: Text
    lines: Annotated[int, Between(1, 20)] | None = None
    max_tokens: MaxTokens | None = None

    def __post_init__(self) -> None:
        expect_kind(self.language_model, LanguageModel, f"{self.group}.language_model")
        if self.item not in NAME.findall(self.prompt):
            raise ConfigError(f"{self.group}.prompt: found {quoted(self.prompt)}, expected a text with {{{self.item}}}")
        most = most_tokens(self.language_model, self.max_tokens, USUAL_TOKENS, self.group)
        object.__setattr__(self, "max_tokens", most)

    @cached_property
    def _replies(self) -> dict[str, Completion]:
        """What the model wrote in this process, by the prompt: a run needs it several times, and a store may be off."""
        return {}

    def replies(self, items: Iterable[Mapping[str, str]]) -> list[Completion]:
        """The response for each item, which is given by its names and texts; prints for how many nothing was written.

        A refusal counts as nothing.
        """
        assert self.max_tokens is not None  # since __post_init__
        prompts = [self._filled({"lines": str(self.lines or 1), **texts}) for texts in items]
        new = [prompt for prompt in dict.fromkeys(prompts) if prompt not in self._replies]
        asking = Asking(self.group, self.max_tokens, start_will_do=True, item=self.item)  # it may lack its end
        written = write_each(self.language_model, new, asking)
        self._replies.update(zip(new, written, strict=True))
        if nothing := sum(not prose(reply.text) for reply in written):
            say_once(f"{self.group}: the model wrote nothing for {nothing:,} of {counted(len(new), self.item)}")
        return [self._replies[prompt] for prompt in prompts]

    def _filled(self, texts: Mapping[str, str]) -> str:
        return readable(NAME.sub(lambda name: texts.get(name[1], name[0]), self.prompt))

    def texts(self, reply: Completion, own: str) -> list[str]:
        """The texts of a response, but for the item's own; none of a refusal."""
        listed_texts = listed(reply.text) if self.lines else filter(None, [prose(reply.text)])
        return [text for text in listed_texts if text != own][: self.lines]


@dataclass(frozen=True, kw_only=True)
class WrittenIngest(Written, Ingest):
    """Indexes what a language model writes of each passage: questions (doc2query), a summary, a context.

    Texts are put beside the passage, not indexed on their own, so that each passage keeps one place in any index, and
    one score. Where the model writes nothing, the passage is indexed alone.

    Attributes:
        prompt: With `{passage}`; `{document}` is the text around it, and `{headings}` are those above it.
        place: Whether the texts stand before or after the passage, or instead of it.
        around: Characters of the document that the model is shown around the passage; None shows it whole.
        store: Keeps what is indexed.
    """

    group: ClassVar[str] = "ingest"
    item: ClassVar[str] = "passage"

    place: Literal["before", "after", "instead"] = "after"
    around: Annotated[int, Between(1)] | None = 8000
    store: Store = NO_STORE

    @property
    def without_effect(self) -> tuple[str, ...]:
        """`around`, if the prompt shows no part of the document."""
        return () if "document" in NAME.findall(self.prompt) else ("around",)

    def index_texts(self, documents: Sequence[Document], passages: Sequence[Passage]) -> list[str]:
        """Each passage and what was written of it, a line each."""
        text_of = {document.source: document.text for document in documents}
        headings = heading_paths(documents, passages, title=len(documents) > 1)
        items = (
            {
                "passage": passage.text,
                "headings": path,
                "document": _around(text_of[passage.source], passage, self.around),
            }
            for passage, path in zip(passages, headings, strict=True)
        )
        return [
            self._placed(passage.text, self.texts(reply, passage.text))
            for passage, reply in zip(passages, self.replies(items), strict=True)
        ]

    def _placed(self, passage: str, texts: Sequence[str]) -> str:
        lines = {"before": [*texts, passage], "after": [passage, *texts], "instead": texts or [passage]}
        return "\n".join(filter(None, lines[self.place]))


@dataclass(frozen=True, kw_only=True)
class WrittenQuery(Written, Expander):
    """Searches for what a language model writes for each query: a passage that could answer it, or other phrasings.

    Such a passage (HyDE, arXiv:2212.10496) may be wrong, but is worded as the passages are that answer. The paper
    averages the embeddings of several passages and the query; here the texts are joined, so that any ranker can search
    for them. If the model wrote fewer texts than `lines`, the query is searched for in place of each that is missing.

    Attributes:
        prompt: With `{query}`.
        place: `after` searches once for the query and the texts behind it; `beside` for the query and for each text,
            whose rankings are fused; `instead` for the texts without the query.
        fusion: Makes one ranking of those of several searches.
    """

    group: ClassVar[str] = "query"
    item: ClassVar[str] = "query"

    fusion: Fusion | None = None
    place: Literal["after", "beside", "instead"] = "after"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._searches > 1:
            expect_kind(self.fusion, Fusion, "query.fusion")

    @property
    def _searches(self) -> int:
        return 1 if self.place == "after" else (self.lines or 1) + (self.place == "beside")

    @property
    def without_effect(self) -> tuple[str, ...]:
        """`fusion`, if there is a single search."""
        return ("fusion",) if self._searches == 1 else ()

    def expand(self, search: Search, ranker: Ranker) -> Expansion:
        """One search, or several."""
        replies = self.replies({"query": query} for query in search.queries)
        texts = [self.texts(reply, query) for reply, query in zip(replies, search.queries, strict=True)]
        searched = zip(*map(self._searched, search.queries, texts), strict=True)
        words = (sum(len(text.split()) for text in of_query) for of_query in texts)
        changes = tuple(f"{counted(number, 'word')} by the model" if number else "" for number in words)
        times_ms = np.array([reply.time_ms for reply in replies], np.float64)
        searches = tuple(replace(search, queries=queries) for queries in searched)
        return Expansion(searches, times_ms, changes, self.fusion)

    def _searched(self, query: str, texts: Sequence[str]) -> list[str]:
        if self.place == "after":
            return [" ".join([query, *texts]).strip()]
        missing = [query] * ((self.lines or 1) - len(texts))
        return [*([query] if self.place == "beside" else []), *texts, *missing]


def _around(text: str, passage: Passage, size: int | None) -> str:
    """The part of a document around a passage; at its ends, as much as in its middle."""
    if size is None or len(text) <= size:
        return text
    first = min(max(0, (passage.start + passage.end - size) // 2), len(text) - size)
    return text[first : first + size]
