"""What a retriever in production has answered, from its traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ragsweep import tracking
from ragsweep.core.digest import digest
from ragsweep.core.errors import RetrieverError
from ragsweep.core.limits import Address, Text
from ragsweep.core.terminal import counted
from ragsweep.retrieval.kinds import Method
from ragsweep.retrieval.results import Answers
from ragsweep.tracking.address import check_address
from ragsweep_engines.systems.asking import plain
from ragsweep_engines.systems.reading import check_path
from ragsweep_engines.systems.running_retriever import ReadsResults
from ragsweep_engines.systems.trace_spans import span_of
from ragsweep_engines.systems.traced_answers import Traced, same_question, traced

MOST_READ = 2  # sets of traces that a process keeps
_READ: dict[str, Traced] = {}  # the jobs of a sweep measure the same traces


@dataclass(frozen=True, kw_only=True)
class TracesRetriever(ReadsResults):
    """What a retriever has answered its users, from the spans of an MLflow experiment. Nothing is asked.

    A question of the dataset has an answer if somebody has asked it, in these words; case, white space and the
    composition of letters do not count. If it was asked several times, the latest answer counts.

    Attributes:
        experiment: Name of an MLflow experiment.
        uri: Address of the MLflow store with this experiment.
        span_name: Name of the spans that are read; None reads those of all retrievers.
        question: Where the question is in the input of a span, as a JMESPath; None finds it by the usual names.
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
        return digest([[name, plain(each.results)] for name, each in sorted(self._traced.answers.items())])

    @property
    def method(self) -> Method:
        """For reports: where the traces are."""
        return Method(self.experiment)

    def check(self) -> None:
        """Raise an error if the traces cannot be read."""
        self._traced  # noqa: B018

    def answers(self, queries: Sequence[str], depth: int) -> Answers:
        """What came back when each of the queries was last asked."""
        known = self._traced.answers
        names = [same_question(query) for query in queries]
        found = [known[name] for name in names if name in known]
        times = [each.ms for each in found if each.ms is not None]
        again = sum(each.times > 1 for each in found)
        notices = [*self._traced.notices]
        if again:
            notices.append(f"{counted(again, 'question')} asked several times: the latest answer is measured.")
        if times:
            notices.append(f"Latency is that in production, by {counted(len(times), 'span')}.")
        asked = {*names}
        return Answers(
            [known[name].results[:depth] if name in known else None for name in names],
            np.array(times),
            notices,
            [each.query for name, each in known.items() if name not in asked],
        )

    @cached_property
    def _traced(self) -> Traced:
        listed = tracking.list_traces(self.uri, self.experiment)
        if not listed.ids:
            where = f"retriever.experiment: {self.experiment}"
            raise RetrieverError(f"{where} has no trace of a retriever{_elsewhere(listed)}")
        key = digest([self.uri, listed.ids, self._fields, self.question, self.span_name])
        if key not in _READ:  # once for all jobs of a sweep
            while len(_READ) >= MOST_READ:
                _READ.pop(next(iter(_READ)))
            spans = map(span_of, tracking.fetch_spans(self.uri, listed.ids))
            _READ[key] = traced(spans, self._fields, self.question, self.span_name, f"the experiment {self.experiment}")
        found = _READ[key]
        cut = [f"Only the newest {counted(len(listed.ids), 'trace')} are read."] if listed.cut else []
        left = [f"Not all of its traces are read{_elsewhere(listed)}."] if listed.elsewhere else []
        return found._replace(notices=(*found.notices, *cut, *left))


def _elsewhere(listed: tracking.ListedTraces) -> str:
    some = f"; {counted(listed.elsewhere, 'trace')} with spans among the artifacts, which are not read"
    return some if listed.elsewhere else ""
