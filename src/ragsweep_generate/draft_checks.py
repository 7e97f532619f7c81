"""Checks drafts: their references, their wording, and their place among the other questions and passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ragsweep.core.terminal import one_line, shortened
from ragsweep.datasets.readers.fields import flaw_of_text
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.text.content_words import content_stems, content_words, is_near_copy, numbers_and_negations
from ragsweep.text.dependent_questions import flaw_of_context
from ragsweep.text.quotes import find_quote, whole_words
from ragsweep.text.tokens import Span, count_of_words, stripped, words
from ragsweep_generate.drafts import UNANSWERABLE, Draft, Request
from ragsweep_generate.searching import CorpusSearch, Hits, share_within

# The checks in their order, each with what it accepts. A draft that fails one does not reach the next.
CHECKS = {
    "response": "the model returned a question in the form that was asked for",
    "form": "the question is a short text with words of content",
    "context": "the question can be understood without its passage",
    "reference": "a reference is in the passage; others are removed",
    "subject": "the question has a word of content in common with its passage",
    "copy": "the question is not a near copy of an earlier one",
    "elsewhere": "no other passage answers the question; one that is out of scope is answered by none",
}
NEAR_COPY_WORDS = 0.9  # Jaccard similarity of the content words of two near copies
NEAR_COPY_COSINE = 0.95  # cosine of two near copies
SHOWN_CHARACTERS = 80  # of a text in a reason
EASY_RANK = 1
LONGEST_QUESTION = 300  # characters
LEAST_CONTENT = 2  # words of a question that are not function words
LEAST_SIMILARITY = 0.9  # of the letters of a reference and of what the passage has
SHORTEST_REFERENCE = 3  # words of a reference
QUOTATION_MARKS = {*"'\"\u201c\u201d\u2018\u2019"}


class Checked(NamedTuple):
    """A draft, and what the checks have found.

    Attributes:
        request: What was asked for.
        draft: What the generator returned.
        question: The question, in one line.
        references: Spans of the document that answer it, in order; none for a question that is out of scope.
        removed: How many references of the draft are not in their passage.
        check: The check that it failed; empty if it passed all of them.
        reason: Why it failed.
        copied: Share of its words of content that its references have, too; None if it failed or is out of scope.
        rank: The rank, from 1, at which BM25 finds its passage; None if not within the first 100, or as `copied`.
    """

    request: Request
    draft: Draft
    question: str
    references: tuple[Span, ...]
    removed: int
    check: str
    reason: str
    copied: float | None = None
    rank: int | None = None

    @property
    def generated(self) -> int:
        """How many references the draft has."""
        return len(self.draft.references)

    @property
    def valid(self) -> int:
        """How many of them are in their passage; two may be the same span."""
        return self.generated - self.removed

    @property
    def is_out_of_scope(self) -> bool:
        """Whether the documents should not answer it."""
        return self.request.query_type == UNANSWERABLE

    @property
    def is_easy(self) -> bool:
        """Whether BM25 finds its passage first, before any other."""
        return self.rank == EASY_RANK


@dataclass
class Checker:
    """Checks drafts one batch after another, and remembers the questions that it has accepted.

    Attributes:
        search: Searches the corpus.
        questions: What was accepted so far.
        stems: The content stems of each.
        embeddings: Their embeddings, each of shape [dimensions]; none without an encoder.
    """

    search: CorpusSearch
    questions: list[str] = field(default_factory=list)
    stems: list[Sequence[str]] = field(default_factory=list)
    embeddings: list[Embeddings] = field(default_factory=list)

    def check(self, requests: Sequence[Request], drafts: Sequence[Draft]) -> list[Checked]:
        """The outcome of each draft, in their order."""
        outcomes = [checked_alone(request, draft) for request, draft in zip(requests, drafts, strict=True)]
        passed = [at for at, outcome in enumerate(outcomes) if not outcome.check]
        questions = [outcomes[at].question for at in passed]
        hits = self.search.find(questions, [outcomes[at].request.source for at in passed])
        embeddings = self.search.embeddings_of(questions)
        for row, at in enumerate(passed):
            vector = None if embeddings is None else embeddings[row]
            outcomes[at] = self._among_others(outcomes[at], vector, hits[row])
        return outcomes

    def _among_others(self, draft: Checked, vector: Embeddings | None, hits: Hits) -> Checked:
        """The outcome of the checks that compare a draft with accepted questions and with other passages."""
        question, source = draft.question, draft.request.source
        answer = " ".join(source.text[start - source.start : end - source.start] for start, end in draft.references)
        if earlier := self._copy_of(question, vector):
            copy = shortened(earlier, SHOWN_CHARACTERS)
            return draft._replace(check="copy", reason=f"it is a near copy of {copy!r}")
        if draft.is_out_of_scope:
            elsewhere = self.search.maybe_answered(question, source, hits)
        else:
            elsewhere = self.search.answered_elsewhere(question, answer, hits)
        if elsewhere:
            where = f"{elsewhere.document}, page {elsewhere.page_number}"
            return draft._replace(check="elsewhere", reason=f"{where} may answer it")
        self.questions.append(question)
        self.stems.append(content_stems(question))
        if vector is not None:
            self.embeddings.append(vector)
        if draft.is_out_of_scope:
            return draft
        copied = share_within({*content_stems(question)}, {*content_stems(answer)})
        return draft._replace(copied=copied, rank=hits.rank)

    def _copy_of(self, question: str, vector: Embeddings | None) -> str | None:
        """An earlier question that asks the same: with nearly the same words, or by its embedding.

        Questions with other numbers or negations are not the same: "at 5 kg", "at 10 kg".
        """
        asked, stems = words(question), content_stems(question)
        for earlier, earlier_stems in zip(self.questions, self.stems, strict=True):
            if is_near_copy(earlier_stems, stems, NEAR_COPY_WORDS) or (
                earlier_stems == stems and words(earlier) == asked
            ):
                return earlier
        exact = numbers_and_negations(question)
        if vector is None or not self.embeddings:
            return None
        close = np.flatnonzero(np.array(self.embeddings) @ vector >= NEAR_COPY_COSINE).tolist()
        return next((self.questions[at] for at in close if numbers_and_negations(self.questions[at]) == exact), None)


def checked_alone(request: Request, draft: Draft) -> Checked:
    """The outcome of the checks that need nothing but the draft and its passage."""
    question, source = one_line(draft.question), request.source
    spans = [locate(reference, source.text) for reference in draft.references]
    places = sorted({(source.start + start, source.start + end) for start, end in filter(None, spans)})
    check, reason = _failed_alone(request, draft, question, is_located=bool(places))
    return Checked(request, draft, question, tuple(places), spans.count(None), check, reason)


def _failed_alone(request: Request, draft: Draft, question: str, *, is_located: bool) -> tuple[str, str]:
    """The first check that a draft fails, and why; empty if it fails none."""
    if draft.flaw:
        return "response", draft.flaw
    if flaw := flaw_of_form(question):
        return "form", flaw
    if flaw := flaw_of_context(question):
        return "context", flaw
    out_of_scope = request.query_type == UNANSWERABLE
    if out_of_scope == bool(draft.references):
        return "reference", "it has references" if out_of_scope else "it has none"
    if draft.references and not is_located:
        missing = shortened(one_line(draft.references[0]), SHOWN_CHARACTERS)
        return "reference", f"the passage does not contain {missing!r}"
    if not {*content_stems(question)} & {*content_stems(request.source.text)}:
        return "subject", "it has no word of the passage"
    return "", ""


def flaw_of_form(question: str) -> str | None:
    """Why a text cannot be a question; None if it can."""
    if flaw := flaw_of_text(question):
        return f"it {flaw}"
    if not question.strip():
        return "it is empty"
    if len(question) > LONGEST_QUESTION:
        return f"it has {len(question)} characters, more than {LONGEST_QUESTION}"
    if len(content_words(question)) < LEAST_CONTENT:
        return f"it has fewer than {LEAST_CONTENT} words of content"
    return None


def locate(reference: str, text: str) -> Span | None:
    """Where a reference, as a model has copied it, is in a text; None if the text does not contain it.

    The span is that of the text, so what is recorded is what the text says.
    """
    reference = reference.strip()
    if {reference[:1], reference[-1:]} <= QUOTATION_MARKS:  # a model often puts what it copies into quotes
        reference = reference[1:-1].strip()
    if count_of_words(reference) < SHORTEST_REFERENCE:
        return None
    place = find_quote(reference, text, LEAST_SIMILARITY)
    return stripped(text, *whole_words(text, *place)) if place else None
