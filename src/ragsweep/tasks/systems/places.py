"""What a result of a system is, among what is judged: found by its ids, its source and page, or its text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Literal, NamedTuple
from urllib.parse import unquote

from ragsweep.datasets import Dataset
from ragsweep.datasets.model.dataset import Passage
from ragsweep.retrieval.results import Matching, Result
from ragsweep.tasks.systems.document_texts import DocumentTexts, Spot
from ragsweep.text.normalisation import composed

By = Literal["id", "page", "text", "nothing"]


class Place(NamedTuple):
    """What a result was matched to.

    Attributes:
        units: What is judged of it: its pages or its document, in their order; empty if it is nothing that is known.
        by: What of the result says so.
        source: Its document; empty if that is not known.
        start: Offset of its first character in the text of the document; 0 if that is not known.
        end: Offset after its last character; 0 if that is not known.
        others: In how many other pages or documents its text stands as well; the result does not say which one it is.
        rivals: Which others its ids name, where its text does not say which one it is.
    """

    units: tuple[str, ...] = ()
    by: By = "nothing"
    source: str = ""
    start: int = 0
    end: int = 0
    others: int = 0
    rivals: tuple[str, ...] = ()


class _Page(NamedTuple):
    start: int
    end: int
    unit: str


class Places:
    """Finds the places of results in a dataset.

    Args:
        dataset: Its passages are its pages; without a corpus it has none, and its units are those that are judged.
        matching: How results are matched.
        texts: Those of its documents, if they were read before.
    """

    def __init__(self, dataset: Dataset, matching: Matching, texts: DocumentTexts | None = None) -> None:
        self._dataset, self.matching = dataset, matching
        self._units = {composed(unit): unit for unit in dataset.units}
        self._texts = texts or DocumentTexts(dataset)
        self._found: dict[Result, Place] = {}

    def of(self, result: Result) -> Place:
        """The place of a result; results that differ in their score alone have one."""
        known = result._replace(score=None)
        if known not in self._found:
            self._found[known] = self._place(known)
        return self._found[known]

    def counted_from(self, first_page: int) -> Places:
        """The places of results whose pages are counted otherwise."""
        return Places(self._dataset, self.matching._replace(first_page=first_page), self._texts)

    def standing_on(self, result: Result) -> set[str]:
        """The pages on which the text of a result stands: in the document that it names, or else in any; or none."""
        source = next((each for each in self._sources(result.source) if each in self._pages), "")
        spots = (self._texts.spots(result.text, 1.0, source) or self._texts.spots(result.text, 1.0)) if source else ()
        return {unit for spot in spots for unit in self._units_at(spot)}

    def _place(self, result: Result) -> Place:
        if self._dataset.references:  # a span is judged: what counts is where the text stands
            return self._of_text(result)
        if named := self._named(result):
            return Place(named[:1], "id", self._source_of_unit.get(named[0], ""), rivals=named[1:])
        bare = result.ids[0] if result.ids and result == Result(result.ids, text=result.text) else ""
        page = result.page or (bare if result.text in ("", bare) else "")  # a number alone is that of a page
        for source in self._sources(result.source):
            for name in self._names(source, page):
                if name in self._units:
                    return Place((self._units[name],), "page", source)
            if self._counts_pages(source, page):  # it lacks this one; its text would mix two ways of counting
                return Place()
        return self._of_text(result)

    def _named(self, result: Result) -> tuple[str, ...]:
        """The units that the ids of a result name; where these are several, those in which its text stands, if any.

        A number can be that of a row in a database, also beside a source that names another document.
        """
        names = [composed(each) for each in result.ids]
        if result.page and self._dataset.unit == "page" and any(self._sources(result.source)):
            names = [each for each in names if not each.isdecimal()]
        units = tuple(dict.fromkeys(self._units[each] for each in names if each in self._units))
        if units and result.source and self._dataset.unit == "document" and all(map(str.isdecimal, names)):
            units = tuple(dict.fromkeys([*units, *self._sources(result.source)]))
        if len(units) < 2:
            return units
        of_units = {self._source_of_unit.get(each, "") for each in units} - {""}
        spots = [spot for each in of_units for spot in self._texts.spots(result.text, 1.0, each)]
        standing = {unit for spot in spots for unit in self._units_at(spot)}
        return tuple(each for each in units if each in standing) or units

    def _counts_pages(self, source: str, page: str) -> bool:
        """Whether a page is a number, and a document has numbers for pages."""
        units = (each.unit.removeprefix(f"{source}#") for each in self._pages.get(source, ()))
        return self._counted_from_1(page).isdecimal() and any(map(str.isdecimal, units))

    def _names(self, source: str, page: str) -> Iterator[str]:
        """The names that the unit of a page, or of a document, can have."""
        if self._dataset.unit == "document":
            yield source
        elif page:
            number = self._counted_from_1(page)
            yield f"{source}#{number}"
            yield number  # of a page of any document

    def _counted_from_1(self, page: str) -> str:
        whole = page.removesuffix(".0")
        return str(int(whole) + 1 - self.matching.first_page) if whole.isdecimal() else composed(page.strip())

    def _of_text(self, result: Result) -> Place:
        """The pages on which the text of a result stands, if it stands in the documents."""
        if not result.text or not self._pages:
            return Place()
        source = next((each for each in self._sources(result.source) if each in self._pages), "")
        spots = self._texts.spots(result.text, self.matching.fuzzy_threshold, source)
        found = [Place(self._units_at(spot), "text", *spot) for spot in spots]
        named = {name for each in self._sources(result.source) for name in self._names(each, result.page)}
        first = found[0]._replace(others=len({each.units for each in found}) - 1) if found else Place()
        return next((each for each in found if named & {*each.units}), first)

    def _units_at(self, spot: Spot) -> tuple[str, ...]:
        pages = self._pages[spot.source]
        first = max(0, bisect_right([page.start for page in pages], spot.start) - 1)
        units = [page.unit for page in pages[first:] if page.start < spot.end and page.end > spot.start]
        return tuple(dict.fromkeys(units))

    def _sources(self, source: str) -> Iterator[str]:
        """The names that a document can have in the dataset; that of the only one if the result names none."""
        if not (source and self._documents):  # without any, pages are judged by their numbers alone
            yield from [source] if not self._documents else self._documents if len(self._documents) == 1 else ()
            return
        paths = [*_ends(composed(source)), *_ends(composed(unquote(source)))]
        if found := [self._documents[path] for path in paths if path in self._documents]:
            yield max(found, key=len)  # a folder can have a file that is called as one beside it
            return
        alike = (self._without_ending.get(end, ()) for path in paths for end in (path, _without_ending(path)))
        yield from next((each for each in alike if len(each) == 1), ())

    @cached_property
    def _documents(self) -> Mapping[str, str]:
        """The names of the documents: of the corpus, or those in the units that are judged."""
        names = dict.fromkeys(passage.source for passage in self._dataset.passages)
        if not names:
            units = self._dataset.units
            names = dict.fromkeys(
                each if self._dataset.unit == "document" else each.rpartition("#")[0] for each in units
            )
        return {composed(name): name for name in names if name}

    @cached_property
    def _without_ending(self) -> Mapping[str, Sequence[str]]:
        """The documents by the ends of their paths, without the endings of their names."""
        found: dict[str, list[str]] = {}
        for path, name in self._documents.items():
            for end in _ends(_without_ending(path)):
                found.setdefault(end, []).append(name)
        return found

    @cached_property
    def _pages(self) -> Mapping[str, Sequence[_Page]]:
        pages: dict[str, list[_Page]] = {}
        for passage, unit in zip(self._dataset.passages, self._dataset.passage_units.tolist(), strict=True):
            pages.setdefault(passage.source, []).append(_Page(passage.start, passage.end, self._dataset.units[unit]))
        return pages

    @cached_property
    def _source_of_unit(self) -> Mapping[str, str]:
        return {page.unit: source for source, pages in self._pages.items() for page in pages}


def _ends(path: str) -> list[str]:
    """A path as it is, and without its first folders: `a/b/c`, `b/c`, `c`."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    return [*dict.fromkeys([path, *("/".join(parts[start:]) for start in range(len(parts)))])]


def _without_ending(path: str) -> str:
    return path.removesuffix(PurePosixPath(path).suffix)


def passage_of(result: Result, place: Place, name: str) -> Passage:
    """A result as a passage of this name."""
    text = "" if place.by == "id" and result.text in result.ids else result.text  # the name alone came back
    return Passage(text, place.source or result.source, 0, result.page, name, place.start, place.end)
