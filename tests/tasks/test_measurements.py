"""What is kept and shown of a measurement: charts, tables, an explanation, repeats together, and the facts of a run."""

import copy
import json
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from outcomes import FACTS as F1_FACTS
from outcomes import facts_of
from rankings import dataset_of, paged
from scipy import stats

from ragsweep.core.parsing import MalformedError
from ragsweep.evaluation import evaluate, judge, recall
from ragsweep.statistics import Groups
from ragsweep.tasks.charts import by_query_type
from ragsweep.tasks.evaluation_record import Facts, read_facts
from ragsweep.tasks.metric import Guessing, Metric
from ragsweep.tasks.ranking.ranking_charts import draw
from ragsweep.tasks.ranking.ranking_evaluation import Evaluation
from ragsweep.tasks.ranking.ranking_explanation import Line, Place, ranking_text
from ragsweep.tasks.ranking.ranking_tables import facts, on_answerable, queries, retrieved
from ragsweep.tasks.repeating import joined
from ragsweep.tasks.scores import Score, mean_scores
from ragsweep.tasks.task import Measurement

SHARE, COST, GAIN = Metric("ndcg", "NDCG", low=0, high=1), Metric("cost", "Cost", "ms"), Metric("gain", "Gain")
THIRD = ("q1", "a.pdf#3")


def items_of(types):
    return pd.DataFrame({"query_id": [*map(str, range(len(types)))], "query": "", "query_type": types})


def drawn_by_type(metric, values, types):
    """The chart of values by query type."""
    [score] = mean_scores([metric], np.array([values], dtype=float), resamples=200, seed=0)
    drawing = by_query_type(Measurement(items=items_of(types), scores=[score]), score, 200, 0)
    drawing.canvas.draw()
    return drawing


@pytest.mark.usefixtures("drawing")
def test_every_bar_number_and_name_of_a_query_type_is_within_its_chart_and_apart():
    for metric, values in ((SHARE, (0.2, 1.0)), (COST, (400.0, 900.0)), (GAIN, (-40.0, -2.0))):
        [axes] = drawn_by_type(metric, values * 10, ["low", "high"] * 10).axes
        low, high = axes.get_ylim()
        assert low <= min(0, *values)
        assert high >= max(0, *values)
        places = [axes.transAxes.inverted().transform(text.get_window_extent())[:, 1] for text in axes.texts]
        assert len(places) == 2
        assert all(0 <= below < above <= 1.1 for below, above in places)
    for types, are_rotated in (
        (["low", "high"], False),
        ([*"abcdefgh"], True),
        ([f"handbuch-{letter}.de.pdf" for letter in "abcdefghi"], True),
    ):
        drawing = drawn_by_type(SHARE, [1] * len(types), types)
        labels = drawing.axes[0].get_xticklabels()
        assert ["1 query" in label.get_text() for label in labels] == [True] * len(types)
        places = [label.get_window_extent() for label in labels]
        assert all(min(place.x0, place.y0) >= 0 and place.x1 <= drawing.bbox.x1 for place in places)
        assert (labels[0].get_rotation() != 0) == are_rotated
        assert are_rotated or all(one.x1 < other.x0 for one, other in pairwise(places))


@pytest.mark.usefixtures("drawing")
def test_no_curve_goes_on_where_a_ranking_ends_and_more_might_be_found():
    values, metrics = np.random.default_rng(0).random((2, 20, 30)), (Metric("recall", "Recall"), SHARE)
    groups = Groups.none(30)
    evaluation = Evaluation(5, metrics, values, (None,) * 30, judged=None, groups=groups, resamples=200, seed=0)
    [(_, drawing)] = draw(evaluation, 7)
    curves = [line.get_xdata() for line in drawing.axes[0].lines[:-1]]
    assert [curve.tolist() for curve in curves] == [[*range(1, 8)]] * 2
    assert "at most 7 results" in " ".join(text.get_text() for text in drawing.texts)


def measured(judgments):
    """A ranking of pages 3 and 1 for each of three queries."""
    asked = {name: f"What of {name}?" for name in ("q1", "q2", "q3")}
    dataset = dataset_of([paged("a.pdf", "iron and tea", "", "fever")], asked, judgments)
    qrels = dataset.qrels
    judged = judge(dataset.passage_units[np.array([[1, 0]] * 3)], qrels.query, qrels.unit, qrels.grade)
    return evaluate(judged, {"recall": recall}, 1, (None,) * len(judged.queries), resamples=100), dataset


def test_tables_and_facts_have_the_units_the_answerable_queries_and_what_pages_cannot_show():
    some = measured({THIRD: 1, ("q2", "a.pdf#90"): 1, ("q2", "a.pdf#1"): 0})
    assert on_answerable(*some).facts == {"answerable": {"queries": 1, "metrics": {"recall": 1.0}}}
    evaluation, dataset = measured({THIRD: 1, ("q1", "a.pdf#1"): 2})
    assert on_answerable(evaluation, dataset).facts == {"answerable": {}}
    assert retrieved(evaluation, dataset) == ["a.pdf#3"]
    assert queries(evaluation, dataset)["relevant"].tolist() == ["a.pdf#3; a.pdf#1"]
    assert "questions=spans" in facts(evaluation, dataset)["if_swept"]["chunker"]
    assert "if_swept" not in facts(evaluation, replace(dataset, unit="passage"))


def lines_of(unit="7", text="", parts=None, remarks=()):
    """The explanation of a ranking of one passage."""
    return [*ranking_text([Line(unit, "-", 1, 0.5, parts or {}, remarks, text)], (), 5, "page", 80)]


def test_a_passage_has_a_row_its_remarks_and_its_text_and_a_long_name_keeps_its_page():
    parts = {"dense": Place(3, 0.25, 0.5), "sparse": None}
    assert lines_of(parts=parts, remarks=["words: iron 1.0"], text="Iron\n and   tea") == [
        "rank   score  page  judged  dense   score    norm  sparse  score  norm",
        "   1  0.5000  7     -          #3  0.2500  0.5000       -            0",
        "      words: iron 1.0",
        "      Iron and tea",
        "--- cutoff k=5 " + 65 * "-",
        "no relevant page was missed",
    ]
    assert "      red[31m ink" in lines_of(text="red\x1b[31m ink\x07")  # without control characters
    parts = dict.fromkeys(("dense", "sparse"), Place(1, 1.0, 1.0))
    row = lines_of("a_manual_with_a_long_name.pdf#128", parts=parts)[1]
    assert ("#128  -" in row, len(row)) == (True, 80)


def test_the_p_value_of_guessing_in_repeats_is_that_of_a_t_test_however_small():
    """With as many right answers in each repeat, there is no variance between repeats."""
    metric, guessing = Metric("accuracy", "Accuracy", low=0, high=1), Guessing(0.25, 0.5, 0.5)
    for right in (10, 40, 55, 100, 190):
        random = np.random.default_rng(0)
        answers = random.permuted(np.tile(np.arange(200.0) < right, (3, 1)).astype(float), axis=1)
        scores = [Score(metric, row.mean(), 0, 1, row, guessing=guessing) for row in answers]
        repeats = [Measurement(items_of([None] * 200), [score]) for score in scores]
        measurement = joined(repeats, "accuracy", resamples=20, seed=0)
        p = stats.ttest_1samp(answers.mean(axis=0), 0.25).pvalue
        assert measurement.scores[0].guessing.p == pytest.approx(p, rel=1e-6), right
        [sentence] = [line for line in measurement.summary if "p of guessing" in line]
        assert sentence.endswith("repeats: < 0.001." if p < 0.001 else f"repeats: {p:.2g}.")


FACTS = F1_FACTS | {
    "metrics": {"f1": F1_FACTS["metrics"]["f1"] | {"guessing": {"value": 0.25, "p": 0.5, "p_worse": 0.4}}}
}
F1 = F1_FACTS["metrics"]["f1"]
PLAIN = st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text()
JSON = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


def places(value, path=()):
    """The path of every value in the facts."""
    yield path
    for key in value if isinstance(value, dict) else ():
        yield from places(value[key], (*path, key))


@example(("metrics", "f1", "low"), 10**400)
@example(("at_k_ci",), {"no curve": {}})
@given(st.sampled_from(list(places(FACTS))), JSON)
def test_any_json_is_read_or_refused(place, value):
    facts = copy.deepcopy(FACTS) if place else value
    node = facts
    for key in place[:-1]:
        node = node[key]
    if place:
        node[place[-1]] = value
    with suppress(MalformedError):
        read = facts_of(facts)
        assert isinstance(read, Facts)
        assert all(isinstance(number, float) for curve in read.at_k.values() for number in curve)
        assert all(isinstance(name, str) for name in (read.dataset.digest, read.decided_by, *read.findings))
        assert all(isinstance(sentence, str) for sentences in read.sections.values() for sentence in sentences)
        assert all(
            [len(bound) for bound in bounds] == 2 * [len(read.at_k[name])] for name, bounds in read.at_k_ci.items()
        )


@pytest.mark.usefixtures("long_work")
def test_what_is_written_is_read_and_anything_else_is_refused_by_its_file_and_field(tmp_path):
    path, other_name = tmp_path / "evaluation.json", json.dumps(FACTS | {"metrics": {"f2": F1}})
    path.write_text(json.dumps(FACTS))
    assert read_facts(path) == facts_of(FACTS)
    for text in ('{"broken', "[" * 100_000, "9" * 5000, '{"a": NaN}', "null", other_name):
        path.write_text(text)
        with pytest.raises(MalformedError, match=r"^evaluation\.json: "):
            read_facts(path)
    for changes, message in UNREADABLE:
        with pytest.raises(MalformedError) as refused:
            facts_of(FACTS | changes)
        assert str(refused.value).startswith(message)
    with pytest.raises(MalformedError, match=r"100,000 of its fields"):  # at once
        facts_of(FACTS | {"sections": dict.fromkeys(map(str, range(100_000)))})


LARGE, GUESSED = 10**400, {"value": 1, "p": 2, "p_worse": 0}
UNREADABLE = [  # what is changed, and how the refusal begins
    ({"schema": 2**63}, "schema: found 9223372036854775808, expected another one; install the newest ragsweep"),
    ({"schema": LARGE}, f"schema: found {LARGE}"[:40]),
    ({"schema": 2, "dataset": None, "metrics": []}, "schema: found 2, expected 1; install the newest ragsweep"),
    ({"dataset": {"name": "a"}}, "dataset.digest: "),
    ({"at_k": {"recall": [0.5, "1"]}, "at_k_ci": {}}, "at_k.recall.1: "),
    ({"at_k": {"re\ncall": [LARGE]}, "at_k_ci": {}}, "at_k.re call.0: "),
    ({"at_k_ci": {"recall": {"low": [0.1], "high": [0.2]}}}, "at_k_ci.recall: "),
    ({"measures": {"f1": {"name": "f1", "title": "F1", "value": 1}}}, "measures.f1: another column"),
    ({"method": {"stands_for": {"alpha": LARGE}}}, "method.stands_for: "),
    ({"metrics": {"f1": F1 | {"guessing": GUESSED}}}, "metrics.f1: guessing: "),
    ({"metrics": {"f1": F1 | {"aggregate": True, "mean": 1}}}, "metrics.f1: an aggregate needs"),
]
