"""Rerankers, which order the first passages of a ranking anew, and cutoffs, which drop the last ones."""
