"""A loaded retriever as one of a framework, which is imported only where it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import GenericAlias
from typing import Any

from ragsweep.core.errors import ConfigError
from ragsweep.production.hit import Hit

Find = Callable[..., list[Hit]]


def langchain_retriever(find: Find) -> Any:
    """A `BaseRetriever` of LangChain that returns Documents."""
    base = _imported("langchain_core.retrievers", "langchain-core").BaseRetriever
    document = _imported("langchain_core.documents", "langchain-core").Document

    def get_relevant_documents(_: Any, query: str, *, run_manager: Any) -> list[Any]:
        return [document(page_content=hit.text, id=hit.passage_id, metadata=_about(hit)) for hit in find(query)]

    return type("RagsweepRetriever", (base,), {"_get_relevant_documents": get_relevant_documents})()


def llama_index_retriever(find: Find) -> Any:
    """A `BaseRetriever` of LlamaIndex that returns NodeWithScores."""
    base = _imported("llama_index.core.retrievers", "llama-index-core").BaseRetriever
    schema = _imported("llama_index.core.schema", "llama-index-core")

    def retrieve(_: Any, query_bundle: Any) -> list[Any]:
        hits = find(query_bundle.query_str)
        nodes = [schema.TextNode(text=hit.text, id_=hit.passage_id, metadata=_about(hit)) for hit in hits]
        return [schema.NodeWithScore(node=node, score=hit.score) for node, hit in zip(nodes, hits, strict=True)]

    return type("RagsweepRetriever", (base,), {"_retrieve": retrieve})()


def haystack_component(find: Find) -> Any:
    """A component of Haystack that returns Documents."""
    haystack = _imported("haystack", "haystack-ai")

    def run(self: Any, query: str, top_k: int | None = None) -> dict[str, list[Any]]:
        hits = find(query, top_k)
        fields = [{"id": hit.passage_id, "content": hit.text, "score": hit.score} for hit in hits]
        documents = [haystack.Document(**each, meta=_about(hit)) for each, hit in zip(fields, hits, strict=True)]
        return {"documents": documents}

    outputs = haystack.component.output_types(documents=GenericAlias(list, haystack.Document))
    return haystack.component(type("RagsweepRetriever", (), {"run": outputs(run)}))()


def _about(hit: Hit) -> dict[str, Any]:
    return {"source": hit.source, "page": hit.page, "score": hit.score, "passage_id": hit.passage_id}


def _imported(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigError(f"{module} cannot be imported ({error}); pip install {package}") from error
