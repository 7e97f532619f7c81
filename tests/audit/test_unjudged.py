"""Units that unlike retrievers agree on and that nobody judged; and these retrievers."""

from dataclasses import replace

import numpy as np
import pytest
from arguments import written
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from letters import LetterEncoder
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from ragsweep.datasets import (
    Collection,
    Dataset,
    Document,
    Judgment,
    PageChunker,
    Qrels,
    Query,
    RecursiveChunker,
    beir_dataset,
    pdf_dataset,
)
from ragsweep.models.encoders.model_files import MINILM
from ragsweep.retrieval import Search, SentenceTransformerEncoder, SparseRetriever, WordLlamaEncoder, rank
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.tasks.ranking.units import units_of_ranking
from ragsweep_audit.findings.unjudged import DEEPEST_RANK, LetterRetriever, agreed, find_unjudged, unlike_rankings

UNITS = 8
RANKINGS = st.integers(1, 3).flatmap(
    lambda number: st.lists(
        arrays(np.int64, (4, 14), elements=st.integers(-1, UNITS - 1)), min_size=number, max_size=number
    )
)
JUDGED = st.sets(st.tuples(st.integers(0, 3), st.integers(0, UNITS - 1)), min_size=1)


def dataset(judged, queries=4, units=UNITS):
    """Every unit is a document of two pages."""
    return Dataset.from_collection(
        Collection(
            "made",
            "document",
            tuple(Document.from_pages(f"d{n}", [("1", f"d{n}", "one"), ("2", f"d{n}", "two")]) for n in range(units)),
            tuple(Query(f"q{n}", f"question {n}") for n in range(queries)),
            tuple(Judgment(f"q{query}", f"d{unit}", grade) for (query, unit), grade in dict(judged).items()),
        ),
        PageChunker(),
    )


def slowly(rankings, judged):
    """(query, unit, ranks) that all rankings have among their first distinct units."""
    for query in sorted({query for query, _ in judged}):
        places = []
        for ranking in rankings:
            seen = []
            for unit in ranking[query]:
                if unit >= 0 and unit not in seen:
                    seen.append(unit)
            places.append(seen[:DEEPEST_RANK])
        for unit in set.intersection(*map(set, places)):
            yield query, unit, tuple(seen.index(unit) + 1 for seen in places)


@given(RANKINGS, JUDGED)
def test_agreed_units_are_those_that_every_ranking_has_among_its_first(rankings, judged):
    units = agreed(dataset((pair, 1) for pair in judged), dict(zip("abc", rankings, strict=False)))
    rows = list(zip(units.query.tolist(), units.unit.tolist(), map(tuple, units.ranks.tolist()), strict=True))
    assert len(rows) == len(set(rows))
    assert set(rows) == set(slowly(rankings, judged))
    assert rows == sorted(rows, key=lambda row: (row[0], max(row[2]), sum(row[2])))
    assert units.judged.tolist() == [(query, unit) in judged for query, unit, _ in rows]


def alike(first):
    """Two rankings that both have these units first, shape [queries, ranks]."""
    return dict.fromkeys("ab", np.array(first))


def test_units_are_listed_to_the_depth_that_all_rankings_have_them_in():
    made = dataset({(query, query): 1 for query in range(4)})
    rankings = {"a": [[0, 1, 2, 3, 4]] * 4, "b": [[0, 2, 1, 4, 3]] * 4}
    units = agreed(made, {name: np.array(rows) for name, rows in rankings.items()})
    assert units.unit[units.unjudged(1)].tolist() == [0, 0, 0]
    assert units.unit[units.unjudged()].tolist() == [1, 2, 0, 2, 0, 1, 0, 1, 2]
    assert units.unit[units.unjudged(4)][:2].tolist() == [1, 2]
    assert units.unit[units.unjudged(5)][:4].tolist() == [1, 2, 3, 4]


def test_the_relevance_level_says_what_is_relevant():
    made = dataset({(0, 0): 1})
    assert agreed(made, alike([[0]] * 4), 1).relevant.tolist() == [True]
    assert agreed(made, alike([[0]] * 4), 2).relevant.tolist() == [False]


def judged_first(queries, unjudged):
    """All retrievers agree on the first unit of each query, and so many of these units have no judgment."""
    judged = {(query, query if query >= unjudged else query + 1): 1 for query in range(queries)}
    return find_unjudged(dataset(judged, queries, queries + 1), alike([[query] for query in range(queries)]))


@pytest.mark.parametrize(("unjudged", "alarm"), [(0, False), (15, False), (16, True), (20, True), (21, False)])
def test_the_alarm_needs_clearly_more_than_a_quarter_and_at_most_half_of_the_first_units(unjudged, alarm):
    """By scipy.stats.binomtest(15, 40, 0.25, alternative="greater"), p is 0.054; with 16, it is 0.026."""
    assert (judged_first(40, unjudged) is not None) == alarm


def test_the_finding_names_query_unit_and_ranks():
    finding = judged_first(40, 18)
    assert (finding.kind, finding.count, finding.out_of) == ("unjudged", 18, 40)
    assert finding.examples[0] == "d0 for query q0"
    assert finding.details["pairs"][0] == {"query_id": "q0", "unit": "d0", "ranks": {"a": 1, "b": 1}}


# The rankings that are compared

TEXTS = ("Oxytocin after birth", "oxytocic drugs", "Iron and folic acid", "!")


@pytest.mark.usefixtures("long_work")
def test_letters_are_ranked_by_the_cosine_of_scikit_learns_vectors(store, manual_search):
    search = Search(manual_search.passages, manual_search.queries[:20])
    ranking = LetterRetriever(store).rank(search, 10)
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    passages = vectorizer.fit_transform(search.passages)
    expected = cosine_similarity(vectorizer.transform(search.queries), passages)
    assert ranking.scores == pytest.approx(-np.sort(-expected, axis=1)[:, :10], abs=1e-5)
    assert np.take_along_axis(expected, ranking.passages, axis=1) == pytest.approx(ranking.scores, abs=1e-5)


def test_letters_find_other_forms_of_a_word_and_misspelled_ones(store):
    search = Search(TEXTS, ("oxytocins", "oxitocin", "zzz"))
    assert LetterRetriever(store).rank(search, 4).passages[:, 0].tolist() == [0, 0, -1]
    assert (SparseRetriever(store).rank(search, 4).passages == -1).all()


@pytest.fixture(scope="module")
def passages(manual):
    return Dataset.from_collection(manual, RecursiveChunker(500, 50))  # as in every run, so the embeddings are shared


@pytest.fixture(scope="module", params=["static", pytest.param("minilm", marks=pytest.mark.soak)])
def rankings(request, passages, cache):
    """The rankings of the bundled manual, by a real model; the usual one takes a minute for all passages."""
    encoder = WordLlamaEncoder() if request.param == "static" else SentenceTransformerEncoder(MINILM)
    return unlike_rankings(passages, encoder, Store(str(cache)))


def units_of(rankings, dataset):
    return {name: units_of_ranking(passages, dataset) for name, passages in rankings.items()}


def pairs(agreed):
    rows = agreed.unjudged()
    return set(zip(agreed.query[rows].tolist(), agreed.unit[rows].tolist(), strict=True))


def without(dataset, share, seed):
    """The dataset without this share of the judgments of queries with several, and the pairs that were removed."""
    qrels = dataset.qrels
    several = np.flatnonzero(np.bincount(qrels.query)[qrels.query] > 1)
    shuffled = np.random.default_rng(seed).permutation(several)
    _, first = np.unique(qrels.query[shuffled], return_index=True)  # each query keeps one
    removed = np.delete(shuffled, first)[: round(share * len(several))]
    fewer = Qrels(*(np.delete(column, removed) for column in (qrels.query, qrels.unit, qrels.grade)))
    gone = set(zip(qrels.query[removed].tolist(), qrels.unit[removed].tolist(), strict=True))
    return replace(dataset, qrels=fewer), gone


def assert_removed_judgments_are_listed(dataset, rankings, share):
    """Those that every retriever ranks among its first three; and besides them only what is listed anyway."""
    before = agreed(dataset, units_of(rankings, dataset))
    usual = pairs(before)
    high = set(zip(before.query[before.worst <= 3].tolist(), before.unit[before.worst <= 3].tolist(), strict=True))
    removed = set()
    for seed in range(5):
        fewer, gone = without(dataset, share, seed)
        removed |= gone & high
        assert pairs(agreed(fewer, units_of(rankings, fewer))) == usual | (gone & high)
    assert removed


@pytest.mark.usefixtures("models")
def test_removed_judgments_of_the_bundled_manual_are_listed_and_it_gets_no_alarm(passages, rankings):
    for share in (0.05, 0.2):
        assert_removed_judgments_are_listed(passages, rankings, share)
    assert find_unjudged(passages, units_of(rankings, passages)) is None


def of_letters_and_words(dataset, store):
    """The two rankings that need no model, which takes minutes for these datasets."""
    search = Search(dataset.texts, tuple(query.text for query in dataset.queries))
    return {
        name: rank(ranker, search, 100).passages
        for name, ranker in (("words", SparseRetriever(store)), ("letters", LetterRetriever(store)))
    }


@pytest.mark.soak
@pytest.mark.real_data
def test_removed_judgments_of_scifact_are_listed(scifact, store):
    rankings = of_letters_and_words(scifact, store)
    for share in (0.05, 0.2):
        assert_removed_judgments_are_listed(scifact, rankings, share)


@pytest.mark.soak
@pytest.mark.real_data
def test_company_filings_whose_pages_no_retriever_finds_get_no_alarm(real_data, store):
    folder = real_data / "financebench"
    filings = pdf_dataset("filings", str(folder / "documents"), str(folder / "test_queries.json")).load()
    pages = Dataset.from_collection(filings, PageChunker())
    assert find_unjudged(pages, units_of(of_letters_and_words(pages, store), pages)) is None


def test_a_document_that_is_left_out_of_a_ranking_is_not_searched_for(tmp_path):
    items = Dataset.from_collection(beir_dataset("a", str(written(tmp_path))).load(), PageChunker())
    for passages in unlike_rankings(items, LetterEncoder(), NO_STORE).values():
        assert not (passages == np.arange(3)[:, None]).any()
