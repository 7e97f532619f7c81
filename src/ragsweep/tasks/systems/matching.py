"""What results of a system are among what is judged: found by their ids, by source and page, or by their texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import inf
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np

from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import counted
from ragsweep.datasets import Dataset
from ragsweep.retrieval.results import MatchBy, Matching, Result
from ragsweep.tasks.systems.document_texts import DocumentTexts, Spot
from ragsweep.text.normalisation import composed

IN_ORDER: Sequence[MatchBy] = ("id", "page", "text")
NAMED = {"id": "id", "page": "source and page", "text": "text"}
SURELY = 0.9  # of the results whose texts are found: if so many are one page off, `first_page` is wrong
LEAST_BETTER = 0.2  # share of the queries; fewer may be better by chance
BETTER_FOR_ONE_WORSE = 3  # queries
FEWEST_SURE = 10  # results whose texts are found; with fewer, it is no error


class Place(NamedTuple):
    """What a result was matched to.

    Attributes:
        units: What is judged of it: its pages or its document, in their order; empty if it is nothing that is known.
        source: Its document; empty if that is not known.
        start: Offset of its first character in the text of the document; 0 if that is not known.
        end: Offset after its last character; 0 if that is not known.
        other_places: How many other pages or documents have its text; the result does not say which one it is.
    """

    units: tuple[str, ...] = ()
    source: str = ""
    start: int = 0
    end: int = 0
    other_places: int = 0


class _Page(NamedTuple):
    start: int
    end: int
    unit: str


class Places:
    """Finds the places of results in a dataset, all in one way.

    Args:
        dataset: Its passages are its pages; without a corpus it has none, and its units are those that are judged.
        matching: How results are matched.
        results: All results, which decide by what they are matched if `matching` does not.

    Attributes:
        by: By what results are matched.

    Raises:
        ConfigError: Results have ids and pages that are known, and these are not the same.
    """

    def __init__(self, dataset: Dataset, matching: Matching, results: Iterable[Result] = ()) -> None:
        self._dataset, self._first_page, self._threshold = dataset, matching.first_page, matching.fuzzy_threshold
        self._units = {composed(unit): unit for unit in dataset.units}
        self._texts = DocumentTexts(dataset)
        self._places: dict[Result, Place] = {}
        self.by: MatchBy = "text" if dataset.references else matching.by or self._known_by([*dict.fromkeys(results)])

    def of(self, result: Result) -> Place:
        """The place of a result; results that differ in their score alone have one."""
        unscored = result._replace(score=None)
        if unscored not in self._places:
            self._places[unscored] = self._by(self.by, unscored)
        return self._places[unscored]

    def page_count(self, asked: Mapping[int, Sequence[Result]]) -> list[str]:
        """A sentence where results seem to count pages from another number, by their texts or by the judgments.

        Args:
            asked: The results of queries, by their positions.

        Raises:
            ConfigError: Nearly all texts stand one page further than results name, or one page before.
        """
        if self.by != "page" or self._dataset.unit != "page":
            return []
        first, other = self._first_page, 1 - self._first_page
        advice = f"set retriever.first_page={other}"
        results = {result._replace(score=None) for of_query in asked.values() for result in of_query}
        pages = {result: units for result in results if (units := self._units_of_text(result))}
        beside = sum(
            not units & {*self.of(result).units} and bool(units & {*self._by_page(result, other).units})
            for result, units in pages.items()
        )
        if len(pages) >= FEWEST_SURE and beside >= SURELY * len(pages):
            where, number = "before" if other else "after", counted(len(pages), "distinct result")
            raise ConfigError(
                f"the texts of {beside:,} of {number} stand on the page {where} the one that they name: {advice}"
            )
        ranks = np.array([self._first_relevant(*query, (first, other, 2 * first - other)) for query in asked.items()])
        now, then, opposite = ranks.T
        better, worse, shifted = (then < now).sum(), (then > now).sum(), (opposite < now).sum()
        if better < max(2, LEAST_BETTER * len(ranks)) or better < BETTER_FOR_ONE_WORSE * max(worse, shifted):
            return []
        share = f"{better / len(ranks):.0%} of the queries"
        return [f"{share} would be answered better if pages were counted from {other}: {advice}."]

    def _first_relevant(self, query: int, results: Sequence[Result], first_pages: Sequence[int]) -> list[float]:
        """The rank of the first relevant result of a query for each number of the first page; inf if there is none."""
        relevant = self._relevant.get(query, set())
        return [
            next((rank for rank, result in enumerate(results) if relevant & {*self._by_page(result, at).units}), inf)
            for at in first_pages
        ]

    def _known_by(self, results: Sequence[Result]) -> MatchBy:
        """The first way by which any result is known."""
        for result in results:
            ids, pages = self._by("id", result).units, self._by("page", result).units
            if ids and pages and ids != pages:
                raise ConfigError(
                    f"results are known by their id and by their source and page, which are not the same (such as "
                    f"{ids[0]!r} and {pages[0]!r}): set retriever.match_by=id or page"
                )
        usable = (by for by in IN_ORDER[:-1] if any(self._by(by, result).units for result in results))
        return next(usable, IN_ORDER[-1])

    def _by(self, by: MatchBy, result: Result) -> Place:
        if by == "id":
            units = [self._units[name] for name in map(composed, result.ids) if name in self._units]
            return Place((units[0],), self._source_of_unit.get(units[0], "")) if units else Place()
        return self._by_page(result, self._first_page) if by == "page" else self._by_text(result)

    def _by_page(self, result: Result, first_page: int) -> Place:
        bare = result.ids[0] if result.ids and result == Result(result.ids, text=result.text) else ""
        page = result.page or (bare if result.text in ("", bare) else "")  # a number alone is that of a page
        for source in self._sources(result.source):
            for name in self._names(source, page, first_page):
                if name in self._units:
                    return Place((self._units[name],), source)
        return Place()

    def _names(self, source: str, page: str, first_page: int) -> Iterator[str]:
        """The names that the unit of a page, or of a document, can have."""
        if self._dataset.unit == "document":
            yield source
        elif page:
            digits = page.strip().removesuffix(".0")
            number = str(int(digits) + 1 - first_page) if digits.isdecimal() else composed(page.strip())
            yield f"{source}#{number}"
            yield number  # of a page of any document

    def _by_text(self, result: Result) -> Place:
        """The pages on which the text of a result stands, if it stands in the documents."""
        if not result.text or not self._pages:
            return Place()
        spots = self._texts.spots(result.text, self._threshold, self._source_with_pages(result))
        places = [Place(self._units_at(spot), *spot) for spot in spots]
        return places[0]._replace(other_places=len({place.units for place in places}) - 1) if places else Place()

    def _units_of_text(self, result: Result) -> set[str]:
        """The pages on which the text of a result stands, in the document that it names."""
        source = self._source_with_pages(result)
        spots = self._texts.spots(result.text, 1.0, source) if source else ()
        return {unit for spot in spots for unit in self._units_at(spot)}

    def _source_with_pages(self, result: Result) -> str:
        return next((source for source in self._sources(result.source) if source in self._pages), "")

    def _units_at(self, spot: Spot) -> tuple[str, ...]:
        pages = self._pages[spot.source]
        return tuple(dict.fromkeys(page.unit for page in pages if page.start < spot.end and page.end > spot.start))

    def _sources(self, source: str) -> Iterator[str]:
        """The name of the document of a path or an address that ends in it; the only one if a result names none."""
        if not (source and self._documents):  # without any, pages are judged by their numbers alone
            yield from [source] if not self._documents else self._documents if len(self._documents) == 1 else ()
            return
        paths = [*_ends(composed(source)), *_ends(composed(unquote(source)))]
        names = [self._documents[path] for path in paths if path in self._documents]
        if names:  # a folder can have a file that is called as one beside it
            yield max(names, key=len)

    @cached_property
    def _documents(self) -> Mapping[str, str]:
        """The names of the documents: of the corpus, or those in the units that are judged."""
        names = dict.fromkeys(passage.source for passage in self._dataset.passages)
        if not names:
            of_document = self._dataset.unit == "document"
            names = dict.fromkeys(unit if of_document else unit.rpartition("#")[0] for unit in self._dataset.units)
        return {composed(name): name for name in names if name}

    @cached_property
    def _pages(self) -> Mapping[str, Sequence[_Page]]:
        pages: dict[str, list[_Page]] = {}
        for passage, unit in zip(self._dataset.passages, self._dataset.passage_units.tolist(), strict=True):
            pages.setdefault(passage.source, []).append(_Page(passage.start, passage.end, self._dataset.units[unit]))
        return pages

    @cached_property
    def _relevant(self) -> Mapping[int, set[str]]:
        """The relevant units of each query."""
        units: dict[int, set[str]] = {}
        for query, unit, grade in zip(*(column.tolist() for column in vars(self._dataset.qrels).values()), strict=True):
            units.setdefault(query, set()).update([self._dataset.units[unit]] if grade > 0 else [])
        return units

    @cached_property
    def _source_of_unit(self) -> Mapping[str, str]:
        return {page.unit: source for source, pages in self._pages.items() for page in pages}


def _ends(path: str) -> list[str]:
    """A path as it is, and without its first folders: `a/b/c`, `b/c`, `c`."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    return [*dict.fromkeys([path, *("/".join(parts[start:]) for start in range(len(parts)))])]
