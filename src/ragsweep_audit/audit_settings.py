"""The settings of the group `audit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from ragsweep.core.limits import Between
from ragsweep.text.near_copies import LEAST_ALIKE

Kind = Literal[
    "absent_units",
    "pages_without_text",
    "queries_without_judgments",
    "queries_without_relevant",
    "nothing_found",
    "references_without_offsets",
    "questions_left_out",
    "skipped_documents",
    "shifted_pages",
    "swapped_judgments",
    "duplicate_queries",
    "duplicate_passages",
    "copied_queries",
    "dependent_queries",
    "garbled_text",
    "unread_text",
    "unknown_tokens",
    "unjudged",
]


@dataclass(frozen=True)
class AuditSettings:
    """What is looked for in a dataset, and which findings are not accepted. `docs/audit.md` gives the reasons.

    Attributes:
        fail_on: The kinds of findings that stop a run or a sweep before it starts, with exit status 3.
        level: The probability that `shifted_pages`, or `swapped_judgments`, is a false alarm.
        near_queries: Least similarity of the content words of two queries that count as copies.
        near_passages: Least similarity of two passages that count as copies.
        copied: Least share of a query's words that stand in a row in the text that answers it.
        garbled: Least share of damaged words in a passage.
        unread: Least share of the text that lies beyond the encoder's window.
        unknown: Least share of the tokens that an encoder does not know.
    """

    fail_on: Sequence[Kind] = ()
    level: Annotated[float, Between(0, 1)] = 0.01
    near_queries: Annotated[float, Between(0.5, 1)] = LEAST_ALIKE
    near_passages: Annotated[float, Between(0.5, 1)] = 0.8
    copied: Annotated[float, Between(0, 1)] = 0.8
    garbled: Annotated[float, Between(0, 1)] = 0.05
    unread: Annotated[float, Between(0, 1)] = 0.001
    unknown: Annotated[float, Between(0, 1)] = 0.05
