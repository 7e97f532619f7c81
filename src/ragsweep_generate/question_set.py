"""Makes a test set: asks a generator for drafts, batch after batch, until enough of them pass the checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from typing import Annotated

import numpy as np

from ragsweep.config.run_settings import Seed
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.limits import Between
from ragsweep.datasets import Document, RecursiveChunker
from ragsweep.datasets.readers.fields import flaw_of_text
from ragsweep.store.code import kind_of
from ragsweep.text.tokens import count_of_words
from ragsweep_generate.draft_checks import CHECKS, Checked, Checker
from ragsweep_generate.drafts import UNANSWERABLE, Draft, Generator, GeneratorError, Request, Source

DRAFTS_AT_ONCE = 40  # drafts that are asked for at once; if as many in a row fail the checks, no more are asked for


@dataclass(frozen=True)
class Plan:
    """How many questions are wanted, of which kind, and how long to try.

    Attributes:
        count: Questions, in all.
        unanswerable: The share of them that the documents do not answer.
        types: Types of the others; empty takes all types of the generator.
        drafts_per_question: How many drafts may be asked for, for each question that is wanted.
        passage_size: The most characters of a passage that a question is made from.
        shortest_passage: The fewest words of such a passage.
        seed: Of the choice of passages.
    """

    count: Annotated[int, Between(1, 100_000)]
    unanswerable: Annotated[float, Between(0, 0.9)]
    types: tuple[str, ...]
    drafts_per_question: Annotated[int, Between(1, 100)]
    passage_size: Annotated[int, Between(200, 20_000)]
    shortest_passage: Annotated[int, Between(1, 1000)]
    seed: Seed

    @property
    def out_of_scope(self) -> int:
        """How many questions the documents should not answer; at least one question is another one."""
        return min(round(self.count * self.unanswerable), self.count - 1)

    @property
    def most_drafts(self) -> int:
        """How many drafts may be asked for."""
        return max(DRAFTS_AT_ONCE, self.drafts_per_question * self.count)


@dataclass
class Outcome:
    """What became of all drafts.

    Attributes:
        drafts: All of them, in the order in which they were made.
        shortfall: Why there are fewer questions than wanted; empty if there are enough.
    """

    drafts: list[Checked] = field(default_factory=list)
    shortfall: str = ""

    @property
    def accepted(self) -> list[Checked]:
        """The questions: the drafts that passed all checks."""
        return [draft for draft in self.drafts if not draft.check]

    @property
    def rejected(self) -> list[Checked]:
        """The drafts that failed a check."""
        return [draft for draft in self.drafts if draft.check]

    @property
    def answerable(self) -> list[Checked]:
        """The questions that the documents answer."""
        return [question for question in self.accepted if not question.is_out_of_scope]

    @property
    def easy(self) -> int:
        """How many questions have a passage that BM25 finds first."""
        return sum(question.is_easy for question in self.answerable)

    @property
    def tokens(self) -> tuple[int, int] | None:
        """Tokens of all prompts and of all responses; None if not known."""
        ways = [(draft.draft.tokens_in, draft.draft.tokens_out) for draft in self.drafts]
        stated = [(given, made) for given, made in ways if given is not None and made is not None]
        if len(stated) < len(ways):
            return None
        return sum(given for given, _ in stated), sum(made for _, made in stated)

    @property
    def references(self) -> tuple[int, int]:
        """How many references all drafts have, and how many of them are in their passage."""
        return sum(draft.generated for draft in self.drafts), sum(draft.valid for draft in self.drafts)

    def failed(self) -> Counter[str]:
        """How many drafts failed each check."""
        return Counter(draft.check for draft in self.rejected)


def types_of(generator: Generator, plan: Plan) -> tuple[str, ...]:
    """The types of answerable questions to ask for.

    Raises:
        ConfigError: The generator does not make one of the wanted types.
    """
    answerable = tuple(name for name in generator.types if name != UNANSWERABLE)
    for name in plan.types:
        if name not in answerable:
            raise ConfigError(f"--types: found {name}, expected some of {', '.join(answerable)}")
    if plan.out_of_scope and UNANSWERABLE not in generator.types:
        raise ConfigError("--unanswerable: this generator makes none; generator=llm does")
    return plan.types or answerable


def make(generator: Generator, sources: Sequence[Source], checker: Checker, plan: Plan) -> Outcome:
    """Ask for drafts until enough of them have passed the checks.

    Args:
        generator: Makes the drafts.
        sources: The passages, in the order in which they are used. They are used again for other types.
        checker: Checks the drafts.
        plan: What is wanted.

    Raises:
        GeneratorError: No draft of an answerable question passed the checks.
    """
    outcome = Outcome()
    types, out_of_scope = types_of(generator, plan), plan.out_of_scope
    wishes = [
        (types, plan.count - out_of_scope, "questions"),
        ((UNANSWERABLE,), out_of_scope, "out-of-scope questions"),
    ]
    for kinds, number, noun in wishes:
        requests = _requests(sources, kinds, generator.repeats)
        if missing := _take(generator, requests, number, checker, outcome, most=plan.most_drafts):
            left, reason = missing
            more = f"{left} of {number} {noun} are missing: {reason}"
            outcome.shortfall = f"{outcome.shortfall}; {more}" if outcome.shortfall else more
    if not any(question.references for question in outcome.accepted):  # no sweep can run on that
        [(check, times)] = outcome.failed().most_common(1)
        example = next(draft for draft in outcome.rejected if draft.check == check)
        raise GeneratorError(
            f"generator: no draft of {len(outcome.drafts)} is a question with references that passed the checks, so "
            f"nothing was written; {times} failed {check!r} ({CHECKS[check]}), such as: {example.reason}"
        )
    return outcome


def _requests(sources: Sequence[Source], types: Sequence[str], repeats: int) -> Iterator[Request]:
    """Each passage with each type: first all passages, with types that take turns, then all passages again."""
    for turn in range(repeats * len(types)):
        for at, source in enumerate(sources):
            yield Request(source, types[(at + turn) % len(types)], turn)


def _take(
    generator: Generator, requests: Iterator[Request], number: int, checker: Checker, outcome: Outcome, *, most: int
) -> tuple[int, str] | None:
    """Add accepted questions to the outcome, batch after batch; how many are missing in the end, and why."""
    wanted, asked, in_a_row = len(outcome.accepted) + number, 0, 0
    while missing := wanted - len(outcome.accepted):
        if in_a_row >= DRAFTS_AT_ONCE:
            return missing, f"{in_a_row} drafts in a row failed the checks"
        batch = list(islice(requests, min(missing, DRAFTS_AT_ONCE, most - asked)))
        if not batch:
            no_more = "no more drafts may be asked for (drafts_per_question)"
            return missing, no_more if asked == most else "the passages are used up"
        asked += len(batch)
        drafts = _checked(generator, batch)
        for checked in checker.check(batch, drafts):
            outcome.drafts.append(checked)
            in_a_row = in_a_row + 1 if checked.check else 0
    return None


def _checked(generator: Generator, requests: Sequence[Request]) -> Sequence[Draft]:
    drafts = generator.draft(requests)
    if not isinstance(drafts, list | tuple) or len(drafts) != len(requests):
        returned = f"{len(drafts)} drafts" if isinstance(drafts, list | tuple) else type(drafts).__name__
        raise GeneratorError(f"{kind_of(generator)}: returned {returned}, expected a list of {len(requests)} drafts")
    for draft in drafts:
        if not isinstance(draft, Draft):
            raise GeneratorError(f"{kind_of(generator)}: returned {type(draft).__name__}, expected a Draft")
    return drafts


def sources_of(documents: Sequence[Document], size: int, shortest: int) -> list[Source]:
    """The passages of all documents, in their order.

    Args:
        documents: The corpus.
        size: The most characters of a passage. No passage crosses the border of a page.
        shortest: The fewest words; shorter passages, such as titles, are left out.

    Raises:
        DatasetError: A text is not valid, or no passage is long enough.
    """
    chunker = RecursiveChunker(size, 0)
    sources = []
    for document in documents:
        if flaw := flaw_of_text(document.text):
            raise DatasetError(f"corpus: the text of document {document.source!r} {flaw}")
        for page in document.pages:
            text = document.text[page.start : page.end]
            for start, end in chunker.split(text):
                if count_of_words(text[start:end]) >= shortest:
                    places = page.start + start, page.start + end
                    sources.append(Source(document.source, page.page_number, *places, text[start:end]))
    if not sources:
        raise DatasetError(
            f"corpus: no passage of {len(documents)} documents has {shortest} words or more (shortest_passage); "
            "expected documents with text"
        )
    return sources


def spread(sources: Sequence[Source], most: int, seed: int) -> list[Source]:
    """At most `most` passages, in a random order in which the documents take turns.

    Args:
        sources: The passages.
        most: How many passages are needed.
        seed: Of the order.
    """
    by_document: dict[str, list[Source]] = {}
    for place in np.random.default_rng(seed).permutation(len(sources)).tolist():
        by_document.setdefault(sources[place].document, []).append(sources[place])
    turns = chain.from_iterable(zip_longest(*by_document.values()))
    return list(islice((source for source in turns if source is not None), most))
