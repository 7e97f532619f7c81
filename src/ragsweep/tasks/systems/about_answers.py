"""What is said, and written, of what a system has returned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ragsweep.core.terminal import counted, some_of
from ragsweep.datasets import Dataset
from ragsweep.retrieval.results import Result

RETURNED = "What the system returned"  # a section of a report
ASKED = "asked.txt"  # of the results of a run: the ids of the measured questions that were asked, if these are not all
TO_JUDGE = "to_judge.jsonl"  # questions that were asked and have no judgments
FOUND_BY = {"id": "their id", "page": "their document and page", "text": "their text"}  # as in `Place.by`


def about(name: str, by: Mapping[str, int], asked: int, kept: int) -> tuple[str, ...]:
    """What a report says of what a system has returned, unusual or not.

    Args:
        name: Of the system.
        by: How many results were matched by each part of them, as `Place.by` names it.
        asked: The number of queries.
        kept: How many of the answers are of an earlier time.
    """
    found = [f"{by[each]:,} by {words}" for each, words in FOUND_BY.items() if by[each]]
    matched = f", found among what is judged: {', '.join(found)}" if found else ""
    earlier = f"{kept:,} of the answers, and their latency, are of an earlier time: they were kept."
    results, queries = counted(sum(by.values()), "result"), counted(asked, "query")
    return (
        f"{name or 'The system'} returned {results} for {queries}{matched}.",
        *([earlier] if kept else []),
        "What it could find at all is not known (no coverage), because its passages are its own.",
    )


def only_some(
    items: Dataset, asked: Sequence[int], never: Sequence[str], others: Sequence[str]
) -> tuple[list[str], dict[str, Sequence[str]]]:
    """What is said, and written, where the queries that were asked are not those of the dataset.

    Args:
        items: The dataset.
        asked: The queries that are measured and were asked.
        never: The texts of those that were not.
        others: The texts of other queries that were asked.
    """
    said: list[str] = []
    files: dict[str, Sequence[str]] = {}
    if never:
        files[ASKED] = [f"{items.queries[row].query_id}\n" for row in asked]
        said.append(
            f"{counted(len(never), 'question')} of {len(asked) + len(never):,} never asked, so not measured "
            f"({some_of(never)}): dataset.ids=results/{ASKED} measures others on those that were."
        )
    if others:
        plain = ({"query": each, "relevant_docs": []} for each in others)
        files[TO_JUDGE] = [json.dumps(each, ensure_ascii=False) + "\n" for each in plain]
        said.append(
            f"{counted(len(others), 'question')} asked without a judgment ({some_of(others)}): questions=table "
            f"questions.path=results/{TO_JUDGE} reads them."
        )
    return said, files


def too_few(results: Sequence[Sequence[Result]], k: int) -> list[str]:
    """What is said where a system returns fewer results than the cutoff."""
    most, empty = max(map(len, results), default=0), sum(not each for each in results)
    said = [f"{empty:,} of {len(results):,} queries got no result."] if empty else []
    if 0 < most < k:
        said.append(f"It returned at most {counted(most, 'result')} for a query, and k is {k}: ask it for more.")
    return said
