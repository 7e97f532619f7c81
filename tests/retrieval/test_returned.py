"""What a system has returned, as a file."""

import numpy as np
import pytest

from ragsweep.core.errors import RetrieverError
from ragsweep.retrieval import Answers, Result, ReturnedRetriever
from ragsweep.retrieval.results import lines_of
from ragsweep.testing import SystemContract

RESULTS = ((Result(("a", "b"), "m.pdf", "3", "text\nof é", 0.5), Result(("c",), score=0.25)), ())


def written(path, *lines):
    path.write_text("".join(line if line.endswith("\n") else f"{line}\n" for line in lines))
    return ReturnedRetriever(str(path))


class TestReturned(SystemContract):
    component = ReturnedRetriever

    @pytest.fixture(autouse=True)
    def file(self, tmp_path):
        answers = Answers([RESULTS[0]] * 2, np.array([1.0, 2.0]))
        written(tmp_path / "returned.jsonl", *lines_of(self.queries, answers))
        type(self).settings = {"path": str(tmp_path / "returned.jsonl")}


def test_what_is_written_is_read_as_it_was(tmp_path):
    answers = Answers(RESULTS, np.array([1.5, 2.5]))
    read = written(tmp_path / "x.jsonl", *lines_of(["one", "two"], answers)).answers(["two", "one"], 9)
    assert [*read.results] == [RESULTS[1], RESULTS[0]]
    assert read.latency_ms.tolist() == [2.5, 1.5]


def test_a_query_that_was_never_asked_is_no_query_without_results(tmp_path):
    lines = [
        *lines_of(["nothing", "one"], Answers([(), RESULTS[0]], np.array([1.0, 2.0]))),
        *lines_of(["never"], Answers([None], np.empty(0))),
    ]
    read = written(tmp_path / "x.jsonl", *lines).answers(["never", "one", "nothing"], 9)
    assert [*read.results] == [None, RESULTS[0], ()]
    assert np.isnan(read.latency_ms[0])
    assert read.latency_ms[1:].tolist() == [2.0, 1.0]


MALFORMED = [
    ("[1]", ""),
    ("{", ""),
    ('{"results": []}', "query"),
    ('{"query": "one", "results": [{"ids": [3]}]}', ""),
    ('{"query": "one", "results": [{"id": "a"}]}', ""),
    ('{"query": "one", "results": [{"ids": ["a"], "score": NaN}]}', ""),
    ('{"query": 3, "results": []}', "query"),
]


def test_a_line_that_is_malformed_is_named(tmp_path):
    for number, (line, field) in enumerate(MALFORMED):
        file = written(tmp_path / f"{number}.jsonl", '{"query": "first", "results": []}', line)
        with pytest.raises(RetrieverError, match=f"{number}.jsonl, line 2: {field}"):
            file.check()


def test_a_file_that_is_not_there_or_lacks_a_query_is_named(tmp_path):
    with pytest.raises(RetrieverError, match=r"retriever\.path: .*nosuch\.jsonl cannot be read"):
        ReturnedRetriever(str(tmp_path / "nosuch.jsonl")).check()
    with pytest.raises(RetrieverError, match='has no line of the query "two"'):
        written(tmp_path / "x.jsonl", '{"query": "one", "results": []}').answers(["two"], 9)
