"""Encoders: texts in, embeddings out; the models and tokenizers that do it, and what is kept of their work."""
