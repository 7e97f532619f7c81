"""What an exported retriever returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hit:
    """A passage that was retrieved, or what is returned for it.

    Attributes:
        text: Its text, with a line break where a page ends.
        source: Its document.
        page: The number of the page on which it begins.
        score: Its score; those of different questions cannot be compared.
        passage_id: Its id: the document, the page, and which passage of this page it is. Of what is returned for
            several passages, that of the first one that was found.
    """

    text: str
    source: str
    page: str
    score: float
    passage_id: str
