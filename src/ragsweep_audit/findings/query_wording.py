"""How queries are worded: copied from the judged text, or not understandable on their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from ragsweep.core.terminal import verb
from ragsweep.tasks.ranking.coverage import relevant
from ragsweep.text.dependent_questions import flaw_of_context
from ragsweep.text.tokens import has_spaceless, words
from ragsweep_audit.findings.finding import Audited, Finder, Finding

FEWEST_COPIED = 6  # words in a row
BIGRAMS_A_WORD = 2  # about so many has a word in a script without spaces


@dataclass(frozen=True)
class CopiedQueries(Finder):
    """Queries whose words are copied from the text that answers them.

    A query is copied if at least `share` of its words, and at least six, stand in the same order, without a gap, in a
    unit that is relevant for it. In scripts without spaces, two bigrams count as a word.

    Attributes:
        share: From 0 to 1.
    """

    share: float = 0.8

    kind = "copied_queries"
    cost = "BM25 finds these easily. Users choose other words, so BM25 looks better than it is."
    advice = "Ask in words that a user would choose, or break the results down by such queries."

    def depends_on(self, audited: Audited) -> Sequence[object]:
        """On passages, queries and judgments."""
        return audited.key

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that names them."""
        dataset = audited.items
        units_of: dict[int, list[int]] = {}
        for row, unit in zip(*(column.tolist() for column in relevant(dataset, audited.relevance_level)), strict=True):
            units_of.setdefault(row, []).append(unit)
        needed = {unit for units in units_of.values() for unit in units}
        texts: dict[int, list[str]] = {}
        for passage, unit in dataset.passages_with_units.tolist():
            if unit in needed:
                texts.setdefault(unit, []).append(f" {' '.join(words(dataset.passages[passage].text))} ")
        copied = [
            dataset.queries[row]
            for row, units in sorted(units_of.items())
            if self._is_copied(dataset.queries[row].text, [text for unit in units for text in texts.get(unit, ())])
        ]
        if copied:
            problem = f"{len(copied)} of {len(units_of)} queries {verb(len(copied), 'are')} copied"
            yield self.of_queries(copied, f"{problem} from the text that answers them", len(units_of))

    def _is_copied(self, query: str, texts: Sequence[str]) -> bool:
        """Whether a text has enough words of the query in a row; the words of a text stand between single spaces."""
        asked = words(query)
        fewest = FEWEST_COPIED * (BIGRAMS_A_WORD if has_spaceless(query) else 1)
        length = max(fewest, ceil(self.share * len(asked) - 1e-9))
        runs = (f" {' '.join(asked[start : start + length])} " for start in range(len(asked) - length + 1))
        return any(run in text for run in runs for text in texts)


class DependentQueries(Finder):
    """English queries that nobody can understand on their own, like "What does it say about this?"."""

    kind = "dependent_queries"
    cost = "No retriever can know what they ask, so they lower every metric."
    advice = "Name what they are about."

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that names them."""
        queries = audited.items.queries
        if dependent := [query for query in queries if flaw_of_context(query.text)]:
            problem = f"{len(dependent)} of {len(queries)} queries cannot be understood on their own"
            yield self.of_queries(dependent, problem, len(queries))
