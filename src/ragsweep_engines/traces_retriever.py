"""The answers of a retriever in production, from its spans in MLflow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import jmespath
import numpy as np
from jmespath.exceptions import JMESPathError

from ragsweep import tracking
from ragsweep.core.digest import digest
from ragsweep.core.errors import RetrieverError
from ragsweep.core.limits import Address, Text
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.core.terminal import counted, some_of
from ragsweep.retrieval.kinds import Method
from ragsweep.retrieval.results import Answers
from ragsweep.text.normalisation import folded
from ragsweep.tracking.store_address import check_address
from ragsweep_engines.asking import ReadsResults
from ragsweep_engines.result_reading import Fields, Read, check_path, encodable, results_of

KIND, QUERY, ANSWER = "mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs"  # attributes of a span
QUESTIONS = ("query", "question", "input", "text", "str_or_query_bundle")  # fields of an input that have the question
LONGEST_MS = 24 * 60 * 60 * 1000  # of a span: one that seems to take longer has a time that is none
MOST_AROUND = 100  # spans around a span that are looked at


class TracedAnswer(NamedTuple):
    """The latest answer to a question: what came back, in how many milliseconds (None if not known), and how often."""

    query: str
    read: Read
    ms: float | None
    times: int


class Traced(NamedTuple):
    """The answers in some spans, by what `same_question` makes of their questions, and what was left out."""

    answers: Mapping[str, TracedAnswer]
    notices: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TracesRetriever(ReadsResults):
    """The answers that a retriever gave its users, from the spans of an MLflow experiment. Nothing is asked.

    A question of the dataset has an answer if somebody has asked it, in these words; case, white space and the
    composition of letters do not count. If it was asked several times, the latest answer counts.

    Attributes:
        experiment: Name of an MLflow experiment.
        uri: Address of the MLflow store with this experiment.
        span_name: Name of the spans that are read; None reads those of all retrievers.
        question: Where the question is in the input of a span, as a JMESPath; None takes the documented names.
    """

    without_effect: ClassVar[tuple[str, ...]] = ("experiment", "uri")  # the fingerprint stands for the content

    experiment: Text
    uri: Address
    span_name: Text | None = None
    question: Text | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_path("question", self.question)
        check_address(self.uri, "retriever.uri")  # every run records it

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the questions and answers."""
        return digest(
            [[name, [[*one] for one in answer.read.results]] for name, answer in sorted(self._answers.items())]
        )

    @property
    def method(self) -> Method:
        """For reports: where the traces are."""
        return Method(self.experiment)

    def check(self) -> None:
        """Raise an error if the traces cannot be read."""
        self._traced  # noqa: B018

    def answers(self, queries: Sequence[str], depth: int) -> Answers:
        """The results of each query when it was last asked."""
        names = [same_question(query) for query in queries]
        latest = [self._answers[name] for name in names if name in self._answers]
        times = [self._answers[name].ms if name in self._answers else None for name in names]
        notices = [self._notice_of_fields([answer.read.fields for answer in latest]), *self._traced.notices]
        if again := sum(answer.times > 1 for answer in latest):
            notices.append(f"{counted(again, 'question')} asked several times: the latest answer is measured.")
        if spans := sum(ms is not None for ms in times):
            notices.append(f"Latency is that in production, by {counted(spans, 'span')}.")
        results = [self._answers[name].read.results[:depth] if name in self._answers else None for name in names]
        other_questions = [answer.query for name, answer in self._answers.items() if name not in {*names}]
        return Answers(results, np.array(times, np.float64), [*filter(None, notices)], other_questions)

    @property
    def _answers(self) -> Mapping[str, TracedAnswer]:
        return self._traced.answers

    @cached_property
    def _traced(self) -> Traced:
        listed = tracking.list_traces(self.uri, self.experiment)
        where, elsewhere = f"the experiment {self.experiment}", ""
        if listed.elsewhere:
            elsewhere = f"; {counted(listed.elsewhere, 'trace')} with spans among the artifacts, which are not read"
        if not listed.ids:
            raise RetrieverError(f"retriever.experiment: {self.experiment} has no trace of a retriever{elsewhere}")
        read = traced(tracking.fetch_spans(self.uri, listed.ids), self._fields, self.question, self.span_name, where)
        self._check_fields([answer.read for answer in read.answers.values()])
        cut = [f"Only the newest {counted(len(listed.ids), 'trace')} are read."] if listed.cut else []
        left = [f"Not all of its traces are read{elsewhere}."] if elsewhere else []
        return read._replace(notices=(*read.notices, *cut, *left))


def same_question(query: str) -> str:
    """A key that is equal for questions that differ only in case, white space or composition of letters."""
    return " ".join(folded(query).split())


def traced(
    spans: Iterable[Mapping[str, Any]], fields: Fields, question: str | None, name: str | None, where: str
) -> Traced:
    """The latest answer to each question in some spans, as `mlflow.entities.Span.to_dict` has them.

    A retriever that asks others has spans within its span; it is the outermost one that has answered.

    Args:
        spans: All spans of the traces.
        fields: Of a result.
        question: Where the question is in the input of a span, as a JMESPath; None for the documented names.
        name: Of the spans that are read; None for all those of retrievers.
        where: What is read, for errors.

    Raises:
        RetrieverError: There is no span that has an answer.
    """
    parents: dict[tuple[str, str], tuple[str, bool]] = {}
    counting: list[Mapping[str, Any]] = []
    kinds: Counter[str] = Counter()
    for span in spans:
        retrieves = _attribute(span, KIND) == "RETRIEVER"
        kinds[str(span.get("name"))] += retrieves
        counts = retrieves and name in (None, span.get("name"))
        parents[_key(span)] = (str(span.get("parent_span_id") or ""), counts)
        counting += [span] if counts else []
    counting = [span for span in counting if not _is_within(span, parents)]
    if not counting:
        kinds_named = f" (spans of retrievers are {some_of(+kinds) or 'none'})" if name else ""
        expected = f"is named {name!r}{kinds_named}" if name else "is that of a retriever"
        raise RetrieverError(f"{where}: none of its {counted(len(parents), 'span')} {expected}")
    answers: dict[str, TracedAnswer] = {}
    missing: Counter[str] = Counter()
    names: Counter[str] = Counter()
    for span in sorted(counting, key=lambda span: _nanoseconds(span, "start")):
        query, read, why = _read(span, fields, question)
        if why:
            missing[why] += 1
            continue
        names[str(span.get("name"))] += 1
        key = same_question(query)
        times = answers[key].times + 1 if key in answers else 1
        answers[key] = TracedAnswer(query, read, _ms(span), times)
    notices = []
    if missing:
        unanswered = f"{counted(missing.total(), 'span')} of a retriever without an answer: {some_of(missing)}"
        if not answers:
            raise RetrieverError(f"{where}: has only {unanswered}")
        notices.append(f"{unanswered}.")
    if len(names) > 1:
        several = some_of(f"{span_name} ({times:,})" for span_name, times in names.most_common())
        notices.append(f"Spans of several retrievers are read, {several}: retriever.span_name chooses one.")
    return Traced(answers, tuple(notices))


def _read(span: Mapping[str, Any], fields: Fields, question: str | None) -> tuple[str, Read, str]:
    """The question and the results of a span, or why it has none."""
    query, answer, nothing = _question(_attribute(span, QUERY), question), _attribute(span, ANSWER), Read((), {}, ())
    if (span.get("status") or {}).get("code") == "STATUS_CODE_ERROR":
        return "", nothing, "it ended in an error"
    if not query:
        return "", nothing, "it does not say what was asked (retriever.question names the field)"
    if answer is None:
        return query, nothing, "it does not say what came back (instrumentations may leave out contents)"
    try:
        return query, results_of(answer, fields), ""
    except RetrieverError as error:
        return query, nothing, str(error)


def _question(asked: object, path: str | None) -> str:
    """The question in the input of a span; empty if there is none."""
    if path and not isinstance(asked, str):
        with suppress(JMESPathError):
            return _question(jmespath.search(path, asked), None)
        return ""
    if isinstance(asked, Mapping):
        asked = next((asked[name] for name in QUESTIONS if asked.get(name)), None)
    return encodable(asked).strip() if isinstance(asked, str) else ""


def _is_within(span: Mapping[str, Any], parents: Mapping[tuple[str, str], tuple[str, bool]]) -> bool:
    """Whether a span that counts is around a span."""
    (trace, own), parent = _key(span), str(span.get("parent_span_id") or "")
    for _ in range(MOST_AROUND):
        if parent == own:
            break
        parent, counts = parents.get((trace, parent), ("", False))
        if counts:
            return True
    return False


def _key(span: Mapping[str, Any]) -> tuple[str, str]:
    return str(span.get("trace_id") or ""), str(span.get("span_id") or "")


def _nanoseconds(span: Mapping[str, Any], edge: str) -> int:
    return int(span.get(f"{edge}_time_unix_nano") or 0)


def _ms(span: Mapping[str, Any]) -> float | None:
    start, ms = _nanoseconds(span, "start"), (_nanoseconds(span, "end") - _nanoseconds(span, "start")) / 1e6
    return ms if start and 0 <= ms <= LONGEST_MS else None


def _attribute(span: Mapping[str, Any], name: str) -> object:
    """An attribute of a span; of a text that is JSON, its value."""
    value = (span.get("attributes") or {}).get(name)
    if isinstance(value, str):
        with suppress(MalformedError):
            return from_json(value, allow_nan=True)
    return value
