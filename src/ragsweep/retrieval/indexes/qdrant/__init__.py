"""Qdrant: its engine within this process, or a server of it."""
