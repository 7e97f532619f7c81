"""Tables and facts of a measured ranking, and the lines that explain one."""

from dataclasses import replace

import numpy as np
from rankings import dataset_of, paged

from ragsweep.evaluation import evaluate, judge, recall
from ragsweep.tasks.ranking.ranking_explanation import Line, Place, ranking_text
from ragsweep.tasks.ranking.ranking_tables import facts, on_answerable, queries, retrieved

THIRD = ("q1", "a.pdf#3")


def measured(judgments):
    """A ranking of pages 3 and 1 for each of three queries."""
    asked = {name: f"What of {name}?" for name in ("q1", "q2", "q3")}
    dataset = dataset_of([paged("a.pdf", "iron and tea", "", "fever")], asked, judgments)
    qrels = dataset.qrels
    judged = judge(dataset.passage_units[np.array([[1, 0]] * 3)], qrels.query, qrels.unit, qrels.grade)
    return evaluate(judged, {"recall": recall}, 1, (None,) * len(judged.queries), resamples=100), dataset


def test_queries_that_can_be_answered_are_also_measured_alone():
    some = measured({THIRD: 1, ("q2", "a.pdf#90"): 1, ("q2", "a.pdf#1"): 0})
    assert on_answerable(*some).facts == {"answerable": {"queries": 1, "metrics": {"recall": 1.0}}}
    assert on_answerable(*measured({THIRD: 1})).facts == {"answerable": {}}


def test_retrieved_and_relevant_units_are_listed():
    both = measured({THIRD: 1, ("q1", "a.pdf#1"): 2})
    assert retrieved(*both) == ["a.pdf#3"]
    assert queries(*both)["relevant"].tolist() == ["a.pdf#3; a.pdf#1"]


def test_judgments_of_pages_say_what_they_cannot_show_of_chunks():
    evaluation, dataset = measured({THIRD: 1})
    assert "questions=spans" in facts(evaluation, dataset)["if_swept"]["chunker"]
    assert "if_swept" not in facts(evaluation, replace(dataset, unit="passage"))


def lines_of(unit="7", text="", parts=None, remarks=()):
    """The explanation of a ranking of one passage."""
    return [*ranking_text([Line(unit, "-", 1, 0.5, parts or {}, remarks, text)], (), 5, "page", 80)]


def test_a_passage_has_a_row_its_remarks_and_its_text():
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


def test_a_long_name_is_shortened_and_keeps_its_page():
    parts = dict.fromkeys(("dense", "sparse"), Place(1, 1.0, 1.0))
    row = lines_of("a_manual_with_a_long_name.pdf#128", parts=parts)[1]
    assert "#128  -" in row
    assert len(row) == 80
