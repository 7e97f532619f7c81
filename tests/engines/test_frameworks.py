"""Retrievers of other frameworks, measured as they are: their results, in their order."""

import importlib
import json
import re
import shutil

import mlflow
import pytest
import small
from application import PROJECT

from ragsweep_engines.callable_retriever import CallableRetriever
from ragsweep_engines.traces_retriever import TracesRetriever

pytestmark = [pytest.mark.extra("recipes"), pytest.mark.filterwarnings("ignore")]

FRAMEWORKS = """
import numpy as np

PAGES = {pages!r}
TEXTS = [text for texts in PAGES.values() for text in texts if text]
WHERE = [(source, at) for source, texts in PAGES.items() for at, text in enumerate(texts) if text]


def vector(text):
    counts = np.zeros(26)
    for letter in text.lower():
        if "a" <= letter <= "z":
            counts[ord(letter) - 97] += 1
    return (counts / (np.linalg.norm(counts) or 1)).tolist()


def langchain_bm25(k=3):
    from langchain_community.retrievers import BM25Retriever

    metadatas = [{{"source": source, "page": at}} for source, at in WHERE]
    return BM25Retriever.from_texts(TEXTS, metadatas=metadatas, k=k)


def embedding_of_llama_index():
    from llama_index.core.embeddings import BaseEmbedding

    class Letters(BaseEmbedding):
        def _get_query_embedding(self, query):
            return vector(query)

        async def _aget_query_embedding(self, query):
            return vector(query)

        def _get_text_embedding(self, text):
            return vector(text)

    return Letters()


def llama_index(k=3):
    from llama_index.core import VectorStoreIndex
    from llama_index.core.schema import TextNode

    nodes = [
        TextNode(text=text, metadata={{"file_name": source, "page_label": str(at + 1)}})
        for text, (source, at) in zip(TEXTS, WHERE)
    ]
    return VectorStoreIndex(nodes, embed_model=embedding_of_llama_index()).as_retriever(similarity_top_k=k)
"""


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    for telemetry in ("HAYSTACK_TELEMETRY_ENABLED", "ANONYMIZED_TELEMETRY"):
        monkeypatch.setenv(telemetry, "False")
    (tmp_path / "frameworks_of_tests.py").write_text(FRAMEWORKS.format(pages=small.PAGES))
    monkeypatch.syspath_prepend(tmp_path)
    import frameworks_of_tests

    return frameworks_of_tests


def langchain(hits):
    return [(hit.metadata["source"], str(hit.metadata["page"]), hit.page_content) for hit in hits]


def llama_index(hits):
    return [(hit.node.metadata["file_name"], hit.node.metadata["page_label"], hit.node.text) for hit in hits]


def haystack(hits):
    return [(hit.meta["file_path"], str(hit.meta["page_number"]), hit.content) for hit in hits["documents"]]


OF_FRAMEWORK = {
    "my_langchain": lambda made, query: langchain(made.invoke(query)),
    "my_haystack": lambda made, query: haystack(made.run(query=query)),
    "my_llama_index": lambda made, query: llama_index(made.retrieve(query)),
}
TRACED = {"langchain_bm25": (mlflow.langchain, "invoke"), "llama_index": (mlflow.llama_index, "retrieve")}


@pytest.mark.parametrize("name", TRACED)
def test_traces_that_mlflow_writes_by_itself_tell_what_the_framework_returned(theirs, name, empty_database, tmp_path):
    flavor, ask = TRACED[name]
    uri, queries = f"sqlite:///{tmp_path}/mlflow.db", [query for query, _, _ in small.QUERIES]
    shutil.copy(empty_database, tmp_path / "mlflow.db")
    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment("app")
    flavor.autolog()
    try:
        made = getattr(theirs, name)()
        for query in queries:
            getattr(made, ask)(query)
    finally:
        mlflow.flush_trace_async_logging()
        flavor.autolog(disable=True)
        mlflow.set_tracking_uri(None)
    traces = TracesRetriever(experiment="app", uri=uri).answers(queries, 100)
    asked = CallableRetriever(f"frameworks_of_tests:{name}", depth=3).answers(queries, 100)
    assert placed(traces) == placed(asked)
    assert all(traces.results)
    assert len(traces.latency_ms) == len(queries)
    assert [notice.partition(" by")[0] for notice in traces.notices] == [
        "Results read",
        "Latency is that in production,",
    ]


def placed(answers):
    """Where each result comes from, and its text."""
    return [[(hit.source, hit.page, hit.text) for hit in hits] for hits in answers.results]


EMBEDDING = """
from frameworks_of_tests import embedding_of_llama_index

EMBEDDING = embedding_of_llama_index()
"""


@pytest.mark.usefixtures("theirs")
@pytest.mark.parametrize("name", OF_FRAMEWORK)
def test_what_the_documents_show_gives_what_the_framework_gives_over_the_manual(name, tmp_path, monkeypatch):
    page = (PROJECT / "docs/recipes.md").read_text()
    [code] = re.findall(rf"```python\n# {name}\.py\n(.*?)```", page, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip() and not line.startswith(("import", "from"))]) <= 10
    (tmp_path / f"{name}.py").write_text(code)
    (tmp_path / "my_app.py").write_text(EMBEDDING)
    manual = tmp_path / "manual.pdf"
    shutil.copy(PROJECT / "data/cho_manual/documents/cho_training_manual.pdf", manual)
    monkeypatch.chdir(tmp_path)
    queries = [query["query"] for query in json.loads((PROJECT / "data/cho_manual/test_queries.json").read_text())]
    assert len(queries) == 133
    answers = CallableRetriever(f"{name}:build", settings={"k": 7}).answers(queries, 100)
    made = importlib.import_module(name).build(k=7)
    assert placed(answers) == [OF_FRAMEWORK[name](made, query) for query in queries]
