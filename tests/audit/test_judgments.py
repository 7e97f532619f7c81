"""Judgments that look shifted, swapped or missing; and what the audit could not see in a dataset."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from arguments import written
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from letters import LetterEncoder
from rankings import dataset_of, paged
from scipy.stats import binom
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from ragsweep.datasets import Dataset, Document, PageChunker, Qrels, RecursiveChunker, beir_dataset, pdf_dataset
from ragsweep.models.encoders.model_files import MINILM
from ragsweep.retrieval import Search, SentenceTransformerEncoder, SparseRetriever, WordLlamaEncoder, rank
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.tasks.ranking.units import units_of_ranking
from ragsweep_audit.dataset_audit import audit, query_groups
from ragsweep_audit.findings.finding import LEVEL, Audited
from ragsweep_audit.findings.shifted import ShiftedPages, sign_flip_p
from ragsweep_audit.findings.swapped import SwappedJudgments, mutual_p
from ragsweep_audit.findings.undetectable import undetectable
from ragsweep_audit.findings.unit_ranks import unit_ranks
from ragsweep_audit.findings.unjudged import DEEPEST_RANK, LetterRetriever, agreed, find_unjudged, unlike_rankings

# Shifted pages


def shifts(dataset, level=LEVEL):
    return [*ShiftedPages().find(Audited(dataset, level=level))]


def shifted(dataset, by, where=True):
    """The dataset with the judged pages of some judgments, or of all, moved by a number of pages."""
    query, unit, grade = dataset.qrels.query, dataset.qrels.unit, dataset.qrels.grade
    moved = np.clip(unit + by, 0, len(dataset.units) - 1)
    return replace(dataset, qrels=Qrels(query, np.where(where, moved, unit), grade))


def test_pages_counted_from_0_are_found(manual_pages):
    [finding] = shifts(shifted(manual_pages, -1))
    assert "Judged pages look counted from 0: +1 raises the hit rate@5 of BM25 from" in finding.problem
    assert finding.details["offset"] == 1
    now, then = finding.details["hit_rate"]
    assert now + 0.3 < then
    for unit in ("document", "passage"):
        assert not shifts(replace(shifted(manual_pages, -1), unit=unit)), "only pages can be shifted"


def test_a_part_of_the_judgments_that_is_shifted_is_found_if_it_is_enough_for_the_level(manual_pages):
    query = manual_pages.qrels.query
    for by in (-2, -1, 1, 2):
        [finding] = shifts(shifted(manual_pages, by, query % 3 == 0))
        assert finding.details["offset"] == -by
        named = {int(query_id) - 1 for query_id in finding.examples}
        assert len([row for row in named if row % 3 == 0]) > 2 * len([row for row in named if row % 3])
    a_fifth = shifted(manual_pages, -1, query % 5 == 0)
    assert shifts(a_fifth, 0.05)
    assert not shifts(a_fifth, 1e-12)


def test_a_document_that_is_shifted_alone_is_named(manual_pages):
    sources = ["first.pdf" if unit < 20 else "second.pdf" for unit in manual_pages.passage_units]
    passages = zip(manual_pages.passages, sources, strict=True)
    twice = replace(manual_pages, passages=tuple(replace(passage, source=source) for passage, source in passages))
    alone = shifts(shifted(twice, -1, twice.qrels.unit < 20))
    assert [(finding.details["source"], finding.details["offset"]) for finding in alone] == [("first.pdf", 1)]
    assert not shifts(twice)


def test_printed_page_numbers_are_told_from_a_constant_shift(manual_pages):
    printed = [
        replace(passage, text=f"{passage.text}\n{passage.page + 1 - 7}" if passage.page > 7 else passage.text)
        for passage in manual_pages.passages
    ]
    numbered = replace(manual_pages, passages=tuple(printed))
    assert not shifts(numbered)
    [finding] = shifts(shifted(numbered, -7))
    assert "Judged pages look like printed page numbers" in finding.problem


def test_a_shift_is_as_likely_as_signs_drawn_at_random_say():
    rng, signs = np.random.default_rng(0), np.array(list(product((-1, 1), repeat=12)))
    for _ in range(20):
        differences = rng.normal(0.3, 1, 12)
        exact = (signs @ differences >= differences.sum() - 1e-9).mean()
        assert sign_flip_p(differences) == pytest.approx(exact, abs=0.02)
    alarms = [sign_flip_p(rng.exponential(1, 40) * rng.choice([-1, 0, 1], 40)) <= 0.05 for _ in range(2000)]
    assert np.mean(alarms) < 0.07, "offsets that are as good as their opposites"


# Swapped judgments


def swaps(dataset, level=LEVEL):
    return [*SwappedJudgments().find(Audited(dataset, level=level))]


def test_judgments_that_are_swapped_are_found_if_they_are_enough_for_the_level(manual_pages):
    pairs = [(row, row + 60) for row in range(15)]
    query = manual_pages.qrels.query.copy()
    for one, other in pairs:
        query[manual_pages.qrels.query == one], query[manual_pages.qrels.query == other] = other, one
    swapped = replace(manual_pages, qrels=replace(manual_pages.qrels, query=query))
    [finding] = swaps(swapped)
    named = {tuple(int(query_id) - 1 for query_id in example.split(" and ")) for example in finding.examples}
    assert len(named & {*pairs}) > len(named) / 2
    assert finding.count == 2 * len(named) >= 6
    assert not swaps(swapped, 1e-6)
    assert not swaps(manual_pages)


def pairings(numbers):
    """All ways to put numbers into pairs, each as the number that stands at each place."""
    if not numbers:
        yield {}
    for other in numbers[1:]:
        left = [number for number in numbers[1:] if number != other]
        yield from ({**rest, numbers[0]: other, other: numbers[0]} for rest in pairings(left))


def test_mutual_pulls_are_told_from_others_as_trying_all_pairings_tells():
    rng = np.random.default_rng(0)
    for _ in range(5):
        pulls = rng.exponential(1, (6, 6)) * (rng.random((6, 6)) < 0.5)
        np.fill_diagonal(pulls, 0)
        sums = [
            sum(pulls[i, j] * pulls[to[j], to[i]] for i in range(6) for j in range(6) if to[j] != i)
            for to in pairings([*range(6)])
        ]
        actual = (pulls * pulls.T).sum() * 4 / 5
        assert mutual_p(pulls) == pytest.approx(np.mean(np.array(sums) >= actual - 1e-9), abs=0.06)


@pytest.mark.usefixtures("long_work")
def test_pulls_without_a_direction_raise_an_alarm_as_seldom_as_the_level_says(times):
    rng, number, alarms = np.random.default_rng(1), times(1000), 0
    for _ in range(number):
        pulls = rng.exponential(1, (30, 30)) * (rng.random((30, 30)) < 0.1)
        np.fill_diagonal(pulls, 0)
        alarms += mutual_p(pulls) <= 0.01
    assert alarms <= binom.ppf(0.999, number, 0.01)


# What the audit could find with as many queries as a dataset has, and what groups of them cost

SHIFTS, SWAPS = "counted from 0", "swapped"


def asked(count, answered, by=0, pages=40):
    """Questions about a book, some of which BM25 answers; the judged pages are moved by `by`."""
    book = paged("a", *(f"topic{n} common{n % 3} text" for n in range(1, pages + 1)))
    queries = {str(n): f"topic{n}" if n <= answered + 2 else f"common{n % 3}" for n in range(3, count + 3)}
    return dataset_of([book], queries, {(query, f"a#{int(query) + by}"): 1 for query in queries})


def hints(items, level=LEVEL):
    return " ".join(undetectable(items, unit_ranks(items, 1, NO_STORE), 1, level))


def test_the_audit_says_of_a_shift_what_it_then_does():
    """Of 8 queries, all signs are the same in 1 of 256 cases, which is below 0.4 of the level of 0.01."""
    for count in (4, 7, 8, 12, 30):
        can_be_seen = SHIFTS not in hints(asked(count, count))
        assert can_be_seen == bool(shifts(asked(count, count, by=-1))) == (count >= 8), count
    assert "audit.level=0.05 sees it" in hints(asked(6, 6))
    assert "compare some judged pages" in hints(asked(3, 3))


def test_a_shift_that_is_not_found_at_the_level_is_a_hint_and_the_sentence_stays():
    """Of 7 queries, 1 of 128 choices of signs is as clear: below 0.4 of 0.05, and above 0.4 of 0.01."""
    for count in (6, 7):
        items = asked(count, count, by=-1)
        assert not shifts(items)
        assert "may be chance" in hints(items)
        assert f"pages {SHIFTS} cannot be seen, even if all of them are; audit.level=0.05 sees it" in hints(items)
        assert "may be chance" not in hints(items, 0.05)
        assert "may be chance" not in hints(asked(count, count))


def test_swaps_that_can_be_seen_are_not_mentioned(manual_pages):
    assert SWAPS not in hints(manual_pages)
    assert SWAPS in hints(asked(12, 3))
    items = asked(320, 320, pages=330)
    foreign = replace(items, queries=tuple(replace(query, text="zèbre") for query in items.queries))
    assert f"With 320 queries, few {SWAPS} judgments can be seen" in hints(foreign)


@pytest.mark.usefixtures("long_work")
def test_the_audit_reports_it_and_keeps_it(store):
    first, again = (audit(Audited(asked(6, 6), store=store)) for _ in range(2))
    assert any(SHIFTS in sentence for sentence in first.undetectable)
    assert again.undetectable == first.undetectable
    assert first.undetectable[-1] in first.sentences[0]


def grouped(group_of):
    """36 questions about the pages of a book, of which BM25 finds the first 18 at once, in groups."""
    items = asked(36, 36)
    queries = [
        replace(query, text=f"topic{row + 3 + (row >= 18)}", group=group_of(row))
        for row, query in enumerate(items.queries)
    ]
    return replace(items, queries=tuple(queries))


def test_the_design_effect_is_that_of_what_is_found():
    for group_of, groups, low, high in (
        (lambda row: f"chapter {row // 6}", 6, 6, 8),  # a chapter is found as a whole, or not at all
        (lambda row: f"mixed {row % 18}", 18, 0, 0.1),  # each pair has one that is found and one that is not
    ):
        items = grouped(group_of)
        [sentence] = query_groups(items, unit_ranks(items, 1, NO_STORE), 1)
        assert f"36 queries in {groups} groups, the largest of {36 // groups}" in sentence
        assert low <= float(re.search(r"is ([0-9.]+), so", sentence)[1]) <= high
    assert not audit(Audited(grouped(lambda row: None))).groups
    report = audit(Audited(grouped(lambda row: f"chapter {row // 6}")))
    assert report.sentences[-1] == report.groups[0]


# Units that unlike retrievers agree on and that nobody judged

UNITS = 8
PASSAGES = arrays(np.int64, (4, 14), elements=st.integers(-1, UNITS - 1))
RANKINGS = st.integers(1, 3).flatmap(lambda number: st.lists(PASSAGES, min_size=number, max_size=number))
JUDGED = st.sets(st.tuples(st.integers(0, 3), st.integers(0, UNITS - 1)), min_size=1)


def dataset(judged, queries=4, units=UNITS):
    """Every unit is a document of two pages."""
    documents = [Document.from_pages(f"d{n}", [("1", f"d{n}", "one"), ("2", f"d{n}", "two")]) for n in range(units)]
    judgments = {(f"q{query}", f"d{unit}"): 1 for query, unit in judged}
    return dataset_of(documents, {f"q{n}": f"question {n}" for n in range(queries)}, judgments, unit="document")


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
    units = agreed(dataset(judged), dict(zip("abc", rankings, strict=False)))
    rows = list(zip(units.query.tolist(), units.unit.tolist(), map(tuple, units.ranks.tolist()), strict=True))
    assert len(rows) == len(set(rows))
    assert set(rows) == set(slowly(rankings, judged))
    assert rows == sorted(rows, key=lambda row: (row[0], max(row[2]), sum(row[2])))
    assert units.judged.tolist() == [(query, unit) in judged for query, unit, _ in rows]


def alike(first):
    """Two rankings that both have these units first, shape [queries, ranks]."""
    return dict.fromkeys("ab", np.array(first))


def test_units_are_listed_to_the_depth_that_all_rankings_have_them_in():
    rankings = {"a": [[0, 1, 2, 3, 4]] * 4, "b": [[0, 2, 1, 4, 3]] * 4}
    judged = dataset({(query, query) for query in range(4)})
    units = agreed(judged, {name: np.array(rows) for name, rows in rankings.items()})
    assert units.unit[units.unjudged(1)].tolist() == [0, 0, 0]
    assert units.unit[units.unjudged()].tolist() == [1, 2, 0, 2, 0, 1, 0, 1, 2]
    assert units.unit[units.unjudged(4)][:2].tolist() == [1, 2]
    assert units.unit[units.unjudged(5)][:4].tolist() == [1, 2, 3, 4]
    levels = [agreed(dataset({(0, 0)}), alike([[0]] * 4), level).relevant.tolist() for level in (1, 2)]
    assert levels == [[True], [False]]


def judged_first(queries, unjudged):
    """All retrievers agree on the first unit of each query, and so many of these units have no judgment."""
    judged = {(query, query if query >= unjudged else query + 1) for query in range(queries)}
    return find_unjudged(dataset(judged, queries, queries + 1), alike([[query] for query in range(queries)]))


def test_the_alarm_needs_clearly_more_than_a_quarter_and_at_most_half_of_the_first_units():
    """By scipy.stats.binomtest(15, 40, 0.25, alternative="greater"), p is 0.054; with 16, it is 0.026."""
    alarms = {0: False, 15: False, 16: True, 20: True, 21: False}
    assert {unjudged: judged_first(40, unjudged) is not None for unjudged in alarms} == alarms
    finding = judged_first(40, 18)
    assert (finding.kind, finding.count, finding.out_of) == ("unjudged", 18, 40)
    assert finding.examples[0] == "d0 for query q0"
    assert finding.details["pairs"][0] == {"query_id": "q0", "unit": "d0", "ranks": {"a": 1, "b": 1}}


@pytest.mark.usefixtures("long_work")
def test_letters_are_ranked_by_the_cosine_of_scikit_learns_vectors_and_find_other_forms_of_a_word(store, manual_search):
    search = Search(manual_search.passages, manual_search.queries[:20])
    ranking = LetterRetriever(store).rank(search, 10)
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    passages = vectorizer.fit_transform(search.passages)
    expected = cosine_similarity(vectorizer.transform(search.queries), passages)
    assert ranking.scores == pytest.approx(-np.sort(-expected, axis=1)[:, :10], abs=1e-5)
    assert np.take_along_axis(expected, ranking.passages, axis=1) == pytest.approx(ranking.scores, abs=1e-5)
    texts = ("Oxytocin after birth", "oxytocic drugs", "Iron and folic acid", "!")
    search = Search(texts, ("oxytocins", "oxitocin", "zzz"))
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


def pairs_of(query, unit):
    return set(zip(query.tolist(), unit.tolist(), strict=True))


def without(dataset, share, seed):
    """The dataset without this share of the judgments of queries with several, and the pairs that were removed."""
    qrels = dataset.qrels
    several = np.flatnonzero(np.bincount(qrels.query)[qrels.query] > 1)
    shuffled = np.random.default_rng(seed).permutation(several)
    _, first = np.unique(qrels.query[shuffled], return_index=True)  # each query keeps one
    removed = np.delete(shuffled, first)[: round(share * len(several))]
    fewer = Qrels(*(np.delete(column, removed) for column in (qrels.query, qrels.unit, qrels.grade)))
    return replace(dataset, qrels=fewer), pairs_of(qrels.query[removed], qrels.unit[removed])


def assert_removed_judgments_are_listed(dataset, rankings):
    """Those that every retriever ranks among its first three; and besides them only what is listed anyway."""

    def listed(agreed):
        rows = agreed.unjudged()
        return pairs_of(agreed.query[rows], agreed.unit[rows])

    before = agreed(dataset, units_of(rankings, dataset))
    high = pairs_of(before.query[before.worst <= 3], before.unit[before.worst <= 3])
    for share in (0.05, 0.2):
        removed = set()
        for seed in range(5):
            fewer, gone = without(dataset, share, seed)
            removed |= gone & high
            assert listed(agreed(fewer, units_of(rankings, fewer))) == listed(before) | (gone & high)
        assert removed


@pytest.mark.usefixtures("models")
def test_removed_judgments_of_the_bundled_manual_are_listed_and_it_gets_no_alarm(passages, rankings):
    assert_removed_judgments_are_listed(passages, rankings)
    assert find_unjudged(passages, units_of(rankings, passages)) is None


def of_letters_and_words(dataset, store):
    """The two rankings that need no model, which takes minutes for these datasets."""
    search = Search(dataset.texts, tuple(query.text for query in dataset.queries))
    rankers = {"words": SparseRetriever(store), "letters": LetterRetriever(store)}
    return {name: rank(ranker, search, 100).passages for name, ranker in rankers.items()}


@pytest.mark.soak
@pytest.mark.real_data
def test_removed_judgments_of_scifact_are_listed(scifact, store):
    assert_removed_judgments_are_listed(scifact, of_letters_and_words(scifact, store))


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
