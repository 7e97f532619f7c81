"""Queries with judgments, in the formats that people have. One module per format."""
