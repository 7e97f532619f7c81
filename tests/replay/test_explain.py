"""What `ragsweep explain` says."""

import csv
import re
from functools import cache

import pytest
from application import succeeded
from small import QUERIES, arguments, write_queries

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Query
from ragsweep.tasks.ranking.ranking_explanation import find

FEVER, WORMS, WOMAN, EMPTY, UNJUDGED, HOSTILE = "1", "5", "4", "6", "7", "8"
MORE = [
    ("What stands on the page between malaria and dengue?", ["fever.pdf#3", "fever.pdf#2"], "factual"),
    ("Who wrote this?", [], "factual"),
    ("\x1b]0;owned\x07 What is given for a fever?", ["fever.pdf#1"], "cost $\\frac{"),
]
ROW = re.compile(r"^ {0,5}(\d+|-) +(\d+\.\d{4})? +(\S+) +(relevant|repeat|missed|-)(?: +(.*))?$", re.MULTILINE)
CUTOFF = "--- cutoff k="


@pytest.fixture(scope="module")
def sweep(shared_application, tmp_path_factory):
    """A sparse and a hybrid run, on passages so short that a page has several; and the folder of their dataset."""
    folder = tmp_path_factory.mktemp("explained") / "data"
    dataset = arguments(folder)
    write_queries(folder / "questions.json", [*QUERIES, *MORE])
    swept = ["retriever=sparse,hybrid", "encoder=wordllama", "chunker.size=45", "chunker.overlap=0", "k=3"]
    succeeded(shared_application.script_here("run", "-m", *dataset, *swept))
    return folder


@pytest.fixture(scope="module")
def runs(sweep, shared_application):
    """The finished runs, by their retriever."""
    return {run.data.params["retriever"]: run for run in shared_application.children()}


@pytest.fixture(scope="module")
def explain(sweep, shared_application):
    """Run the command on the shared store, where the dataset lies in a folder that the user names."""

    def run(run_id, query, *given, **environment):
        places = [f"dataset.documents={sweep / 'pdfs'}"]
        if not any(argument.startswith("dataset.queries=") for argument in given):
            places.append(f"dataset.queries={sweep / 'questions.json'}")
        return shared_application.script_here(
            "explain", run_id, query, *given, *places, **{"COLUMNS": "100", **environment}
        )

    return run


@pytest.fixture(scope="module")
def explained(runs, explain):
    """What the script says of a query in a run."""

    @cache
    def of(retriever, query, *given, **environment):
        process = explain(runs[retriever].info.run_id, query, *given, **environment)
        assert process.returncode == 0, process.stderr
        return process.stdout

    return of


def rows(text):
    """The rows of the ranking, without what stands beneath them: (rank, score, unit, judgment, parts)."""
    return ROW.findall(text)


ASKED = [("SparseRetriever", WOMAN), *(("HybridRetriever", query) for query in (FEVER, WOMAN, EMPTY))]


def test_the_ranking_is_that_of_the_trec_file(runs, explained, shared_application):
    for retriever, query in ASKED:
        file = shared_application.artifacts(runs[retriever]) / "results/ranking.trec"
        columns = [line.split() for line in file.read_text().splitlines()]
        recorded = [
            (unit.partition("@")[0], rank, float(score)) for id_, _, unit, rank, score, _ in columns if id_ == query
        ]
        top, _, missed = explained(retriever, query).partition(CUTOFF)
        assert [(unit, rank) for rank, _, unit, *_ in rows(top)] == [line[:2] for line in recorded[:3]]
        scores = [float(score) for _, score, *_ in rows(top)]
        assert scores == pytest.approx([line[2] for line in recorded[:3]], abs=1e-4)
        for rank, score, unit, judgment, _ in rows(missed):
            first = next((line for line in recorded if line[0] == unit), None)
            assert (judgment, rank) == (("relevant", first[1]) if first else ("missed", "-"))
            assert not first or float(score) == pytest.approx(first[2], abs=1e-4)


def test_the_metrics_are_the_recorded_ones_and_another_cutoff_is_told_from_theirs(explained, runs, shared_application):
    names, values = (line.split() for line in explained("HybridRetriever", WOMAN).splitlines()[4:6])
    assert values[:2] == ["recorded,", "k=3"]
    table = shared_application.artifacts(runs["HybridRetriever"]) / "results/per_query.csv"
    header, *lines = csv.reader(table.read_text().splitlines())
    [recorded] = (dict(zip(header, line, strict=True)) for line in lines if line[0] == WOMAN)
    assert dict(zip(names, values[2:], strict=True)) == {name: f"{float(recorded[name]):.4f}" for name in names}
    text = explained("HybridRetriever", WOMAN, "k=1")
    assert text.count("recorded, k=3") == text.count("here, k=1 ") == text.count(f"{CUTOFF}1 ") == 1
    assert len(rows(text.partition(CUTOFF)[0])) == 1


def test_the_scores_are_the_sums_of_their_parts(explained):
    text = explained("HybridRetriever", WOMAN)
    assert "score: 0.7 * norm of dense + 0.3 * norm of sparse" in text
    fused = [row for row in rows(text) if row[0] != "-"]
    for _, score, _, _, parts in fused:
        dense, sparse = re.findall(r"(?:#\d+ +\S+|-) +(\S+)", parts)
        assert 0.7 * float(dense) + 0.3 * float(sparse) == pytest.approx(float(score), abs=1e-4)
    assert any("#" in row[4] for row in fused)
    text = explained("SparseRetriever", WORMS)
    shared = re.findall(r"^ +words: (.+)$", text, re.MULTILINE)
    sums = [sum(float(part.split()[1]) for part in words.split(", ")) for words in shared]
    scores = [float(score) for _, score, *_ in rows(text)]
    assert sums == pytest.approx(scores, abs=0.3)  # each word is shown with one decimal
    assert shared[0].startswith("worms ")


def test_a_repeat_is_told_from_the_page_that_had_the_credit(explained):
    units = [(unit, judgment) for _, _, unit, judgment, _ in rows(explained("HybridRetriever", FEVER))]
    assert ("fever.pdf#1", "relevant") in units
    assert ("fever.pdf#1", "repeat") in units[units.index(("fever.pdf#1", "relevant")) :]
    assert all(judgment == "-" for unit, judgment in units if unit != "fever.pdf#1")
    top = rows(explained("HybridRetriever", FEVER, "evaluation.collapse=before_cutoff").partition(CUTOFF)[0])
    assert [rank for rank, *_ in top] == ["1", "2", "3"]
    assert len({unit for _, _, unit, *_ in top}) == 3


def test_why_a_page_was_missed_is_said(explained):
    missed = explained("HybridRetriever", EMPTY).partition(CUTOFF)[2]
    assert re.search(r"- +fever.pdf#3 +missed .*\n +has no passage: it can never be found", missed)
    missed = explained("SparseRetriever", WOMAN).partition(CUTOFF)[2]
    assert re.search(
        r"- +anaemia.pdf#2 +missed\n +not in the ranking, which ends at rank \d+\n +no word of the query adds", missed
    )


def test_the_text_fits_the_terminal_and_gives_it_no_commands(explained):
    for width in (80, 160):
        text = explained("HybridRetriever", WOMAN, COLUMNS=str(width))
        assert max(map(len, text.splitlines())) <= width
    text = explained("SparseRetriever", HOSTILE)
    assert text.startswith("query 8 (cost $\\frac{): ]0;owned What is given for a fever?")
    assert text.replace("\n", "").isprintable()


def test_a_query_that_does_not_exist_or_was_left_out_and_a_sweep_are_refused(runs, explain, shared_application):
    def refused(run, query):
        """The one line that says why."""
        process = explain(run.info.run_id, query)
        assert (process.returncode, process.stdout) == (2, "")
        line = process.stderr.splitlines()[-1]
        assert line.startswith("explain: ")
        assert "Traceback" not in process.stderr
        return line

    sparse = runs["SparseRetriever"]
    assert "no query has this id or this text; the nearest ids: 2" in refused(sparse, "Which test finds dengue")
    assert "has no judgments" in refused(sparse, UNJUDGED)
    [parent] = shared_application.parents()
    line = refused(parent, FEVER)
    best = max(runs.values(), key=lambda run: run.data.metrics["f1"])
    assert "this is a sweep" in line
    assert line.endswith(f"{best.info.run_name}: {best.info.run_id}")


NAMED = [Query("a", "Why iron?"), Query("b", "Why iron? And why tea?"), Query("tea", "What is it?")]


def test_an_id_goes_before_a_text_and_a_whole_text_before_a_part_of_one():
    positions = {"b": 1, "tea": 2, "why IRON?": 0, "and  why": 1, "what": 2}
    assert {given: find(given, NAMED) for given in positions} == positions
    with pytest.raises(DatasetError, match=r"'iron': 2 queries have this in their text: a 'Why iron\?'; b 'Why iron"):
        find("iron", NAMED)
