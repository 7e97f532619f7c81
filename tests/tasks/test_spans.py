"""The metrics of spans, against sets of characters, multisets of words and published tables, and their settings."""

import json
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
import small
from application import succeeded
from composed_here import composed
from hypothesis import given
from hypothesis import strategies as st
from rankings import SPARSE, dataset_of, paged, ranking_task
from read_strictly import span_questions

import ragsweep.evaluation as metrics
from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Chunker, OwnDataset, Reference, TextCorpus
from ragsweep.evaluation import judge
from ragsweep.experiment import Experiment
from ragsweep.retrieval import NOTHING, DenseRetriever, SentenceTransformerEncoder
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.spans.spans import retrieved_spans
from ragsweep.text.tokens import plain_words

LENGTH, DEPTH = 30, 6
CUTOFFS = (1, 2, 4, DEPTH, 2 * DEPTH)
TOKENS = [metrics.token_iou, metrics.token_precision, metrics.token_recall, metrics.token_f1]
PASSAGES = [metrics.passage_coverage, metrics.passage_accuracy, metrics.passage_precision, metrics.passage_f1]
DOCUMENTS = [metrics.document_coverage, metrics.document_accuracy]
DOCUMENTS += [metrics.document_precision, metrics.document_passages]


@dataclass(frozen=True)
class Given(Chunker):
    """Cuts the documents, which have one page each, where it is told to; the documents have different texts."""

    cuts: dict[str, list[tuple[int, int]]]

    def split(self, text):
        return self.cuts[text]


def judged(documents, cuts, references, ranking):
    """The rankings of the queries `0`, `1`, ..., each a list of positions of passages, with their spans."""
    names = sorted({reference.query_id for reference in references} | {str(row) for row in range(len(ranking))})
    given = Given({text: cuts[name] for name, text in documents.items() if name in cuts})
    pages = [paged(name, text) for name, text in documents.items()]
    asked = dict.fromkeys(names, "?")
    dataset = dataset_of(pages, asked, (), "passage", references=references, chunker=given)
    passages = np.full((len(names), DEPTH), NOTHING)
    for row, order in enumerate(ranking):
        passages[row, : len(order)] = order
    units = np.where(passages == NOTHING, NOTHING, dataset.passage_units[passages])
    rankings = judge(units, dataset.qrels.query, dataset.qrels.unit, dataset.qrels.grade)
    return replace(rankings, spans=retrieved_spans(dataset, rankings.queries, passages[rankings.queries])), dataset


LETTERS = st.text(st.sampled_from("abc d. "), min_size=LENGTH, max_size=LENGTH).map(lambda text: f"x{text}x")
SPANS = st.tuples(st.integers(0, LENGTH), st.integers(1, LENGTH + 2)).filter(lambda pair: pair[0] < pair[1])


@st.composite
def measured(draw):
    """Two documents, passages that may overlap, references that may overlap, and rankings of two queries."""
    documents = {"a": draw(LETTERS) + "1", "b": draw(LETTERS) + "2"}
    cuts = {name: draw(st.lists(SPANS, min_size=1, max_size=5)) for name in documents}
    places = draw(st.lists(st.tuples(st.sampled_from("01"), st.sampled_from("ab"), SPANS), min_size=1, max_size=6))
    references = tuple(Reference(query, name, *span) for query, name, span in places)
    number = sum(map(len, cuts.values()))
    ranking = [draw(st.permutations(range(number)))[: draw(st.integers(0, DEPTH))] for _ in range(2)]
    return judged(documents, cuts, references, ranking)


def judged_queries(case):
    """Of each judged query: its row, its references, and the passages at its ranks."""
    rankings, dataset = case
    for row, query in enumerate(rankings.queries):
        references = [
            reference for reference in dataset.references if reference.query_id == dataset.queries[query].query_id
        ]
        ranks = rankings.spans.passages[row]
        yield row, references, [dataset.passages[place] for place in ranks[ranks != NOTHING]]


def characters(*spans):
    return {(span.source, place) for span in spans for place in range(span.start, span.end)}


def length(spans):
    return sum(span.end - span.start for span in spans)


def share(part, whole):
    return part / whole if whole else 0.0


@given(measured())
def test_characters_are_counted_as_sets_and_by_chromas_code_per_passage(case):
    """Chroma's code counts every passage, and what every reference misses."""
    rankings, _ = case
    for k in CUTOFFS:
        values = [metric(rankings, k) for metric in TOKENS]
        of_chroma = [metric(rankings, k, overlap="chroma") for metric in TOKENS[:3]]
        for row, references, ranking in judged_queries(case):
            wanted, retrieved = characters(*references), characters(*ranking[:k])
            shared = len(wanted & retrieved)
            precision, recall = share(shared, len(retrieved)), share(shared, len(wanted))
            expected = [share(shared, len(wanted | retrieved)), precision, recall]
            expected.append(share(2 * precision * recall, precision + recall))
            assert [of_metric[row] for of_metric in values] == pytest.approx(expected)
            unused = sum(len(characters(reference) - retrieved) for reference in references)
            total = length(ranking[:k])
            expected = [share(shared, total + unused), share(shared, total), shared / length(references)]
            assert [of_metric[row] for of_metric in of_chroma] == pytest.approx(expected)


@pytest.mark.parametrize("overlap", ["union", "chroma"])
@given(case=measured(), k=st.integers(1, DEPTH))
def test_precision_omega_is_the_precision_of_all_passages_with_a_part_of_a_reference(overlap, case, k):
    rankings, dataset = case
    values = metrics.token_precision_omega(rankings, k, overlap=overlap)
    touching = 1 if overlap == "chroma" else 0
    for row, references, _ in judged_queries(case):
        relevant = [
            passage
            for passage in dataset.passages
            if any(
                passage.source == reference.source
                and min(passage.end, reference.end) - max(passage.start, reference.start) + touching > 0
                for reference in references
            )
        ]
        wanted, retrieved = characters(*references), characters(*relevant)
        whole = retrieved | wanted if overlap == "chroma" else retrieved
        assert values[row] == pytest.approx(share(len(retrieved & wanted), len(whole)))


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("threshold", [0.3, 0.8, 1.0])
@given(case=measured())
def test_a_passage_holds_a_reference_with_enough_of_its_characters(threshold, case):
    rankings, _ = case
    for k in CUTOFFS:
        coverage, accuracy, precision, f1 = (metric(rankings, k, threshold=threshold) for metric in PASSAGES)
        recall = metrics.passage_recall(rankings, k, threshold=threshold)
        for row, references, ranking in judged_queries(case):
            holds = [
                [
                    len(characters(reference) & characters(passage)) / length([reference]) >= threshold
                    for reference in references
                ]
                for passage in ranking[:k]
            ]
            hits = [any(column) for column in zip(*holds, strict=True)] or [False] * len(references)
            expected = sum(hits) / len(references), share(sum(map(any, holds)), len(ranking[:k]))
            assert (coverage[row], precision[row]) == pytest.approx(expected)
            assert recall[row] == coverage[row]
            assert accuracy[row] == all(hits)
            assert f1[row] == pytest.approx(share(2 * expected[0] * expected[1], sum(expected)))


@given(measured())
def test_documents_are_those_of_the_references_and_a_larger_cutoff_finds_no_less(case):
    rankings, _ = case
    for k in CUTOFFS:
        coverage, accuracy, precision, passages = (metric(rankings, k) for metric in DOCUMENTS)
        for row, references, ranking in judged_queries(case):
            wanted, sources = {span.source for span in references}, [span.source for span in ranking[:k]]
            count = sum(source in wanted for source in sources)
            assert passages[row] == count
            assert precision[row] == pytest.approx(share(count, len(sources)))
            assert coverage[row] == metrics.document_recall(rankings, k)[row] == len(wanted & {*sources}) / len(wanted)
            assert accuracy[row] == (wanted <= {*sources})
    by_token = product((metrics.token_recall, metrics.passage_coverage), ("character", "word"))
    for metric in (*(partial(of_token, token=token) for of_token, token in by_token), metrics.document_coverage):
        values = np.array([metric(rankings, k) for k in range(1, DEPTH + 2)])
        assert (np.diff(values, axis=0) >= -1e-12).all()


WORDS = st.lists(st.sampled_from(["Iron", "iron,", "tea", "a", "fever"]), min_size=1, max_size=6).map(" ".join)


@st.composite
def texts(draw):
    """A document of several passages, a query, and references without offsets."""
    pieces = draw(st.lists(WORDS, min_size=1, max_size=DEPTH))
    ends = np.cumsum([len(piece) for piece in pieces]).tolist()
    cuts = list(zip([0, *ends], ends, strict=False))
    references = draw(st.lists(WORDS, min_size=1, max_size=3))
    ranking = draw(st.permutations(range(len(pieces))))
    rankings, _ = judged(
        {"a": "".join(pieces)}, {"a": cuts}, tuple(Reference("0", "a", 0, 0, text) for text in references), [ranking]
    )
    return rankings, pieces, references, ranking


@given(case=texts())
def test_words_are_counted_as_one_multiset_and_a_passage_holds_a_reference_with_enough_of_them(case):
    rankings, pieces, references, ranking = case
    wanted = [word for text in references for word in plain_words(text)]
    for k in CUTOFFS:
        retrieved = [word for place in sorted(ranking[:k]) for word in plain_words(pieces[place])]
        shared = sum((Counter(wanted) & Counter(retrieved)).values())
        expected = [
            share(shared, len(wanted) + len(retrieved) - shared),
            share(shared, len(retrieved)),
            share(shared, len(wanted)),
            share(2 * shared, len(wanted) + len(retrieved)),
        ]
        assert [metric(rankings, k, token="word")[0] for metric in TOKENS] == pytest.approx(expected)
        passages = [plain_words(pieces[place]) for place in ranking[:k]]
        hits = []
        for reference in map(plain_words, references):
            most = max(sum(word in passage for word in reference) for passage in passages)
            hits.append(most / len(reference) >= 0.8)
        assert metrics.passage_coverage(rankings, k, token="word")[0] == pytest.approx(np.mean(hits))


def one(text, references, ranking, cuts=None):
    """A document in one passage, or cut like that, and a query with these references."""
    return judged({"a": text}, {"a": cuts or [(0, len(text))]}, tuple(references), [ranking])[0]


def test_a_small_text_counted_by_hand():
    """Three passages of 10 characters, of which the first two overlap by 4; a reference of 6 characters in both."""
    cuts = [(0, 10), (6, 16), (16, 26)]
    rankings = one("abcdefghijklmnopqrstuvwxyz", [Reference("0", "a", 4, 10)], [2, 1, 0], cuts)
    assert [metrics.token_recall(rankings, k)[0] for k in (1, 2, 3)] == pytest.approx([0, 4 / 6, 1])
    assert [metrics.token_precision(rankings, k)[0] for k in (1, 2, 3)] == pytest.approx([0, 4 / 20, 6 / 26])
    assert [metrics.token_iou(rankings, k)[0] for k in (1, 2, 3)] == pytest.approx([0, 4 / 22, 6 / 26])
    assert metrics.token_precision(rankings, 3, overlap="chroma")[0] == pytest.approx(6 / 30)
    assert metrics.token_precision_omega(rankings, 1)[0] == pytest.approx(6 / 16)


def test_only_the_plain_words_retrieved_passages_are_read():
    rankings, _ = judged({"a": "iron tea"}, {"a": [(0, 4), (5, 8)]}, (Reference("0", "a", 0, 4),), [[0]])
    spans = replace(rankings.spans, texts=("iron", None))
    assert spans.held("word")[0, 0] == spans.counts("word").shared[0, 1] == 1
    assert spans.counts_of_relevant("word").shared[0, 1] == 1


def test_a_metric_of_spans_needs_references_and_that_of_characters_their_offsets():
    plain = judged({"a": "Iron helps."}, {"a": [(0, 11)]}, (Reference("0", "a", 0, 4),), [[0]])[1]
    measures = ranking_task(metrics={"recall": metrics.recall, "token/iou": metrics.token_iou})
    measures.check(plain)
    with pytest.raises(ConfigError, match=r"^evaluation\.metrics\.token/iou: compares spans of text, and small judges"):
        measures.check(replace(plain, references=()))
    unplaced = judged({"a": "Iron. Iron."}, {"a": [(0, 11)]}, (Reference("0", "a", 0, 0, "Iron."),), [[0]])[1]
    by_words = partial(metrics.token_iou, token="word")
    ranking_task(metrics={"token/iou": by_words, "document/recall": metrics.document_recall}).check(unplaced)
    message = r"^evaluation\.metrics\.token/f1: .* 1 reference .*query 0, 'Iron\.'\); expected evaluation\.token=word$"
    with pytest.raises(ConfigError, match=message):
        ranking_task(metrics={"token/iou": by_words, "token/f1": metrics.token_f1}).check(unplaced)


# Where each 200 tokens of cl100k_base end in two of Chroma's corpora.
ENDS = {
    "state_of_the_union": (
        "956 1889 2827 3730 4652 5626 6566 7413 8365 9314 10272 11282 12253 13174 14049 14959 15862 16734 17607 "
        "18563 19461 20332 21366 22273 23216 24090 24997 25997 26873 27691 28566 29550 30337 31157 32082 32969 "
        "33870 34809 35642 36628 37553 38458 39433 40468 41465 42465 43382 44323 45201 46114 46942 47854 "
    ),
    "wikitexts": (
        "824 1826 2896 3884 4877 5852 6800 7741 8658 9661 10594 11611 12659 13491 14473 15393 16394 17433 18280 "
        "19128 20060 20695 21640 22603 23490 24565 25525 26540 27563 28539 29172 29958 30933 31916 32888 33776 "
        "34616 35401 36282 37198 38163 39052 40064 40993 41989 42977 43900 44790 45705 46547 47386 48317 49242 "
        "50052 50957 51977 52770 53607 54372 55150 55793 56502 57157 57801 58531 59413 60257 60975 62038 62838 "
        "63714 64524 65418 66296 67148 67985 68820 69712 70661 71584 72484 73369 74229 75190 76092 77068 78007 "
        "78978 79895 80912 81862 82787 83694 84532 85459 86353 87134 88029 88859 89729 90667 91549 92482 93384 "
        "94328 95196 96068 96980 97960 98864 99725 100626 101485 102437 103224 103995 104782 105563 106293 107170 "
        "107836 108765 109658 110573 111228 112011 112600 113541 114552 115534 116411 117265 118152 "
    ),
}


@dataclass(frozen=True)
class FixedTokens(Chunker):
    """Chroma's TokenTextSplitter with cl100k_base, for these two documents; `size` and `overlap` in tokens."""

    size: int
    overlap: int = 0

    def split(self, text):
        name = "wikitexts" if len(text) > 100_000 else "state_of_the_union"
        places = [0, *map(int, ENDS[name].split()), len(text)]
        long, step = self.size // 200, (self.size - self.overlap) // 200
        last = next(first for first in range(0, len(places), step) if first + long >= len(places) - 1)
        return [(places[first], places[min(first + long, len(places) - 1)]) for first in range(0, last + 1, step)]


def evaluation_of(dataset, chosen, chunker, retriever=SPARSE):
    measures = replace(ranking_task(retriever, chosen, 10, chunker=chunker), dataset=dataset)
    items = measures.load()
    return measures.shown(items, measures.rank(items)).evaluation


def chroma(real_data):
    folder = real_data / "chunking_evaluation"
    return TextCorpus(str(folder / "corpora")), span_questions(str(folder / "questions_df.csv"))


OMEGA = [  # of the appendix of Chroma's report: mean and standard deviation in percent, of each corpus
    (FixedTokens(800, 400), {"state_of_the_union": (3.3, 2.1), "wikitexts": (4.6, 2.4)}),
    (FixedTokens(400, 200), {"state_of_the_union": (6.2, 3.6), "wikitexts": (8.5, 4.1)}),
    (FixedTokens(400), {"state_of_the_union": (9.4, 6.2), "wikitexts": (12.8, 6.7)}),
    (FixedTokens(200), {"state_of_the_union": (16.8, 9.6), "wikitexts": (21.9, 10.3)}),
]


@pytest.mark.real_data
def test_precision_omega_is_that_of_chromas_tables(real_data):
    omega = partial(metrics.token_precision_omega, overlap="chroma")
    for chunker, published in OMEGA:
        evaluation = evaluation_of(OwnDataset("s", *chroma(real_data)), {"omega": omega}, chunker)
        for corpus, expected in published.items():
            values = 100 * evaluation.per_query[0, [name == corpus for name in evaluation.query_types]]
            assert (values.mean(), values.std()) == pytest.approx(expected, abs=0.051), chunker


# Means in percent for 1 to 10 passages of 200 tokens by all-MiniLM-L6-v2, with the standard deviations for 5 passages,
# from results_table.csv of github.com/polinak1r/Chunking_Evaluation (2025), which counts like Chroma's code.
PUBLISHED = {
    metrics.token_recall: ([61.98, 84.2, 88.14, 88.84, 91.43, 94.72, 96.48, 97.34, 97.34, 98.04], 24.54),
    metrics.token_precision: ([13.3, 9.01, 6.21, 4.69, 3.83, 3.29, 2.85, 2.52, 2.23, 2.03], 2.74),
    metrics.token_iou: ([12.95, 8.97, 6.2, 4.68, 3.83, 3.28, 2.85, 2.51, 2.23, 2.02], 2.73),
}


@pytest.mark.real_data
def test_a_published_table_of_chunks_of_200_tokens_is_reproduced(real_data, tmp_path):
    corpus, questions = chroma(real_data)
    table = pd.read_csv(questions.path)
    path = tmp_path / "questions.csv"
    table[table["corpus_id"] == "state_of_the_union"].to_csv(path, index=False)
    dataset = OwnDataset("s", TextCorpus(f"{corpus.path}/state_of_the_union.md"), span_questions(str(path)))
    retriever = DenseRetriever(SentenceTransformerEncoder(), NO_STORE)
    chosen = {metric.__name__: partial(metric, overlap="chroma") for metric in PUBLISHED}
    evaluation = evaluation_of(dataset, chosen, FixedTokens(200), retriever)
    for (means, deviation), values in zip(PUBLISHED.values(), 100 * evaluation.values, strict=True):
        assert values[:10].mean(axis=1) == pytest.approx(means, abs=0.006)
        assert values[4].std() == pytest.approx(deviation, abs=0.006)


BY_SPANS = ["evaluation=spans", "evaluation.resamples=100"]
UNPLACED = [("Which test finds malaria?", ["found with a rapid test, given at once"]), *small.SPANS[2:]]


@pytest.fixture
def settled(tmp_path):
    """The values that `evaluation=spans` measures of a small text, with some of its settings changed."""

    def measure(*overrides, spans=small.SPANS, folder="data"):
        chunks = ["chunker.size=60", "chunker.overlap=30", "retriever=sparse", "k=3", "store.enabled=false"]
        data = small.span_arguments(tmp_path / folder, spans)
        return Experiment.of(composed(*data, *chunks, *BY_SPANS, *overrides)).measure()

    return measure


def changed(one, other):
    """The kinds of metrics in which two measurements differ."""
    return {name.partition("/")[0] for name, value in one.values.items() if value != other.values[name]}


@pytest.mark.usefixtures("long_work")
def test_each_setting_changes_what_it_is_about_and_each_kind_of_metrics_has_a_panel(settled):
    plain = settled()
    assert changed(plain, settled("evaluation.token=word", folder="1")) == {"token"}
    assert changed(plain, settled("evaluation.span_overlap=chroma", folder="2")) == {"token"}
    assert changed(plain, settled("evaluation.fuzzy_threshold=0.2", folder="3")) == {"passage"}
    draw, *given = plain.charts
    [(_, chart)] = draw(*given)
    shown = [axes.get_ylim()[1] > 2 for axes in chart.axes]
    assert shown == [False, False, False, True, False]  # token, passage, document, its count, the ranking's


@pytest.mark.usefixtures("long_work")
def test_words_may_stand_elsewhere_and_without_offsets_the_threshold_decides_which_passages_are_relevant(settled):
    spans, loose = [("Is there bleeding and belly pain?", ["tired and pale"])], "evaluation.fuzzy_threshold=0.3"
    characters, words = (
        settled(loose, f"evaluation.token={token}", spans=spans, folder=token) for token in ("character", "word")
    )
    assert (characters.values["passage/coverage"], words.values["passage/coverage"]) == (0, 1)
    by_words = "evaluation.token=word"
    loose, strict = (
        settled(by_words, f"evaluation.fuzzy_threshold={threshold}", spans=UNPLACED, folder=threshold)
        for threshold in ("0.6", "0.9")
    )
    assert loose.facts["queries_without_relevant"] == []
    assert strict.facts["queries_without_relevant"] == ["1"]
    assert any("not at exactly one place of the document" in sentence for sentence in loose.findings)


def test_a_sweep_over_chunks_is_decided_by_spans(application, tmp_path):
    chosen = ["evaluation=spans", "retriever=sparse", "chunker.overlap=0", "chunker.size=60,200"]
    given = application.arguments(*small.span_arguments(tmp_path / "data"), *chosen, "decision.metric=token/iou")
    succeeded(application.script_here("run", "-m", *given))
    [parent] = application.parents()
    decision = json.loads((application.artifacts(parent) / "decision.json").read_text())
    assert decision["not_shipped"] != "unequal text"
    runs = {run.info.run_name: run.data.metrics for run in application.children()}
    assert runs["size=60"]["token/precision_omega"] > runs["size=200"]["token/precision_omega"]
