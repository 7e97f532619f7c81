"""Retrievers over databases that somebody else has filled, which are only read."""

from ragsweep_engines.filled.postgres_retriever import PostgresRetriever

__all__ = ["PostgresRetriever"]
