"""Text that the encoder does not read: beyond its window, or of tokens that it does not know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ragsweep.core.terminal import named
from ragsweep.models.encoders.encoder import Role, TextModel
from ragsweep.models.encoders.text_read import Lengths, lengths_read
from ragsweep.models.encoders.token_counts import Counted, unknown_tokens
from ragsweep.tasks.evaluation_record import UnreadText
from ragsweep.tasks.search import components_within
from ragsweep_audit.findings.finding import Audited, Finder, Finding


@dataclass(frozen=True)
class UnreadTexts(Finder):
    """Queries and passages that are longer than what an encoder of the retriever reads.

    Attributes:
        least: The share of the text that must be unread for a finding.
    """

    least: float = 0.001

    kind = "unread_text"

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding for each model that does not read all queries, or all passages, to their end."""
        items = audited.items
        queries = [query.query_id for query in items.queries], [query.text for query in items.queries]
        passages = [passage.chunk_id for passage in items.passages], items.indexed_texts
        texts_of: dict[Role, tuple[Sequence[str], Sequence[str]]] = {"query": queries, "passage": passages}
        for model, encoder in _text_models(audited.retriever).items():
            for role, (names, texts) in texts_of.items():
                lengths = lengths_read(encoder, texts, role, audited.store)
                if lengths is not None and (finding := self.of(role, names, lengths, model)):
                    yield finding

    def of(self, role: Role, names: Sequence[str], measured: Lengths, encoder: str) -> Finding | None:
        """A finding about texts with these names and lengths; None if enough of them is read."""
        longer = np.flatnonzero(measured.lengths > measured.read)
        share = float((measured.lengths[longer] - measured.read).sum() / measured.lengths.sum()) if len(longer) else 0.0
        if not share or share < self.least:
            return None
        texts = "queries" if role == "query" else "passages"
        about = UnreadText(encoder, texts, len(longer), len(names), measured.read, measured.unit)
        examples = [names[row] for row in longer[np.argsort(-measured.lengths[longer], kind="stable")]]
        cost = f"{share:.1%} of the text does not enter any embedding."
        details = {
            "window": measured.read,
            "longest": int(measured.lengths.max()),
            "unread_share": share,
        }
        problem = f"{about.in_words}{named(examples)}."
        return self.finding(problem, examples, about.out_of, cost=cost, advice=about.advice, **details)


@dataclass(frozen=True)
class UnknownTokens(Finder):
    """Tokens that an encoder does not know: it was not made for this language.

    Attributes:
        least: The share of the tokens of passages and queries that must be unknown for a finding.
    """

    least: float = 0.05

    kind = "unknown_tokens"
    cost = "Texts that differ only in these tokens have the same embedding."
    advice = "Choose an encoder that was trained on this language, such as intfloat/multilingual-e5-small."

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding for each model of the retriever, or of a stage around it."""
        models = _text_models(audited.ranker or audited.retriever).values()
        files = {model.model: model.tokenizer_file for model in models}
        queries = [query.text for query in audited.items.queries]
        for model, file in files.items():
            if file is not None:
                texts_of = {"the passages": audited.items.indexed_texts, "the queries": queries}
                counts = {name: unknown_tokens(texts, file, audited.store) for name, texts in texts_of.items()}
                yield from self._of(counts, len(audited.items.texts) + len(queries), model)

    def _of(self, counts: dict[str, Counted], texts: int, encoder: str) -> Iterator[Finding]:
        unknown, tokens, counted = (sum(column) for column in zip(*counts.values(), strict=True))
        if not unknown or unknown < self.least * tokens:
            return
        sampled = f", counted in {counted:,} of {texts:,} texts" if counted < texts else ""
        shares = {name: count.unknown / count.tokens for name, count in counts.items() if count.tokens}
        listed = ", ".join(f"{share:.0%} of those of {name}" for name, share in shares.items())
        problem = f"{encoder} does not know {unknown / tokens:.0%} of the tokens ({listed}{sampled})."
        details = {f"of_{name[4:]}": shares.get(name, 0.0) for name in counts}
        yield self.finding(problem, (), tokens, count=unknown, encoder=encoder, **details)


def _text_models(ranker: object) -> dict[str, TextModel]:
    """The models of a retriever that read texts, by name."""
    return {part.model: part for part in components_within(ranker) if isinstance(part, TextModel)}
