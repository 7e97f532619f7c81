"""Questions as a dataset reads them, where one that cannot be used refuses them all."""

from ragsweep.datasets import Collection, Document, Questions, TableQuestions


def read_strictly(questions: Questions, documents: tuple[Document, ...]) -> Collection:
    """What is asked. Raises `DatasetError` if a question cannot be used."""
    queries = questions.read(documents)
    if queries.faults is not None:
        queries.faults.left_out("refuse", len(queries.queries))
    return queries


def span_questions(path: str, document: str | None = "corpus_id") -> TableQuestions:
    """A table of spans, as `questions=spans` reads it."""
    return TableQuestions(path, query="question", document=document, relevant=None)
