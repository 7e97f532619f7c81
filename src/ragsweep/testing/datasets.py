"""Tests of dataset formats, corpora, questions and chunkers."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import pytest

from ragsweep.datasets import Collection, Dataset, Document, Judgment, OwnDataset, PageChunker, Query
from ragsweep.datasets.model.dataset_format import Corpus, DatasetFormat
from ragsweep.store.stage_store import Store
from ragsweep.testing.component import SEARCH, ComponentContract

DOCUMENT_TEXTS = (
    " ".join(SEARCH.passages),
    "\n\n".join(SEARCH.passages),
    "# Iron\n\nTablets.\n\n## When\n- daily\n- not with tea\n\n| dose | age |\n|---|---|\n| 1 | 5 |\n",
    "The same sentence. " * 100,
    "word " * 500,
    "x" * 2000,
    "One line\nand the next,\twith  odd   spaces \r\n and Windows ends.\r\n",
    "Ein Satz. 日本語の文章。 Ångström 🙂 é.",
    ".",
    "日本語の文章。" * 50,
    "e\u0301\u0323 🙂👩‍👩‍👧 שלום עולם. " * 20,
    "The first page.\fThe second\f\f \f# The fifth\n\fand the sixth.",
)


class ChunkerContract(ComponentContract):
    """Tests of a chunker.

    Attributes:
        texts: What it cuts.
    """

    texts: ClassVar[tuple[str, ...]] = DOCUMENT_TEXTS

    def test_nothing_but_white_space_is_lost(self, made: Any) -> None:
        for text in self.texts:
            covered = {place for start, end in made.split(text) for place in range(start, end)}
            assert all(character.isspace() for place, character in enumerate(text) if place not in covered)

    def test_passages_stand_in_the_order_of_the_text(self, made: Any) -> None:
        for text in self.texts:
            for earlier, later in pairwise(made.split(text)):
                assert earlier[0] < later[0]
                assert earlier[1] < later[1]

    def test_every_passage_has_a_word_in_it(self, made: Any) -> None:
        for text in self.texts:
            assert all(text[start:end].strip() for start, end in made.split(text))

    @pytest.mark.parametrize("text", ["", " \n\t "])
    def test_a_text_without_words_has_no_passage(self, made: Any, text: str) -> None:
        assert list(made.split(text)) == []

    def test_a_passage_is_the_text_between_its_offsets(self, made: Any) -> None:
        """Also where the same sentence occurs a hundred times, and across pages."""
        document = Document.from_pages("a", [(str(page), f"a#{page}", text) for page, text in enumerate(self.texts, 1)])
        query = Query("1", "iron")
        collection = Collection("texts", "page", (document,), (query,), (Judgment("1", "a#1", 1),))
        dataset = Dataset.from_collection(collection, made)
        passages = dataset.passages
        covered = {dataset.units[unit] for _, unit in dataset.passages_with_units.tolist()}
        assert covered == {page.unit for page in document.pages}
        assert len({passage.chunk_id for passage in passages}) == len(passages)
        for passage in passages:
            assert passage.text == document.text[passage.start : passage.end]

    def test_no_passage_is_longer_than_the_size(self, made: Any) -> None:
        """In its unit. A single character can be longer than so many tokens."""
        if made.longest is None:
            pytest.skip("has no size")
        for text in self.texts:
            if getattr(made, "unit", "characters") == "characters":
                assert all(end - start <= made.longest for start, end in made.split(text))
            else:
                [tokens] = made.tokenizer.offsets([text])
                for start, end in made.split(text):
                    number = sum(first < end and last > start for first, last in tokens)
                    assert end - start == 1 or number <= made.longest

    def test_it_cuts_many_texts_as_it_cuts_each(self, made: Any) -> None:
        assert [list(spans) for spans in made.split_all(self.texts)] == [list(made.split(text)) for text in self.texts]

    def test_it_cuts_the_same_way_each_time(self, store: Store) -> None:
        first, second = ([list(self.make(store).split(text)) for text in self.texts] for _ in range(2))
        assert first == second


class DatasetContract(ComponentContract):
    """Tests of a dataset format; `settings` name a dataset to read."""

    def test_what_it_reads_can_be_measured(self, made: Any) -> None:
        """Names, offsets, queries, judgments and cases are checked; a text can be retrieved, or a case answered."""
        dataset = Dataset.from_collection(made.load(), PageChunker())
        assert dataset.passages or dataset.cases

    def test_it_reads_the_same_each_time(self, store: Store) -> None:
        first, second = (self.make(store).load() for _ in range(2))
        assert first.digest == second.digest

    def test_a_judged_unit_is_in_the_corpus(self, made: Any) -> None:
        """If none is, the names of units do not fit those of the judgments."""
        collection = made.load()
        units = {page.unit for document in collection.documents for page in document.pages}
        judged = {judgment.unit for judgment in collection.judgments}
        assert collection.unit == "passage" or units & judged or (collection.cases and not judged)

    def test_it_selects_questions_by_their_ids(self, made: Any) -> None:
        """Where it has the settings of `Selecting`: `load` returns what its `selected` makes of a collection."""
        if not hasattr(made, "ids"):
            pytest.skip("has no setting ids")
        first = made.load().queries[0].query_id
        selected = replace(made, ids=[first]).load()
        assert [query.query_id for query in selected.queries] == [first], "return self.selected(collection)"


class CorpusContract(ComponentContract):
    """Tests of a corpus; `settings` name one to read."""

    def test_every_document_has_its_own_name_and_a_page(self, made: Any) -> None:
        documents = made.read()
        assert len({document.source for document in documents}) == len(documents) > 0
        assert all(document.pages for document in documents)

    def test_pages_lie_within_the_text_in_order(self, made: Any) -> None:
        for document in made.read():
            ends = [0, *(page.end for page in document.pages), len(document.text)]
            starts = [page.start for page in document.pages]
            assert all(end <= start for end, start in zip(ends, starts, strict=False))
            assert ends == sorted(ends)

    def test_it_reads_the_same_each_time(self, store: Store) -> None:
        first, second = (self.make(store).read() for _ in range(2))
        assert first == second


class AsIs(Corpus):
    """A corpus of these documents."""

    def __init__(self, documents: tuple[Document, ...]) -> None:
        self.documents = documents

    def read(self) -> tuple[Document, ...]:
        """The documents."""
        return self.documents


class Loaded(DatasetFormat):
    """A dataset that is this collection."""

    def __init__(self, collection: Any) -> None:
        self.collection = collection

    def load(self) -> Collection:
        """The collection."""
        return self.collection  # type: ignore[no-any-return]


class QuestionsContract(ComponentContract):
    """Tests of questions; `settings` name some to read.

    Attributes:
        documents: What they are about.
    """

    documents: ClassVar[tuple[Document, ...]] = ()

    def test_what_it_reads_can_be_measured(self, made: Any) -> None:
        """Names, judgments and references are checked, and something is judged that can be retrieved."""
        dataset = Dataset.from_collection(OwnDataset("small", AsIs(self.documents), made).load(), PageChunker())
        assert set(dataset.qrels.unit.tolist()) & set(dataset.passage_units.tolist())

    def test_it_reads_the_same_each_time(self, store: Store) -> None:
        first, second = (self.make(store).read(self.documents) for _ in range(2))
        assert first == second
