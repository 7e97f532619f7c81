"""Metrics and tokens of what is returned, against a slow and obvious loop over pages and characters."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from ragsweep.core.arrays import NOTHING
from ragsweep.core.errors import ConfigError
from ragsweep.datasets import (
    Collection,
    DatasetFormat,
    Document,
    Judgment,
    Query,
    RecursiveChunker,
    Reference,
)
from ragsweep.retrieval import DocumentUnit, PageUnit, ParentUnit, SparseRetriever, WindowUnit
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking import metrics
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep.tasks.ranking.spans.span_metrics import token_iou, token_precision, token_recall
from ragsweep.tasks.task import Record

PAGES = 4  # of each document
SMALL = RecursiveChunker(size=60, overlap=0)
UNITS = {
    "window": WindowUnit(size=1),
    "window of 0": WindowUnit(size=0),
    "parent": ParentUnit(chunker=RecursiveChunker(size=150, overlap=0)),
    "overlapping parent": ParentUnit(chunker=RecursiveChunker(size=150, overlap=70)),
    "page": PageUnit(),
    "document": DocumentUnit(),
}


@pytest.fixture
def collection():
    """Ten documents of four pages that share words, and twelve questions of two words with judged pages."""
    rng = np.random.default_rng(7)
    words = [f"word{number}" for number in range(40)]

    def page():
        return "\n".join(" ".join(rng.choice(words, rng.integers(3, 12))) for _ in range(4))

    documents = tuple(
        Document.from_pages(f"d{row}", [(str(p), f"d{row}#{p}", page()) for p in range(1, PAGES + 1)])
        for row in range(10)
    )
    queries = tuple(Query(f"q{row}", " ".join(rng.choice(words, 2, replace=False)), None) for row in range(12))
    pages = [f"d{row}#{p}" for row in range(10) for p in range(1, PAGES + 1)]
    judgments = tuple(Judgment(f"q{row}", each, 1) for row in range(12) for each in rng.choice(pages, 6, replace=False))
    return Collection("small", "page", documents, queries, judgments)


def task(collection, returns, chosen, chunker=SMALL, **settings):
    class Format(DatasetFormat):
        def load(self):
            return collection

    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 100, chosen)
    retriever = SparseRetriever(NO_STORE)
    return RankingTask(Format(), chunker, retriever, evaluation, 3, 0, NO_STORE, "words", returns=returns, **settings)


def slow_parts(items, ranking, spans, query, k, *, joined):
    """What a query gets: spans of characters of documents, by the definition, one found passage after another."""
    texts = {each.source: each.text for each in items.documents}
    parts = []  # source, characters, found passages
    order = ranking.passages[query][ranking.passages[query] != NOTHING].tolist()

    def are_one(part, source, new):
        if part[0] != source:
            return False
        both = new | part[1]
        between = "".join(texts[source][at] for at in range(min(both), max(both) + 1) if at not in both)
        return bool(new & part[1] or (joined and not between.strip()))

    for passage in order:
        source, new = items.passages[passage].source, set(range(*spans[passage]))
        touched = [each for each in parts if are_one(each, source, new)]
        place = parts.index(touched[0]) if touched else len(parts)
        for each in touched:
            new |= each[1]
            parts.remove(each)
        found = sorted([passage, *(one for each in touched for one in each[2])], key=order.index)
        parts.insert(place, (source, set(range(min(new), max(new) + 1)), found))
        if len(parts) == k:
            break
    return parts


def pages_of(items, part):
    """The pages of a part: first those on which a passage was found, in the order in which they were found."""
    source, characters, found = part
    [document] = [each for each in items.documents if each.source == source]
    inside = [
        page
        for page in document.pages
        if any(at in characters and not document.text[at].isspace() for at in range(page.start, page.end))
    ]
    first = [page for passage in found for page in inside if page.start <= items.passages[passage].start < page.end]
    return list(dict.fromkeys(page.unit for page in [*first, *inside]))


@pytest.mark.parametrize("name", UNITS)
def test_every_page_that_is_returned_counts_once(collection, name):
    unit = UNITS[name]
    measures = task(collection, unit, {"recall": metrics.recall, "precision": metrics.precision, "mrr": metrics.mrr})
    items = measures.load()
    ranking = measures.rank(items)
    shown = measures.shown(items, ranking)
    spans = unit.spans({each.source: each for each in items.documents}, items.passages)
    texts = {each.source: each.text for each in items.documents}
    relevant = {q.query_id: {j.unit for j in collection.judgments if j.query_id == q.query_id} for q in items.queries}
    for k in (1, 2, 3, 7):
        for query, asked in enumerate(items.queries):
            parts = slow_parts(items, ranking, spans, query, k, joined=unit.joins_neighbours)
            pages = [page for part in parts for page in pages_of(items, part)]
            places = len(pages) + k - len(parts)
            hits = [place for place, page in enumerate(pages) if page in relevant[asked.query_id]]
            distinct = {pages[place] for place in hits}
            expected = [
                len(distinct) / len(relevant[asked.query_id]),
                len(distinct) / places,
                1 / (hits[0] + 1) if hits else 0,
            ]
            assert shown.evaluation.values[:, k - 1, query].tolist() == pytest.approx(expected), (k, query)
            tokens = sum(
                len("".join(texts[source][at] for at in sorted(characters)).split()) for source, characters, _ in parts
            )
            assert shown.tokens[k - 1, query] == tokens


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("budget", [1, 20, 90, 100_000])
@pytest.mark.parametrize("name", ["window", "page"])
def test_as_much_is_returned_as_fits_into_a_budget(collection, name, budget):
    free = task(collection, UNITS[name], {"recall": metrics.recall}, SMALL)
    items = free.load()
    ranking = free.rank(items)
    tokens = free.shown(items, ranking).tokens  # at the cutoffs 1 to 20
    shown = task(collection, UNITS[name], {"recall": metrics.recall}, budget=budget).shown(items, ranking)
    ranks, values = shown.evaluation.ranks, shown.evaluation.per_query[0]
    for query in range(len(items.queries)):
        fits = [k for k in range(1, 21) if tokens[k - 1, query] <= budget]
        if budget < 1000:
            assert ranks[query] == max(fits, default=0)
        at = shown.evaluation.values[0, ranks[query] - 1, query] if ranks[query] else 0
        assert values[query] == at


def pages_in(items, characters, source):
    """The pages of a document on which these characters are more than white space."""
    [document] = [each for each in items.documents if each.source == source]
    visible = {at for at in characters if not document.text[at].isspace()}
    return {(source, page.page) for page in document.pages if visible & set(range(page.start, page.end))}


@pytest.mark.parametrize("name", [*UNITS, "candidates"])
def test_spans_are_compared_with_what_is_returned(collection, name):
    rng = np.random.default_rng(3)
    references = []
    for query in collection.queries:
        document = collection.documents[rng.integers(10)]
        start = int(rng.integers(0, len(document.text) - 90))
        references.append(Reference(query.query_id, document.source, start, start + int(rng.integers(20, 90))))
    spans_judged = Collection(
        "spans", "passage", collection.documents, collection.queries, (), references=tuple(references)
    )
    unit = UNITS.get(name, PageUnit(candidates=1))
    chosen = {
        "token/recall": token_recall,
        "token/precision": token_precision,
        "token/iou": partial(token_iou, token="character"),
        "recall": metrics.recall,
        "hit_rate": metrics.hit_rate,
    }
    measures = task(spans_judged, unit, chosen)
    items = measures.load()
    ranking = measures.rank(items)
    values = measures.shown(items, ranking).evaluation.values
    spans = unit.spans({each.source: each for each in items.documents}, items.passages)
    for k in (1, 3, 8):
        for query, reference in enumerate(references):
            parts = slow_parts(items, ranking, spans, query, k, joined=unit.joins_neighbours)[: unit.candidates]
            wanted = {(reference.source, at) for at in range(reference.start, reference.end)}
            got = {(source, at) for source, characters, _ in parts for at in characters}
            both = len(wanted & got)
            expected = [both / len(wanted), both / len(got) if got else 0, both / len(wanted | got)]
            assert values[:3, k - 1, query].tolist() == pytest.approx(expected), (k, query)
            hit = any((source, at) in wanted for source, characters, _ in parts for at in characters)
            assert values[4, k - 1, query] == hit
            assert 0 <= values[3, k - 1, query] <= 1
            assert (values[3, k - 1, query] > 0) == hit
            if isinstance(unit, PageUnit):  # recall is the share of the pages with a part of the reference
                wanted_pages = pages_in(items, {at for _, at in wanted}, reference.source)
                got_pages = {page for part in parts for page in pages_in(items, part[1], part[0])}
                both = len(wanted_pages & got_pages)
                assert values[3, k - 1, query] == pytest.approx(both / len(wanted_pages) if wanted_pages else 0)


@pytest.mark.parametrize("cutoff", [{"k": 3}, {"budget": 100_000}])
@pytest.mark.parametrize(("candidates", "wanted"), [(100, True), (400, False)])
def test_a_ranking_that_makes_too_few_parts_is_said(cutoff, candidates, wanted):
    """One document has all of the first passages; the others are never reached."""
    many = Document.from_pages("many", [("1", "many", "\n".join(f"iron {number}" for number in range(200)))])
    others = [Document.from_pages(f"d{row}", [("1", f"d{row}", "iron and " + "tea " * 20)]) for row in range(5)]
    queries, judgments = (Query("q", "iron", None),), (Judgment("q", "d1", 1),)
    corpus = Collection("odd", "document", (many, *others), queries, judgments)
    chosen, unit = {"recall": metrics.recall}, DocumentUnit(candidates=candidates)
    measures = replace(task(corpus, unit, chosen, RecursiveChunker(size=8, overlap=0)), **cutoff)
    items = measures.load()
    assert (measures.shown(items, measures.rank(items)).ended > 0) == wanted


@pytest.mark.usefixtures("long_work")
def test_all_that_can_be_returned_is_a_recall_of_1(collection):
    """Whatever the unit, with all passages found and a cutoff that holds all of them."""
    for unit in UNITS.values():
        measures = task(collection, unit, {"recall": metrics.recall})
        items = measures.load()
        ranking = measures.rank(items)
        everything = np.tile(np.arange(len(items.passages)), (len(items.queries), 1))
        whole = type(ranking)(everything, -everything.astype(float))
        values = measures.shown(items, whole).evaluation.values
        if isinstance(unit, DocumentUnit):
            assert values[0, -1].tolist() == [1.0] * len(items.queries)
        assert (np.diff(values[0], axis=0) >= 0).all()


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("judged", ["pages", "spans"])
@pytest.mark.parametrize("name", UNITS)
def test_explain_agrees_with_recall(collection, name, judged):
    if judged == "spans":
        rng = np.random.default_rng(3)
        starts = rng.integers(0, [len(document.text) - 90 for document in collection.documents])
        references = tuple(
            Reference(query.query_id, document.source, int(start), int(start) + 60)
            for query, document, start in zip(collection.queries, collection.documents, starts, strict=False)
        )
        collection = Collection(
            "spans", "passage", collection.documents, collection.queries[:10], (), references=references
        )
    measures = task(collection, UNITS[name], {"recall": metrics.recall})
    items = measures.load()
    measured = measures.measure(items)
    [recall] = [score.per_item for score in measured.scores]
    record = Record("a run", "id", measured.per_item, {"k": "3"})
    for query, value in [*zip(items.queries, recall, strict=True)][::2]:  # explaining takes a while
        text = "\n".join(measures.explain(items, query.query_id, record, 100))
        assert ("no relevant" in text) == (value == 1), text
        assert ("relevant\n" in text.partition("--- cutoff")[0]) == (value > 0), text
        assert "not as recorded" not in text


def test_questions_without_an_answer_are_refused(collection):
    queries = (*collection.queries[:-1], Query("none", "word1 word2", None, answerable=False))
    judgments = tuple(each for each in collection.judgments if each.query_id != "q11")
    odd = Collection("odd", "page", collection.documents, queries, judgments)
    measures = task(odd, PageUnit(), {"recall": metrics.recall})
    with pytest.raises(ConfigError, match=r"^returns: the dataset has questions without an answer"):
        measures.check(measures.load())
