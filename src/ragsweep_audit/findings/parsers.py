"""Documents that another parser reads otherwise: words that only one of the two reads, and words in another order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest

from rapidfuzz.distance import LCSseq

from ragsweep.core.terminal import counted, named
from ragsweep.text.tokens import plain_words
from ragsweep_audit.findings.finding import Finding

LEAST = 0.02  # share of the words of a document that one parser alone reads, or that stand elsewhere
PAGES_SHOWN, WORDS_SHOWN = 3, 5


@dataclass(frozen=True)
class Difference:
    """How two parsers read a document, or a page of one.

    Attributes:
        words: Number of words that the corpus's own parser reads.
        only_here: How many of them the other one lacks.
        only_there: How many words the other one reads besides.
        moved: How many of the words that both read stand in another order, as where columns are read across.
    """

    words: int
    only_here: int
    only_there: int
    moved: int

    @property
    def share(self) -> float:
        """The largest difference, as a share of the words."""
        return max(self.only_here, self.only_there, self.moved) / max(self.words, 1)

    @property
    def in_words(self) -> str:
        """The figures, in percent of the words."""
        shares = [f"{each / max(self.words, 1):.1%}" for each in (self.only_here, self.only_there, self.moved)]
        return "{} of the words only here, {} only there, {} in another order".format(*shares)


def difference(one: str, other: str) -> Difference:
    """How two readings of a page differ."""
    here, there = plain_words(one), plain_words(other)
    both = (Counter(here) & Counter(there)).total()
    return Difference(len(here), len(here) - both, len(there) - both, both - LCSseq.similarity(here, there))


def parsers_differ(
    own: Mapping[str, Sequence[str]], others: Mapping[str, Sequence[str]], parser: str
) -> Iterator[Finding]:
    """A finding about the documents that are read otherwise.

    Args:
        own: The texts of the pages of each document, as the corpus has them.
        others: The same, as the other parser reads them.
        parser: Its name.
    """
    details: dict[str, object] = {}
    shown: list[str] = []
    pages: list[tuple[float, str]] = []
    for source, texts in own.items():
        pairs = list(zip_longest(texts, others[source], fillvalue=""))
        by_page = [difference(*pair) for pair in pairs]
        whole = Difference(*(sum(column) for column in zip(*map(_figures, by_page), strict=True)))
        details[source] = asdict(whole) | {"only_here_words": _only(pairs, 0), "only_there_words": _only(pairs, 1)}
        if whole.share >= LEAST:
            shown.append(f"{source}: {whole.in_words}")
            pages += [(page.share, f"{source}#{number}") for number, page in enumerate(by_page, start=1)]
    if shown:
        examples = [name for share, name in sorted(pages, key=lambda each: -each[0]) if share >= LEAST]
        yield Finding(
            kind="parsers_differ",
            problem=f"{counted(len(shown), 'document')} of {len(own)} read otherwise by {parser}{named(shown, '; ')}.",
            cost="What one parser lacks cannot be found with it, and passages of columns that it mixes answer nothing.",
            advice=f"Look at page {', '.join(examples[:PAGES_SHOWN])}, and sweep the parser.",
            count=len(shown),
            out_of=len(own),
            examples=tuple(examples),
            details={"parser": parser, "documents": details},
        )


def _figures(found: Difference) -> tuple[int, int, int, int]:
    return found.words, found.only_here, found.only_there, found.moved


def _only(pairs: Sequence[tuple[str, str]], which: int) -> list[str]:
    """The most frequent words that one of the two readings has on a page, and the other one has not."""
    found: Counter[str] = Counter()
    for pair in pairs:
        found += Counter(plain_words(pair[which])) - Counter(plain_words(pair[1 - which]))
    return [word for word, _ in found.most_common(WORDS_SHOWN)]
