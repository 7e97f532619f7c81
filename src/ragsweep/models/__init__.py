"""Encoders and language models."""

from ragsweep.models.encoders.encoder import Encoder

__all__ = ["Encoder"]
