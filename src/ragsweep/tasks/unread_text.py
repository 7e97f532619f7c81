"""How many texts are longer than what a model reads: what a run records, and what it is called everywhere."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field

from ragsweep.core.terminal import verb


class UnreadText(NamedTuple):
    """Texts of a kind, of which a model reads some not to their end.

    Attributes:
        model: Its name.
        texts: What they are, such as `queries`.
        cut: How many of them are longer than what it reads.
        out_of: How many there are.
        read: How much it reads of each, beside its prompt and special tokens.
        unit: Of that: tokens, or characters.
    """

    model: str
    texts: str
    cut: Annotated[int, Field(ge=1)]
    out_of: Annotated[int, Field(ge=1)]
    read: int
    unit: str

    @property
    def share(self) -> float:
        """How many of them are longer, 0 to 1."""
        return self.cut / self.out_of

    @property
    def in_words(self) -> str:
        """A sentence without its full stop."""
        longer = f"{self.cut:,} of {self.out_of:,} {self.texts} {verb(self.cut, 'are')} longer"
        return f"{longer} than the {self.read:,} {self.unit} that {self.model} reads"

    @property
    def advice(self) -> str:
        """What to do about it, in one sentence."""
        smaller = "Cut the passages smaller, such as by chunker=recursive chunker.size=null"
        more = "a larger truncate" if self.unit == "characters" else "a model that reads more"
        return f"{'Shorten the queries' if self.texts == 'queries' else smaller}, or choose {more}."
