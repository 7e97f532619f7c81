"""The rankings of any other system, read from a TREC run file."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import NOTHING, Indices, Scores
from ragsweep.core.digest import digest_file
from ragsweep.core.errors import DatasetError, RetrieverError
from ragsweep.core.limits import Text
from ragsweep.core.terminal import one_line, say_once, some_of
from ragsweep.core.trec_files import (
    RUN,
    TAG,
    in_single_precision,
    number_of,
    strictly_falling,
    trec_eval_order,
    trec_lines,
)
from ragsweep.retrieval.kinds import Method, Thresholded, Trace
from ragsweep.retrieval.known_passages import LONGEST_NAME_SHOWN, KnownPassages, readings
from ragsweep.retrieval.ranking import Names, Ranking, Search, reaching, without_unranked
from ragsweep.retrieval.ranking_checks import LARGEST_SCORE
from ragsweep.text.normalisation import composed

SETTING = "retriever.path"


@dataclass(frozen=True)
class RunFileRetriever(Thresholded):
    """The rankings in a run file, whatever system made them.

    Lines are `query Q0 document rank score tag`. As in trec_eval, the score decides and the rank column is not read. A
    document is what the dataset judges, such as a page ("manual.pdf#34") or a document, or a passage by its id. A page
    that is listed several times stands for its passages in their order. A file that ragsweep has exported
    (`results/ranking.trec`) gives the metrics of the run that exported it, unless that returns more than it finds.

    Attributes:
        path: The file; unzipped if its name ends in `.gz`.
        name: Name of the system, for tables and charts; None takes that of the file.
        ties: How equal scores are ordered. `trec_eval` compares scores in single precision and orders equal ones by the
            name of the document, descending byte by byte; `file` compares scores as they are written and keeps the
            order of the lines.
    """

    without_effect: ClassVar[tuple[str, ...]] = ("path",)  # the fingerprint stands for the content
    finds_by_name: ClassVar[bool] = True
    is_record: ClassVar[bool] = True

    path: Text
    name: Text | None = None
    ties: Literal["trec_eval", "file"] = "trec_eval"

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
        found = self._found(search)
        if len(found.without_ranking) == len(search.queries):
            queries = f"the queries {some_of(found.other_queries)}" if found.other_queries else "no line"
            expected = f"expected some of the dataset's: {some_of(found.without_ranking)}"
            raise DatasetError(f"{self.path}: found {queries}, {expected}")
        _notice(found.without_ranking, f"queries without a line in {self.name}")
        _notice(found.other_queries, f"queries in {self.name} that are not in the dataset, left out")

    def rank(self, search: Search, depth: int) -> Ranking:
        """The first passages of the file for every query, at most `depth` of them."""
        found = self._found(search)
        return Ranking(found.passages[:, :depth], found.scores[:, :depth])

    def never_asked(self, search: Search, queries: Indices) -> Indices:
        """All of the queries if the file has a line of none: else one without a line has got nothing."""
        without = {*self._found(search).without_ranking}
        assert search.names is not None  # else it is refused
        asked = {search.names.queries[row] for row in queries.tolist()}
        return queries if asked <= without else queries[:0]

    @property
    def order_of_ties(self) -> str:
        """What decides the order of equal scores."""
        if self.ties == "file":
            return f"{self.name} decides by the order of its lines (retriever.ties=trec_eval: as trec_eval does)"
        return f"the names decide, as in trec_eval (retriever.ties=file: the order of the lines in {self.name})"

    def tied_at(self, search: Search, k: int) -> npt.NDArray[np.bool_]:
        """Whether the passages of each query at the ranks k and k + 1 have equal scores, shape [queries]."""
        found = self._found(search)
        ranking = reaching(Ranking(found.passages, found.as_written), self.score_threshold)
        scores = without_unranked(ranking, search.unranked, k + 1).scores
        tied = np.zeros(len(scores), dtype=bool)
        if scores.shape[1] > k:
            tied = (scores[:, k - 1] == scores[:, k]) & (scores[:, k] > -np.inf)
        return tied

    def trace(self, search: Search, query: int) -> Trace:
        """How a query got its ranking."""
        return Trace(formula=f"as in {self.name}")

    def _found(self, search: Search) -> _Found:
        if search.names is None:
            raise RetrieverError(
                "retriever=run_file: what is searched has no names, so that no line can be found in it"
            )
        return _read(self.path, self.fingerprint, search.names, self.ties == "trec_eval")


class _Found(NamedTuple):
    """What a file has for the queries of a dataset.

    Attributes:
        passages: Passages by descending score, shape [queries, depth]; `NOTHING` after the last one.
        scores: Strictly falling, same shape; -inf where there is no passage.
        as_written: The scores as they were compared, with ties, same shape.
        without_ranking: Queries that the file lacks.
        other_queries: Queries of the file that the dataset lacks.
    """

    passages: Indices
    scores: Scores
    as_written: Scores
    without_ranking: tuple[str, ...]
    other_queries: tuple[str, ...]


class _Lines(NamedTuple):
    """The lines of the dataset's queries, each with its query, unit, passage (or `NOTHING`), score and line number."""

    queries: Indices
    units: Indices
    passages: Indices
    scores: Scores
    numbers: Indices


# By path, content and names: a file is needed when its sweep is planned, and again when it runs.
@lru_cache(maxsize=4)
def _read(path: str, fingerprint: str, names: Names, as_trec_eval: bool) -> _Found:
    """Read a file of this content for queries and passages of these names.

    Equal scores are ordered as by trec_eval, or as in the file.
    """
    if names.several_units:
        raise RetrieverError("retriever=run_file: passages have several pages; expected chunker.across_pages=false")
    known = KnownPassages(names)
    queries = {composed(name): row for row, name in enumerate(names.queries)}
    others: dict[str, None] = {}
    documents: list[str] = []
    columns: tuple[array[Any], ...] = tuple(array(kind) for kind in "qqqdq")
    ranked: set[int] = set()
    for number, (query_id, _, document, _, written, tag) in trec_lines(Path(path), RUN, SETTING):
        where, ours, score = f"{path}, line {number}", tag == TAG, number_of(written)
        if not abs(score) <= LARGEST_SCORE:  # also for NaN
            found = f"found the score {written[:LONGEST_NAME_SHOWN]!r}"
            raise DatasetError(f"{where}: {found}, expected a number from {-LARGEST_SCORE:g} to {LARGEST_SCORE:g}")
        query = next((queries[name] for name in readings(query_id, ours) if name in queries), None)
        if query is None:
            others[query_id] = None
            continue
        ranked.add(query)
        place = known.place(document, ours, where)
        if place is not None:
            documents.append(sys.intern(document))
            for column, value in zip(columns, (query, *place, score, number), strict=True):
                column.append(value)
    lines = _Lines(*map(np.array, columns))
    if as_trec_eval:
        order = trec_eval_order(lines.queries, lines.scores, documents)
        lines = lines._replace(scores=in_single_precision(lines.scores))
    else:
        order = np.lexsort((-lines.scores, lines.queries))  # stable
    passages, scores = _ranked(lines, order, known, names, path)
    missing = tuple(name for row, name in enumerate(names.queries) if row not in ranked)
    return _Found(passages, strictly_falling(scores), scores, missing, tuple(others))


def _ranked(lines: _Lines, order: Indices, known: KnownPassages, names: Names, path: str) -> tuple[Indices, Scores]:
    """The passages of every query in this order of the lines, and their scores.

    A line that names a passage gets that one. A line that names a unit gets its first passage that no other line has.
    """
    counts = np.bincount(lines.queries, minlength=len(names.queries))
    ends = np.cumsum(counts)
    passages = np.full((len(counts), max(1, counts.max())), NOTHING)
    scores = np.full(passages.shape, -np.inf)
    for row, (end, count) in enumerate(zip(ends.tolist(), counts.tolist(), strict=True)):
        of_query = order[end - count : end]
        scores[row, :count] = lines.scores[of_query]
        columns = (lines.units[of_query], lines.passages[of_query], lines.numbers[of_query])
        passages[row, :count] = _chosen(
            [*zip(*(column.tolist() for column in columns), strict=True)], known, names, path
        )
    return passages, scores


def _chosen(lines: list[tuple[int, int, int]], known: KnownPassages, names: Names, path: str) -> list[int]:
    """The passage of each line of a query, given as the first passage of the unit, the passage, and the line number."""
    taken: dict[int, int] = {}  # by the line that has it
    for _, passage, number in lines:
        if passage != NOTHING and taken.setdefault(passage, number) != number:
            first, again = sorted([taken[passage], number])
            found = f"the passage {names.passages[passage]!r} is in line {first}, too"
            raise DatasetError(f"{path}, line {again}: {found}; expected it once for a query")
    free: dict[int, Iterator[int]] = {}
    chosen = []
    for unit, passage, number in lines:
        if passage != NOTHING:
            chosen.append(passage)
        else:
            of_unit = known.in_unit_of(unit)
            left = free.setdefault(unit, (each for each in of_unit if each not in taken))
            following = next(left, None)
            if following is None:
                found = f"{names.units[unit]!r} is listed more often for a query than it has passages ({len(of_unit)})"
                raise DatasetError(f"{path}, line {number}: {found}; expected each passage once")
            chosen.append(following)
    return chosen


def _notice(names: tuple[str, ...], what: str) -> None:
    if names:
        say_once(f"{one_line(what)}: {len(names)} ({some_of(names)})")
