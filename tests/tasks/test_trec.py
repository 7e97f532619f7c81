"""Rankings of other programs and exported files: trec_eval computes the same numbers of both."""

import os

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from application import METRICS
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rankings import dataset_of, paged, ranking_of

import ragsweep
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.trec_files import strictly_falling
from ragsweep.datasets import Document, FixedChunker, RecursiveChunker
from ragsweep.evaluation import average_precision, f1, hit_rate, judge, mrr, ndcg, precision, recall
from ragsweep.statistics import confidence_intervals
from ragsweep.tasks.ranking.foreign_rankings import read
from ragsweep.tasks.ranking.ranking_tables import qrels_lines, run_lines
from ragsweep.tasks.ranking.units import units_of_ranking

MEASURES = {"precision": "P", "recall": "recall", "hit_rate": "success", "ndcg": "ndcg_cut", "map": "map_cut"}
ZERO = dict.fromkeys(METRICS, 0.0)
DOCUMENTS = st.sampled_from(["2", "9", "10", "100", "d1", "d2", "D3", "\u00e9"])
TIED = st.sampled_from([0.0, -0.0, 0.7123, 0.7123 + 1e-12, 0.7124, 1])  # mostly equal, one only in single precision
SCORED = st.dictionaries(DOCUMENTS, TIED | st.integers(-99, 99))
GRADED = st.dictionaries(DOCUMENTS, st.integers(-1, 3), min_size=1)
RUNS = st.fixed_dictionaries({"q1": SCORED.filter(bool)}, optional={"q2": SCORED, "unjudged": SCORED})
QRELS = st.fixed_dictionaries({"q1": GRADED}, optional={"q2": GRADED, "unranked": GRADED})
CUTS = st.fixed_dictionaries({"k": st.integers(1, 10), "relevance_level": st.integers(1, 3)})


def values(result):
    """`{query: {metric: value}}`."""
    return result.per_query.set_index("query_id").to_dict("index")


def measured(rankings, qrels, **settings):
    """The metrics of a single query."""
    [of_query] = values(ragsweep.evaluate(rankings, qrels, **{"resamples": 1, **settings})).values()
    return of_query


def dicts(run, qrels, folder):
    """In another order than the judgments."""
    return dict(reversed(run.items())), qrels


def numbered(run, qrels, folder):
    def with_numbers(pairs):
        return {int(name) if name.isdigit() else name: number for name, number in pairs.items()}

    return tuple({query: with_numbers(pairs) for query, pairs in source.items()} for source in (run, qrels))


def lists(run, qrels, folder):
    """As the manual of trec_eval has it: by descending score, then by descending name."""

    def in_order(scores):
        return sorted(scores, key=lambda name: (np.float32(scores[name]), name.encode()), reverse=True)

    return {query: in_order(scores) for query, scores in run.items()}, qrels


def frames(run, qrels, folder):
    return tuple(
        pd.DataFrame(rows(source), columns=["query_id", "doc_id", name])
        for source, name in ((run, "score"), (qrels, "grade"))
    )


def files(run, qrels, folder):
    lines = [f"{query} Q0 {document} 0 {score} tag\n" for query, document, score in rows(run)]
    (folder / "run").write_text("".join(lines))
    (folder / "qrels").write_text("".join(f"{query} 0 {document} {grade}\n" for query, document, grade in rows(qrels)))
    return folder / "run", str(folder / "qrels")


def highest(qrels):
    return max(grade for grades in qrels.values() for grade in grades.values())


def rows(source):
    return [(query, document, number) for query, pairs in source.items() for document, number in pairs.items()]


def trec_eval(run, qrels, k, relevance_level):
    """Every metric of every query by trec_eval, with recip_rank of the run cut at k, and F1 from P and recall."""
    run = {query: {document: float(score) for document, score in scores.items()} for query, scores in run.items()}
    measures = {"recip_rank", *(f"{name}.{k}" for name in MEASURES.values())}
    whole = pytrec_eval.RelevanceEvaluator(qrels, measures, relevance_level=relevance_level).evaluate(run)
    expected = dict.fromkeys(qrels, ZERO)
    for query in (query for query in qrels if query in whole and run[query]):
        at_k = {name: whole[query][f"{measure}_{k}"] for name, measure in MEASURES.items()}
        total = at_k["precision"] + at_k["recall"]
        f1 = 2 * at_k["precision"] * at_k["recall"] / total if total else 0.0
        first = whole[query]["recip_rank"]
        expected[query] = at_k | {"mrr": first if first > 1 / (k + 0.5) else 0.0, "f1": f1}
    return expected


@pytest.mark.parametrize("form", [dicts, numbered, lists, frames, files])
@given(run=RUNS, qrels=QRELS, cut=CUTS)
def test_every_metric_of_every_query_equals_trec_eval_in_every_form(form, tmp_path_factory, run, qrels, cut):
    assume(highest(qrels) >= cut["relevance_level"])
    rankings, judgments = form(run, qrels, tmp_path_factory.getbasetemp())
    ours = values(ragsweep.evaluate(rankings, judgments, **cut, resamples=1))
    expected = trec_eval(run, qrels, **cut)
    assert list(ours) == list(qrels)
    for query, metrics in ours.items():
        assert metrics == pytest.approx(expected[query], abs=1e-12)


def test_a_query_without_judgments_is_left_out_and_one_without_results_or_anything_relevant_scores_0():
    rankings = {"q1": ["a"], "unjudged": ["a"], "empty": []}
    qrels = {"q1": ["a"], "nothing": [], "empty": ["a"], "missing": ["a"]}
    result = ragsweep.evaluate(rankings, qrels, resamples=1)
    assert result.query_ids == ("q1", "empty", "missing")
    assert result.without_judgments == ("unjudged", "nothing")
    assert result.without_results == ("empty", "missing")
    assert values(result)["empty"] == values(result)["missing"] == ZERO
    assert result.means["recall"] == 1 / 3
    for grade in (0, 1):
        qrels = {"q1": {"a": 2}, "q2": {"a": grade}}
        result = ragsweep.evaluate({"q1": ["a"], "q2": ["a"]}, qrels, relevance_level=2)
        assert result.without_relevant == ("q2",)
        assert result.means["recall"] == 0.5
        assert (result.means["ndcg"] > 0.5) == ("except in NDCG" in repr(result)) == bool(grade)


@given(st.dictionaries(DOCUMENTS, st.integers(0, 3), min_size=1).filter(lambda grades: max(grades.values()) > 0))
def test_no_grade_is_too_high_for_exponential_gains(grades):
    ranked, higher = {"q": sorted(grades)}, {name: 3_000 * grade for name, grade in grades.items()}
    ndcg = measured(ranked, {"q": higher}, gain="exponential")["ndcg"]
    best = max(grades.values())
    assert ndcg == pytest.approx(measured(ranked, {"q": [name for name in grades if grades[name] == best]})["ndcg"])


def test_every_setting_and_the_order_of_a_list_change_the_result():
    rankings, qrels = {"q": ["a", "a", "d", "c"]}, {"q": {"a": 1, "c": 3, "d": 2}}
    for changed in ({"k": 2}, {"collapse": "before_cutoff"}, {"relevance_level": 2}, {"gain": "exponential"}):
        assert measured(rankings, qrels, **changed) != measured(rankings, qrels), changed
    run = {"listed": ["a", "z", "m"], "scored": {"a": 1.0, "z": 1.0, "m": 2.0}}
    of_query = values(ragsweep.evaluate(run, {"listed": ["z"], "scored": ["a"]}, resamples=1))
    assert (of_query["listed"]["mrr"], of_query["scored"]["mrr"]) == (1 / 2, 1 / 3)


def test_the_summary_and_the_text_have_the_means_with_their_intervals_and_the_missing_queries():
    rankings = {"q1": ["a"], "q2": ["b", "a"], "<i>": ["a"]}
    result = ragsweep.evaluate(rankings, {"q1": ["a"], "q2": ["a"], "q3": ["b"]}, k=2, resamples=200, seed=3)
    assert result.summary["mean"].to_dict() == result.means
    low, high = confidence_intervals(result.per_query["mrr"].to_numpy(), resamples=200, seed=3)
    assert result.summary.loc["mrr"].tolist() == [0.5, low, high]
    heading, *lines = repr(result).splitlines()
    assert heading.startswith("3 queries at k=2")
    assert [line.rpartition(": ")[2] for line in lines[:2]] == ["1 ('<i>')", "1 ('q3')"]
    assert ["mrr", "0.5000"] in [line.split()[:2] for line in lines]
    assert "<i>" not in result._repr_html_()  # it is text, not markup
    assert "&lt;i&gt;" in result._repr_html_()
    alone = ragsweep.evaluate({"q": ["a", "b"]}, {"q": {"b": 1}}, k=2, resamples=10)
    assert alone.summary["mean"].to_dict() == alone.means
    assert alone.summary[["ci_low", "ci_high"]].isna().all(axis=None)  # of a single query
    assert "95 %" not in repr(alone)
    shorter = [ragsweep.evaluate({"q": ["a", "b"], "p": ["a"]}, {"q": ["b"]}, k=k, resamples=10) for k in (2, 3)]
    assert ["at most 2 documents" in repr(result) for result in shorter] == [False, True]


RANKED, JUDGED = {"q": ["a"]}, {"q": {"a": 1}}
ROW_OF_Q = {"question": "q", "retrieved": ["a"], "relevant": {"a"}}
REFUSED = [  # rankings, judgments, and what is named
    (RANKED, {}, "qrels: no query has a judgment"),
    ({}, JUDGED, "rankings: found no query"),
    ({"Q1": ["a"], "Q2": []}, JUDGED, "rankings: found the queries 'Q1', 'Q2', expected some that qrels judges: 'q'"),
    (RANKED, {"q": {"a": 0.5}}, "qrels, query 'q', document 'a': found the grade 0.5"),
    (RANKED, {"q": {"a": 0, "b": -1}}, "qrels: nothing is relevant: found no grade above 0"),
    (RANKED, {"q": {"a": 1, "a ": 2}}, "qrels, query 'q', document 'a': found the grades 1 and 2"),
    (RANKED, None, "qrels: found a NoneType"),
    ([["a"]], None, "rankings, row 1: found a list"),
    ([ROW_OF_Q, ROW_OF_Q | {"scores": [1.0]}], None, "rankings, row 2: found a dict with question, retrieved"),
    ([ROW_OF_Q, {"retrieved": ["a"], "relevant": ["a"]}], None, "rankings, row 2: found a dict with retrieved"),
    ([ROW_OF_Q, ROW_OF_Q], None, "rankings, row 2: found the question 'q' twice"),
    ([ROW_OF_Q | {"retrieved": {"a"}}], None, "rankings, query 'q': found a set"),
    ({"q": "a"}, JUDGED, "rankings, query 'q': found a str"),
    ({"q": {"a": None}}, JUDGED, "rankings, query 'q', document 'a': found the score None"),
    ({"q": ["a", 2.0]}, JUDGED, "rankings, query 'q': found the id 2.0, a float"),
    ({"q": [("a", 0.3)]}, JUDGED, "rankings, query 'q': found the id ('a', 0.3), a tuple"),
    (pd.DataFrame(columns=["query_id", "doc_id", "rank"]), JUDGED, "rankings: found the columns query_id, doc_id, "),
    ({"q": {"a": 10**5000}}, JUDGED, "rankings, query 'q', document 'a': found the score of thousands of digits"),
    ({10**5000: ["a"]}, JUDGED, "rankings: found the id of thousands of digits"),
]
INVALID = [  # settings, and what is named
    ({"k": 0}, "k: found 0, "),
    ({"k": 2.5}, "k: found 2.5, "),
    ({"k": True}, "k: found True, "),
    ({"relevance_level": 0}, "relevance_level: found 0, "),
    ({"resamples": 0}, "resamples: found 0, "),
    ({"seed": -1}, "seed: found -1, "),
    ({"collapse": "never"}, "collapse: found 'never', "),
    ({"gain": "log"}, "gain: found 'log', "),
    ({"metrics": ["ndgc"]}, f"metrics: found ['ndgc'], expected a list of some of {', '.join(METRICS)}"),
    ({"metrics": []}, "metrics: found []"),
    ({"rankings": [ROW_OF_Q]}, "qrels: expected none"),
]


def test_empty_contradictory_or_unreadable_input_is_refused_in_one_line():
    given = [(DatasetError, {"rankings": rankings, "qrels": qrels}, message) for rankings, qrels, message in REFUSED]
    given += [(ConfigError, {"rankings": RANKED, "qrels": JUDGED, **settings}, named) for settings, named in INVALID]
    for kind, arguments, message in given:
        with pytest.raises(kind) as error:
            ragsweep.evaluate(**arguments)
        assert str(error.value).startswith(message)
        assert "\n" not in str(error.value)


FILES = [  # which of the two, the content of the file, and the place and fault that the message names
    ("rankings", b"q1 Q0 a 1 0.1 me\n\nq1 Q0 b 2\n", ", line 3: found 4 columns"),
    ("rankings", b"q1 Q0 a 1 high me\n", ", line 1, query 'q1', document 'a': found the score 'high'"),
    ("rankings", b"q1 Q0 a 1 2 tag\n#q2 Q0 a 1 1 tag\n", ", line 2: found '#"),
    ("qrels", b"q 0 a 1\nq 0 a 1.0\nq 0 a 2\n", ", line 3: "),
    ("qrels", b"\xff\xfe\x00", ""),
    ("qrels", None, ""),
]


def test_a_file_is_read_also_of_beir_or_named_with_its_line(tmp_path):
    for place, (argument, content, message) in enumerate(FILES):
        file = tmp_path / f"{place}.trec"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(DatasetError) as error:
            read(file, argument, 1)
        assert f"{file}{message}" in str(error.value)
    for name in ("run.json", "run.csv"):
        (tmp_path / name).write_text("{}")
        with pytest.raises(DatasetError, match=r"; read other formats into a dict or a DataFrame$"):
            read(tmp_path / name, "rankings")
    os.mkfifo(tmp_path / "pipe")  # refused, not waited for
    with pytest.raises(DatasetError, match=r"pipe.*not a file"):
        read(tmp_path / "pipe", "qrels", 1)
    (tmp_path / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tdoc a\t2\nq1\tb\t0.0\n")
    entries = read(tmp_path / "test.tsv", "qrels")
    assert (entries.queries, entries.documents, entries.numbers) == (["q1", "q1"], ["doc a", "b"], [2, 0])


LINES = st.lists(
    st.sampled_from(["q1", "0", "Q0", "a", "1", "1e999", "nan", "high", "#", "#a", "query-id", "corpus-id", "score"])
).map(lambda fields: " ".join(fields).encode())


@pytest.mark.parametrize("argument", ["rankings", "qrels"])
@given(content=st.binary(max_size=30) | st.lists(LINES, max_size=3).map(b"\n".join))
def test_any_file_is_read_or_refused_in_one_line(tmp_path_factory, argument, content):
    file = tmp_path_factory.getbasetemp() / "any.trec"
    file.write_bytes(content)
    message = "one line"
    try:
        read(file, argument, 1)
    except DatasetError as error:
        message = str(error)
    assert len(message.splitlines()) == 1


OURS = {"precision": precision, "recall": recall, "hit_rate": hit_rate, "ndcg": ndcg, "map": average_precision}
OURS |= {"mrr": mrr, "f1": f1}
LETTERS = RecursiveChunker(size=1, overlap=0)  # one passage per letter
ACROSS_PAGES = FixedChunker(size=5, overlap=2, unit="characters", across_pages=True)


def small(pages, judgments, queries=("q1", "q2", "q3"), chunker=LETTERS):
    """A dataset of pages with these texts, and the judged queries."""
    asked = {query: query for query in queries}
    return dataset_of([paged("a.pdf", *pages)], asked, judgments, chunker=chunker)


def read_back(folder, dataset, run, **settings):
    """What ragsweep measures of the exported files."""
    (folder / "ranking.trec").write_text("".join(run))
    (folder / "qrels.trec").write_text("".join(qrels_lines(dataset)))
    return ragsweep.evaluate(folder / "ranking.trec", folder / "qrels.trec", resamples=1, **settings)


def exported(dataset, candidates, **settings):
    """The judged rankings, given as `{passage: score}` per query, and the lines of the run file."""
    ranking = ranking_of(*candidates)
    units = units_of_ranking(ranking.passages, dataset)
    judged = judge(units, dataset.qrels.query, dataset.qrels.unit, dataset.qrels.grade, **settings)
    return judged, list(run_lines(judged, ranking, dataset, "tag"))


@st.composite
def measurements(draw):
    """Pages with several passages, or passages with several pages; graded judgments (some of pages that do not exist),
    and tied scores.
    """
    pages = draw(st.lists(st.text("x", min_size=1, max_size=4), min_size=1, max_size=5))
    units = st.sampled_from([*(f"a.pdf#{n}" for n in range(1, len(pages) + 1)), "lost.pdf#1"])
    judged = draw(st.dictionaries(st.tuples(st.sampled_from(["q1", "q2", "q3"]), units), st.integers(0, 3), min_size=1))
    chunker = draw(st.sampled_from([LETTERS, ACROSS_PAGES]))
    dataset = small(pages, judged, chunker=chunker)
    passages = st.integers(0, len(dataset.passages) - 1)
    candidates = draw(
        st.lists(st.dictionaries(passages, st.integers(-2, 2) | st.floats(-9, 9)), min_size=3, max_size=3)
    )
    return dataset, candidates


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("collapse", ["after_cutoff", "before_cutoff"])
@given(measurement=measurements(), k=st.integers(1, 12), level=st.integers(1, 2))
def test_every_metric_of_every_query_equals_trec_eval_and_that_of_the_files_read_back(
    tmp_path_factory, collapse, measurement, k, level
):
    dataset, candidates = measurement
    judged, run = exported(dataset, candidates, collapse=collapse, relevance_level=level)
    oracle = trec_eval(pytrec_eval.parse_run(run), pytrec_eval.parse_qrel(qrels_lines(dataset)), k, level)
    is_measured = bool(dataset.qrels.grade.max() >= level)  # otherwise there is nothing to measure of files
    settings = {"k": k, "relevance_level": level, "metrics": OURS}
    folder = tmp_path_factory.getbasetemp()
    again = values(read_back(folder, dataset, run, **settings)) if is_measured else {}
    assert len(again) == len(judged.queries) * is_measured
    for row, query in enumerate(judged.queries):
        query_id = dataset.queries[query].query_id
        ours = {name: metric(judged, k)[row] for name, metric in OURS.items()}
        assert ours == pytest.approx(oracle[query_id], abs=1e-12)
        assert again.get(query_id, ours) == ours  # to the last bit


ONE = {("q1", "a.pdf#1"): 1}


def test_a_later_passage_of_a_unit_has_another_id_and_an_id_that_starts_with_a_hash_is_no_comment(tmp_path):
    _, run = exported(small(["xx", "y"], ONE), [{0: 3.0, 1: 2.0, 2: 1.0}])
    assert [line.split()[2] for line in run] == ["a.pdf#1", "a.pdf#1@a.pdf#1/1", "a.pdf#2"]
    document = Document.from_pages("a.pdf", [("1", "a.pdf#1", text) for text in "xyz"])  # repeated page labels
    _, run = exported(dataset_of([document], {"q1": "q"}, ONE, chunker=LETTERS), [{0: 3.0, 1: 2.0, 2: 1.0}])
    assert len({line.split()[2] for line in run}) == 3
    dataset = small(["text"], {("#1", "a.pdf#1"): 1}, queries=("#1",))
    _, run = exported(dataset, [{0: 1.0}])
    result = read_back(tmp_path, dataset, run)
    assert (result.query_ids, result.means["recall"]) == (("%231",), 1)


SCORES = arrays(np.float64, st.tuples(st.just(1), st.integers(1, 12)), elements=st.floats(-1e6, 1e6) | st.just(1.0))


@given(SCORES)
def test_exported_scores_fall_strictly_as_32_bit_numbers_and_are_lowered_by_no_more_than_needed(scores):
    given_scores = -np.sort(-scores, axis=1).astype(np.float32)
    falling = strictly_falling(given_scores.copy())
    assert falling.dtype == np.float32
    assert (np.diff(falling) < 0).all()
    assert falling == pytest.approx(given_scores, rel=1e-5, abs=1e-5)
