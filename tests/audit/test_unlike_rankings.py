"""Three unlike rankings, and what they show about judgments that are missing."""

from dataclasses import replace

import numpy as np
import pytest
from arguments import written
from letters import LetterEncoder
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from ragsweep.datasets import Dataset, PageChunker, Qrels, RecursiveChunker, beir_dataset, pdf_dataset
from ragsweep.models.encoders.model_files import MINILM
from ragsweep.retrieval import Search, SentenceTransformerEncoder, SparseRetriever, WordLlamaEncoder, rank
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.tasks.ranking.units import units_of_ranking
from ragsweep_audit.findings.unjudged import LetterRetriever, agreed, find_unjudged, unlike_rankings

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
