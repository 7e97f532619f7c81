"""Asks the recorded questions of an exported retriever again."""

from __future__ import annotations

from ragsweep.production.export_folder import Check
from ragsweep.production.loaded_retriever import LoadedRetriever


def differences(retriever: LoadedRetriever, check: Check) -> list[str]:
    """A line for each question whose passages are not those recorded, in the same order."""
    answers = retriever.search_all([question.query for question in check.questions], check.k)
    lines = []
    for question, hits in zip(check.questions, answers, strict=True):
        ids = tuple(hit.passage_id for hit in hits)
        if ids != question.passages:
            lines.append(f"{question.query!r:.80}: {_first_difference(question.passages, ids)}")
    return lines


def _first_difference(was: tuple[str, ...], is_: tuple[str, ...]) -> str:
    rank = next(
        (at for at, pair in enumerate(zip(was, is_, strict=False)) if pair[0] != pair[1]), min(len(was), len(is_))
    )
    recorded, now = (ids[rank] if rank < len(ids) else "nothing" for ids in (was, is_))
    return f"rank {rank + 1} was {recorded}, is {now}"
