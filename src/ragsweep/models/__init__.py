"""Encoders and language models."""

from typing import TYPE_CHECKING

from ragsweep.core import lazy_names

if TYPE_CHECKING:
    from ragsweep.models.encoders.encoder import Encoder
    from ragsweep.models.language.language_model import Completion, LanguageModel

__all__ = ["Completion", "Encoder", "LanguageModel"]

__getattr__, __dir__ = lazy_names(__name__)
