"""Passages that are indexed with where they stand in their document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from ragsweep.core.limits import Between
from ragsweep.datasets import Document, Passage
from ragsweep.models.language.language_model import LanguageModel, MaxTokens
from ragsweep.models.language.writing import prose
from ragsweep.retrieval.ingest.heading_paths import heading_paths
from ragsweep.retrieval.ingest.ingest import Ingest
from ragsweep.retrieval.ingest.written import most_written, written
from ragsweep.store.stage_store import NO_STORE, Store

CONTEXT = """\
<document>
{path}
{document}
</document>
This is a passage of the document:
<passage>
{passage}
</passage>
Write one or two short sentences that say where in the document the passage stands and what it is about, to improve the
search for it. Answer with these sentences and nothing else."""
CONTEXT_TOKENS = 128


@dataclass(frozen=True)
class ContextualIngest(Ingest):
    """Indexes each passage below the title of its document and the headings above it, or a context by a language model.

    A model is shown the passage in its document, and writes one or two sentences, which stand in place of the headings
    (https://www.anthropic.com/news/contextual-retrieval). Where it writes nothing, the headings do.

    Attributes:
        title: Whether the headings begin with the title; None begins with it where there are several documents, since
            that of the only document tells nothing apart.
        language_model: Writes the context; None asks none.
        around: Characters of the document that the model is shown around the passage; None shows it whole.
        max_tokens: The most tokens of a context; None takes 128.
        store: Keeps what is indexed.
    """

    title: bool | None = None
    language_model: LanguageModel | None = None
    around: Annotated[int, Between(1)] | None = 8000
    max_tokens: MaxTokens | None = None
    store: Store = NO_STORE

    def __post_init__(self) -> None:
        if self.language_model is not None:
            most = most_written(self.language_model, self.max_tokens, CONTEXT_TOKENS)
            object.__setattr__(self, "max_tokens", most)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect without a model."""
        return ("language_model", "around", "max_tokens") if self.language_model is None else ()

    def index_texts(self, documents: Sequence[Document], passages: Sequence[Passage]) -> list[str]:
        """Each passage below its context."""
        title = len(documents) > 1 if self.title is None else self.title
        above = heading_paths(documents, passages, title=title)
        if self.language_model is not None:
            assert self.max_tokens is not None  # since __post_init__
            whole = {each.source: each.text for each in documents}
            prompts = [
                CONTEXT.format(path=path, document=_around(whole[each.source], each, self.around), passage=each.text)
                for path, each in zip(above, passages, strict=True)
            ]
            contexts = written(self.language_model, prompts, self.max_tokens)
            above = [prose(text) or path for text, path in zip(contexts, above, strict=True)]
        return [f"{path}\n{each.text}" if path else each.text for path, each in zip(above, passages, strict=True)]


def _around(text: str, passage: Passage, size: int | None) -> str:
    """The part of a document around a passage; at its ends, as much as in its middle."""
    if size is None or len(text) <= size:
        return text
    first = min(max(0, (passage.start + passage.end - size) // 2), len(text) - size)
    return text[first : first + size]
