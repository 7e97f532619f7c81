"""What must hold of an engine, a database that keeps the passages of a corpus itself."""

from __future__ import annotations

import gc
import multiprocessing
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from ragsweep.core.digest import digest
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.retrieval import ExactIndex, Ranking
from ragsweep.retrieval.indexes.engine import Corpus, DeletesCorpus, Engine
from ragsweep.store.stage_store import Store
from ragsweep.testing.component import ComponentContract

GROUP = 300  # passages of a group; those of different groups are far apart
GROUP_COUNT = 3
DIMENSIONS = 32
QUERY_COUNT = 9
SECONDS_TO_BUILD_A_FEW = 0.3  # corpora, which an engine builds
MOST_BUILT = 500


def corpus(passages: int = GROUP * GROUP_COUNT, seed: int = 0) -> Corpus:
    """Passages in groups, one group after another."""
    rng = np.random.default_rng(seed)
    centres = np.eye(GROUP_COUNT, DIMENSIONS).repeat(GROUP, axis=0)
    embeddings = centres + 0.1 * rng.standard_normal(centres.shape)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    texts = tuple(f"passage {row} of {seed}" for row in range(passages))
    documents = tuple(f"{row // 10}.txt" for row in range(passages))
    return Corpus(embeddings[:passages].astype(np.float32), digest([seed, passages]), texts, documents)


def queries(of: Corpus) -> Embeddings:
    """Queries near some of the passages."""
    rows = np.linspace(0, len(of.embeddings) - 1, QUERY_COUNT).astype(int)
    near = of.embeddings[rows] + 0.02 * np.random.default_rng(1).standard_normal((QUERY_COUNT, DIMENSIONS))
    queries: Embeddings = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)
    return queries


class EngineContract(ComponentContract):
    """What must hold of an engine.

    Every test uses an engine of its own where the fixture `place` has prepared one.

    Attributes:
        exact: The settings with which it compares every query with every passage.
        approximate: The settings of its approximate search; None if it has none.
        least_recall: Share of the exact ten best that its approximate search finds.
    """

    exact: ClassVar[Mapping[str, Any]] = {"exact": True}
    approximate: ClassVar[Mapping[str, Any] | None] = {"exact": False}
    least_recall: ClassVar[float] = 0.9

    def engine(self, store: Store, **settings: Any) -> Engine:
        """The engine with an exact search, unless the settings say something else."""
        made: Engine = self.make(store, **(settings or self.exact))
        assert isinstance(made, Engine), "an engine has `name`, a text, and `open_corpus(corpus)`"
        return made

    def put_foreign(self, engine: Engine, store: Store) -> Callable[[], object]:
        """Put something of somebody else where the engine keeps its own; returns a function that reads it back.

        An engine with files need not override this one: the folder `engines/NAME` in the store gets a file, and a
        folder with a file.
        """
        folder = Path(store.path) / "engines" / engine.name
        files = [folder / "notes.txt", folder / "other" / "data.bin"]
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(b"not ours")
        return lambda: [(file.read_bytes(), file.stat().st_mtime_ns) for file in files]

    def damage(self, engine: Engine, store: Store) -> None:
        """Damage what the engine has built, behind its back.

        An engine with files need not override this one: the largest file in the folder `engines/NAME` in the store is
        emptied.
        """
        files = [file for file in (Path(store.path) / "engines" / engine.name).rglob("*") if file.is_file()]
        assert files, f"nothing of it is in engines/{engine.name} of the store, so override `damage`"
        max(files, key=lambda file: file.stat().st_blocks).write_bytes(b"")

    @pytest.fixture
    def opened(self, store: Store) -> Iterator[Engine]:
        """An engine with an exact search."""
        engine = self.engine(store)
        yield engine
        _delete(engine, corpus(), corpus(seed=1), corpus(1), corpus(40))

    @pytest.fixture
    def keeping(self, opened: Engine) -> Any:
        """An engine that keeps collections itself."""
        if not isinstance(opened, DeletesCorpus):
            pytest.skip("keeps no collection: it has no `delete(corpus_digest)`")
        return opened

    def test_what_it_keeps_can_be_deleted(self, opened: Engine, store: Store) -> None:
        """An engine with files in the store has `delete`; the tests of damaged and half-built collections need it."""
        opened.open_corpus(corpus())
        kept = [*(Path(store.path) / "engines" / opened.name).rglob("*")]
        assert not kept or isinstance(opened, DeletesCorpus), f"`delete(corpus_digest)` is missing: it keeps {kept[0]}"

    @pytest.mark.parametrize("depth", [1, 10, 100])
    def test_exact_search_finds_what_an_exact_search_finds(self, opened: Engine, depth: int) -> None:
        """Passages, their order and their scores."""
        assert_same(opened.open_corpus(corpus())(queries(corpus()), depth), exactly(corpus(), depth))

    def test_passages_of_the_same_score_are_in_the_order_of_the_corpus(self, opened: Engine) -> None:
        """Wherever the depth cuts them."""
        copies = corpus(40)
        copies.embeddings[5:35] = copies.embeddings[20]
        copies = replace(copies, digest=digest("copies"))
        try:
            for depth in (3, 12):
                assert_same(opened.open_corpus(copies)(queries(copies), depth), exactly(copies, depth))
        finally:
            _delete(opened, copies)

    def test_a_query_alone_finds_what_it_finds_beside_others(self, opened: Engine) -> None:
        """A ranking depends on nothing but its query and the corpus."""
        search, asked = opened.open_corpus(corpus()), queries(corpus())
        together = search(asked, 10)
        for query in range(len(asked)):
            assert_same(search(asked[[query]], 10), together.row(query))

    @pytest.mark.parametrize("passages", [1, 40])
    def test_a_depth_beyond_the_corpus_finds_all_of_it(self, opened: Engine, passages: int) -> None:
        """Also of a single passage."""
        small = corpus(passages)
        assert_same(opened.open_corpus(small)(queries(small), 100), exactly(small, 100))

    def test_a_second_opening_builds_nothing(self, keeping: Engine, store: Store) -> None:
        """Handed other embeddings with the digest of a corpus that is there, it searches those that are there.

        With the embeddings of the next group, an engine that builds again would find the passages of another group.
        """
        built = corpus()
        keeping.open_corpus(built)
        moved = replace(built, embeddings=np.roll(built.embeddings, GROUP, axis=0))
        for engine in (keeping, self.engine(store)):
            found = engine.open_corpus(moved)(queries(built), 10)
            assert (found.passages // GROUP == exactly(built, 1).passages // GROUP).all()

    def test_a_damaged_collection_is_built_again(self, keeping: Engine, store: Store) -> None:
        """What has lost a part of its passages is never searched."""
        keeping.open_corpus(corpus())
        gc.collect()  # an engine may keep a collection open for as long as it is searched
        self.damage(keeping, store)
        assert_same(self.engine(store).open_corpus(corpus())(queries(corpus()), 10), exactly(corpus(), 10))

    def test_corpora_lie_beside_each_other(self, opened: Engine) -> None:
        """What is found is of the corpus that was opened."""
        searches = [(each, opened.open_corpus(each)) for each in (corpus(), corpus(seed=1), corpus(40))]
        for each, search in searches:
            assert_same(search(queries(each), 10), exactly(each, 10))

    def test_deleting_a_corpus_deletes_nothing_else(self, keeping: Any, store: Store) -> None:
        """Other corpora are still there, and what somebody else keeps beside them is untouched."""
        read_foreign = self.put_foreign(keeping, store)
        before = read_foreign()
        unwanted, kept = corpus(), corpus(seed=1)
        keeping.open_corpus(unwanted)
        keeping.open_corpus(kept)
        keeping.delete(unwanted.digest)
        keeping.delete(digest("of no corpus"))
        assert read_foreign() == before
        # With other embeddings: a corpus that is there is not built from them, and one that is not there is.
        moved = [replace(each, embeddings=np.roll(each.embeddings, GROUP, axis=0)) for each in (unwanted, kept)]
        anew, there = (keeping.open_corpus(each)(queries(kept), 10).passages // GROUP for each in moved)
        assert (anew == (exactly(kept, 1).passages // GROUP + 1) % GROUP_COUNT).all()
        assert (there == exactly(kept, 1).passages // GROUP).all()

    def test_what_a_killed_process_was_building_is_built_again(self, keeping: Engine, store: Store) -> None:
        """Half a corpus is never searched."""
        context = multiprocessing.get_context("spawn")
        begun = context.Value("i", -1)
        process = context.Process(target=_build_until_killed, args=(self.engine, store, begun), daemon=True)
        process.start()
        while begun.value < 2 and process.is_alive():
            time.sleep(0.01)
        time.sleep(random.random() * SECONDS_TO_BUILD_A_FEW)
        process.kill()
        process.join()
        last = begun.value
        assert last >= 2, "the process ended by itself"
        try:
            for number in (last - 1, last):
                assert_same(keeping.open_corpus(numbered(number))(queries(corpus()), 10), exactly(corpus(), 10))
        finally:
            _delete(keeping, *map(numbered, range(last + 1)))

    def test_approximate_search_finds_most_of_what_an_exact_search_finds(self, store: Store) -> None:
        """Scores and order are those of an exact search of what was found."""
        if self.approximate is None:
            pytest.skip("it has no approximate search")
        engine, all_of_it = self.engine(store, **self.approximate), corpus()
        try:
            found = engine.open_corpus(all_of_it)(queries(all_of_it), 10)
        finally:
            _delete(engine, all_of_it)
        best = exactly(all_of_it, 10)
        shares = [np.isin(*rows).mean() for rows in zip(best.passages, found.passages, strict=True)]
        assert np.mean(shares) >= self.least_recall
        everything = exactly(all_of_it, len(all_of_it.embeddings))
        for query, row in enumerate(found.passages):
            scores = dict(zip(everything.passages[query].tolist(), everything.scores[query].tolist(), strict=True))
            assert found.scores[query].tolist() == [scores[passage] for passage in row.tolist()]


def _delete(engine: Engine, *corpora: Corpus) -> None:
    if isinstance(engine, DeletesCorpus):
        for each in corpora:
            engine.delete(each.digest)


def exactly(of: Corpus, depth: int) -> Ranking:
    """What an exact search finds."""
    return ExactIndex().open(of.embeddings, lambda _, build: build())(queries(of), depth)


def assert_same(found: Ranking, expected: Ranking) -> None:
    """The same passages, in the same order, with the same scores."""
    assert found.passages.tolist() == expected.passages.tolist()
    assert found.scores.tolist() == expected.scores.tolist(), "`ranked_by_engine` computes these scores"


def numbered(number: int) -> Corpus:
    """A corpus of the same passages, and another digest for each number."""
    return replace(corpus(), digest=digest(["numbered", number]))


def _build_until_killed(engine: Callable[[Store], Engine], store: Store, begun: Any) -> None:
    """Build one corpus after another, in a process of its own."""
    made = engine(store)
    for number in range(MOST_BUILT):
        begun.value = number
        made.open_corpus(numbered(number))
