"""Measuring rankings of other programs with one call."""

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from application import METRICS
from hypothesis import assume, given
from hypothesis import strategies as st

import ragsweep
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.statistics import confidence_intervals

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
    [found] = values(ragsweep.evaluate(rankings, qrels, **{"resamples": 1, **settings})).values()
    return found


# As trec_eval


def dicts(run, qrels, folder):
    return run, qrels


def numbered(run, qrels, folder):
    return tuple(
        {query: {_number(name): number for name, number in found.items()} for query, found in given.items()}
        for given in (run, qrels)
    )


def _number(name):
    return int(name) if name.isdigit() else name


def lists(run, qrels, folder):
    return {query: in_order(scores) for query, scores in run.items()}, qrels


def in_order(scores):
    """As the manual of trec_eval has it: by descending score, then by descending name."""
    return sorted(scores, key=lambda name: (np.float32(scores[name]), name.encode()), reverse=True)


def frames(run, qrels, folder):
    return table(run, "score"), table(qrels, "grade")


def files(run, qrels, folder):
    lines = [f"{query} Q0 {document} 0 {score} tag\n" for query, document, score in rows(run)]
    (folder / "run").write_text("".join(lines))
    (folder / "qrels").write_text("".join(f"{query} 0 {document} {grade}\n" for query, document, grade in rows(qrels)))
    return folder / "run", str(folder / "qrels")


def highest(qrels):
    return max(grade for grades in qrels.values() for grade in grades.values())


def rows(numbers):
    return [(query, document, number) for query, found in numbers.items() for document, number in found.items()]


def table(numbers, name):
    return pd.DataFrame(rows(numbers), columns=["query_id", "doc_id", name])


def trec_eval(run, qrels, k, relevance_level):
    """Every metric of every query by trec_eval, with recip_rank of the run cut at k, and F1 from P and recall."""
    run = {query: {document: float(score) for document, score in scores.items()} for query, scores in run.items()}
    measures = {"recip_rank", *(f"{name}.{k}" for name in MEASURES.values())}
    whole = pytrec_eval.RelevanceEvaluator(qrels, measures, relevance_level=relevance_level).evaluate(run)
    expected = {}
    for query in qrels:
        if query in whole and run[query]:
            found = {name: whole[query][f"{measure}_{k}"] for name, measure in MEASURES.items()}
            total = found["precision"] + found["recall"]
            f1 = 2 * found["precision"] * found["recall"] / total if total else 0.0
            first = whole[query]["recip_rank"]
            expected[query] = found | {"mrr": first if first > 1 / (k + 0.5) else 0.0, "f1": f1}
        else:
            expected[query] = ZERO
    return expected


@pytest.mark.parametrize("form", [dicts, numbered, lists, frames, files])
@given(run=RUNS, qrels=QRELS, cut=CUTS)
def test_every_metric_of_every_query_equals_trec_eval_in_every_form(form, tmp_path_factory, run, qrels, cut):
    assume(highest(qrels) >= cut["relevance_level"])
    rankings, judgments = form(run, qrels, tmp_path_factory.getbasetemp())
    found = values(ragsweep.evaluate(rankings, judgments, **cut, resamples=1))
    expected = trec_eval(run, qrels, **cut)
    assert list(found) == list(qrels)
    for query, metrics in found.items():
        assert metrics == pytest.approx(expected[query], abs=1e-12)


# Which rank earns what


def test_a_list_keeps_its_order_beside_a_dict_with_equal_scores():
    run = {"listed": ["a", "z", "m"], "scored": {"a": 1.0, "z": 1.0, "m": 2.0}}
    found = values(ragsweep.evaluate(run, {"listed": ["z"], "scored": ["a"]}, resamples=1))
    assert (found["listed"]["mrr"], found["scored"]["mrr"]) == (1 / 2, 1 / 3)


# Which queries count


def test_a_query_without_judgments_is_left_out_and_named():
    result = ragsweep.evaluate({"q1": ["a"], "q2": ["a"]}, {"q1": ["a"], "q3": []}, resamples=1)
    assert result.query_ids == ("q1",)
    assert result.without_judgments == ("q2", "q3")
    assert result.means["recall"] == 1


def test_a_judged_query_without_results_scores_0_and_is_named():
    result = ragsweep.evaluate({"q1": ["a"], "q2": []}, {"q1": ["a"], "q2": ["a"], "q3": ["a"]}, resamples=1)
    assert result.without_results == ("q2", "q3")
    assert values(result)["q2"] == values(result)["q3"] == ZERO
    assert result.means["recall"] == 1 / 3


def test_a_query_without_a_relevant_document_scores_0_and_is_named():
    result = ragsweep.evaluate({"q1": ["a"], "q2": ["a"]}, {"q1": {"a": 2}, "q2": {"a": 1}}, relevance_level=2)
    assert result.without_relevant == ("q2",)
    assert result.means["recall"] == 0.5
    assert result.means["ndcg"] > 0.5
    graded = "without a relevant document, scoring 0, except in NDCG which counts every grade above 0: 1 ('q2')"
    assert graded in repr(result)
    result = ragsweep.evaluate({"q1": ["a"], "q2": ["a"]}, {"q1": {"a": 2}, "q2": {"a": 0}}, relevance_level=2)
    assert result.means["ndcg"] == 0.5
    assert "without a relevant document, scoring 0: 1 ('q2')" in repr(result)


def test_lines_that_contradict_each_other_are_both_named(tmp_path):
    file = tmp_path / "qrels.trec"
    file.write_text("q 0 a 1\nq 0 a 1.0\nq 0 a 2\n")
    with pytest.raises(DatasetError, match=rf"^{file}, line 3: .*, but 1 in line 1; expected one"):
        ragsweep.evaluate({"q": ["a"]}, file)


# What is asked for


@pytest.mark.parametrize(
    "changed",
    [{"k": 2}, {"collapse": "before_cutoff"}, {"relevance_level": 2}, {"gain": "exponential"}],
    ids=lambda changed: next(iter(changed)),
)
def test_every_setting_changes_the_result(changed):
    rankings, qrels = {"q": ["a", "a", "d", "c"]}, {"q": {"a": 1, "c": 3, "d": 2}}
    assert measured(rankings, qrels, **changed) != measured(rankings, qrels)


# What is shown


@pytest.fixture
def result():
    rankings = {"q1": ["a"], "q2": ["b", "a"], "<i>": ["a"]}
    return ragsweep.evaluate(rankings, {"q1": ["a"], "q2": ["a"], "q3": ["b"]}, k=2, resamples=200, seed=3)


def test_the_summary_has_the_means_with_their_intervals(result):
    assert result.summary["mean"].to_dict() == result.means
    low, high = confidence_intervals(result.per_query["mrr"].to_numpy(), resamples=200, seed=3)
    assert result.summary.loc["mrr"].tolist() == [0.5, low, high]


def test_the_text_shows_the_numbers_and_the_missing_queries(result):
    lines = repr(result).splitlines()
    assert lines[:3] == [
        "3 queries at k=2, 95 % intervals",
        "without judgments, left out: 1 ('<i>')",
        "without results, scoring 0: 1 ('q3')",
    ]
    assert "ids alike" not in repr(result)
    assert ["mrr", "0.5000"] in [line.split()[:2] for line in lines]


def test_a_notebook_shows_names_as_text_and_not_as_markup(result):
    assert "<i>" not in result._repr_html_()
    assert "&lt;i&gt;" in result._repr_html_()


# What is refused

RANKED, JUDGED = {"q": ["a"]}, {"q": {"a": 1}}
ROW_OF_Q = {"question": "q", "retrieved": ["a"], "relevant": {"a"}}
ROW = "a dict with retrieved and relevant, and question in all rows or in none"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "k: found 0, expected a whole number from 1 to 1000"),
        ({"k": 2.5}, "k: found 2.5, expected a whole number from 1 to 1000"),
        ({"k": True}, "k: found True, expected a whole number from 1 to 1000"),
        ({"relevance_level": 0}, "relevance_level: found 0, expected a whole number of at least 1"),
        ({"resamples": 0}, "resamples: found 0, expected a whole number of at least 1"),
        ({"seed": -1}, "seed: found -1, expected a whole number of at least 0"),
        ({"collapse": "never"}, "collapse: found 'never', expected after_cutoff or before_cutoff"),
        ({"gain": "log"}, "gain: found 'log', expected linear or exponential"),
        ({"metrics": ["ndgc"]}, f"metrics: found ['ndgc'], expected a list of some of {', '.join(METRICS)}, or a dict"),
        ({"metrics": []}, f"metrics: found [], expected a list of some of {', '.join(METRICS)}, or a dict"),
    ],
    ids=str,
)  # fmt: skip
def test_an_invalid_argument_is_named(settings, message):
    with pytest.raises(ConfigError) as error:
        ragsweep.evaluate(RANKED, JUDGED, **settings)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("rankings", "qrels", "message"),
    [
        (RANKED, {}, "qrels: no query has a judgment, so nothing can be measured"),
        ({}, JUDGED, "rankings: found no query, expected some that qrels judges: 'q'"),
        (
            {"Q1": ["a"], "Q2": []},
            JUDGED,
            "rankings: found the queries 'Q1', 'Q2', expected some that qrels judges: 'q'",
        ),
        (
            RANKED,
            {"q": {"a": 0.5}},
            "qrels, query 'q', document 'a': found the grade 0.5, expected a whole number from -10^9 to 10^9",
        ),
        (
            RANKED,
            {"q": {"a": 0, "b": -1}},
            "qrels: nothing is relevant: found no grade above 0, expected some of at least 1 (relevance_level)",
        ),
        (RANKED, {"q": {"a": 1, "a ": 2}}, "qrels, query 'q', document 'a': found the grades 1 and 2, expected one"),
        (RANKED, None, "qrels: found a NoneType, expected a dict, a pandas DataFrame or the path of a TREC file"),
        ([["a"]], None, f"rankings, row 1: found a list, expected {ROW}"),
        (
            [ROW_OF_Q, ROW_OF_Q | {"relevance_scores": [1.0]}],
            None,
            f"rankings, row 2: found a dict with question, retrieved, relevant, relevance_scores, expected {ROW}",
        ),
        (
            [ROW_OF_Q, {"retrieved": ["a"], "relevant": ["a"]}],
            None,
            f"rankings, row 2: found a dict with retrieved, relevant, expected {ROW}",
        ),
        ([ROW_OF_Q, ROW_OF_Q], None, "rankings, row 2: found the question 'q' twice, expected it once"),
        (
            [ROW_OF_Q | {"retrieved": {"a"}}],
            None,
            "rankings, query 'q': found a set, expected a list of document ids, best first, or a dict "
            "{document id: score}",
        ),
    ],
    ids=range(12),
)
def test_empty_or_contradictory_input_is_refused(rankings, qrels, message):
    with pytest.raises(DatasetError) as error:
        ragsweep.evaluate(rankings, qrels)
    assert str(error.value) == message


def test_judgments_beside_a_list_of_dicts_are_refused():
    with pytest.raises(ConfigError, match=r"^qrels: expected none"):
        ragsweep.evaluate([ROW_OF_Q], JUDGED)


def test_a_single_query_has_no_interval():
    result = ragsweep.evaluate({"q": ["a", "b"]}, {"q": {"b": 1}}, k=2, resamples=10)
    assert result.summary["mean"].to_dict() == result.means
    assert result.summary[["ci_low", "ci_high"]].isna().all(axis=None)
    assert "95 %" not in repr(result)


@pytest.mark.parametrize(("k", "said"), [(2, False), (3, True)])
def test_a_cutoff_beyond_the_end_of_every_ranking_is_said(k, said):
    result = ragsweep.evaluate({"q": ["a", "b"], "p": ["a"]}, {"q": {"b": 1}, "p": {"c": 1}}, k=k, resamples=10)
    assert ("at most 2 documents" in repr(result)) == said


@given(run=RUNS, qrels=QRELS)
def test_the_queries_are_in_the_order_of_the_qrels(run, qrels):
    assume(highest(qrels) >= 1)
    moved = dict(reversed(run.items()))
    expected = ragsweep.evaluate(run, qrels, resamples=50)
    assert expected.per_query["query_id"].tolist() == list(qrels)
    pd.testing.assert_frame_equal(ragsweep.evaluate(moved, qrels, resamples=50).summary, expected.summary)


@given(st.dictionaries(DOCUMENTS, st.integers(0, 3), min_size=1).filter(lambda grades: max(grades.values()) > 0))
def test_no_grade_is_too_high_for_exponential_gains(grades):
    ranked, higher = {"q": sorted(grades)}, {name: 3_000 * grade for name, grade in grades.items()}
    found = measured(ranked, {"q": higher}, gain="exponential")["ndcg"]
    best = max(grades.values())
    assert found == pytest.approx(measured(ranked, {"q": [name for name in grades if grades[name] == best]})["ndcg"])
