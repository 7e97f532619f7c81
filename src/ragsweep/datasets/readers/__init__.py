"""Readers of files: tables, JSON, Parquet, judgments."""
