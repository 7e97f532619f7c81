"""Files of what other systems have returned: what a line stands for, what is refused, what an exported run gives."""

import gzip
import os
import re
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
import pytrec_eval
from application import succeeded
from conversions import METRICS
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from rankings import SPARSE, collection_of, order_of, paged, ranking_of, ranking_task, unpaged

import ragsweep
from ragsweep.core import trec_files
from ragsweep.core.errors import DatasetError, RetrieverError
from ragsweep.core.trec_files import trec_eval_order
from ragsweep.datasets import RecursiveChunker, pdf_dataset
from ragsweep.retrieval import (
    Answers,
    FusedRetriever,
    HybridRetriever,
    Names,
    PipelineRetriever,
    Ranker,
    Result,
    ReturnedRetriever,
    Rewriter,
    RunFileRetriever,
    Search,
    rank,
)
from ragsweep.retrieval.results import lines_of
from ragsweep.testing import SystemContract

NAMES = Names(
    queries=("q1", "q 2"),
    passages=("m#1/0", "m#1/1", "m#2/0", "a@b#1/0"),
    units=("m#1", "m#1", "m#2", "a@b#1"),
    documents=("m", "m", "m", "a@b"),
    without_passage=frozenset({"m#3"}),
)
SEARCH = Search(("one", "two", "three", "four"), ("first", "second"), NAMES)
SPACED = Search(SEARCH.passages, SEARCH.queries, NAMES._replace(units=("m 1", "m 1", "m#2", "a@b#1")))
ESCAPED = Search(SEARCH.passages, ("first",), NAMES._replace(units=("a b", "a%20b", "c", "d"), queries=("q1",)))
LINES = [  # what is searched, the lines of a file, and the passages that each query gets
    (SEARCH, ["q1 Q0 m#2 1 0.9 me", "q1 Q0 m#1/1 2 0.8 me", "q1 Q0 a@b#1/0 3 0.7 me"], [[2, 1, 3], []]),
    (  # the score decides, and equal scores are in the order of trec_eval
        SEARCH,
        ["q1 Q0 m#1/0 1 -2 me", "q1 Q0 a@b#1 2 3e0 me", "q1 Q0 m#2 3 3 me", "q1 Q0 m#1/1 4 3.0000000001 me"],
        [[2, 1, 3, 0], []],
    ),
    # between tabs an id has spaces; lines may end as on Windows, and start with a mark of the byte order
    (SPACED, ["q 2\tQ0\tm#2\t1\t0.9\tmy system", "q 2\tQ0\tm 1\t2\t0.8\tmy system 2"], [[], [2, 0]]),
    (SEARCH, ["\ufeff\r", "q1\tQ0\tm#2\t1\t1e-3\tme\r"], [[2], []]),
    (  # what ragsweep has written is read as it was meant
        SEARCH,
        ["q%202 Q0 m#1 1 3 ragsweep", "q%202 Q0 m#1@m#1/0 2 2 ragsweep", "q1 Q0 nothing-retrieved 1 0.0 ragsweep"],
        [[], [1, 0]],
    ),
    (SEARCH, ["q1 Q0 a@b#1@a@b#1/0 1 2 ragsweep"], [[3], []]),
    (ESCAPED, ["q1 Q0 a%20b 1 1.0 ragsweep"], [[0]]),  # a percent sign is an escape in our own files
    (ESCAPED, ["q1 Q0 a%20b 1 1.0 other"], [[1]]),
]


def written(path, *lines):
    """A retriever of a file with these lines, which may be zipped."""
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return RunFileRetriever(str(path))


def test_a_line_names_a_unit_or_a_passage_also_of_a_zipped_file(tmp_path):
    for (number, (search, lines, expected)), zipped in product(enumerate(LINES), ("", ".gz")):
        assert order_of(rank(written(tmp_path / f"{number}.trec{zipped}", *lines), search, 100)) == expected, lines


SCORES = st.sampled_from([1.0, 1.00000001, 0.5, -3.0])


@given(st.dictionaries(st.text("aZ9é日😀", min_size=1, max_size=3), SCORES, min_size=1))
def test_lines_are_in_the_order_of_trec_eval(scores):
    """trec_eval itself says where each document is: the reciprocal rank, with it as the only relevant one."""
    documents, values = [*scores], np.array([*scores.values()])
    order = trec_eval_order(np.zeros(len(values), dtype=np.int64), values, documents)
    qrels = {document: {document: 1} for document in documents}
    ranks = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(dict.fromkeys(documents, scores))
    expected = sorted(documents, key=lambda document: -ranks[document]["recip_rank"])
    assert [documents[row] for row in order] == expected


MALFORMED = [
    ("q1 Q0 m#1 1 me", "line 1: found 5 columns, expected 'query Q0 document rank score tag'"),
    ("q1\tm#1\t1", "line 1: found 3 columns, expected 'query Q0 document rank score tag'"),
    ("q1 Q0 m#1 1 nan me", "line 1: found the score 'nan', expected a number from -1e+30 to 1e+30"),
    ("q1 Q0 m#1 1 1e31 me", "line 1: found the score '1e31'"),
    ("q1 Q0 x 1 1.0 me", "line 1: found 'x', expected what is judged, such as 'm#1', or a passage, such as 'm#1/0'"),
    ("q1 Q0 m 1 1.0 me", "line 1: found 'm', a document, of which parts are judged; expected what is judged"),
    ("q1 Q0 m#3 1 2 me\nq1 Q0 m#1 2 1 me", "line 1: found 'm#3', which has no text in the dataset; expected documents"),
    ("q1 Q0 m#1/0 1 2 me\nq1 Q0 m#1/0 2 1 me", "line 2: the passage 'm#1/0' is in line 1, too; expected it once"),
    ("q1 Q0 m#2 1 2 me\nq1 Q0 m#2 2 1 me", "line 2: 'm#2' is listed more often for a query than it has passages (1)"),
    ("q9 Q0 m#1 1 1.0 me", "found the queries 'q9', expected some of the dataset's: 'q1', 'q 2'"),
    ("", "found no line, expected some of the dataset's: 'q1', 'q 2'"),
    ("#q1 Q0 m#1 1 1.0 me", "line 1: found '#q1', expected no comments"),
    (b"q1 Q0 m#1 1 1.0 caf\xe9", "cannot be read as a TREC file (not UTF-8 (line 1))"),
    (b"q" * 1_100_000, "cannot be read as a TREC file (larger than 1 MB (line 1))"),
    (b"\x1f\x8b\x00\x00", "cannot be read as a TREC file (not UTF-8 (line 1))"),
]


@pytest.mark.usefixtures("long_work")
def test_a_malformed_run_file_and_what_is_no_file_are_refused_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(trec_files, "LARGEST_TREC_MB", 1)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    no_files = {"nosuch": "does not exist", "folder": "is not a file", "pipe": "is not a file"}
    expected = {name: f"retriever.path: {tmp_path / name} {problem}" for name, problem in no_files.items()}
    for number, (content, problem) in enumerate(MALFORMED):
        (tmp_path / f"{number}.trec").write_bytes(content if isinstance(content, bytes) else content.encode())
        expected[f"{number}.trec"] = problem
    (tmp_path / "large.gz").write_bytes(gzip.compress(b"\n" * 60_000))
    expected["large.gz"] = "cannot be read as a TREC file (larger than 1 MB)"
    for name, problem in expected.items():
        with pytest.raises(DatasetError, match=rf"\A[^\n]*{re.escape(problem)}[^\n]*\Z") as refused:
            RunFileRetriever(str(tmp_path / name)).check(SEARCH)
        assert str(tmp_path / name) in str(refused.value)


WORDS = st.lists(st.sampled_from(["q1", "Q0", "m#1", "m#1/0", "nan", "1", "-2.5", "#", "%20", "me", "\n", "\0", "é"]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=100) | WORDS.map(lambda words: " ".join(words).encode()))
def test_whatever_a_file_contains_it_is_ranked_or_refused_in_one_line(tmp_path, content):
    path = tmp_path / "any.trec"
    path.write_bytes(content)
    message = ""
    try:
        rank(RunFileRetriever(str(path)), SEARCH, 5)
    except DatasetError as error:
        message = str(error)
    assert len(message.splitlines()) <= 1


@dataclass(frozen=True)
class Shouting(Rewriter):
    def rewrite(self, queries):
        return [query.upper() for query in queries]


def test_a_file_can_be_a_stage_of_another_retriever(tmp_path):
    file = written(tmp_path / "run.trec", "q1 Q0 m#2 1 1 me", "q%202 Q0 m#1 1 1 me")
    odd = written(tmp_path / "odd.trec", "q1 Q0 unknown 1 1 me")
    for within in (
        lambda file: FusedRetriever({"file": file, "words": SPARSE}),
        lambda file: HybridRetriever(file, SPARSE, 1.0),
        lambda file: PipelineRetriever(file, Shouting(), None),
    ):
        within(file).check(SEARCH)
        assert rank(within(file), SEARCH, 5).passages[:, 0].tolist() == [2, 0]
        with pytest.raises(DatasetError, match="line 1: found 'unknown'"):
            within(odd).check(SEARCH)


# Metrics


def assert_read_back(folder, task, dataset):
    """A task with the exported file of its run in place of its retriever gives the same metrics to all queries."""
    measured = task.measure(dataset)
    (folder / "ranking.trec").write_text("".join(measured.files["ranking.trec"]))
    again = replace(task, retriever=RunFileRetriever(str(folder / "ranking.trec"))).measure(dataset)
    values, expected = ([score.per_item for score in one.scores] for one in (again, measured))
    np.testing.assert_array_equal(np.array(values), np.array(expected))


class Fixed(Ranker):
    """A ranker that has its candidates for each query."""

    def __init__(self, candidates):
        self.candidates = candidates

    def rank(self, search, depth):
        return ranking_of(*self.candidates)


@st.composite
def measurements(draw):
    """Pages with names that must be escaped, several passages on a page, judgments, and tied scores."""
    names = draw(st.lists(st.text("a @%#/é", min_size=1).filter(str.strip), min_size=2, max_size=4, unique=True))
    documents = [paged(name, "xx", "x") for name in names]
    asked = draw(st.lists(st.text("q @%#é", min_size=1).filter(str.strip), min_size=2, max_size=3, unique=True))
    units = st.sampled_from([page.unit for document in documents for page in document.pages])
    judged = draw(st.dictionaries(st.tuples(st.sampled_from(asked), units), st.integers(-1, 3), min_size=1))
    assume(max(judged.values()) > 0)
    candidates = st.dictionaries(st.integers(0, 3 * len(names) - 1), st.integers(-2, 2) | st.floats(-9, 9))
    collection = collection_of(documents, dict.fromkeys(asked, "q"), judged)
    return collection, draw(st.lists(candidates, min_size=len(asked), max_size=len(asked)))


@pytest.mark.usefixtures("long_work")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(measurements(), st.sampled_from(["after_cutoff", "before_cutoff"]))
def test_an_exported_run_gives_the_metrics_of_the_run_to_the_last_bit(tmp_path, measurement, collapse):
    collection, candidates = measurement
    settings = {"chunker": RecursiveChunker(1, 0), "evaluation": {"collapse": collapse}}
    own = ranking_task(Fixed(candidates), METRICS, 5, collection=collection, **settings)
    dataset = own.load()
    assume(any(candidates[row] for row in dataset.qrels.query))  # a run that finds nothing has failed
    assert_read_back(tmp_path, own, dataset)


@pytest.mark.soak
@pytest.mark.real_data
def test_a_run_of_scifact_read_back_has_its_metrics(scifact, tmp_path):
    assert_read_back(tmp_path, ranking_task(SPARSE, METRICS, 10), scifact)


def test_a_run_says_where_its_file_ends_before_the_cutoff(tmp_path):
    judgments = {("q1", "a#1"): 1, ("q2", "a#1"): 1}
    collection = collection_of([paged(name, "x") for name in "abcd"], {"q1": "q", "q2": "q"}, judgments)
    file = written(tmp_path / "run.trec", "q1 Q0 a#1 1 2 me", "q1 Q0 b#1 2 1 me", "q2 Q0 c#1 1 2 me")
    for k, threshold, ends in ((2, None, 2), (3, None, 2), (3, 1.5, None), (9, None, 2)):
        task = ranking_task(replace(file, score_threshold=threshold), METRICS, k, collection=collection)
        measured = task.measure(task.load())
        is_noticed = any("At most 2 results" in notice for notice in measured.notices)
        assert (measured.facts.get("ends_at"), is_noticed) == (ends, ends is not None and k > ends), (k, threshold)


@pytest.mark.usefixtures("long_work")
@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([1.0, 0.5, -1.0])), min_size=1, unique_by=lambda x: x[0]))
def test_a_file_gives_the_numbers_of_ragsweep_evaluate(tmp_path_factory, lines):
    documents, judgments = [unpaged(f"d{number}", "x") for number in range(4)], {("q1", "d0"): 1, ("q1", "d2"): 3}
    collection = collection_of(documents, {"q1": "q"}, judgments, "document")
    path = tmp_path_factory.getbasetemp() / "ties.trec"
    file = written(path, *(f"q1 Q0 d{document} 0 {score} me" for document, score in lines))
    own = ranking_task(file, METRICS, collection=collection)
    theirs = ragsweep.evaluate(path, {"q1": {"d0": 1, "d2": 3}}, k=3, metrics=METRICS, resamples=1)
    assert own.measure(own.load()).values == pytest.approx(theirs.means, abs=1e-12)


def test_a_document_without_text_is_refused_as_its_rank_cannot_stay_empty(tmp_path):
    documents = [unpaged("empty", ""), unpaged("text", "x")]
    collection = collection_of(documents, {"q1": "q"}, {("q1", "text"): 1}, "document")
    file = written(tmp_path / "run.trec", "q1 Q0 empty 1 2 me", "q1 Q0 text 2 1 me")
    assert ragsweep.evaluate(file.path, {"q1": {"text": 1}}, metrics=["mrr"], resamples=1).means["mrr"] == 0.5
    own = ranking_task(file, METRICS, collection=collection)
    with pytest.raises(DatasetError, match="line 1: found 'empty', which has no text in the dataset"):
        own.measure(own.load())


# Through the command


def test_files_and_a_retriever_are_compared_and_a_resumed_sweep_notices_a_changed_file(application, dataset, tmp_path):
    places = dict(override.partition("=")[::2] for override in dataset)
    small = pdf_dataset("small", places["dataset.documents"], places["dataset.queries"]).load()
    best = [f"{query} Q0 {unit} 1 {1 - row / 100} best" for row, (query, unit, _) in enumerate(small.judgments)]
    worse = [line.replace("fever.pdf#2", "fever.pdf#4") for line in best]
    options = tmp_path / "conf" / "retriever"
    options.mkdir(parents=True)
    for name, lines in (("best", best), ("worse", worse)):
        path = written(tmp_path / f"{name}.trec", *lines).path
        (options / f"{name}.yaml").write_text(f"defaults: [run_file]\npath: {path}\n")
    swept = ["-m", *dataset, "retriever=best,worse,sparse", "k=2", "tracking.resume=true"]
    command = ["--config-dir", str(tmp_path / "conf"), *swept]
    succeeded(application.run(*command))
    [parent] = application.parents()
    assert parent.data.tags["best.configuration"] == "retriever=best"
    by_name = {run.info.run_name: run.data for run in application.children()}
    assert by_name["retriever=best"].metrics["ndcg"] == 1
    assert by_name["retriever=worse"].metrics["ndcg"] == pytest.approx(0.8)
    assert by_name["retriever=best"].params["retriever.name"] == "best.trec"

    written(tmp_path / "best.trec", *worse)
    assert succeeded(application.run(*command)).stdout.count("(finished before)") == 2
    run = application.children()[-1]
    assert run.info.run_name == "retriever=best"
    assert run.data.metrics["ndcg"] == pytest.approx(0.8)
    given = [run.info.run_id, "malaria", *dataset[2:], f"retriever.path={tmp_path}/best.trec"]
    assert "fever.pdf#2" in succeeded(application.script_here("explain", *given)).stdout


RESULTS = ((Result(("a", "b"), "m.pdf", "3", "text\nof é", 0.5), Result(("c",), score=0.25)), ())


def returned(path, *lines):
    path.write_text("".join(line if line.endswith("\n") else f"{line}\n" for line in lines))
    return ReturnedRetriever(str(path))


class TestReturned(SystemContract):
    component = ReturnedRetriever

    @pytest.fixture(autouse=True)
    def file(self, tmp_path):
        answers = Answers([RESULTS[0]] * 2, np.array([1.0, 2.0]))
        returned(tmp_path / "returned.jsonl", *lines_of(self.queries, answers))
        type(self).settings = {"path": str(tmp_path / "returned.jsonl")}


def test_what_is_written_is_read_as_it_was_and_a_query_never_asked_is_no_query_without_results(tmp_path):
    lines = [
        *lines_of(["nothing", "one"], Answers([(), RESULTS[0]], np.array([1.0, 2.0]))),
        *lines_of(["never"], Answers([None], np.empty(0))),
    ]
    read = returned(tmp_path / "x.jsonl", *lines).answers(["never", "one", "nothing"], 9)
    assert [*read.results] == [None, RESULTS[0], ()]
    assert np.isnan(read.latency_ms[0])
    assert read.latency_ms[1:].tolist() == [2.0, 1.0]


MALFORMED_JSON = [
    ("[1]", ""),
    ("{", ""),
    ('{"results": []}', "query"),
    ('{"query": "one", "results": [{"ids": [3]}]}', ""),
    ('{"query": "one", "results": [{"id": "a"}]}', ""),
    ('{"query": "one", "results": [{"ids": ["a"], "score": NaN}]}', ""),
    ('{"query": 3, "results": []}', "query"),
]


def test_a_malformed_line_a_file_that_is_not_there_and_one_that_lacks_a_query_are_named(tmp_path):
    for number, (line, field) in enumerate(MALFORMED_JSON):
        file = returned(tmp_path / f"{number}.jsonl", '{"query": "first", "results": []}', line)
        with pytest.raises(RetrieverError, match=f"{number}.jsonl, line 2: {field}"):
            file.check()
    with pytest.raises(RetrieverError, match=r"retriever\.path: .*nosuch\.jsonl cannot be read"):
        ReturnedRetriever(str(tmp_path / "nosuch.jsonl")).check()
    with pytest.raises(RetrieverError, match='has no line of the query "two"'):
        returned(tmp_path / "x.jsonl", '{"query": "one", "results": []}').answers(["two"], 9)
