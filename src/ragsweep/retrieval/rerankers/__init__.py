"""Rerankers, which reorder the first passages of a ranking, and cutoffs, which drop the last ones."""
