"""Questions as a dataset reads them, where one that cannot be used refuses them all."""

from ragsweep.datasets import Collection, Document, Questions, TableQuestions


def read_strictly(questions: Questions, documents: tuple[Document, ...]) -> Collection:
    """What is asked. Raises `DatasetError` if a question cannot be used."""
    found = questions.read(documents)
    if found.faults is not None:
        found.faults.left_out("refuse", len(found.queries))
    return found


def span_questions(path: str, document: str | None = "corpus_id") -> TableQuestions:
    """A table of spans, as `questions=spans` reads it."""
    return TableQuestions(path, query="question", document=document, relevant=None)
