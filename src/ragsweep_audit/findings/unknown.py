"""Tokens that the encoder does not know."""

from __future__ import annotations

from collections.abc import Iterator

from ragsweep_audit.findings.finding import Finding

KIND = "unknown_tokens"


def unknown_text(
    passages: tuple[int, int, int], queries: tuple[int, int, int], dataset: int, encoder: str, share: float
) -> Iterator[Finding]:
    """A finding if an encoder does not know many tokens of a dataset.

    Args:
        passages: Unknown tokens, all tokens, and how many passages were counted.
        queries: The same of the queries.
        dataset: How many passages and queries the dataset has.
        encoder: Its name.
        share: Least share of the tokens that must be unknown for a finding.
    """
    (unknown, tokens, texts), (of_queries, in_queries, asked) = passages, queries
    found, all_tokens = unknown + of_queries, tokens + in_queries
    if not found or found < share * all_tokens:
        return
    counted = f", counted in {texts + asked:,} of {dataset:,} texts" if texts + asked < dataset else ""
    parts = {"the passages": (unknown, tokens), "the queries": (of_queries, in_queries)}
    shares = ", ".join(f"{some / of:.0%} of those of {name}" for name, (some, of) in parts.items() if of)
    yield Finding(
        kind=KIND,
        problem=f"{encoder} does not know {found / all_tokens:.0%} of the tokens ({shares}{counted}).",
        cost="Texts that differ only in these tokens have the same embedding.",
        advice="Choose an encoder that was trained on this language, such as intfloat/multilingual-e5-small.",
        count=found,
        out_of=all_tokens,
        details={
            "encoder": encoder,
            "of_passages": unknown / max(tokens, 1),
            "of_queries": of_queries / max(in_queries, 1),
        },
    )
