"""For which queries nothing is found, and why: for the terminal, the report, the headline and the audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.core.errors import NothingFoundError
from ragsweep.core.terminal import named, quoted
from ragsweep.datasets import Dataset
from ragsweep.retrieval import NOTHING, Ranker, Ranking, Search
from ragsweep.retrieval.silence import Silence, silences_of
from ragsweep.tasks.ranking.aspect import Aspect

HEADING = "Queries for which nothing is found"
HEADLINE, HEADLINE_OF_PART = 0.25, 0.5  # of the queries; if nothing is found for more, that is the headline
UNEXPLAINED = Silence(
    "the retriever returned no passage for them",
    advice="Look at score_threshold, dynamic_k, leave_out, a filter, the URL, whether the index or the collection is "
    "empty, or whether a run file lacks these queries.",
)


class Silent(NamedTuple):
    """Queries for which nothing is found, for one reason.

    Attributes:
        silence: The reason; its setting has the whole path.
        rows: Their positions in the dataset.
    """

    silence: Silence
    rows: tuple[int, ...]

    def problem(self, items: Dataset, out_of: int) -> str:
        """What is not found, and why, in one sentence."""
        part = self.silence.part.rpartition(".")[2]
        who = "Nothing is found" if self.silence.whole else f"The {part} part finds nothing"
        examples = named([quoted(items.queries[row].text) for row in self.rows])
        return f"{who} for {len(self.rows)} of {out_of} queries{examples}: {self.silence.reason}."

    @property
    def advice(self) -> str:
        """What to do, in one sentence or two."""
        setting = self.silence.setting and f"With {self.silence.setting}, something is found."
        return " ".join(filter(None, (setting, self.silence.advice)))


def silent_queries(ranker: Ranker, search: Search, queries: Indices, ranking: Ranking | None = None) -> list[Silent]:
    """The queries for which nothing is found, by reason, the largest group first.

    Args:
        ranker: The retriever, or the pipeline that it is the ranker of.
        search: What is searched.
        queries: Positions of the queries that count.
        ranking: What was found; None if nothing was searched.
    """
    silences = silences_of(ranker, search)
    groups: dict[Silence, list[int]] = {}
    for row in queries.tolist():
        silence = silences[row]
        if ranking is not None:
            silence = _as_ranked(silence, empty=bool((ranking.passages[row] == NOTHING).all()))
        if silence is not None:
            groups.setdefault(_with_path(silence), []).append(row)
    return sorted((Silent(silence, tuple(rows)) for silence, rows in groups.items()), key=lambda each: -len(each.rows))


def check_found(
    ranker: Ranker, search: Search, items: Dataset, ranking: Ranking, queries: Indices | None = None
) -> None:
    """Raise `NothingFoundError` if nothing is found for any query, or for any of these; see `silent_queries`."""
    queries = np.arange(len(items.queries)) if queries is None else queries
    if (ranking.passages[queries] == NOTHING).all():
        reasons = silent_queries(ranker, search, queries, ranking)
        raise NothingFoundError(" ".join(f"{each.problem(items, len(queries))} {each.advice}" for each in reasons))


def _as_ranked(silence: Silence | None, *, empty: bool) -> Silence | None:
    """Why nothing is found, as the ranking shows it: `candidates=null` ranks passages that score 0, too."""
    if empty:
        return silence or UNEXPLAINED
    return replace(silence, whole=False) if silence and silence.part not in ("", "ranker") else None


def _with_path(silence: Silence) -> Silence:
    """With the setting as it is written on the command line."""
    part = "" if silence.part == "ranker" else silence.part.removeprefix("ranker.")  # of the pipeline of the task
    path = ".".join(filter(None, ("retriever", part, silence.setting)))
    return replace(silence, part=part, setting=path if silence.setting else "")


def silence(ranker: Ranker, search: Search, items: Dataset, queries: Indices, ranking: Ranking) -> Aspect:
    """What a run says of each group of such queries, and first of all if they are many; as of `silent_queries`."""
    found = silent_queries(ranker, search, queries, ranking)
    lines = {each: f"{each.problem(items, len(queries))} {each.advice}" for each in found}
    cautions: Sequence[str] = ()
    for whole, most in ((True, HEADLINE), (False, HEADLINE_OF_PART)):
        some = [each for each in found if each.silence.whole is whole]
        if not cautions and sum(len(each.rows) for each in some) > most * len(queries):
            cautions = [lines[each] for each in some]
    notices = [*lines.values()]
    return Aspect(notices, cautions, {HEADING: notices} if notices else {})
