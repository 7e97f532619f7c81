"""Documents, questions and judgments, and the passages that documents are cut into."""
