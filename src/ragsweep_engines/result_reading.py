"""Reads results of frameworks and services: by a JMESPath for each field, or else by a documented list of names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite, isnan
from numbers import Real
from typing import Any, NamedTuple

import jmespath
from jmespath.exceptions import JMESPathError

from ragsweep.core.errors import ConfigError, RetrieverError, first_line
from ragsweep.core.terminal import some_of
from ragsweep.retrieval.results import Result

# The names that are read without a setting (docs/your_retriever.md): the first that a result has, in the first place.
PLACES: Sequence[str] = (
    *("", "node", "metadata", "meta", "node.metadata", "payload", "payload.metadata"),
    *("_source", "_source.metadata", "entity"),
)
NAMES: Mapping[str, Sequence[str]] = {
    "id": ("doc_id", "docno", "document_id", "id", "_id", "chunk_id", "node_id", "id_"),
    "source": ("source", "file_path", "file_name", "filename", "path", "url"),
    "page": ("page", "page_number", "page_label"),
    "text": ("text", "content", "page_content", "chunk"),
    "score": ("score", "_score", "similarity"),
}
LISTS = ("documents", "docs", "results", "hits", "nodes", "source_nodes", "points", "matches", "chunks", "data")
CHROMA = {"ids": "id", "documents": "text", "metadatas": "metadata"}  # which returns columns, a list for each query
MOST_LEVELS = 4  # of objects within objects
RESULTS_NAMED = 3  # whose names are shown in an error
MOST_IN_LIST = 100  # entries of a list in a field; a longer one is an embedding


class Fields(NamedTuple):
    """The fields of a result, each as a JMESPath; None for the names above."""

    id: str | None = None
    source: str | None = None
    page: str | None = None
    text: str | None = None
    score: str | None = None

    def check(self) -> None:
        """Raise `ConfigError` for one that is no JMESPath."""
        for name, path in self._asdict().items():
            check_path(name, path)


class Read(NamedTuple):
    """The results that were read for a query.

    Attributes:
        results: The results, in their order.
        fields: Where the fields of results were found, by `Fields`.
        names: The names that results have, with dots.
    """

    results: tuple[Result, ...]
    fields: Mapping[str, Sequence[str]]
    names: Sequence[str]


def check_path(name: str, path: str | None) -> None:
    """Raise `ConfigError` if a setting is no JMESPath."""
    try:
        jmespath.compile(path or "a")
    except JMESPathError as error:
        raise ConfigError(f"retriever.{name}: found {path!r}, expected a JMESPath ({first_line(error)})") from error


def results_of(answer: object, fields: Fields) -> Read:
    """The results in what was returned for a query.

    Raises:
        RetrieverError: There is no list of results in it, or a result is nothing that can be read.
    """
    entries = listing(answer)
    read = [_result(entry, fields) for entry in entries]
    names = dict.fromkeys(name for entry in entries[:RESULTS_NAMED] for name in _names(as_fields(entry)))
    places = {name: dict.fromkeys(place[name] for _, place in read if name in place) for name in NAMES}
    if read and not (places["id"] or places["source"] or places["text"]):
        expected = "expected an id, a source or a text; retriever.id=FIELD names one"
        raise RetrieverError(f"no result has a field of a usual name (there is {some_of(names) or 'none'}); {expected}")
    return Read(tuple(one for one, _ in read), {name: [*paths] for name, paths in places.items() if paths}, [*names])


def listing(answer: object) -> list[object]:
    """The entries of the list of results in what was returned, unread. Raises `RetrieverError` if it has none."""
    import pandas as pd

    if isinstance(answer, pd.DataFrame):
        records: list[Any] = answer.to_dict("records")
        if "rank" in answer.columns:
            records.sort(key=lambda row: float(row["rank"]))
        return records
    if answer is None or isinstance(answer, str | bytes | set | frozenset):
        raise RetrieverError(f"returned {_kind(answer)}, expected a list of results, the best first; it may be empty")
    if isinstance(answer, Iterable) and not isinstance(answer, Mapping):
        return [*answer]
    named: Any = answer if isinstance(answer, Mapping) else getattr(answer, "__dict__", {})
    ids = named.get("ids")
    if isinstance(ids, list) and [type(column) for column in ids] == [list]:
        columns = {new: named[old][0] for old, new in CHROMA.items() if named.get(old)}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return [*rows]
    for name in LISTS:
        if isinstance(named.get(name), list | tuple):
            return [*named[name]]
    if named and all(isinstance(score, Real) for score in named.values()):  # scores by id
        return sorted(named.items(), key=lambda pair: (pair[1] != pair[1], -pair[1]))  # NaN is last
    names = some_of(map(str, named)) or "none"
    raise RetrieverError(f"returned {_kind(answer)} with fields without a list of results ({names})")


def as_fields(value: Any, levels: int = MOST_LEVELS) -> Any:
    """An object as mappings, lists and plain values, a few levels deep."""
    if isinstance(value, str):
        return encodable(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Real):  # a number of NumPy
        return float(value)
    if not levels:
        return None
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [as_fields(one, levels - 1) for one in value] if len(value) <= MOST_IN_LIST else None
    slots = getattr(type(value), "__slots__", ())  # the name of a single one may stand alone
    names = (slots,) if isinstance(slots, str) else slots
    own: Any = value if isinstance(value, Mapping) else value._asdict() if hasattr(value, "_fields") else None
    if own is None:
        own = getattr(value, "__dict__", None) or {name: getattr(value, name, None) for name in names}
    named = {str(name): as_fields(one, levels - 1) for name, one in own.items() if not str(name).startswith("__")}
    return named or None


def encodable(text: str) -> str:
    """A text with U+FFFD in place of each half of a character, which JSON can have and UTF-8 cannot."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _result(entry: object, fields: Fields) -> tuple[Result, Mapping[str, str]]:
    """A result, and where its fields were found."""
    if isinstance(entry, str | Real) and not isinstance(entry, bool):
        text = encodable(entry) if isinstance(entry, str) else ""
        return Result((_text(entry),), text=text), {"id": "the result itself"}
    if isinstance(entry, list | tuple) and len(entry) == 2 and not hasattr(entry, "_fields"):  # it and its score
        scores = [one is None or (isinstance(one, Real) and not isinstance(one, bool)) for one in entry]
        if any(scores):
            hit, score = entry if scores[1] else entry[::-1]
            result, places = _result(hit, fields)
            return result._replace(score=_number(score)), places
    read = as_fields(entry)
    if not isinstance(read, Mapping):
        raise RetrieverError(f"returned a result of type {_kind(entry)}, expected a text, fields or an object")
    value: dict[str, object] = dict.fromkeys(NAMES)
    places = {}
    for name, path in fields._asdict().items():
        for place, one in [(path, _at_path(read, name, path))] if path else _usual(read, name):
            if isinstance(one, str | int | float) and not isinstance(one, bool) and not _is_nan(one):
                value[name], places[name] = one, place
                break
    source, page, text = (_text(value[name]) for name in ("source", "page", "text"))
    ids = () if value["id"] in (None, "") else (_text(value["id"]),)
    return Result(ids, source, page, text, _number(value["score"])), places


def _usual(read: Mapping[str, Any], field: str) -> Iterator[tuple[str, object]]:
    """The values of the documented names of a field, each with its path; those that are not empty first."""
    values = []
    for place in PLACES:
        inner: Any = read
        for part in filter(None, place.split(".")):
            inner = inner.get(part) if isinstance(inner, Mapping) else None
        if isinstance(inner, Mapping):
            prefix = f"{place}." if place else ""
            values += [(f"{prefix}{name}", inner[name]) for name in NAMES[field] if name in inner]
    yield from sorted(values, key=lambda pair: pair[1] in ("", None))


def _at_path(read: Mapping[str, Any], name: str, path: str) -> object:
    try:
        return jmespath.search(path, read)
    except JMESPathError as error:  # a function of JMESPath that does not take what it finds
        raise RetrieverError(f"retriever.{name}: {path!r} fails on a result ({first_line(error)})") from error


def _names(read: object, prefix: str = "") -> Iterator[str]:
    """The names of the fields of a result, with dots."""
    if isinstance(read, Mapping):
        for key, value in read.items():
            yield from _names(value, f"{prefix}.{key}".lstrip("."))
    elif prefix:
        yield prefix


def _text(value: object) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else encodable(str(value))


def _number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever it is
    except (TypeError, ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and isnan(value)


def _kind(value: object) -> str:
    return type(value).__name__
