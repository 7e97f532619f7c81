"""Writes a dataset in the layout of BEIR, and says what is lost in it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import counted
from ragsweep.datasets.model.collection import Collection, Query
from ragsweep.datasets.model.left_out import EXCLUDED
from ragsweep.datasets.readers.fields import QUERY_TYPE
from ragsweep.datasets.readers.qrels_files import HEADER

SPLIT = "test"


@dataclass(frozen=True)
class Written:
    """A dataset in the layout of BEIR.

    Attributes:
        settings: What `ragsweep run` needs to read it; `{}` stands for the folder.
        files: The pieces of text of each file, by its path in the folder.
        lost: What the layout cannot express, one sentence each.
    """

    settings: str
    files: Mapping[str, Iterable[str]]
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Units:
    """What is judged, as documents: their new ids and texts, and the new id of every unit."""

    texts: list[tuple[str, str]]
    ids: Mapping[str, str]

    def name(self, unit: str) -> str:
        """The id of a judged unit, which may not be in the corpus."""
        return self.ids.get(unit) or unit.strip()


def convert(collection: Collection, folder: Path) -> Written:
    """Write a dataset into a new folder, all of it or nothing.

    Args:
        collection: What a dataset format has read, checked.
        folder: Does not exist yet, or is empty.

    Returns:
        What was written. Its iterators are used up.

    Raises:
        DatasetError: The folder is not empty or cannot be written, or the layout cannot express the dataset.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise DatasetError(f"--out: {folder} exists; expected a new folder, or an empty one")
        if not collection.documents:
            raise DatasetError(f"{collection.name}: has no documents; expected some to convert")
        written = _beir(collection)
        if collection.left_out.number:
            written.lost.append(f"{counted(collection.left_out.number, 'question')} that the settings leave out")
        if collection.cases:
            written.lost.append(f"the options and answers of {len(collection.cases)} multiple-choice cases")
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.absolute().parent) as made:
            whole = Path(made) / "whole"
            for name, pieces in written.files.items():
                (whole / name).parent.mkdir(parents=True, exist_ok=True)
                with (whole / name).open("w", encoding="utf-8", newline="") as file:
                    file.writelines(pieces)
            whole.rename(folder)  # replaces an empty folder, and no other
    except OSError as error:
        raise DatasetError(f"--out: {folder} cannot be written ({error.strerror})") from error
    return written


def _beir(collection: Collection) -> Written:
    """`corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`."""
    lost: list[str] = []
    units = _units_of(collection, lost)
    queries = _renamed((query.query_id for query in collection.queries), "query id", lost)
    judged = {judgment.query_id for judgment in collection.judgments}
    _note(lost, (query for query in collection.queries if query.query_id not in judged), "query",
          "{} without a judgment: they are written, but not read again")  # fmt: skip
    further = _further_fields(collection.queries, ("_id", "text", QUERY_TYPE, EXCLUDED), lost)
    has_types = any(query.query_type for query in collection.queries)
    left_out = _left_out_ids(collection, units, queries)
    by_fields = bool(left_out) or not set(queries.values()).isdisjoint(units.ids.values())
    return Written(
        "dataset=beir dataset.path={}"
        + f" dataset.type={QUERY_TYPE}" * has_types
        + " dataset.leave_out=null" * by_fields,
        {
            "corpus.jsonl": (_json({"_id": each, "title": "", "text": text}) for each, text in units.texts),
            "queries.jsonl": (
                _json({"_id": name, "text": each.text, **further[each.query_id], **excluded})
                for each in collection.queries
                for name in [queries[each.query_id]]
                for excluded in [{EXCLUDED: left_out[name]} if name in left_out else {}]
            ),
            f"qrels/{SPLIT}.tsv": (
                f"{line}\n"
                for line in [
                    "\t".join(HEADER),
                    *(f"{queries[query]}\t{units.name(unit)}\t{grade}" for query, unit, grade in collection.judgments),
                ]
            ),
        },
        lost,
    )


def _units_of(collection: Collection, lost: list[str]) -> Units:
    """The documents or pages that are judged."""
    if collection.unit == "passage":
        raise DatasetError(f"{collection.name}: judges spans of text, which beir cannot express")
    if not collection.judgments:
        raise DatasetError(f"{collection.name}: has no judgments; expected some to convert")
    documents = collection.documents
    if collection.unit == "document":
        found = [(document.pages[0].unit, document.text) for document in documents if document.pages]
        _note(lost, (document for document in documents if len(document.pages) > 1), "document", "the pages of {}")
    else:
        found = [(page.unit, document.text[page.start : page.end]) for document in documents for page in document.pages]
        lost.append(f"which document each of {len(found)} pages is of: each is a document now")
    if len({unit for unit, _ in found}) < len(found):
        raise DatasetError(f"{collection.name}: judges page numbers of any document, which beir cannot express")
    ids = _renamed((unit for unit, _ in found), collection.unit, lost)
    return Units([(ids[unit], text) for unit, text in found], ids)


def _left_out_ids(collection: Collection, units: Units, queries: Mapping[str, str]) -> dict[str, list[str]]:
    """The new ids of what is left out of the ranking of a query, by its new id."""
    names = {document.source: [page.unit for page in document.pages] for document in collection.documents}
    left: dict[str, list[str]] = {}
    for query_id, source in collection.left_out.documents:
        new = (units.ids[unit] for unit in names.get(source, ()) if unit in units.ids)
        left.setdefault(queries[query_id], []).extend(new)
    return {query_id: ids for query_id, ids in left.items() if ids}


def _renamed(names: Iterable[str], what: str, lost: list[str]) -> dict[str, str]:
    """The names without the white space around them. Raises `DatasetError` if two names would become the same."""
    new_names = {name: name.strip() for name in names}
    taken: dict[str, str] = {}
    for name, new in new_names.items():
        if taken.setdefault(new, name) != name:
            raise DatasetError(
                f"the {what}s {taken[new]!r} and {name!r} would both be {new!r}; expected different ones"
            )
    changed = [name for name, new in new_names.items() if new != name]
    example = f", such as {changed[0]!r}, which is {new_names[changed[0]]!r} now" if changed else ""
    _note(lost, changed, what, f"the names of {{}}{example}")
    return new_names


def _further_fields(queries: Iterable[Query], taken: Iterable[str], lost: list[str]) -> dict[str, dict[str, str]]:
    """The type and the further fields of each query, by its id; without fields whose names are taken."""
    clashes = sorted({name for query in queries for name, _ in query.fields} & set(taken))
    _note(lost, clashes, "field", f"{{}} with the name of another column ({', '.join(clashes)})")
    return {
        query.query_id: ({QUERY_TYPE: query.query_type} if query.query_type else {})
        | {name: text for name, text in query.fields if name not in clashes}
        for query in queries
    }


def _note(lost: list[str], found: Iterable[object], noun: str, sentence: str) -> None:
    """Note what is lost if anything is; `{}` stands for how many there are."""
    if number := sum(1 for _ in found):
        lost.append(sentence.replace("{}", counted(number, noun), 1))


def _json(row: Mapping[str, object]) -> str:
    return f"{json.dumps(row, ensure_ascii=False)}\n"
