"""Documents that a benchmark leaves out of the ranking of a query: the query's own one, and those that it names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import say_once, verb
from ragsweep.datasets.model.collection import Document, Judgment, Query, Unranked
from ragsweep.datasets.readers.fields import Entry, listed, shown_value, whole
from ragsweep.text.normalisation import composed

LeaveOut = Literal["same_id"] | None

EXCLUDED = "excluded_ids"  # the field of a query with the ids of documents, as in BRIGHT
NO_ID = ("", "N/A")  # in that field


def own_documents(
    queries: Iterable[Query], documents: Iterable[Document], judgments: Iterable[Judgment]
) -> tuple[Unranked, ...]:
    """The document with the id of the query, for each query that has one.

    In ArguAna and Quora that document is the query itself. BEIR and MTEB leave it out in all benchmarks. Where most of
    these documents are judged relevant to their queries, equal ids say which document answers which query, as in
    PubMedQA, and nothing is left out.
    """
    by_name = {composed(document.source): document for document in documents}
    own = {name: by_name[name] for query in queries if (name := composed(query.query_id)) in by_name}
    units = {(name, composed(page.unit)) for name, document in own.items() for page in document.pages}
    relevant = {name for query, unit, grade in judgments if grade > 0 and (name := composed(query)) in own
                and (name, composed(unit)) in units}  # fmt: skip
    if 2 * len(relevant) > len(own):
        found = (
            f"{len(relevant)} of {len(own)} {verb(len(relevant), 'are')} judged relevant to it "
            f"({listed(sorted(relevant))})"
        )
        say_once(f"the document with the id of the query is not left out of its ranking: {found}")
        return ()
    return tuple(Unranked(name, document.source) for name, document in own.items())


def excluded_in(entry: Entry, query_id: str, where: str) -> list[Unranked]:
    """The documents that an entry with a query excludes. Raises `DatasetError` if they are not ids."""
    found = entry.get(EXCLUDED)
    ids = found if isinstance(found, list) else [found]
    names = ["" if each is None else each if isinstance(each, str) else whole(each) for each in ids]
    if None in names:
        raise DatasetError(f"{where}: the field {EXCLUDED!r} is {shown_value(found)}; expected a list of ids")
    distinct = dict.fromkeys(str(each).strip() for each in names)
    return [Unranked(query_id, name) for name in distinct if name not in NO_ID]
