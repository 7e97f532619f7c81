"""Test sets from one's own documents: generators of questions, and the checks that a question has to pass."""
