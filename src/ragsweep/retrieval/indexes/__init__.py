"""Indexes: searches for the nearest embeddings, exact or approximate, in memory or in a vector database."""
