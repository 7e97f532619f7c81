"""Encoders and language models."""
