"""The exported TREC files, from which trec_eval must compute the same numbers."""

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rankings import dataset_of, paged, ranking_of

import ragsweep
from ragsweep.core.trec_files import strictly_falling
from ragsweep.datasets import Document, FixedChunker, RecursiveChunker
from ragsweep.evaluation import average_precision, f1, hit_rate, judge, mrr, ndcg, precision, recall
from ragsweep.tasks.ranking.ranking_tables import qrels_lines, run_lines
from ragsweep.tasks.ranking.units import units_of_ranking

METRICS = {
    "P": precision,
    "recall": recall,
    "success": hit_rate,
    "ndcg_cut": ndcg,
    "map_cut": average_precision,
    "recip_rank": mrr,
}
OURS = METRICS | {"f1": f1}
ZERO = dict.fromkeys(METRICS, 0.0)
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


def trec_eval(run, dataset, k, relevance_level):
    """The values that trec_eval computes from our files, by query id. It leaves out queries without results."""
    qrels = pytrec_eval.parse_qrel(qrels_lines(dataset))
    top = pytrec_eval.parse_run([line for line in run if int(line.split()[3]) <= k])
    measures = {"recip_rank", *(f"{name}.{k}" for name in METRICS if name != "recip_rank")}
    values = pytrec_eval.RelevanceEvaluator(qrels, measures, relevance_level=relevance_level)
    whole, cut = values.evaluate(pytrec_eval.parse_run(run)), values.evaluate(top)
    return {
        query: {name: cut[query][name] if name == "recip_rank" else whole[query][f"{name}_{k}"] for name in METRICS}
        for query in whole
    }


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
    oracle, read = trec_eval(run, dataset, k, level), {}
    if dataset.qrels.grade.max() >= level:  # otherwise there is nothing to measure of files
        settings = {"k": k, "relevance_level": level, "metrics": OURS}
        of_files = read_back(tmp_path_factory.getbasetemp(), dataset, run, **settings)
        read = of_files.per_query.set_index("query_id").to_dict("index")
        assert len(read) == len(judged.queries)
    for row, query in enumerate(judged.queries):
        query_id = dataset.queries[query].query_id
        expected = oracle.get(query_id, ZERO)
        total = expected["P"] + expected["recall"]
        expected = {**expected, "f1": 2 * expected["P"] * expected["recall"] / total if total else 0.0}
        values = {name: metric(judged, k)[row] for name, metric in OURS.items()}
        assert values == pytest.approx(expected, abs=1e-12)
        assert read.get(query_id, values) == values  # to the last bit


ONE = {("q1", "a.pdf#1"): 1}


def test_a_query_id_that_starts_with_a_hash_is_not_read_as_a_comment(tmp_path):
    dataset = small(["text"], {("#1", "a.pdf#1"): 1}, queries=("#1",))
    _, run = exported(dataset, [{0: 1.0}])
    result = read_back(tmp_path, dataset, run)
    assert (result.query_ids, result.means["recall"]) == (("%231",), 1)


def test_a_later_passage_of_a_unit_keeps_its_rank_under_another_id():
    _, run = exported(small(["xx", "y"], ONE), [{0: 3.0, 1: 2.0, 2: 1.0}])
    assert [line.split()[2] for line in run] == ["a.pdf#1", "a.pdf#1@a.pdf#1/1", "a.pdf#2"]
    document = Document.from_pages("a.pdf", [("1", "a.pdf#1", text) for text in "xyz"])  # repeated page labels
    _, run = exported(dataset_of([document], {"q1": "q"}, ONE, chunker=LETTERS), [{0: 3.0, 1: 2.0, 2: 1.0}])
    assert len({line.split()[2] for line in run}) == 3


SCORES = arrays(np.float64, st.tuples(st.just(1), st.integers(1, 12)), elements=st.floats(-1e6, 1e6) | st.just(1.0))


@given(SCORES)
def test_exported_scores_fall_strictly_as_32_bit_numbers_and_are_lowered_by_no_more_than_needed(scores):
    given_scores = -np.sort(-scores, axis=1).astype(np.float32)
    falling = strictly_falling(given_scores.copy())
    assert falling.dtype == np.float32
    assert (np.diff(falling) < 0).all()
    assert falling == pytest.approx(given_scores, rel=1e-5, abs=1e-5)
