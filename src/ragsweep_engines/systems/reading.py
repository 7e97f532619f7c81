"""Reads what a retriever of any framework returns as results, by the names that their fields usually have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from math import isfinite, isnan
from numbers import Real
from typing import Any, NamedTuple

import jmespath
from jmespath.exceptions import JMESPathError

from ragsweep.core.errors import ConfigError, RetrieverError, first_line
from ragsweep.core.terminal import some_of
from ragsweep.retrieval.results import Result
from ragsweep_engines.systems.usual_fields import LISTS, NAMES, WITHIN

MOST_LEVELS = 4  # of objects within objects
MOST_IN_LIST = 100  # entries of a list in a field; a longer one is an embedding


class Fields(NamedTuple):
    """The fields of a result, each as a JMESPath; None for the usual names."""

    id: str | None = None
    source: str | None = None
    page: str | None = None
    text: str | None = None
    score: str | None = None

    def check(self) -> None:
        """Raise `ConfigError` for one that is no JMESPath."""
        for name, path in self._asdict().items():
            check_path(name, path)


def check_path(name: str, path: str | None) -> None:
    """Raise `ConfigError` if a setting is no JMESPath."""
    try:
        jmespath.compile(path or "a")
    except JMESPathError as error:
        raise ConfigError(f"retriever.{name}: found {path!r}, expected a JMESPath ({first_line(error)})") from error


class Reader:
    """Reads what a retriever returns, and notices if no result has a field that is set.

    The results of one query need not have it: they may be of documents without pages.

    Args:
        fields: Of a result.
        patience: After how many answers without a field to say so; None says it in `check` only.
    """

    def __init__(self, fields: Fields, patience: int | None = None) -> None:
        self._patience = patience
        self._fields = fields
        self._absent = {name for name, path in fields._asdict().items() if path}
        self._there: set[str] = set()
        self._answers = 0

    def results(self, answer: object) -> list[Result]:
        """The results in what was returned for a query, in their order.

        Raises:
            RetrieverError: There is no list of results in it, a result is nothing that can be read, or patience is
                over.
        """
        listed = listing(answer)
        results = [_result(each, self._fields) for each in listed]
        if results and not any(each.ids or each.source or each.text for each in results):
            self._expect_known([as_fields(each) for each in listed])
        self._absent = {name for name in self._absent if not any(_has(each, name) for each in results)}
        if self._absent and listed:
            self._answers += 1
            self._there |= {each for found in listed for each in _names(as_fields(found))}
            if self._answers == self._patience:
                self.check()
        return results

    def check(self) -> None:
        """Raise `RetrieverError` if no result that was read has a field that is set."""
        for name in sorted(self._absent) if self._answers else ():
            there = some_of(sorted(self._there)) or "none"
            raise RetrieverError(f"retriever.{name}: no result has {self._fields._asdict()[name]!r} (there is {there})")

    def _expect_known(self, listed: Sequence[Any]) -> None:
        """Raise `RetrieverError` if no result has a field of a usual name, even an empty one, and none is set."""
        named = (each for found in listed for name in NAMES if name != "score" for each in _usual(found, name))
        if any(self._fields) or any(isinstance(each, str | int | float) for each in named):
            return
        there = some_of(sorted({name for found in listed for name in _names(found)})) or "none"
        expected = "expected an id, a source or a text; retriever.id=FIELD names one"
        raise RetrieverError(f"no result has a field of a usual name (there is {there}); {expected}")


def results_of(answer: object, fields: Fields) -> list[Result]:
    """The results in a single answer. Raises as `Reader` does."""
    reader = Reader(fields)
    results = reader.results(answer)
    reader.check()
    return results


def listing(answer: object) -> list[object]:
    """The entries of the list of results in what was returned, unread. Raises `RetrieverError` if it has none."""
    return [*_listed(answer)]


def encodable(text: str) -> str:
    """A text with U+FFFD in place of each half of a character, which JSON can have and UTF-8 cannot."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def as_fields(value: object, levels: int = MOST_LEVELS) -> Any:
    """An object as mappings, lists and plain values, a few levels deep."""
    if isinstance(value, str):
        return encodable(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Real):  # a number of NumPy
        return float(value)
    if not levels:
        return None
    if isinstance(value, tuple) and hasattr(value, "_fields"):  # a named one
        value = dict(zip(value._fields, value, strict=True))
    if isinstance(value, Mapping):
        named = ((key.value if isinstance(key, Enum) else key, each) for key, each in value.items())
        return {str(key): as_fields(each, levels - 1) for key, each in named}
    if isinstance(value, list | tuple):
        return [as_fields(each, levels - 1) for each in value] if len(value) <= MOST_IN_LIST else None
    slots = getattr(type(value), "__slots__", ())  # the name of a single one may stand alone
    names = getattr(value, "__dict__", ()) or ((slots,) if isinstance(slots, str) else slots)
    own = {name: getattr(value, name, None) for name in names if not name.startswith("__")}
    return {name: as_fields(each, levels - 1) for name, each in own.items()} or None


def _listed(answer: object) -> Iterable[object]:
    """The entries of a list of results, wherever it is in an answer."""
    import pandas as pd

    if isinstance(answer, pd.DataFrame):
        rows = answer.to_dict("records")
        if "rank" in answer:
            rows.sort(key=_rank)
        return rows
    if isinstance(answer, pd.Series):
        is_numbered = isinstance(answer.index, pd.RangeIndex)  # whole numbers in a list are ids
        kinds = "f" if is_numbered else "fiu"
        return _by_score(answer.items()) if answer.dtype.kind in kinds else answer
    if isinstance(answer, str | bytes) or answer is None:
        found = "None" if answer is None else "a text"
        raise RetrieverError(f"returned {found}, expected a list of results, which may be empty")
    if isinstance(answer, set | frozenset):
        raise RetrieverError(f"returned a {_kind(answer)}, which has no order; expected a list, the best result first")
    if isinstance(answer, Mapping):
        return _listed_in(answer)
    if isinstance(answer, Iterable):
        return answer
    try:
        return _listed_in(vars(answer))
    except TypeError as error:
        raise RetrieverError(f"returned {_kind(answer)}, expected a list of results") from error


def _rank(row: Mapping[Any, Any]) -> float:
    if (rank := _number(row["rank"])) is None:
        raise RetrieverError(f"returned {row['rank']!r:.80} as a rank, expected a number")
    return rank


def _listed_in(answer: Mapping[Any, Any]) -> Iterable[object]:
    if columns := _columns(answer):
        return columns
    for name in LISTS:
        if isinstance(found := answer.get(name), list | tuple):
            return found
    inner = {str(name): each for name, each in answer.items() if isinstance(each, Mapping)}  # of each component
    inner = {name: each for name, each in inner.items() if any(isinstance(each.get(n), list | tuple) for n in LISTS)}
    if len(inner) > 1:
        raise RetrieverError(f"returned lists of results in {some_of(inner)}; expected one, by a function that chooses")
    if inner:
        return _listed_in(next(iter(inner.values())))
    if answer and all(isinstance(each, Real) for each in answer.values()):  # scores by id
        return _by_score(answer.items())
    raise RetrieverError(f"returned fields without a list of results ({some_of(map(str, answer)) or 'none'})")


def _by_score(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    return sorted(pairs, key=lambda pair: (pair[1] != pair[1], -pair[1]))  # NaN is last


def _columns(answer: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """Results that are given column by column, as Chroma does: a list for each query, of which there is one."""
    ids = answer.get("ids")
    if not (isinstance(ids, list) and len(ids) == 1 and isinstance(ids[0], list)):
        return []
    names = {"ids": "id", "documents": "text", "metadatas": "metadata"}
    columns = {new: answer[old][0] for old, new in names.items() if isinstance(answer.get(old), list) and answer[old]}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _result(found: object, fields: Fields) -> Result:
    if isinstance(found, str):
        return Result((text := encodable(found),), text=text)
    if isinstance(found, Real) and not isinstance(found, bool):
        return Result((_text(found),))
    usual = {name for field, names in NAMES.items() if field != "score" for name in names}
    plainly = (isinstance(getattr(found, name), str | int) for name in getattr(found, "_fields", ()) if name in usual)
    if isinstance(found, list | tuple) and len(found) == 2 and not any(plainly):  # not a tuple whose fields are named
        scores = [each is None or isinstance(each, Real) for each in found]
        if scores in ([False, True], [True, False]) or all(scores):
            thing, score = found if scores[1] else found[::-1]
            return _result(thing, fields)._replace(score=_number(score))
    read = as_fields(found)
    if not isinstance(read, Mapping) or not read:
        raise RetrieverError(f"returned a result of type {_kind(found)}, expected a text, fields or an object")
    first = {name: next(_values(read, name, path), None) for name, path in fields._asdict().items()}
    ids = tuple(dict.fromkeys(_text(each) for each in _values(read, "id", fields.id)))
    source, page, text = (_text(first[name]) for name in ("source", "page", "text"))
    return Result(ids, source, page, text, _number(first["score"]))


def _values(read: Mapping[str, Any], name: str, path: str | None) -> Iterator[object]:
    """The values of a field, the likeliest first; only those that are plain."""
    for found in [_at_path(read, name, path)] if path else _usual(read, name):
        each = found[0] if isinstance(found, list) and len(found) == 1 else found  # as Solr and Elasticsearch have it
        missing = each is None or each == "" or (isinstance(each, float) and isnan(each))  # as a DataFrame says it
        if isinstance(each, str | int | float) and not isinstance(each, bool) and not missing:
            yield each


def _at_path(read: Mapping[str, Any], name: str, path: str) -> object:
    try:
        return jmespath.search(path, read)
    except JMESPathError as error:  # a function of JMESPath that does not take what it finds
        raise RetrieverError(f"retriever.{name}: {path!r} fails on a result ({first_line(error)})") from error


def _usual(read: Mapping[str, Any], field: str) -> Iterator[object]:
    """The values of the usual names of a field, wherever results usually have them."""
    for place in WITHIN:
        inner = _at(read, place) if place else read
        for name in NAMES[field]:
            yield _at(inner, name) if inner is not None else _at(read, f"{place}.{name}")


def _at(read: object, place: str) -> object:
    if not isinstance(read, dict):
        return None
    if place in read:  # also a name with a dot
        return read[place]
    outer, _, inner = place.partition(".")
    return _at(read.get(outer), inner) if inner else None


def _has(result: Result, name: str) -> bool:
    return bool(result.ids) if name == "id" else result._asdict()[name] not in ("", None)


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
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever it is
    except (TypeError, ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def _kind(value: object) -> str:
    return type(value).__name__
