"""The presets of retriever=http, against a server that answers as the documentation of each engine shows.

None of the engines themselves runs here: what is tested is that requests and responses have the documented shape.
"""

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from search_server import SearchServer, json_of

from ragsweep.core.errors import UnansweredError
from ragsweep.core.project import CONF, register_resolvers
from ragsweep.retrieval.results import Result
from ragsweep_engines.systems import HttpRetriever, asking

QUERY, KEY = 'Who "may" see {it}?', "sk-nobody-may-ever-see-this-0123456789"
FIRST, SECOND = (
    {"text": "The records are locked away.", "source": "manual.pdf", "page": 12},
    {"text": "Only the keeper may see them.", "source": "manual.pdf", "page": 3},
)


@dataclass(frozen=True)
class Engine:
    """What an engine documents.

    Attributes:
        path: Of a search.
        body: Of a request for 7 results; None if it is a GET.
        parameters: Of the address.
        header: With the key, and what is before it.
        answer: With two results, of ids a and b.
        scores: Of the results.
        empty: An answer without results.
        refusal: A status and what comes with it.
        settings: That a user has to give.
    """

    path: str
    body: Any
    answer: Any
    scores: tuple[float, float]
    empty: Any
    refusal: tuple[int, Any]
    header: tuple[str, str] = ("authorization", "Bearer ")
    parameters: dict[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()


LUCENE = Engine(
    path="/manual/_search",
    body={"size": 7, "query": {"multi_match": {"query": QUERY}}},
    answer={
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
    },
    scores=(1.5, 0.25),
    empty={"took": 1, "hits": {"total": {"value": 0, "relation": "eq"}, "max_score": None, "hits": []}},
    refusal=(
        404,
        {
            "error": {
                "root_cause": [{"type": "index_not_found_exception", "reason": "no such index [manual]"}],
                "type": "index_not_found_exception",
                "reason": "no such index [manual]",
            },
            "status": 404,
        },
    ),
)
OWN_KEY = ("+retriever.headers_env.Authorization=SEARCH_KEY",)
GRAPHQL = (
    "query($query: String!, $k: Int!, $alpha: Float!) "
    "{ Get { Manual(hybrid: {query: $query, alpha: $alpha}, limit: $k) { text source page "
    "_additional { id score } } } }"
)
ENGINES = {
    "opensearch": LUCENE,
    "elasticsearch": LUCENE,
    "weaviate": Engine(
        path="/v1/graphql",
        body={
            "query": GRAPHQL,
            "variables": {
                "query": QUERY,
                "k": 7,
                "alpha": 0.5,
                "collection": "Manual",  # is not declared in the query, which GraphQL allows
                "fields": "text source page",
            },
        },
        answer={
            "data": {
                "Get": {
                    "Manual": [
                        {**FIRST, "_additional": {"id": "a", "score": "0.75"}},
                        {**SECOND, "_additional": {"id": "b", "score": "0.5"}},
                    ]
                }
            }
        },
        scores=(0.75, 0.5),
        empty={"data": {"Get": {"Manual": []}}},
        refusal=(
            200,
            {"data": {"Get": {"Manual": None}}, "errors": [{"message": "no such index [manual]", "path": ["Get"]}]},
        ),
        settings=("retriever.body.variables.collection=Manual", "retriever.body.variables.alpha=0.5"),
    ),
    "azure_search": Engine(
        path="/indexes/manual/docs/search",
        parameters={"api-version": "2024-07-01"},
        body={"search": QUERY, "top": 7},
        header=("api-key", ""),
        answer={
            "@odata.context": "https://NAME.search.windows.net/indexes('manual')/$metadata#docs(*)",
            "value": [{"@search.score": 2.5, "id": "a", **FIRST}, {"@search.score": 1.25, "id": "b", **SECOND}],
        },
        scores=(2.5, 1.25),
        empty={"@odata.context": "https://NAME.search.windows.net/indexes('manual')/$metadata#docs(*)", "value": []},
        refusal=(404, {"error": {"code": "", "message": "no such index [manual]"}}),
    ),
    "vespa": Engine(
        path="/search/",
        body={"yql": "select * from sources * where userQuery()", "query": QUERY, "hits": 7, "ranking": "default"},
        answer={
            "root": {
                "id": "toplevel",
                "relevance": 1.0,
                "fields": {"totalCount": 2},
                "coverage": {"coverage": 100, "documents": 2, "full": True, "nodes": 1, "results": 1, "resultsFull": 1},
                "children": [
                    {
                        "id": "id:ns:passage::a",
                        "relevance": 0.5,
                        "source": "content",
                        "fields": {"sddocname": "passage", "documentid": "id:ns:passage::a", "id": "a", **FIRST},
                    },
                    {
                        "id": "id:ns:passage::b",
                        "relevance": 0.25,
                        "source": "content",
                        "fields": {"sddocname": "passage", "documentid": "id:ns:passage::b", "id": "b", **SECOND},
                    },
                ],
            }
        },
        scores=(0.5, 0.25),
        empty={"root": {"id": "toplevel", "relevance": 1.0, "fields": {"totalCount": 0}}},
        refusal=(
            400,
            {
                "root": {
                    "id": "toplevel",
                    "relevance": 1.0,
                    "errors": [{"code": 4, "summary": "Invalid query parameter", "message": "no such index [manual]"}],
                }
            },
        ),
    ),
    "typesense": Engine(
        path="/collections/manual/documents/search",
        parameters={"q": QUERY, "query_by": "text,source", "per_page": "7"},
        body=None,
        header=("x-typesense-api-key", ""),
        answer={
            "facet_counts": [],
            "found": 2,
            "out_of": 2,
            "page": 1,
            "request_params": {"collection_name": "manual", "per_page": 7, "q": QUERY},
            "search_time_ms": 1,
            "hits": [
                {"document": {"id": "a", **FIRST}, "highlights": [], "text_match": 130916},
                {"document": {"id": "b", **SECOND}, "highlights": [], "text_match": 120000},
            ],
        },
        scores=(130916, 120000),
        empty={"facet_counts": [], "found": 0, "hits": [], "out_of": 2, "page": 1, "search_time_ms": 0},
        refusal=(404, {"message": "no such index [manual]"}),
        settings=("retriever.body.query_by='text,source'",),
    ),
    "meilisearch": Engine(
        path="/indexes/manual/search",
        body={"q": QUERY, "limit": 7, "showRankingScore": True},
        answer={
            "hits": [{"id": "a", **FIRST, "_rankingScore": 0.75}, {"id": "b", **SECOND, "_rankingScore": 0.5}],
            "query": QUERY,
            "processingTimeMs": 1,
            "limit": 7,
            "offset": 0,
            "estimatedTotalHits": 2,
        },
        scores=(0.75, 0.5),
        empty={"hits": [], "query": QUERY, "processingTimeMs": 0, "limit": 7, "offset": 0, "estimatedTotalHits": 0},
        refusal=(
            404,
            {"message": "no such index [manual]", "code": "index_not_found", "type": "invalid_request", "link": ""},
        ),
    ),
}


@pytest.fixture
def preset(monkeypatch):
    """The retriever of a preset at an address."""
    register_resolvers()
    monkeypatch.setattr(asking, "FIRST_WAIT_S", 0.02)
    for name in ("AZURE_SEARCH_KEY", "TYPESENSE_API_KEY", "SEARCH_KEY"):
        monkeypatch.setenv(name, KEY)

    return lambda name, url, *settings: replace(built(name, *settings), url=url)


@cache
def built(name, *settings):
    engine = ENGINES[name]
    key = () if engine.header[1] == "" else ("retriever.api_key_env=SEARCH_KEY",)
    given = [f"retriever={name}", "retriever.url=http://127.0.0.1:9", "retriever.depth=7", *key, *engine.settings]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        node = compose("config", [*given, *settings]).retriever
    return instantiate({key: value for key, value in node.items() if key != "store"}, _convert_="all")


@pytest.fixture(scope="module")
def server():
    with SearchServer() as started:
        yield started


def url_of(server, engine):
    return server.url.removesuffix("/search") + engine.path


def test_every_preset_is_here():
    files = [path.read_text() for path in (CONF.parent / "src/ragsweep_engines/conf/retriever").glob("*.yaml")]
    assert sum("defaults: [http, _self_]" in text for text in files) == len(ENGINES) == 7


@pytest.mark.parametrize("name", ENGINES)
def test_a_preset_asks_and_reads_as_the_engine_documents(name, preset, server):
    engine = ENGINES[name]
    server.replies(lambda query, time: json_of(engine.answer))
    retriever = preset(name, url_of(server, engine))
    assert type(retriever) is HttpRetriever
    [results] = retriever.answers([QUERY], 20).results
    [asked] = server.asked
    assert asked.verb == ("POST" if engine.body else "GET")
    assert (asked.path, asked.parameters, asked.body) == (engine.path, engine.parameters, engine.body)
    named, before = engine.header
    assert asked.headers[named] == before + KEY
    assert [each._replace(ids=()) for each in results] == [
        Result((), each["source"], str(each["page"]), each["text"], score)
        for each, score in zip((FIRST, SECOND), engine.scores, strict=True)
    ]
    assert ["a" in results[0].ids, "b" in results[1].ids] == [True, True]


@pytest.mark.parametrize("name", ENGINES)
def test_a_preset_knows_an_empty_answer_from_a_refusal(name, preset, server):
    engine = ENGINES[name]
    server.replies(lambda query, time: json_of(engine.empty))
    assert preset(name, url_of(server, engine)).answers([QUERY], 20).results == [()]
    status, refusal = engine.refusal
    server.replies(lambda query, time: json_of(refusal, status))
    retriever = preset(name, url_of(server, engine))
    with pytest.raises(UnansweredError, match=r"no such index \[manual\]") as raised:
        retriever.answers([QUERY], 20)
    assert len(server.asked) == 1
    assert KEY not in str(raised.value)


def test_an_error_of_vespa_in_a_whole_response_is_no_empty_answer(preset, server):
    engine = ENGINES["vespa"]
    server.replies(lambda query, time: json_of(engine.refusal[1]))
    retriever = preset("vespa", url_of(server, engine))
    with pytest.raises(UnansweredError, match=r"retriever\.hits"):
        retriever.answers([QUERY], 20)


def test_a_key_with_its_scheme_is_sent_as_it_is(preset, server, monkeypatch):
    monkeypatch.setenv("SEARCH_KEY", f"ApiKey {KEY}")
    server.replies(lambda query, time: json_of(LUCENE.empty))
    url = url_of(server, LUCENE)
    preset("elasticsearch", url, *OWN_KEY, "retriever.api_key_env=null").answers([QUERY], 20)
    assert server.asked[0].headers["authorization"] == f"ApiKey {KEY}"
