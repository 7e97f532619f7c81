"""Questions as a dataset reads them, where one that cannot be used refuses them all; and refusals in one line."""

from collections.abc import Callable, Iterable

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Collection, Document, Questions, TableQuestions


def read_strictly(questions: Questions, documents: tuple[Document, ...]) -> Collection:
    """What is asked. Raises `DatasetError` if a question cannot be used."""
    collection = questions.read(documents)
    if collection.faults is not None:
        collection.faults.left_out("refuse", len(collection.queries))
    return collection


def span_questions(path: str, document: str | None = "corpus_id") -> TableQuestions:
    """A table of spans, as `questions=spans` reads it."""
    return TableQuestions(path, query="question", document=document, relevant=None)


def refusal(read: Callable[[], object]) -> str:
    """The one line with which data are refused; empty if they are read."""
    try:
        read()
    except DatasetError as error:
        [line] = str(error).splitlines()
        return line
    return ""


def misses(line: str, *facts: str) -> list[str]:
    """The facts that a refusal does not name; all of them if nothing was refused."""
    return [fact for fact in facts if fact not in line or not line]


def expect_refusal(read: Callable[[], object], *facts: str) -> None:
    """Data are refused in one line that names these facts."""
    line = refusal(read)
    assert misses(line, *facts) == [], line


def all_misses(refusals: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The lines, each with the fact that it should name, in which it is missing."""
    return [(line, fact) for line, fact in refusals if misses(line, fact)]
