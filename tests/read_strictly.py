"""Questions as a dataset reads them, where one that cannot be used refuses them all."""

from ragsweep.datasets import Asked, Document, Questions


def read_strictly(questions: Questions, documents: tuple[Document, ...]) -> Asked:
    """What is asked. Raises `DatasetError` if a question cannot be used."""
    found = questions.read(documents)
    if found.faults is not None:
        found.faults.left_out("refuse", len(found.queries))
    return found
