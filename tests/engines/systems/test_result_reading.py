"""Reading what retrievers of any framework return."""

from dataclasses import dataclass
from enum import Enum
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.retrieval.results import Result
from ragsweep_engines.systems.asking import from_plain, plain
from ragsweep_engines.systems.reading import Fields, Reader, results_of

USUAL = Fields()


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


class OneSlot:
    __slots__ = "text"  # noqa: PLC0205 - which Python takes for the only name

    def __init__(self, text: str) -> None:
        self.text = text


class Named(NamedTuple):
    page: int
    source: str


class Scored(NamedTuple):
    passage: Slotted
    how_near: float


def langchain_like(text, **metadata):
    return SimpleNamespace(page_content=text, metadata=metadata, id=None, type="Document")


def llama_like(text, score, **metadata):
    node = SimpleNamespace(id_="n1", text=text, metadata=metadata, embedding=[0.1] * 384)
    return SimpleNamespace(node=node, score=score)


def test_the_answer_of_a_hosted_service_is_refused_by_its_fields_and_read_by_settings():
    found = [{"content": {"text": "t"}, "location": {"s3Location": {"uri": "s3://b/docs/a.pdf"}}, "score": 0.5}]
    with pytest.raises(RetrieverError, match=r"without a list of results \('retrievalResults'\)"):
        results_of({"retrievalResults": found}, USUAL)
    with pytest.raises(RetrieverError, match=r"'content\.text', 'location\.s3Location\.uri'"):
        results_of(found, USUAL)
    fields = Fields(source="location.s3Location.uri", text="content.text")
    assert results_of(found, fields) == [Result((), "s3://b/docs/a.pdf", "", "t", 0.5)]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (["a#1", "a#2"], [Result(("a#1",), text="a#1"), Result(("a#2",), text="a#2")]),
        (
            [("a#1", 0.5), ("a#2", 0.25)],
            [Result(("a#1",), text="a#1", score=0.5), Result(("a#2",), "", "", "a#2", 0.25)],
        ),
        ([(0.5, "a#1")], [Result(("a#1",), text="a#1", score=0.5)]),
        ([("a#1", None), (None, "a#2")], [Result(("a#1",), text="a#1"), Result(("a#2",), text="a#2")]),
        ([7, np.int64(8)], [Result(("7",)), Result(("8",))]),
        ([(7, 0.5)], [Result(("7",), score=0.5)]),
        ({"d1": 0.2, "d2": 0.9}, [Result(("d2",), text="d2", score=0.9), Result(("d1",), text="d1", score=0.2)]),
        (
            {"d1": float("nan"), "d2": 0.5, "d3": np.float32("nan")},
            [
                Result(("d2",), text="d2", score=0.5),
                Result(("d1",), text="d1"),
                Result(("d3",), text="d3"),
            ],
        ),
        ([{"id": "d1", "score": 3}], [Result(("d1",), score=3)]),
        ([{"_id": "d1", "_source": {"text": "t"}, "_score": 3.5}], [Result(("d1",), text="t", score=3.5)]),
        ({"results": [{"docno": "d1"}]}, [Result(("d1",))]),
        (SimpleNamespace(objects=[SimpleNamespace(properties={"text": "t"}, uuid=7)]), [Result(text="t")]),
        (
            {"answer": "42", "source_documents": [langchain_like("t", source="a.pdf", page=3)]},
            [Result((), "a.pdf", "3", "t")],
        ),
        ([langchain_like("t", source="a.pdf", page=0)], [Result((), "a.pdf", "0", "t")]),
        ([(langchain_like("t", page=4.0), 0.5)], [Result((), "", "4", "t", 0.5)]),
        ([llama_like("t", 0.5, file_name="a.pdf", page_label="iv")], [Result(("n1",), "a.pdf", "iv", "t", 0.5)]),
        (SimpleNamespace(source_nodes=[llama_like("t", 0.5)]), [Result(("n1",), text="t", score=0.5)]),
        (
            {"documents": [HaystackLike("h", "t", {"file_path": "/x/a.pdf", "page_number": 2}, 0.5)]},
            [Result(("h",), "/x/a.pdf", "2", "t", 0.5)],
        ),
        ({"bm25": {"documents": [HaystackLike("h", "t", {}, 0.5)]}}, [Result(("h",), text="t", score=0.5)]),
        (
            {
                "ids": [["a", "b"]],
                "documents": [["x", "y"]],
                "metadatas": [[{"page": 1}, {"page": 2}]],
                "embeddings": None,
            },
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
        (
            pd.Series([0.2, 0.9, 0.2], index=["d1", "d2", "d1"]),
            [Result((name,), text=name, score=score) for name, score in (("d2", 0.9), ("d1", 0.2), ("d1", 0.2))],
        ),
        (pd.Series([0.5, 2.5]), [Result(("1",), score=2.5), Result(("0",), score=0.5)]),
        (pd.Series([3, 5], index=[8, 7]), [Result(("7",), score=5), Result(("8",), score=3)]),
        (pd.Series(["d2", "d1"]), [Result(("d2",), text="d2"), Result(("d1",), text="d1")]),
        (pd.Series([8, 7]), [Result(("8",)), Result(("7",))]),
        (
            pd.DataFrame([{"docno": "a", "text": "x"}, {"docno": "b"}]),
            [Result(("a",), text="x"), Result(("b",))],
        ),
        ([{"id": "a", "score": float("nan")}, {"id": "b", "score": "x"}], [Result(("a",)), Result(("b",))]),
        (
            ["half\ud800", {"id": "\udc00", "text": "\ud83d\ude00", "metadata": {"source": "\ud800.pdf"}}],
            [Result(("half\ufffd",), text="half\ufffd"), Result(("\ufffd",), "\ufffd.pdf", "", "\U0001f600")],
        ),
        (
            {"result": [{"id": 7, "score": 0.5, "payload": {"page_content": "t", "metadata": {"source": "a.pdf"}}}]},
            [Result(("7",), "a.pdf", "", "t", 0.5)],
        ),
        (
            [{"_id": "d", "_source": {"text": "t", "metadata": {"source": "a.pdf", "page": 0}}}],
            [Result(("d",), "a.pdf", "0", "t")],
        ),
        (
            [{"_id": "d", "fields": {"text": ["t"], "source": ["a.pdf"], "page": [3]}}],
            [Result(("d",), "a.pdf", "3", "t")],
        ),
        ({"hits": [{"document": {"id": "d", "text": "t"}, "text_match": 5}]}, [Result(("d",), text="t")]),
        ({"output": [{"page_content": "t", "metadata": {"page": 3}}], "metadata": {}}, [Result((), "", "3", "t")]),
        ([{"pageContent": "t", "metadata": {"loc": {"pageNumber": 3}}}], [Result((), "", "3", "t")]),
        ([{"id": "a", "page": [3, 4]}], [Result(("a",))]),
        ((each for each in ["a#1"]), [Result(("a#1",), text="a#1")]),
        ([Slotted("a.pdf", 3, "t")], [Result((), "a.pdf", "3", "t")]),
        ([OneSlot("t")], [Result((), text="t")]),
        ([Named(3, "a.pdf")], [Result((), "a.pdf", "3")]),
        ([Scored(Slotted("a.pdf", 3, "t"), 0.5)], [Result((), "a.pdf", "3", "t", 0.5)]),
        (
            [*pd.DataFrame({"source": ["a.pdf"], "page": [3], "score": [0.5]}).itertuples()],
            [Result((), "a.pdf", "3", score=0.5)],
        ),
        ([], []),
        ({"documents": []}, []),
    ],
)
def test_results_are_read_whatever_their_shape(answer, expected):
    assert results_of(answer, USUAL) == expected


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "returned None, expected a list of results, which may be empty"),
        ("a text", "returned a text, expected a list of results"),
        (3, "returned int, expected a list of results"),
        (pd.DataFrame({"docno": ["a"], "rank": ["first"]}), "'first' as a rank, expected a number"),
        (pd.DataFrame({"docno": ["a"], "rank": [None]}), "None as a rank, expected a number"),
        ({"a#1", "a#2"}, "returned a set, which has no order"),
        (frozenset(["a#1"]), "returned a frozenset, which has no order"),
        ({"answer": "42"}, r"without a list of results \('answer'\)"),
        (
            {"dense": {"documents": ["a#1"]}, "words": {"documents": ["a#2"]}, "prompt": {"text": "t"}},
            "returned lists of results in 'dense', 'words'; expected one",
        ),
        ([None], "a result of type NoneType"),
        ([{}], "a result of type dict"),
        ([True], "a result of type bool"),
        (
            [{"wert": {"inhalt": "t"}, "score": 1}],
            r"no result has a field of a usual name \(there is 'score', 'wert\.inhalt'\)",
        ),
    ],
)
def test_what_is_no_list_of_results_is_named(answer, said):
    with pytest.raises(RetrieverError, match=said):
        results_of(answer, USUAL)


class Relationship(Enum):
    SOURCE = "1"
    PREVIOUS = "2"


@pytest.mark.parametrize("key", [Relationship, str], ids=["object", "written"])
def test_a_node_of_llama_index_has_the_id_of_its_document(key):
    related = {key("2"): {"node_id": "n0"}, key("1"): {"node_id": "d1"}}
    found = SimpleNamespace(node=SimpleNamespace(id_="n1", text="t", relationships=related), score=0.5)
    assert results_of([found], USUAL) == [Result(("n1", "d1"), text="t", score=0.5)]


def test_a_field_that_is_set_is_the_one_that_is_read():
    found = [{"name": "d1", "where": {"file": "a.pdf", "sheet": 3}, "says": "t", "rank": {"cosine": 0.5}}]
    fields = Fields("name", "where.file", "where.sheet", "says", "rank.cosine")
    assert results_of(found, fields) == [Result(("d1",), "a.pdf", "3", "t", 0.5)]


def test_a_field_that_no_result_has_is_refused_with_those_that_there_are():
    with pytest.raises(
        RetrieverError,
        match=r"retriever\.source: no result has 'metadata\.sorce' \(there is 'metadata\.source', 'page_content'",
    ):
        results_of([{"page_content": "t", "metadata": {"source": "a"}}], Fields(source="metadata.sorce"))


def test_a_result_may_have_known_fields_that_are_empty():
    assert results_of([{"text": "", "score": 0.5}], USUAL) == [Result(score=0.5)]


def test_the_results_of_one_query_may_lack_a_field_that_others_have():
    reader = Reader(Fields(page="metadata.page"), patience=3)
    without = [{"id": "a", "metadata": {"source": "notes.txt"}}]
    assert reader.results(without) == [Result(("a",), "notes.txt")]
    assert reader.results([{"id": "b", "metadata": {"page": 3}}])[0].page == "3"
    for _ in range(4):
        reader.results(without)
    reader.check()


def test_a_field_that_nothing_has_is_refused_before_all_queries_are_asked():
    reader = Reader(Fields(page="metadata.pages"), patience=3)
    answers = iter([[{"id": "b", "metadata": {"page": 3}}]] * 9)
    with pytest.raises(RetrieverError, match=r"no result has 'metadata\.pages' \(there is 'id', 'metadata\.page'\)"):
        [*map(reader.results, answers)]
    assert len([*answers]) == 6


def test_a_path_that_fails_on_a_result_is_one_line():
    fields = Fields(source="join('#', [metadata.source, metadata.page])")
    with pytest.raises(RetrieverError, match=r"retriever\.source: .*fails on a result"):
        results_of([{"metadata": {"source": "a.pdf", "page": 3}}], fields)


def test_a_path_that_is_none_is_refused():
    with pytest.raises(ConfigError, match=r"retriever\.page: found 'a\[', expected a JMESPath"):
        Fields(page="a[").check()


def test_results_are_kept_as_they_are():
    results = (Result(("a", "b"), "c", "1", "t", 0.5), Result())
    assert from_plain(plain(results)) == results
