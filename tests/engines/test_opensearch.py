"""The preset retriever=opensearch, against a server that answers as the documentation of OpenSearch shows.

The engine itself does not run here: what is tested is that requests and responses have the documented shape.
"""

from dataclasses import replace

import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from search_server import SearchServer, json_of

from ragsweep.core.errors import UnansweredError
from ragsweep.core.project import CONF, register_resolvers
from ragsweep.retrieval.results import Result
from ragsweep_engines import asking
from ragsweep_engines.http_retriever import HttpRetriever

QUERY, KEY = 'Who "may" see {it}?', "sk-nobody-may-ever-see-this-0123456789"
FIRST, SECOND = (
    {"text": "The records are locked away.", "source": "manual.pdf", "page": 12},
    {"text": "Only the keeper may see them.", "source": "manual.pdf", "page": 3},
)
PATH = "/manual/_search"
ANSWER = {
    "took": 5,
    "timed_out": False,
    "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
    "hits": {
        "total": {"value": 2, "relation": "eq"},
        "max_score": 1.5,
        "hits": [
            {"_index": "manual", "_id": "a", "_score": 1.5, "_source": FIRST},
            {"_index": "manual", "_id": "b", "_score": 0.25, "_source": SECOND},
        ],
    },
}
EMPTY = {"took": 1, "hits": {"total": {"value": 0, "relation": "eq"}, "max_score": None, "hits": []}}
REFUSAL = {
    "error": {
        "root_cause": [{"type": "index_not_found_exception", "reason": "no such index [manual]"}],
        "type": "index_not_found_exception",
        "reason": "no such index [manual]",
    },
    "status": 404,
}


@pytest.fixture
def preset(monkeypatch, server):
    """The retriever of the preset for the server."""
    register_resolvers()
    monkeypatch.setattr(asking, "FIRST_WAIT_S", 0.02)
    monkeypatch.setenv("SEARCH_KEY", KEY)

    def made(*settings):
        given = ["retriever=opensearch", "retriever.url=http://127.0.0.1:9", "retriever.depth=7", *settings]
        with initialize_config_dir(str(CONF), version_base="1.3"):
            node = compose("config", given).retriever
        built = instantiate({key: value for key, value in node.items() if key != "store"}, _convert_="all")
        return replace(built, url=server.url.removesuffix("/search") + PATH)

    return made


@pytest.fixture
def server():
    with SearchServer() as started:
        yield started


def test_the_preset_asks_and_reads_as_opensearch_documents(preset, server):
    server.replies(lambda query, time: json_of(ANSWER))
    retriever = preset("retriever.api_key_env=SEARCH_KEY")
    assert type(retriever) is HttpRetriever
    [results] = retriever.answers([QUERY], 20).results
    [asked] = server.asked
    body = {"size": 7, "query": {"multi_match": {"query": QUERY}}}
    assert (asked.verb, asked.path, asked.parameters, asked.body) == ("POST", PATH, {}, body)
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert [each._replace(ids=()) for each in results] == [
        Result((), each["source"], str(each["page"]), each["text"], score)
        for each, score in ((FIRST, 1.5), (SECOND, 0.25))
    ]
    assert ["a" in results[0].ids, "b" in results[1].ids] == [True, True]


def test_the_preset_knows_an_empty_answer_from_a_refusal(preset, server):
    server.replies(lambda query, time: json_of(EMPTY))
    assert preset().answers([QUERY], 20).results == [()]
    server.replies(lambda query, time: json_of(REFUSAL, 404))
    with pytest.raises(UnansweredError, match=r"no such index \[manual\]") as raised:
        preset("retriever.api_key_env=SEARCH_KEY").answers([QUERY], 20)
    assert len(server.asked) == 1
    assert KEY not in str(raised.value)
