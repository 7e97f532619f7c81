"""The results of a system as passages of a dataset, and what is unusual about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.terminal import counted, one_line, some_of, verb
from ragsweep.datasets import Dataset
from ragsweep.datasets.model.dataset import Passage
from ragsweep.retrieval.results import Result
from ragsweep.tasks.systems.places import Place, passage_of

LONGEST_NAME = 80  # characters of the text that names a result without an id


class ResultPassages:
    """Collects results as passages: each once, but a result that a query got twice takes two ranks."""

    def __init__(self, items: Dataset) -> None:
        self.passages: list[Passage] = []
        self.units: list[tuple[str, ...]] = []
        self.by: Counter[str] = Counter()
        self.strangers: Counter[str] = Counter()
        self._unit = items.unit
        self._unknown = "nothing that the dataset knows" if items.passages else "judged for no query"
        self._repeated = 0
        self._ambiguous: Counter[str] = Counter()
        self._unclear: list[tuple[str, ...]] = []
        self._which_id: dict[int, tuple[str, ...]] = {}
        self._numbers: dict[tuple[object, ...], int] = {}
        self._names: Counter[str] = Counter()

    @property
    def known(self) -> int:
        """How many results were matched."""
        return self.by.total() - self.by["nothing"]

    def rows(self, results: Sequence[tuple[Result, Place]]) -> list[int]:
        """The positions of the passages of a query."""
        seen: Counter[tuple[object, ...]] = Counter()
        found = []
        for result, place in results:
            self.by[place.by] += 1
            if place.by == "nothing":
                self.strangers[_name(result)] += 1
            numbers = result.ids if all(map(str.isdecimal, result.ids)) else ()
            if place.rivals:
                self._unclear.append((place.units[0], *place.rivals))
            elif place.by == "id" and len(numbers) > 1 and place.units[0] in numbers:  # else its source is judged
                self._which_id[numbers.index(place.units[0])] = numbers
            if place.others:
                self._ambiguous[place.units[0]] += 1
            key = (result._replace(score=None), place)
            seen[key] += 1
            same_text = result.text not in ("", *result.ids)  # chunks of a page, or of a document, can share its id
            self._repeated += same_text and seen[key] > 1
            found.append(self._number(result, place, seen[key]))
        return found

    def expect_known(self, items: Dataset) -> None:
        """Raise `DatasetError` if there are results, and the dataset knows none of them."""
        if self.by and not self.known:
            raise DatasetError(
                f"nothing of what came back is anything that {items.name} knows ({some_of(self.strangers)}); expected "
                f"what is judged, such as {some_of(items.units)}: set retriever.id, retriever.source and "
                "retriever.page to its fields"
            )

    def expect_clear_ids(self) -> None:
        """Raise `ConfigError` if results have two ids that are known, or numbers of which now one, now another is."""
        unclear = [*self._unclear, *(self._which_id.values() if len(self._which_id) > 1 else ())]
        if unclear:
            raise ConfigError(
                f"a result has several ids ({some_of(unclear[0])}), and more than one can be what is judged: "
                "set retriever.id to the field that is"
            )

    def _number(self, result: Result, place: Place, time: int) -> int:
        key = (result._replace(score=None), place, time)
        if key not in self._numbers:
            self._numbers[key] = len(self.passages)
            name = next(iter(result.ids), "") or (place.units[0] if place.units else _name(result))
            self._names[name] += 1
            number = self._names[name]
            passage = passage_of(result, place, f"{name}/{number}" if number > 1 else name)
            self.passages.append(passage)
            self.units.append((passage.chunk_id,) if self._unit == "passage" else place.units or (_name(result),))
        return self._numbers[key]

    def sentences(self) -> list[str]:
        """What is unusual about the results."""
        said = []
        if strangers := self.by["nothing"]:
            said.append(
                f"{strangers:,} of {counted(self.by.total(), 'result')} {verb(strangers, 'are')} {self._unknown} "
                f"({some_of(self.strangers)}): they count as not relevant."
            )
        if self._ambiguous:
            where = "places" if self._unit == "passage" else f"{self._unit}s"
            said.append(
                f"{counted(self._ambiguous.total(), 'result')} without a known id or page "
                f"{verb(self._ambiguous.total(), 'have')} a text that stands in "
                f"several {where}, of which the first counts ({some_of(self._ambiguous)}): set retriever.id, or "
                "retriever.source and retriever.page, if there are fields that say which one it is."
            )
        if self._repeated:
            said.append(f"{counted(self._repeated, 'result')} came back twice for a query: each takes a rank.")
        return said


def _name(result: Result) -> str:
    """What a result is called that nothing knows."""
    named = [
        *result.ids[:1],
        "#".join(filter(None, (result.source, result.page))),
        one_line(result.text)[:LONGEST_NAME],
    ]
    return next(filter(None, named), "a result without id, source and text")
