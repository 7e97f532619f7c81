"""Qdrant: its engine within this process, or a server of it."""

from ragsweep_engines.qdrant.retriever import QdrantRetriever

__all__ = ["QdrantRetriever"]
