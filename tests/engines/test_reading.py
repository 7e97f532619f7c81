"""Reading what retrievers of any framework return."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.retrieval.results import Result
from ragsweep_engines.reading import LISTS, NAMES, PLACES, Fields, results_of

USUAL = Fields()


def read(answer, fields=USUAL):
    return [*results_of(answer, fields).results]


def test_every_documented_name_is_read_in_every_place():
    """Of each field the first name counts, and what lies outermost."""
    for place in PLACES:
        for field, names in NAMES.items():
            for number, name in enumerate(names):
                inner = dict.fromkeys(names[number:], "7") | ({} if field == "id" else {"id": "x"})
                hit = inner
                for part in reversed([part for part in place.split(".") if part]):
                    hit = {part: hit}
                [result] = read({LISTS[number % len(LISTS)]: [hit]})
                value = {"id": result.ids[0], "score": f"{result.score:.0f}" if result.score else ""}
                assert value.get(field, result._asdict()[field if field != "id" else "ids"]) == "7", (place, name)


def test_what_was_read_is_told():
    answer = [{"_id": "a", "metadata": {"source": "b"}}, {"id": "c", "score": 1}]
    assert results_of(answer, USUAL).fields == {"id": ["_id", "id"], "source": ["metadata.source"], "score": ["score"]}


@dataclass
class HaystackLike:
    id: str
    content: str
    meta: dict
    score: float


@dataclass(slots=True)
class Slotted:
    source: str
    page: int
    text: str


def langchain_like(text, **metadata):
    return SimpleNamespace(page_content=text, metadata=metadata, id=None, type="Document")


def llama_like(text, score, **metadata):
    node = SimpleNamespace(id_="n1", text=text, metadata=metadata, embedding=[0.1] * 384)
    return SimpleNamespace(node=node, score=score)


def test_the_answer_of_a_hosted_service_is_refused_by_its_fields_and_read_by_settings():
    hits = [{"content": {"text": "t"}, "location": {"s3Location": {"uri": "s3://b/docs/a.pdf"}}, "score": 0.5}]
    with pytest.raises(RetrieverError, match=r"without a list of results \('retrievalResults'\)"):
        results_of({"retrievalResults": hits}, USUAL)
    with pytest.raises(RetrieverError, match=r"'content\.text', 'location\.s3Location\.uri'"):
        read(hits)
    fields = Fields(source="location.s3Location.uri", text="content.text")
    assert read(hits, fields) == [Result((), "s3://b/docs/a.pdf", "", "t", 0.5)]


A, B, C = (Result((name,), text=name) for name in "abc")
NAN = float("nan")
SHAPES = [
    (["a", "b"], [A, B]),
    ([("a", 0.5), ("b", 0.25)], [A._replace(score=0.5), B._replace(score=0.25)]),
    ([(0.5, "a")], [A._replace(score=0.5)]),
    ({"a": 0.2, "b": 0.9}, [B._replace(score=0.9), A._replace(score=0.2)]),
    ({"a": NAN, "b": 0.5, "c": np.float32("nan")}, [B._replace(score=0.5), A, C]),
    ([{"_id": "a", "_source": {"text": "t"}, "_score": 3.5}], [Result(("a",), text="t", score=3.5)]),
    ({"answer": "42", "documents": [langchain_like("t", source="a.pdf", page=3)]}, [Result((), "a.pdf", "3", "t")]),
    ([langchain_like("t", source="a.pdf", page=0)], [Result((), "a.pdf", "0", "t")]),
    ([llama_like("t", 0.5, file_name="a.pdf", page_label="iv")], [Result(("n1",), "a.pdf", "iv", "t", 0.5)]),
    (SimpleNamespace(source_nodes=[llama_like("t", 0.5)]), [Result(("n1",), text="t", score=0.5)]),
    (
        {"documents": [HaystackLike("h", "t", {"file_path": "/x/a.pdf", "page_number": 2}, 0.5)]},
        [Result(("h",), "/x/a.pdf", "2", "t", 0.5)],
    ),
    (
        {"ids": [["a", "b"]], "documents": [["x", "y"]], "metadatas": [[{"page": 1}, {"page": 2}]], "embeddings": None},
        [Result(("a",), "", "1", "x"), Result(("b",), "", "2", "y")],
    ),
    (
        pd.DataFrame({"docno": ["b", "a"], "score": [1.0, 2.0], "rank": [1, 0]}),
        [Result(("a",), score=2), Result(("b",), score=1)],
    ),
    (
        pd.DataFrame({"docno": ["c", "b", "a"], "rank": ["10", "2", "1"]}),
        [Result(("a",)), Result(("b",)), Result(("c",))],
    ),
    (pd.DataFrame([{"docno": "a", "text": "x"}, {"docno": "b"}]), [Result(("a",), text="x"), Result(("b",))]),
    (
        {"points": [{"id": 7, "score": 0.5, "payload": {"page_content": "t", "metadata": {"source": "a.pdf"}}}]},
        [Result(("7",), "a.pdf", "", "t", 0.5)],
    ),
    (
        [{"_id": "d", "_source": {"text": "t", "metadata": {"source": "a.pdf", "page": 0}}}],
        [Result(("d",), "a.pdf", "0", "t")],
    ),
    ([{"id": "a", "page": [3, 4]}], [Result(("a",))]),
    ([Slotted("a.pdf", 3, "t")], [Result((), "a.pdf", "3", "t")]),
    ([], []),
    ({"documents": []}, []),
]
REFUSED = [
    (None, "returned NoneType, expected a list of results"),
    ({"a#1", "a#2"}, "returned set, expected a list of results, the best first"),
    ({"answer": "42"}, r"without a list of results \('answer'\)"),
    ([{}], "a result of type dict"),
    (
        [{"wert": {"inhalt": "t"}, "score": 1}],
        r"no result has a field of a usual name \(there is 'wert\.inhalt', 'score'\)",
    ),
]


def test_results_are_read_whatever_their_shape():
    assert [(answer, read(answer)) for answer, expected in SHAPES if read(answer) != expected] == []


def test_what_is_no_list_of_results_is_named():
    for answer, message in REFUSED:
        with pytest.raises(RetrieverError, match=message):
            read(answer)


def test_a_field_that_is_set_is_the_one_that_is_read():
    hits = [{"name": "d1", "where": {"file": "a.pdf", "sheet": 3}, "says": "t", "rank": {"cosine": 0.5}}]
    fields = Fields("name", "where.file", "where.sheet", "says", "rank.cosine")
    assert read(hits, fields) == [Result(("d1",), "a.pdf", "3", "t", 0.5)]


def test_a_path_that_is_none_or_fails_on_a_result_is_one_line():
    with pytest.raises(ConfigError, match=r"retriever\.page: found 'a\[', expected a JMESPath"):
        Fields(page="a[").check()
    fields = Fields(source="join('#', [metadata.source, metadata.page])")
    with pytest.raises(RetrieverError, match=r"retriever\.source: .*fails on a result"):
        results_of([{"metadata": {"source": "a.pdf", "page": 3}}], fields)
