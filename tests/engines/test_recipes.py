"""The recipes of docs/recipes.md, each run as it stands against the package that it is for."""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import strangers
from application import PROJECT

from ragsweep.retrieval import SentenceTransformerEncoder
from ragsweep.retrieval.results import ReturnedRetriever
from ragsweep_engines.callable_retriever import CallableRetriever

pytestmark = [pytest.mark.extra("recipes"), pytest.mark.filterwarnings("ignore")]

PAGE = (PROJECT / "docs/recipes.md").read_text()
RECIPES = dict(re.findall(r"```python\n# (my_\w+)\.py\n(.*?)```", PAGE, re.DOTALL))


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
    assert [name for name in lines if len(lines[name]) > 12] == []


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
