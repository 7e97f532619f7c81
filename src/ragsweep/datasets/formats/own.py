"""A dataset of any corpus and any questions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.limits import Text
from ragsweep.datasets.model.collection import Collection
from ragsweep.datasets.model.dataset_format import Corpus, Questions
from ragsweep.datasets.model.selecting import Selecting
from ragsweep.store.component import expect_kind

# A setting of corpus or questions in a message, and no name of a file.
PART = re.compile(r"(?<![\w/.])(?:corpus|questions)\.(?!(?:csv|jsonl?|parquet|tsv)\b)\w+(?:=page_number\b)?")


@dataclass(frozen=True)
class OwnDataset(Selecting):
    """Your own corpus and questions, each in any of the formats.

    Attributes:
        name: Name of the dataset and of its experiment in MLflow.
        corpus: Reads the documents.
        questions: Reads queries and judgments.
        preset: The settings of an option such as `dataset=pdf`, by those of corpus and questions that they stand for;
            empty if these are set themselves.
        spelt_out: The same dataset by settings of corpus and questions, as one types them.
    """

    name: Text
    corpus: Corpus
    questions: Questions
    preset: Mapping[str, str] = field(default_factory=dict, kw_only=True, repr=False)
    spelt_out: str = field(default="", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_kind(self.corpus, Corpus, "corpus")
        expect_kind(self.questions, Questions, "questions")

    @property
    def without_effect(self) -> Sequence[str]:
        """Those of the corpus, too, whose settings a preset has."""
        return [*super().without_effect, *self.corpus.without_effect, "preset", "spelt_out"]

    @property
    def fingerprint(self) -> str | None:
        """That of the corpus."""
        return self.corpus.fingerprint

    def documents_alone(self) -> Corpus:
        """The corpus."""
        return self.corpus

    def load(self) -> Collection:
        """Read the documents, and then the questions about them."""
        with as_typed(self.preset, self.spelt_out):
            collection = self.questions.read(self.corpus.read())
            named = replace(collection, name=self.name, skipped=tuple(sorted(set(self.corpus.left_out()))))
            return self.selected(named).read_as(self.corpus.reading())


@contextmanager
def as_typed(preset: Mapping[str, str], spelt_out: str = "") -> Iterator[None]:
    """Let errors name the settings of a preset, and say how others of corpus and questions can be set."""
    try:
        yield
    except (ConfigError, DatasetError) as error:
        text = PART.sub(lambda name: preset.get(name[0], name[0]), str(error))
        others = f"; such settings follow {spelt_out}" if spelt_out and PART.search(text) else ""
        raise type(error)(f"{text}{others}") from error
