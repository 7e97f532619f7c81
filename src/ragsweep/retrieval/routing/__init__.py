"""Routing: a classifier predicts the type of a query, which decides the ranker that answers it."""
