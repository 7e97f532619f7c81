"""Passages that are indexed with questions or a summary by a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from ragsweep.core.limits import Between
from ragsweep.core.terminal import say_once
from ragsweep.datasets import Document, Passage
from ragsweep.datasets.model.collection import readable
from ragsweep.models.language.language_model import Asking, LanguageModel, MaxTokens, most_tokens
from ragsweep.models.language.writing import listed, prose, write_each
from ragsweep.retrieval.ingest.ingest import Ingest
from ragsweep.store.component import expect_kind
from ragsweep.store.stage_store import NO_STORE, Store

QUESTIONS = """\
Write {} different questions that the passage below answers, as people would ask them who do not know the passage.
Each on a line of its own, and nothing else.
Passage: {}"""
SUMMARY = "Summarise the passage below in one or two sentences, and write nothing else.\nPassage: {}"
QUESTIONS_TOKENS, SUMMARY_TOKENS = 256, 128


@dataclass(frozen=True)
class QuestionsIngest(Ingest):
    """Indexes each passage followed by questions that a language model says it answers (doc2query, arXiv:1904.08375).

    Queries are questions more often than passages are. The questions are appended, not indexed beside the passage, so
    that each passage keeps one place in any index, and one score. Where the model writes nothing, the passage is
    indexed alone.

    Attributes:
        language_model: Writes the questions.
        questions: How many are asked for.
        max_tokens: The most tokens of all questions of a passage; None takes 256, or what a smaller model usually
            writes.
        store: Keeps what is indexed.
    """

    language_model: LanguageModel
    questions: Annotated[int, Between(1, 20)] = 3
    max_tokens: MaxTokens | None = None
    store: Store = NO_STORE

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_tokens", most_written(self.language_model, self.max_tokens, QUESTIONS_TOKENS))

    def index_texts(self, documents: Sequence[Document], passages: Sequence[Passage]) -> list[str]:
        """Each passage followed by its questions, a line each."""
        assert self.max_tokens is not None  # since __post_init__
        prompts = [QUESTIONS.format(self.questions, each.text) for each in passages]
        texts = written(self.language_model, prompts, self.max_tokens)
        asked = [listed(text)[: self.questions] for text in texts]
        return ["\n".join([each.text, *its]) for each, its in zip(passages, asked, strict=True)]


@dataclass(frozen=True)
class SummaryIngest(Ingest):
    """Indexes each passage followed by its summary by a language model, or the summary alone.

    Where the model writes nothing, the passage is indexed alone.

    Attributes:
        language_model: Writes the summaries.
        with_passage: False indexes the summary in place of the passage.
        max_tokens: The most tokens of a summary; None takes 128.
        store: Keeps what is indexed.
    """

    language_model: LanguageModel
    with_passage: bool = True
    max_tokens: MaxTokens | None = None
    store: Store = NO_STORE

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_tokens", most_written(self.language_model, self.max_tokens, SUMMARY_TOKENS))

    def index_texts(self, documents: Sequence[Document], passages: Sequence[Passage]) -> list[str]:
        """Each passage with its summary, or the summary."""
        assert self.max_tokens is not None  # since __post_init__
        texts = written(self.language_model, [SUMMARY.format(each.text) for each in passages], self.max_tokens)
        summaries = [prose(text) for text in texts]
        return [
            "\n".join(filter(None, (each.text if self.with_passage or not its else "", its)))
            for each, its in zip(passages, summaries, strict=True)
        ]


def most_written(model: LanguageModel, given: int | None, usual: int) -> int:
    """The most tokens of one text. Raises `ConfigError` for what is no model."""
    expect_kind(model, LanguageModel, "ingest.language_model")
    return most_tokens(model, given, usual, "ingest")


def written(model: LanguageModel, prompts: Sequence[str], max_tokens: int) -> list[str]:
    """What a model writes for each passage; prints for how many it wrote nothing, or only that it refuses."""
    asking = Asking("ingest", max_tokens, start_will_do=True, item="passage")  # what is searched may lack its end
    texts = [each.text.strip() for each in write_each(model, list(map(readable, prompts)), asking)]
    if nothing := sum(not prose(text) for text in texts):
        say_once(f"ingest: the model wrote nothing for {nothing:,} of {len(texts):,} passages")
    return texts
