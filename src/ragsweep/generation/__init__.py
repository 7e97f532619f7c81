"""Test sets from one's own documents: generators of questions, and the checks that a question has to pass."""

from ragsweep.generation.checking import CHECKS, Accepted, Checker, Rejected
from ragsweep.generation.drafts import UNANSWERABLE, Draft, Generator, Request, Source
from ragsweep.generation.endpoint import OpenAIGenerator
from ragsweep.generation.extractive import ExtractiveGenerator
from ragsweep.generation.making import Outcome, Plan, make
from ragsweep.generation.searching import CorpusSearch
from ragsweep.generation.smollm2 import SmolLM2Generator
from ragsweep.generation.sources import sources_of, spread

__all__ = [
    "CHECKS",
    "UNANSWERABLE",
    "Accepted",
    "Checker",
    "CorpusSearch",
    "Draft",
    "ExtractiveGenerator",
    "Generator",
    "OpenAIGenerator",
    "Outcome",
    "Plan",
    "Rejected",
    "Request",
    "SmolLM2Generator",
    "Source",
    "make",
    "sources_of",
    "spread",
]
