"""Retrievers that run already: functions, objects of frameworks, services over HTTP; and what they have answered."""

from ragsweep_engines.systems.callable_retriever import CallableRetriever
from ragsweep_engines.systems.http_retriever import HttpRetriever
from ragsweep_engines.systems.traces_retriever import TracesRetriever

__all__ = ["CallableRetriever", "HttpRetriever", "TracesRetriever"]
