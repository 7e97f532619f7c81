"""Tables of any format, questions as a dataset reads them strictly, and refusals in one line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

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


def write_table(path: Path, rows: Any) -> str:
    """Write rows in the format that the name of a file says, and return its path."""
    import pandas as pd

    if path.suffix == ".parquet":
        pd.DataFrame(rows).to_parquet(path)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows, indent=1))
    elif ".jsonl" in path.name:
        lines = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
        path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)
    else:
        pd.DataFrame(rows).to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")
    return str(path)


def in_catalogue(folder: Path, docs: str | bytes, queries: str, qrels: str, name: str = "ragsweep") -> str:
    """The id under which ir_datasets has a dataset of these files, which are written into a folder."""
    import ir_datasets

    folder.mkdir(exist_ok=True)
    paths = {}
    for kind, content in {"docs_tsv": docs, "queries_tsv": queries, "qrels_trec": qrels}.items():
        paths[kind] = str(folder / kind)
        (folder / kind).write_bytes(content if isinstance(content, bytes) else content.encode())
    name = f"{name}-{folder.parent.name}-{folder.name}"
    ir_datasets.registry.register(name, ir_datasets.create_dataset(**paths))
    return name
