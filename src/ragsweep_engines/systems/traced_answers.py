"""What users have asked a retriever, and what it has answered: the latest answer of each question in some traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import jmespath
from jmespath.exceptions import JMESPathError

from ragsweep.core.errors import RetrieverError
from ragsweep.core.terminal import counted, some_of
from ragsweep.retrieval.results import Result
from ragsweep.text.normalisation import folded
from ragsweep_engines.systems.calling import QUERIES, QUERY
from ragsweep_engines.systems.reading import Fields, Reader, encodable
from ragsweep_engines.systems.trace_spans import Span

MOST_SPANS = 1_000_000
MOST_AROUND = 100  # spans around a span that are looked at
NAMES = (*QUERY, "query_bundle", *QUERIES)  # fields of an input that have the question


class TracedAnswer(NamedTuple):
    """The latest answer to a question.

    Attributes:
        query: The question.
        results: What came back, best first.
        ms: How long it took, in milliseconds; None if that is not known.
        times: How often the question was answered.
    """

    query: str
    results: tuple[Result, ...]
    ms: float | None
    times: int


class Traced(NamedTuple):
    """What some traces tell of a retriever.

    Attributes:
        answers: By what `same_question` makes of their questions.
        notices: What was left out, as sentences.
    """

    answers: Mapping[str, TracedAnswer]
    notices: tuple[str, ...]


class _Read(NamedTuple):
    """A span of a retriever, as it was read: with an answer, or with why it has none."""

    span: Span
    query: str
    results: tuple[Result, ...]
    why: str


def same_question(query: str) -> str:
    """What is the same for questions that differ in case, white space and composition of letters alone."""
    return " ".join(folded(query).split())


def traced(spans: Iterable[Span], fields: Fields, question: str | None, name: str | None, where: str) -> Traced:
    """The answers in some spans.

    A retriever that asks others has spans within its span; it is the outermost one that has answered.

    Args:
        spans: All spans of the traces.
        fields: Of a result.
        question: Where the question is in the input of a span, as a JMESPath; None for the usual names.
        name: Of the spans that are read; None for all those of retrievers.
        where: What is read, for errors.

    Raises:
        RetrieverError: There are too many spans, or there is none that has an answer.
    """
    around: dict[tuple[str, str], tuple[str, bool]] = {}
    spans_read: list[_Read] = []
    kinds: Counter[str] = Counter()
    reader = Reader(fields)
    for number, span in enumerate(spans, start=1):
        if number > MOST_SPANS:
            raise RetrieverError(f"{where}: has more than {MOST_SPANS:,} spans; split it")
        kinds[span.name] += span.retrieves
        counts = span.retrieves and name in (None, span.name)
        around[span.trace, span.id] = (span.parent, counts)
        if counts:
            spans_read.append(_read(span, reader, question))
    reader.check()
    read = [each for each in spans_read if not _is_within_another(each.span, around)]
    if not read:
        named = some_of(+kinds) or "none"
        expected = f"is named {name!r} (spans of retrievers are {named})" if name else "is that of a retriever"
        raise RetrieverError(f"{where}: none of its {counted(len(around), 'span')} {expected}")
    notices = []
    if missing := Counter(each.why for each in read if each.why):
        said = f"{counted(missing.total(), 'span')} of a retriever without an answer: {_most(missing)}"
        if missing.total() == len(read):
            raise RetrieverError(f"{where}: has only {said}")
        notices.append(f"{said}.")
    names = Counter(each.span.name for each in read if not each.why)
    if len(names) > 1:
        found = some_of(f"{each} ({times:,})" for each, times in names.most_common())
        notices.append(f"Spans of several retrievers are read, {found}: retriever.span_name chooses one.")
    return Traced(_latest(read), tuple(notices))


def _read(span: Span, reader: Reader, question: str | None) -> _Read:
    query = _question(span.query, question)
    if span.failed:
        return _Read(span, "", (), "it ended in an error")
    if not query:
        return _Read(span, "", (), "it does not say what was asked (retriever.question names the field)")
    if span.answer is None:
        return _Read(span, query, (), "it does not say what came back (instrumentations may leave out contents)")
    try:
        results = tuple(reader.results(span.answer))
    except RetrieverError as error:
        return _Read(span, query, (), str(error))
    return _Read(span._replace(query=None, answer=None), query, results, "")


def _question(asked: object, path: str | None) -> str:
    """The question in the input of a span; empty if there is none."""
    if path and not isinstance(asked, str):
        try:
            asked = jmespath.search(path, asked)
        except JMESPathError:
            return ""
    if isinstance(asked, list) and len(asked) == 1:
        [asked] = asked
    if isinstance(asked, Mapping):
        fields: Mapping[str, Any] = asked
        texts = [each for each in fields.values() if isinstance(each, str)]
        named = next((fields[name] for name in NAMES if fields.get(name)), texts[0] if len(texts) == 1 else None)
        return _question(named, None)
    return encodable(asked).strip() if isinstance(asked, str) else ""


def _is_within_another(span: Span, around: Mapping[tuple[str, str], tuple[str, bool]]) -> bool:
    """Whether a span that counts is around a span."""
    parent = span.parent
    for _ in range(MOST_AROUND):
        if parent in ("", span.id):
            break
        parent, counts = around.get((span.trace, parent), ("", False))
        if counts:
            return True
    return False


def _latest(read: Iterable[_Read]) -> dict[str, TracedAnswer]:
    answers: dict[str, TracedAnswer] = {}
    for each in sorted((each for each in read if not each.why), key=lambda each: each.span.start):
        key = same_question(each.query)
        times = answers[key].times + 1 if key in answers else 1
        answers[key] = TracedAnswer(each.query, each.results, each.span.ms, times)
    return answers


def _most(reasons: Counter[str]) -> str:
    """The most frequent reason, and whether there are others."""
    [(reason, times)] = reasons.most_common(1)
    return reason if times == reasons.total() else f"{times:,} as {reason}, and others"
