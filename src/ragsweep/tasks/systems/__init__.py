"""Systems: retrievers that run elsewhere, whose results are matched to what is judged."""
