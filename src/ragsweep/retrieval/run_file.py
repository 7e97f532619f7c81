"""The rankings of any other system, read from a TREC run file."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, NamedTuple
from urllib.parse import unquote

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices, Scores
from ragsweep.core.digest import digest_file
from ragsweep.core.errors import DatasetError, RetrieverError
from ragsweep.core.limits import Text
from ragsweep.core.terminal import one_line, say_once, some_of
from ragsweep.core.trec_files import (
    NOTHING_RETRIEVED,
    RUN,
    TAG,
    in_single_precision,
    number_of,
    strictly_falling,
    trec_eval_order,
    trec_lines,
)
from ragsweep.retrieval.kinds import Method, Thresholded, Trace
from ragsweep.retrieval.ranking import Names, Ranking, Search
from ragsweep.retrieval.ranking_checks import LARGEST_SCORE
from ragsweep.text.normalisation import composed, same_name

SETTING = "retriever.path"
LONGEST_NAME_SHOWN = 80  # characters of a name in a message


@dataclass(frozen=True)
class RunFileRetriever(Thresholded):
    """The rankings in a run file, whatever system made them.

    Lines are `query Q0 document rank score tag`. As in trec_eval, the score decides, in single precision, not the rank
    column; equal scores are in descending order of the document's name, byte by byte. A document is what the dataset
    judges, such as a page ("manual.pdf#34") or a document, or a passage by its id. A page that is listed several times
    stands for its passages in their order. A file that ragsweep has exported (`results/ranking.trec`) gives the metrics
    of the run that exported it, unless that returns more than it finds.

    Attributes:
        path: The file; unzipped if its name ends in `.gz`.
        name: Name of the system, for tables and charts; None takes that of the file.
    """

    without_effect: ClassVar[tuple[str, ...]] = ("path",)  # the fingerprint stands for the content
    finds_by_name: ClassVar[bool] = True
    is_record: ClassVar[bool] = True

    path: Text
    name: Text | None = None

    def __post_init__(self) -> None:
        if self.name is None:
            object.__setattr__(self, "name", Path(self.path).name)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the file's content, for which it stands in the digest of a run."""
        path = Path(self.path)
        try:
            if path.exists() and not path.is_file():  # reading a pipe could block
                raise DatasetError(f"{SETTING}: {path} is not a file; expected a TREC run file")
            return digest_file(path)
        except FileNotFoundError as error:
            raise DatasetError(f"{SETTING}: {path} does not exist; expected a TREC run file") from error
        except (OSError, ValueError) as error:  # a null character raises ValueError
            reason = error.strerror if isinstance(error, OSError) else error
            raise DatasetError(f"{SETTING}: {str(path)!r} cannot be read ({reason})") from error

    @property
    def method(self) -> Method:
        """For reports: the name of the system."""
        return Method(str(self.name), tag=self._tag)

    @cached_property
    def _tag(self) -> str:
        """The run tag of the first line; empty if the name was set, the file has none, or ragsweep wrote the file."""
        try:
            _, (*_, tag) = next(trec_lines(Path(self.path), RUN, SETTING))
        except (DatasetError, StopIteration):  # said by `check`
            return ""
        return tag if self.name == Path(self.path).name and tag != TAG else ""

    def check(self, search: Search) -> None:
        """Read the file, and print what it lacks or what is left out of it.

        Raises:
            DatasetError: A line cannot be read, or names a document that the dataset does not have or that has no text;
                or the dataset has none of the queries.
        """
        content = self._content(search)
        if len(content.without_ranking) == len(search.queries):
            queries = f"the queries {some_of(content.other_queries)}" if content.other_queries else "no line"
            expected = f"expected some of the dataset's: {some_of(content.without_ranking)}"
            raise DatasetError(f"{self.path}: found {queries}, {expected}")
        _notice(content.without_ranking, f"queries without a line in {self.name}")
        _notice(content.other_queries, f"queries in {self.name} that are not in the dataset, left out")

    def rank(self, search: Search, depth: int) -> Ranking:
        """The first passages of the file for every query, at most `depth` of them."""
        content = self._content(search)
        return Ranking(content.passages[:, :depth], content.scores[:, :depth])

    def never_asked(self, search: Search, queries: Indices) -> Indices:
        """All of these queries if the file has a line of none of them; else none: one without a line got nothing."""
        without = {*self._content(search).without_ranking}
        assert search.names is not None  # else it is refused
        asked = {search.names.queries[row] for row in queries.tolist()}
        return queries if asked <= without else queries[:0]

    def trace(self, search: Search, query: int) -> Trace:
        """How a query got its ranking."""
        return Trace(formula=f"as in {self.name}")

    def _content(self, search: Search) -> _RunContent:
        if search.names is None:
            raise RetrieverError("retriever=run_file: what is searched has no names, so that no line can be of it")
        return _read(self.path, self.fingerprint, search.names)


class _RunContent(NamedTuple):
    """What a file has for the queries of a dataset.

    Attributes:
        passages: Passages by descending score, shape [queries, depth]; `NOTHING` after the last one.
        scores: Strictly falling, same shape; -inf where there is no passage.
        without_ranking: Queries that the file lacks.
        other_queries: Queries of the file that the dataset lacks.
    """

    passages: Indices
    scores: Scores
    without_ranking: tuple[str, ...]
    other_queries: tuple[str, ...]


class KnownPassages:
    """Finds the passages that the documents of a file stand for."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._of_unit: dict[str, list[int]] = {}
        for passage, unit in enumerate(names.units):
            self._of_unit.setdefault(composed(unit), []).append(passage)
        self._passages = {composed(name): passage for passage, name in enumerate(names.passages)}
        self._without_passage = set(map(composed, names.without_passage))
        self._places: dict[tuple[str, bool], tuple[int, int] | None] = {}

    def place(self, document: str, ours: bool, where: str) -> tuple[int, int] | None:
        """The first passage of its unit, and the passage or `NOTHING`; None if nothing was retrieved.

        Args:
            document: As the file has it.
            ours: Whether ragsweep has written the line.
            where: The place of the line, for error messages.

        Raises:
            DatasetError: The dataset does not have such a document, or it has no passage that could hold the rank.
        """
        if (document, ours) not in self._places:
            self._places[document, ours] = self._find(document, ours, where)
        return self._places[document, ours]

    def in_unit_of(self, passage: int) -> list[int]:
        """The passages of the unit that a passage is in."""
        return self._of_unit[composed(self._names.units[passage])]

    def _find(self, document: str, ours: bool, where: str) -> tuple[int, int] | None:
        for name in readings(document, ours):
            if name in self._of_unit:
                return self._of_unit[name][0], NOTHING
            passage = self._passages.get(name, next(self._repeated(name), None))
            if passage is not None:
                return self.in_unit_of(passage)[0], passage
            if name in self._without_passage:  # leaving it out would move the later ones up
                expected = "expected documents with text (delete its lines if the ranks below may move up)"
                raise DatasetError(
                    f"{where}: found {name[:LONGEST_NAME_SHOWN]!r}, which has no text in the dataset; {expected}"
                )
        if document == NOTHING_RETRIEVED:
            return None
        hint = "a document, of which parts are judged; " if document in self._names.documents else ""
        expected = f"expected what is judged, such as {self._names.units[0]!r}"
        if self._names.passages != self._names.units:
            expected += f", or a passage, such as {self._names.passages[0]!r}"
        raise DatasetError(f"{where}: found {document[:LONGEST_NAME_SHOWN]!r}, {hint}{expected}")

    def _repeated(self, name: str) -> Iterator[int]:
        """The passage of a name like `unit@passage`, which our files have for a later passage of a unit."""
        for place, character in enumerate(name):
            passage = self._passages.get(name[place + 1 :]) if character == "@" else None
            if passage is not None and same_name(self._names.units[passage], name[:place]):
                yield passage


def readings(cell: str, ours: bool) -> tuple[str, ...]:
    """The names that a cell can stand for, in NFC, the likelier first: our own files have %20 for a space."""
    if "%" not in cell:
        return (composed(cell),)
    unquoted, cell = composed(unquote(cell)), composed(cell)
    return (unquoted, cell) if ours else (cell, unquoted)


# By path, content and names: a file is needed when its sweep is planned, and again when it runs.
@lru_cache(maxsize=4)
def _read(path: str, fingerprint: str, names: Names) -> _RunContent:
    """Read a file of this content for queries and passages of these names."""
    if names.several_units:
        raise RetrieverError("retriever=run_file: passages have several pages; expected chunker.across_pages=false")
    finder = KnownPassages(names)
    queries = {composed(name): row for row, name in enumerate(names.queries)}
    other_queries: dict[str, None] = {}
    documents: list[str] = []
    cells, scores = array("q"), array("d")  # a line is its query, unit, passage (or `NOTHING`), and number
    ranked: set[int] = set()
    for number, (query_id, _, document, _, written, tag) in trec_lines(Path(path), RUN, SETTING):
        where, ours, score = f"{path}, line {number}", tag == TAG, number_of(written)
        if not abs(score) <= LARGEST_SCORE:  # also for NaN
            problem = f"found the score {written[:LONGEST_NAME_SHOWN]!r}"
            raise DatasetError(f"{where}: {problem}, expected a number from {-LARGEST_SCORE:g} to {LARGEST_SCORE:g}")
        query = next((queries[name] for name in readings(query_id, ours) if name in queries), None)
        if query is None:
            other_queries[query_id] = None
            continue
        ranked.add(query)
        place = finder.place(document, ours, where)
        if place is not None:
            documents.append(sys.intern(document))
            cells.extend((query, *place, number))
            scores.append(score)
    lines, written_scores = np.array(cells).reshape(-1, 4), np.array(scores)
    order = trec_eval_order(lines[:, 0], written_scores, documents)
    passages, ranked_scores = _ranked(lines[order], in_single_precision(written_scores)[order], finder, names, path)
    missing = tuple(name for row, name in enumerate(names.queries) if row not in ranked)
    return _RunContent(passages, strictly_falling(ranked_scores), missing, tuple(other_queries))


def _ranked(
    lines: Indices, line_scores: Scores, finder: KnownPassages, names: Names, path: str
) -> tuple[Indices, Scores]:
    """The passages of every query in the order of the lines, and their scores.

    A line that names a passage gets that one. A line that names a unit gets its first passage that no other line has.
    """
    starts = np.searchsorted(lines[:, 0], np.arange(len(names.queries) + 1))
    passages = np.full((len(names.queries), max(1, np.diff(starts).max())), NOTHING)
    scores = np.full(passages.shape, -np.inf)
    for row, (start, end) in enumerate(pairwise(starts.tolist())):
        scores[row, : end - start] = line_scores[start:end]
        passages[row, : end - start] = _chosen(lines[start:end, 1:].tolist(), finder, names, path)
    return passages, scores


def _chosen(lines: list[list[int]], finder: KnownPassages, names: Names, path: str) -> list[int]:
    """The passage of each line of a query, given as the first passage of the unit, the passage, and the line number."""
    taken: dict[int, int] = {}  # by the line that has it
    for _, passage, number in lines:
        if passage != NOTHING and taken.setdefault(passage, number) != number:
            first, again = sorted([taken[passage], number])
            problem = f"the passage {names.passages[passage]!r} is in line {first}, too"
            raise DatasetError(f"{path}, line {again}: {problem}; expected it once for a query")
    free: dict[int, Iterator[int]] = {}
    chosen = []
    for unit, passage, number in lines:
        if passage != NOTHING:
            chosen.append(passage)
        else:
            of_unit = finder.in_unit_of(unit)
            left = free.setdefault(unit, (row for row in of_unit if row not in taken))
            following = next(left, None)
            if following is None:
                fault = f"{names.units[unit]!r} is listed more often for a query than it has passages ({len(of_unit)})"
                raise DatasetError(f"{path}, line {number}: {fault}; expected each passage once")
            chosen.append(following)
    return chosen


def _notice(names: tuple[str, ...], problem: str) -> None:
    if names:
        say_once(f"{one_line(problem)}: {len(names)} ({some_of(names)})")
