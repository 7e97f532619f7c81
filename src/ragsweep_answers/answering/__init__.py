"""Answering multiple-choice questions: the answerers, and the reasoning methods of language models."""

from ragsweep.models.language.language_model import Exchange
from ragsweep_answers.answering.asking import answer, ask_apart
from ragsweep_answers.answering.evidence_answerer import EvidenceAnswerer
from ragsweep_answers.answering.language_model_answerer import LanguageModelAnswerer
from ragsweep_answers.answering.question import Answer, Answerer, Evidence, Question, Reasoning
from ragsweep_answers.answering.recorded_answers import RecordedAnswerer

__all__ = [
    "Answer",
    "Answerer",
    "Evidence",
    "EvidenceAnswerer",
    "Exchange",
    "LanguageModelAnswerer",
    "Question",
    "Reasoning",
    "RecordedAnswerer",
    "answer",
    "ask_apart",
]
