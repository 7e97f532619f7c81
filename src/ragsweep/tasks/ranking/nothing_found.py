"""For which queries nothing is found, and why: for the terminal, the report, the headline and the audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.core.errors import NothingFoundError
from ragsweep.core.terminal import counted, named, quoted
from ragsweep.datasets import Dataset
from ragsweep.retrieval import NOTHING, Ranker, Ranking, Search, rank
from ragsweep.retrieval.kinds import Silence
from ragsweep.tasks.run_check import Checked

HEADING = "Queries for which nothing is found"
HEADLINE, HEADLINE_OF_PART = 0.25, 0.5  # of the queries; if nothing is found for more, that is the headline
UNEXPLAINED = Silence(
    "the retriever returned no passage for them",
    advice="Look at its own threshold or filter, leave_out, the URL, whether the index or the collection is empty, or "
    "whether a run file lacks these queries.",
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
    silences = ranker.silences(search)
    cuts = _cuts(ranker, search, ranking) if ranking is not None else {}
    groups: dict[Silence, list[int]] = {}
    for row in queries.tolist():
        silence = silences[row]
        if ranking is not None:  # which decides: `candidates=null` ranks passages that score 0, too
            in_part = silence is not None and silence.part not in ("", "ranker")
            of_part = replace(silence, whole=False) if silence and in_part else None
            is_empty = (ranking.passages[row] == NOTHING).all()
            silence = (cuts.get(row) or silence or UNEXPLAINED) if is_empty else of_part
        if silence is not None:
            groups.setdefault(_with_path(silence), []).append(row)
    return sorted(
        (Silent(silence, tuple(rows)) for silence, rows in groups.items()), key=lambda silent: -len(silent.rows)
    )


def check_found(
    ranker: Ranker,
    search: Search,
    items: Dataset,
    ranking: Ranking,
    queries: Indices | None = None,
    *,
    may_remove: bool = False,
) -> None:
    """Raise `NothingFoundError` if nothing is found for any query, or for any of these; see `silent_queries`.

    With `may_remove` it is no error if something was ranked, and settings of the ranker removed it.
    """
    queries = np.arange(len(items.queries)) if queries is None else queries
    if (ranking.passages[queries] == NOTHING).all():
        reasons, number = silent_queries(ranker, search, queries, ranking), len(queries)
        if may_remove and any(each.silence.is_cut for each in reasons):
            return
        said = [each.advice if each.silence == UNEXPLAINED else each.problem(items, number) for each in reasons]
        said += [each.advice for each in reasons if not each.silence.is_cut and each.silence != UNEXPLAINED]
        whole = f"the retriever returned nothing for any of {counted(number, 'query')}."
        raise NothingFoundError(" ".join(filter(None, [whole, *said])))


def _cuts(ranker: Ranker, search: Search, ranking: Ranking) -> dict[int, Silence]:
    """The queries without a passage for which settings of the ranker have removed all that it ranked.

    What is ranked without these settings is asked for, as a guess must not decide.
    """
    empty = (ranking.passages == NOTHING).all(axis=1)
    bare, paths = without_cuts(ranker) if empty.any() else (ranker, [])
    if not paths:
        return {}
    ranked = rank(bare, search, ranking.passages.shape[1]).passages
    names = " and ".join(path.removeprefix("ranker.") for path in paths)
    cut = Silence(f"{names} removed all that was ranked for them", advice="They are measured as 0.", is_cut=True)
    return dict.fromkeys(np.flatnonzero(empty & (ranked != NOTHING).any(axis=1)).tolist(), cut)


def without_cuts(part: Any, path: str = "") -> tuple[Any, list[str]]:
    """A ranker without the settings that remove what was ranked, its own and those of its parts, and their paths.

    Args:
        part: The ranker, or a part of it.
        path: Of the part, with a dot at its end.
    """
    if isinstance(part, type) or not (isinstance(part, Mapping) or is_dataclass(part)):
        return part, []
    values = part if isinstance(part, Mapping) else {field.name: getattr(part, field.name) for field in fields(part)}
    cuts = part.cuts if isinstance(part, Ranker) else ()
    changed: dict[str, Any] = {}
    paths: list[str] = []
    for name, value in values.items():
        bare, removed = (
            (None, [f"{path}{name}"]) if name in cuts and value is not None else without_cuts(value, f"{path}{name}.")
        )
        changed |= {name: bare} if removed else {}
        paths += removed
    whole: Any = part
    bare = {**part, **changed} if isinstance(part, Mapping) else replace(whole, **changed) if changed else part
    return bare, paths


def _with_path(silence: Silence) -> Silence:
    """With the setting as it is written on the command line."""
    part = "" if silence.part == "ranker" else silence.part.removeprefix("ranker.")  # of the pipeline of the task
    path = ".".join(filter(None, ("retriever", part, silence.setting)))
    return replace(silence, part=part, setting=path if silence.setting else "")


def silence(ranker: Ranker, search: Search, items: Dataset, queries: Indices, ranking: Ranking) -> Checked:
    """What a run says of each group of such queries, and first of all if they are many; as of `silent_queries`."""
    notices: list[str] = []
    by_whole: dict[bool, list[str]] = {True: [], False: []}
    counts = Counter[bool]()
    for silent in silent_queries(ranker, search, queries, ranking):
        notices.append(f"{silent.problem(items, len(queries))} {silent.advice}")
        by_whole[silent.silence.whole].append(notices[-1])
        counts[silent.silence.whole] += len(silent.rows)
    limits = {True: HEADLINE, False: HEADLINE_OF_PART}
    cautions = next((by_whole[whole] for whole, most in limits.items() if counts[whole] > most * len(queries)), [])
    return Checked.section(HEADING, notices, cautions=cautions)
