"""Abbreviations, written out by a table of the user."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import regex

from ragsweep.core.digest import digest
from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Text
from ragsweep.datasets.readers.fields import text_of
from ragsweep.datasets.readers.tables import read_entries
from ragsweep.retrieval.kinds import Rewriter
from ragsweep.text.normalisation import composed
from ragsweep.text.tokens import whole_word

SETTING = "query.table"
WHITE_SPACE = r"\s+"


@dataclass(frozen=True)
class Abbreviations(Rewriter):
    """Writes out the abbreviations in queries.

    Only whole words are abbreviations: ANC is one in "ANC-related", but not in "CANCER" or "ANCs". Where several fit,
    the longest is taken, such as "Hb A1c" before "Hb". An abbreviation with several rows gets all of their expansions.
    If the query already has an expansion, the abbreviation stays as it is. Expansions are not expanded again.

    Attributes:
        table: A CSV file with the columns `abbreviation` and `expansion`; also TSV, JSON or Parquet.
        mode: `append` adds the expansion in brackets behind the abbreviation, so that passages with either are found;
            `replace` puts it in place of the abbreviation.
        case_sensitive: Whether ANC differs from anc. If not, WHO also is the word "who", and AIDS is in "aids".
    """

    without_effect: ClassVar[tuple[str, ...]] = ("table",)  # the fingerprint stands for the content

    table: Text
    mode: Literal["append", "replace"] = "append"
    case_sensitive: bool = True

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the table's content and of the settings."""
        return digest([self._rows, self.mode, self.case_sensitive])

    def rewrite(self, queries: Sequence[str]) -> list[str]:
        """The queries with their abbreviations written out."""
        return [self._written_out(query) for query in queries]

    def _written_out(self, query: str) -> str:
        text = composed(query)

        def expanded(match: regex.Match[str]) -> str:
            expansions = self._expansions[self._cased(self._spellings[(match.lastindex or 0) - 1])]
            if any(_whole_words(expansion, ignore_case=True).search(text) for expansion in expansions):
                return str(match[0])
            return f"{match[0]} ({', '.join(expansions)})" if self.mode == "append" else ", ".join(expansions)

        changed: str = self._pattern.sub(expanded, text)
        return query if changed == text else changed

    @cached_property
    def _rows(self) -> list[tuple[str, str]]:
        rows = []
        for where, row in read_entries(Path(self.table), "abbreviations", setting=SETTING):
            texts = []
            for column in ("abbreviation", "expansion"):
                if not (text := text_of(row, column, where)):
                    raise DatasetError(f"{where}: the field {column!r} is empty; expected the text of the {column}")
                texts.append(composed(" ".join(text.split())))
            rows.append((texts[0], texts[1]))
        if not rows:
            raise DatasetError(f"{self.table}: contains no abbreviations; expected at least one")
        return rows

    @cached_property
    def _expansions(self) -> Mapping[str, Sequence[str]]:
        """The distinct expansions of each abbreviation."""
        by_abbreviation: dict[str, list[str]] = {}
        for abbreviation, expansion in self._rows:
            expansions = by_abbreviation.setdefault(self._cased(abbreviation), [])
            if expansion not in expansions:
                expansions.append(expansion)
        return by_abbreviation

    @cached_property
    def _spellings(self) -> Sequence[str]:
        """The abbreviations, longest first."""
        return sorted({abbreviation for abbreviation, _ in self._rows}, key=lambda text: (-len(text), text))

    @cached_property
    def _pattern(self) -> regex.Pattern[str]:
        """Its groups are those of `_spellings`."""
        return _whole_words(*self._spellings, ignore_case=not self.case_sensitive)

    def _cased(self, text: str) -> str:
        return text if self.case_sensitive else text.casefold()


def _whole_words(*texts: str, ignore_case: bool) -> regex.Pattern[str]:
    """Finds texts that stand for themselves, not within a word; a group each."""
    groups = "|".join(rf"({WHITE_SPACE.join(map(re.escape, text.split()))})" for text in texts)
    return whole_word(groups, ignore_case=ignore_case)
