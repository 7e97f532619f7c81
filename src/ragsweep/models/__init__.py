"""Encoders and language models."""

from ragsweep.models.encoders.encoder import Encoder
from ragsweep.models.language.language_model import Completion, LanguageModel

__all__ = ["Completion", "Encoder", "LanguageModel"]
