"""Passages that are longer than what the encoder reads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.core.terminal import named, verb
from ragsweep.datasets.model.dataset import Dataset
from ragsweep_audit.findings.finding import Finding


def unread_text(dataset: Dataset, tokens: Indices, window: int, encoder: str, share: float) -> Iterator[Finding]:
    """A finding if passages are longer than the encoder's window.

    Args:
        dataset: The dataset.
        tokens: Tokens of each passage by the encoder's tokenizer, shape [passages].
        window: Tokens of a passage that the encoder reads.
        encoder: Its name.
        share: Least share of the tokens that must be unread for a finding.
    """
    longer = np.flatnonzero(tokens > window)
    unread = float((tokens[longer] - window).sum() / tokens.sum()) if len(longer) else 0.0
    if not unread or unread < share:
        return
    names = [dataset.passages[row].chunk_id for row in longer[np.argsort(-tokens[longer], kind="stable")]]
    yield Finding(
        kind="unread_text",
        problem=f"{len(longer):,} of {len(tokens):,} passages {verb(len(longer), 'are')} longer than the "
        f"{window} tokens that {encoder} reads"
        f"{named(names)}.",
        cost=f"{unread:.1%} of the text does not enter any embedding.",
        advice="Choose a smaller chunker.size, or an encoder with a larger window.",
        count=len(longer),
        out_of=len(tokens),
        examples=tuple(names),
        details={"window": window, "longest": int(tokens.max()), "unread_share": unread},
    )
