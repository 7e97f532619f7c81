"""Metrics that compare the text of retrieved passages with the spans that answer a query."""
