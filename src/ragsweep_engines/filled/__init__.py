"""Retrievers over databases that somebody else has filled, which are only read."""

from ragsweep_engines.filled.chroma_retriever import ChromaRetriever
from ragsweep_engines.filled.lancedb_retriever import LanceDbRetriever
from ragsweep_engines.filled.milvus_retriever import MilvusRetriever
from ragsweep_engines.filled.postgres_retriever import PostgresRetriever

__all__ = ["ChromaRetriever", "LanceDbRetriever", "MilvusRetriever", "PostgresRetriever"]
