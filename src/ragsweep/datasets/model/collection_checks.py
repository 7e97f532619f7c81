"""Checks that apply to every collection, from any dataset format."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from numbers import Integral
from typing import get_args

from ragsweep.core.errors import DatasetError
from ragsweep.datasets.model.cases import check_cases
from ragsweep.datasets.model.collection import Collection, Document, Unit
from ragsweep.datasets.readers.fields import LARGEST_GRADE, flaw_of_name, flaw_of_text
from ragsweep.text.normalisation import composed
from ragsweep.text.tokens import plain_words


def check(collection: Collection, *, may_lack_judgments: bool = False) -> None:
    """Raise `DatasetError` if the collection cannot be measured and recorded, or, without judgments, ranked."""
    documents, queries = collection.documents, collection.queries
    if collection.unit not in get_args(Unit):
        expected = ", ".join(get_args(Unit))
        raise DatasetError(f"{collection.name}: unit: found {collection.unit!r}, expected one of {expected}")
    names = {
        "document": [document.source for document in documents],
        "page number": [page.page_number for document in documents for page in document.pages],
        "unit": [page.unit for document in documents for page in document.pages],
        "query id": [query.query_id for query in queries],
        "query type": [query.query_type for query in queries if query.query_type is not None],
        "judged unit": [judgment.unit for judgment in collection.judgments],
    }
    for kind, names_of_kind in names.items():
        for name in names_of_kind:
            if flaw := flaw_of_name(name):
                raise DatasetError(f"{collection.name}: the {kind} {name!r} {flaw}")
    for kind in ("document", "query id"):
        name, times = Counter(map(composed, names[kind])).most_common(1)[0] if names[kind] else ("", 0)
        if times > 1:
            raise DatasetError(f"{collection.name}: the {kind} {name!r} occurs {times} times; expected once")
    texts = chain(
        ((f"document {document.source!r}", document.text) for document in documents),
        ((f"query {query.query_id!r}", query.text) for query in queries),
    )
    for name, text in texts:
        if flaw := flaw_of_text(text):
            raise DatasetError(f"{collection.name}: the text of {name} {flaw}")
    for query in queries:
        if not query.text.strip():
            raise DatasetError(f"{collection.name}: the text of query {query.query_id!r} is blank")
    for document in documents:
        _check_pages(collection.name, document)
    check_cases(collection.name, collection.cases, names["query id"])
    if collection.judgments or not may_lack_judgments:
        _check_judgments(collection)
    _check_references(collection)


def _check_pages(dataset: str, document: Document) -> None:
    ends = [0, *(page.end for page in document.pages)]
    for page, end in zip(document.pages, ends, strict=False):
        if not end <= page.start <= page.end <= len(document.text):
            place = f"{document.source}#{page.page_number}: found characters {page.start} to {page.end}"
            after = f"expected them within {end} to {len(document.text)}, after the previous page"
            raise DatasetError(f"{dataset}: {place}, {after}")


def _check_judgments(collection: Collection) -> None:
    if not collection.judgments and not collection.cases and not collection.references:
        why = collection.unjudged or f"{collection.name}: no query has a judgment"
        raise DatasetError(f"{why}, so nothing can be measured; ragsweep judge asks for what a decision needs")
    query_ids = {query.query_id for query in collection.queries}
    grades: dict[tuple[str, str], int] = {}
    for query_id, unit, grade in collection.judgments:
        if query_id not in query_ids:
            problem = "the query does not exist"
        elif not isinstance(grade, Integral) or isinstance(grade, bool) or abs(grade) > LARGEST_GRADE:
            problem = f"found the grade {grade!r}, expected a whole number from -10^9 to 10^9"
        elif grades.setdefault((query_id, unit), grade) != grade:
            problem = f"found the grades {grades[query_id, unit]} and {grade}, expected one"
        else:
            continue
        raise DatasetError(f"{collection.name}: judgment of {unit!r} for query {query_id!r}: {problem}")


def _check_references(collection: Collection) -> None:
    if not collection.references:
        return
    if collection.unit != "passage" or collection.judgments:
        raise DatasetError(f"{collection.name}: has references, so expected the unit passage and no other judgments")
    query_ids = {query.query_id for query in collection.queries}
    lengths = {document.source: len(document.text) for document in collection.documents}
    for query_id, source, start, end, text in collection.references:
        if query_id not in query_ids:
            problem = "the query does not exist"
        elif source not in lengths:
            problem = "the document does not exist"
        elif not (isinstance(start, Integral) and isinstance(end, Integral)):
            problem = f"found characters {start!r} to {end!r}, expected whole numbers"
        elif start == end == 0 and plain_words(text):
            continue
        elif not 0 <= start < end <= lengths[source]:
            problem = f"found characters {start} to {end}, expected them within 0 to {lengths[source]}"
        else:
            continue
        raise DatasetError(f"{collection.name}: reference in {source!r} for query {query_id!r}: {problem}")
