"""What a dataset is written as in another format: names that the format can have, and what is lost in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import counted
from ragsweep.datasets.model.collection import Collection, Query
from ragsweep.datasets.readers.fields import QUERY_TYPE

BOM = "\ufeff"  # readers take one at the beginning of a file for a mark


@dataclass(frozen=True)
class Written:
    """A dataset in another format.

    Attributes:
        settings: What `ragsweep run` needs to read it; `{}` stands for the folder.
        files: The pieces of text of each file, by its path in the folder.
        lost: What the format cannot express, one sentence each.
    """

    settings: str
    files: Mapping[str, Iterable[str]]
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Units:
    """What is judged, as documents: their new ids and texts, and the new id of every unit."""

    texts: list[tuple[str, str]]
    ids: Mapping[str, str]
    change: Callable[[str], str]

    def name(self, unit: str) -> str:
        """The id of a judged unit, which may not be in the corpus."""
        return self.ids.get(unit) or self.change(unit)


def units_of(collection: Collection, to: str, change: Callable[[str], str], lost: list[str]) -> Units:
    """The documents or pages that are judged; `change` makes ids of their names that the format can have."""
    if collection.unit == "passage":
        raise DatasetError(f"{collection.name}: judges spans of text, which {to} cannot express; expected --to spans")
    if not collection.judgments:
        raise DatasetError(f"{collection.name}: has no judgments; expected some to convert")
    documents = collection.documents
    if collection.unit == "document":
        found = [(document.pages[0].unit, document.text) for document in documents if document.pages]
        note(lost, (document for document in documents if len(document.pages) > 1), "document", "the pages of {}")
    else:
        found = [(page.unit, document.text[page.start : page.end]) for document in documents for page in document.pages]
        lost.append(f"which document each of {len(found)} pages is of: each is a document now")
    if len({unit for unit, _ in found}) < len(found):
        raise DatasetError(f"{collection.name}: judges page numbers of any document; expected --to table")
    ids = renamed((unit for unit, _ in found), collection.unit, change, lost)
    return Units([(ids[unit], text) for unit, text in found], ids, change)


def left_out_ids(collection: Collection, units: Units, queries: Mapping[str, str]) -> dict[str, list[str]]:
    """The new ids of what is left out of the ranking of a query, by its new id."""
    names = {document.source: [page.unit for page in document.pages] for document in collection.documents}
    left: dict[str, list[str]] = {}
    for query_id, source in collection.left_out.documents:
        new = (units.ids[unit] for unit in names.get(source, ()) if unit in units.ids)
        left.setdefault(queries[query_id], []).extend(new)
    return {query_id: ids for query_id, ids in left.items() if ids}


def query_ids(collection: Collection, change: Callable[[str], str], lost: list[str]) -> dict[str, str]:
    """The ids of the queries that the format can have, by the old ones."""
    return renamed((query.query_id for query in collection.queries), "query id", change, lost)


def renamed(names: Iterable[str], what: str, change: Callable[[str], str], lost: list[str]) -> dict[str, str]:
    """The names that a format can have. Raises `DatasetError` if two names would become the same."""
    new_names = {name: change(name) for name in names}
    taken: dict[str, str] = {}
    for name, new in new_names.items():
        if taken.setdefault(new, name) != name:
            raise DatasetError(
                f"the {what}s {taken[new]!r} and {name!r} would both be {new!r}; expected different ones"
            )
    changed = [name for name, new in new_names.items() if new != name]
    example = f", such as {changed[0]!r}, which is {new_names[changed[0]]!r} now" if changed else ""
    note(lost, changed, what, f"the names of {{}}{example}")
    return new_names


def further_fields(queries: Iterable[Query], taken: Iterable[str], lost: list[str]) -> dict[str, dict[str, str]]:
    """The type and the further fields of each query, by its id; without fields whose names are taken."""
    clashes = sorted({name for query in queries for name, _ in query.fields} & set(taken))
    note(lost, clashes, "field", f"{{}} with the name of another column ({', '.join(clashes)})")
    return {
        query.query_id: ({QUERY_TYPE: query.query_type} if query.query_type else {})
        | {name: text for name, text in query.fields if name not in clashes}
        for query in queries
    }


def note_fields(queries: Iterable[Query], lost: list[str]) -> None:
    """Note what is lost if queries cannot have types and fields."""
    note(lost, (query for query in queries if query.query_type or query.fields), "query", "types and fields of {}")


def note_left_out(queries: Iterable[str], lost: list[str]) -> None:
    """Note what is lost if documents cannot be left out of the rankings of queries."""
    note(lost, set(queries), "query", "the documents that are left out of the rankings of {}")


def note(lost: list[str], found: Iterable[object], noun: str, sentence: str) -> None:
    """Note what is lost if anything is; `{}` stands for how many there are."""
    if number := sum(1 for _ in found):
        lost.append(sentence.replace("{}", counted(number, noun), 1))


def one_word(name: str) -> str:
    """A name without white space, and not like the beginning of SGML."""
    return re.sub(rf"\s|^<|^{BOM}", lambda found: quote(found[0]), name)
