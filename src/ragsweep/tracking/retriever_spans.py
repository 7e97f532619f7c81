"""Fetches the traces of an MLflow experiment in which a retriever has answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mlflow.tracing.client import TracingClient

from ragsweep.core.errors import TrackingError
from ragsweep.core.progress import advance, progress
from ragsweep.core.terminal import some_of
from ragsweep.tracking.tracking_store import reading

MOST_TRACES = 100_000  # the newest ones
TRACES_AT_ONCE = 10  # the most that a server sends
PAGE = 100  # traces in a list
PLACE = "mlflow.trace.spansLocation"  # tag of a trace: where its spans are
IN_THE_STORE = "TRACKING_STORE"


class ListedTraces(NamedTuple):
    """The traces of an experiment with a span of a retriever.

    Attributes:
        ids: Of those whose spans are in the store, the newest first.
        elsewhere: How many have their spans among the artifacts. A trace says where these are, and anybody may have
            written it, so they are not read.
        cut: Whether there are more than `MOST_TRACES`.
    """

    ids: tuple[str, ...]
    elsewhere: int
    cut: bool


def list_traces(uri: str, experiment: str) -> ListedTraces:
    """The traces of an experiment with a span of a retriever.

    Raises:
        TrackingError: The store cannot be reached, or has no such experiment.
    """
    with reading(uri, None, "retriever.experiment") as client:
        group = client.get_experiment_by_name(experiment)
        if group is None:
            there_is = some_of(other.name for other in client.search_experiments())
            raise TrackingError(f"retriever.experiment: {uri} has no experiment {experiment!r} (there is {there_is})")
        ids: list[str] = []
        elsewhere, token = 0, None
        asked = {"locations": [group.experiment_id], "filter_string": "span.type = 'RETRIEVER'", "include_spans": False}
        while len(ids) + elsewhere < MOST_TRACES:
            page = client.search_traces(**asked, max_results=PAGE, page_token=token)
            stored = [trace.info.trace_id for trace in page if trace.info.tags.get(PLACE) == IN_THE_STORE]
            ids += stored
            elsewhere += len(page) - len(stored)
            token = page.token
            if not token:
                break
    return ListedTraces(tuple(ids), elsewhere, bool(token))


def fetch_spans(uri: str, ids: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """All spans of these traces, as MLflow writes them: times in nanoseconds, attributes as JSON.

    MLflow's client would fetch them from where each trace says that they are; its store only sends those that it has.

    Raises:
        TrackingError: The store cannot be reached.
    """
    with progress("reading traces", len(ids)):
        for start in range(0, len(ids), TRACES_AT_ONCE):
            batch = [*ids[start : start + TRACES_AT_ONCE]]
            with reading(uri, None, "retriever.experiment"):
                traces = TracingClient(uri).store.batch_get_traces(batch)
            yield from (span.to_dict() for trace in traces for span in trace.data.spans)
            advance(len(batch))
