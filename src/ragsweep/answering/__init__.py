"""Answering multiple-choice questions: the answerers, and the reasoning methods of language models."""

from ragsweep.answering.asking import announce, ask_apart
from ragsweep.answering.checks import answer
from ragsweep.answering.endpoint import OpenAIAnswerer
from ragsweep.answering.evidence import EvidenceAnswerer
from ragsweep.answering.question import Answer, Answerer, Evidence, Question
from ragsweep.answering.recorded import RecordedAnswerer
from ragsweep.answering.smollm2 import SmolLM2Answerer
from ragsweep.retrieval.language_models.language_model import Exchange

__all__ = [
    "Answer",
    "Answerer",
    "Evidence",
    "EvidenceAnswerer",
    "Exchange",
    "OpenAIAnswerer",
    "Question",
    "RecordedAnswerer",
    "SmolLM2Answerer",
    "announce",
    "answer",
    "ask_apart",
]
