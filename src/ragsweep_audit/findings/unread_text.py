"""Queries and passages that are longer than what the encoder reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ragsweep.core.terminal import named
from ragsweep.models.encoders.text_read import Lengths
from ragsweep.tasks.unread_text import UnreadText
from ragsweep_audit.findings.finding import Finding


def unread_text(texts: str, names: Sequence[str], measured: Lengths, encoder: str, share: float) -> Iterator[Finding]:
    """A finding if texts are longer than what the encoder reads.

    Args:
        texts: What they are: `queries` or `passages`.
        names: Of each of them.
        measured: How long they are, and how much is read.
        encoder: Its name.
        share: Least share of the text that must be unread for a finding.
    """
    longer = np.flatnonzero(measured.lengths > measured.read)
    unread = float((measured.lengths[longer] - measured.read).sum() / measured.lengths.sum()) if len(longer) else 0.0
    if not unread or unread < share:
        return
    about = UnreadText(encoder, texts, len(longer), len(names), measured.read, measured.unit)
    examples = [names[row] for row in longer[np.argsort(-measured.lengths[longer], kind="stable")]]
    yield Finding(
        kind="unread_text",
        problem=f"{about.in_words}{named(examples)}.",
        cost=f"{unread:.1%} of the text does not enter any embedding.",
        advice=about.advice,
        count=about.cut,
        out_of=about.out_of,
        examples=tuple(examples),
        details={"window": measured.read, "longest": int(measured.lengths.max()), "unread_share": unread},
    )
