"""Metrics and tokens of what is returned, against a slow and obvious loop over pages and characters."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from rankings import collection_of, paged, ranking_task, unpaged

from ragsweep.core.arrays import NOTHING
from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Query, RecursiveChunker, Reference
from ragsweep.evaluation import hit_rate, mrr, precision, recall, token_iou, token_precision, token_recall
from ragsweep.retrieval import DocumentUnit, PageUnit, ParentUnit, WindowUnit
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

    documents = [paged(f"d{row}", *(page() for _ in range(PAGES))) for row in range(10)]
    queries = {f"q{row}": " ".join(rng.choice(words, 2, replace=False)) for row in range(12)}
    pages = [f"d{row}#{page}" for row in range(10) for page in range(1, PAGES + 1)]
    judgments = {(f"q{row}", unit): 1 for row in range(12) for unit in rng.choice(pages, 6, replace=False)}
    return collection_of(documents, queries, judgments)


def with_spans(collection):
    """The collection with a part of a document of 20 to 90 characters for each query, in place of its pages."""
    rng = np.random.default_rng(3)
    references = []
    for query in collection.queries:
        document = collection.documents[rng.integers(10)]
        start = int(rng.integers(0, len(document.text) - 90))
        references.append(Reference(query.query_id, document.source, start, start + int(rng.integers(20, 90))))
    return replace(collection, unit="passage", judgments=(), references=tuple(references))


def task(collection, returns, chosen=None, chunker=SMALL, **settings):
    metrics = chosen or {"recall": recall}
    return ranking_task(metrics=metrics, collection=collection, chunker=chunker, returns=returns, **settings)


def measured(collection, returns, chosen=None):
    """The items, their ranking, and what is returned."""
    measures = task(collection, returns, chosen)
    items = measures.load()
    ranking = measures.rank(items)
    return items, ranking, measures.shown(items, ranking)


def slow_parts(items, ranking, spans, query, k, *, joined):
    """What a query gets: spans of characters of documents, by the definition, one found passage after another."""
    texts = {document.source: document.text for document in items.documents}
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
        touched = [part for part in parts if are_one(part, source, new)]
        place = parts.index(touched[0]) if touched else len(parts)
        for joined_part in touched:
            new |= joined_part[1]
            parts.remove(joined_part)
        passages_of_part = sorted([passage, *(one for part in touched for one in part[2])], key=order.index)
        parts.insert(place, (source, set(range(min(new), max(new) + 1)), passages_of_part))
        if len(parts) == k:
            break
    return parts


def pages_in(items, characters, source):
    """The pages of a document on which these characters are more than white space, in their order."""
    document = next(document for document in items.documents if document.source == source)
    visible = {at for at in characters if not document.text[at].isspace()}
    return [page for page in document.pages if visible & {*range(page.start, page.end)}]


def pages_of(items, part):
    """The pages of a part: first those on which a passage was found, in the order in which they were found."""
    source, characters, passages = part
    inside = pages_in(items, characters, source)
    first = [page for passage in passages for page in inside if page.start <= items.passages[passage].start < page.end]
    return list(dict.fromkeys(page.unit for page in [*first, *inside]))


def measured_parts(collection, unit, chosen, cutoffs):
    """What a unit returns at each cutoff for each query: by the slow loop, the values, and the tokens."""
    items, ranking, shown = measured(collection, unit, chosen)
    spans = unit.spans({document.source: document for document in items.documents}, items.passages)
    for k, query in product(cutoffs, range(len(items.queries))):
        parts = slow_parts(items, ranking, spans, query, k, joined=unit.joins_neighbours)
        yield items, k, query, parts, shown.evaluation.values[:, k - 1, query].tolist(), shown.tokens[k - 1, query]


@pytest.mark.parametrize("name", UNITS)
def test_every_page_that_is_returned_counts_once(collection, name):
    chosen = {"recall": recall, "precision": precision, "mrr": mrr}
    cases = [*measured_parts(collection, UNITS[name], chosen, (1, 2, 3, 7))]
    assert len(cases) == 4 * 12
    for items, k, query, parts, values, tokens in cases:
        texts = {document.source: document.text for document in items.documents}
        relevant = {judgment.unit for judgment in collection.judgments if judgment.query_id == f"q{query}"}
        pages = [page for part in parts for page in pages_of(items, part)]
        hits = [place for place, page in enumerate(pages) if page in relevant]
        distinct = len({pages[place] for place in hits})
        places = len(pages) + k - len(parts)
        expected = [distinct / len(relevant), distinct / places, 1 / (hits[0] + 1) if hits else 0]
        assert values == pytest.approx(expected), (k, query)
        got = ["".join(texts[source][at] for at in sorted(characters)) for source, characters, _ in parts]
        assert tokens == sum(len(text.split()) for text in got)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("name", ["window", "page"])
def test_as_much_is_returned_as_fits_into_a_budget(collection, name):
    items, ranking, free = measured(collection, UNITS[name])
    for budget in (1, 20, 90, 100_000):
        evaluation = task(collection, UNITS[name], budget=budget).shown(items, ranking).evaluation
        ranks, values = evaluation.ranks, evaluation.per_query[0]
        for query in range(len(items.queries)):
            fits = [k for k in range(1, 21) if free.tokens[k - 1, query] <= budget]  # at the cutoffs 1 to 20
            if budget < 1000:
                assert ranks[query] == max(fits, default=0)
            assert values[query] == (evaluation.values[0, ranks[query] - 1, query] if ranks[query] else 0)


@pytest.mark.parametrize("name", [*UNITS, "candidates"])
def test_spans_are_compared_with_what_is_returned(collection, name):
    collection = with_spans(collection)
    unit = UNITS.get(name, PageUnit(candidates=1))
    chosen = {"tokens": token_recall, "precision": token_precision, "iou": token_iou, "recall": recall, "hit": hit_rate}
    cases = [*measured_parts(collection, unit, chosen, (1, 3, 8))]
    assert len(cases) == 3 * 12
    for items, k, query, all_parts, values, _ in cases:
        reference, parts = collection.references[query], all_parts[: unit.candidates]
        wanted = {(reference.source, at) for at in range(reference.start, reference.end)}
        got = {(source, at) for source, characters, _ in parts for at in characters}
        both = len(wanted & got)
        expected = [both / len(wanted), both / len(got) if got else 0, both / len(wanted | got)]
        assert values[:3] == pytest.approx(expected), (k, query)
        assert values[4] == (both > 0) == (values[3] > 0)
        assert 0 <= values[3] <= 1
        if isinstance(unit, PageUnit):  # recall is the share of the pages with a part of the reference
            wanted_pages = {*pages_in(items, {at for _, at in wanted}, reference.source)}
            got_pages = {page for source, characters, _ in parts for page in pages_in(items, characters, source)}
            share = len(wanted_pages & got_pages) / len(wanted_pages) if wanted_pages else 0
            assert values[3] == pytest.approx(share)


@pytest.mark.usefixtures("long_work")
def test_all_that_can_be_returned_is_a_recall_of_1(collection):
    """Whatever the unit, with all passages found and a cutoff that holds all of them."""
    for unit in UNITS.values():
        measures = task(collection, unit)
        items, ranking, _ = measured(collection, unit)
        everything = np.tile(np.arange(len(items.passages)), (len(items.queries), 1))
        whole = type(ranking)(everything, -everything.astype(float))
        values = measures.shown(items, whole).evaluation.values
        if isinstance(unit, DocumentUnit):
            assert values[0, -1].tolist() == [1.0] * len(items.queries)
        assert (np.diff(values[0], axis=0) >= 0).all()


def test_a_ranking_that_makes_too_few_parts_is_said():
    """One document has all of the first passages; the others are never reached."""
    many = unpaged("many", "\n".join(f"iron {number}" for number in range(200)))
    short = [unpaged(f"d{row}", "iron and " + "tea " * 20) for row in range(5)]
    corpus = collection_of((many, *short), {"q": "iron"}, {("q", "d1"): 1}, "document")
    cut = RecursiveChunker(size=8, overlap=0)
    for (candidates, is_said), cutoff in product(((100, True), (400, False)), ({"k": 3}, {"budget": 100_000})):
        measures = replace(task(corpus, DocumentUnit(candidates=candidates), chunker=cut), **cutoff)
        notices = measures.measure(measures.load()).notices
        assert any("for 1 of 1 queries, all ranked passages" in notice for notice in notices) == is_said


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("judged", ["pages", "spans"])
@pytest.mark.parametrize("name", UNITS)
def test_explain_agrees_with_recall(collection, name, judged):
    measures = task(with_spans(collection) if judged == "spans" else collection, UNITS[name])
    items = measures.load()
    measurement = measures.measure(items)
    [score] = measurement.scores
    record = Record("a run", "id", measurement.per_item, {"k": "3"})
    for query, value in [*zip(items.queries, score.per_item, strict=True)][::2]:  # explaining takes a while
        text = "\n".join(measures.explain(items, query.query_id, record, 100))
        assert ("no relevant" in text) == (value == 1), text
        assert ("relevant\n" in text.partition("--- cutoff")[0]) == (value > 0), text
        assert "not as recorded" not in text


def test_questions_without_an_answer_are_refused(collection):
    queries = (*collection.queries[:-1], Query("none", "word1 word2", None, answerable=False))
    judgments = tuple(judgment for judgment in collection.judgments if judgment.query_id != "q11")
    measures = task(replace(collection, queries=queries, judgments=judgments), PageUnit())
    with pytest.raises(ConfigError, match=r"^returns: the dataset has questions without an answer"):
        measures.check(measures.load())
