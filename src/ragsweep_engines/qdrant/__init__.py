"""Qdrant: its engine within this process, or a server of it."""

from ragsweep_engines.qdrant.qdrant_index import QdrantIndex
from ragsweep_engines.qdrant.retriever import QdrantRetriever

__all__ = ["QdrantIndex", "QdrantRetriever"]
