"""Fetches the traces of an MLflow experiment in which a retriever has answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from mlflow.entities import Trace
from mlflow.store.tracking.rest_store import RestStore
from mlflow.utils.credentials import get_default_host_creds

from ragsweep.core.errors import TrackingError, first_line
from ragsweep.core.progress import advance, progress
from ragsweep.core.terminal import some_of
from ragsweep.tracking.address import is_server
from ragsweep.tracking.client import Client
from ragsweep.tracking.tracking_store import UNREACHABLE, existing_store

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
    try:
        client = existing_store(uri)
        known = client.get_experiment_by_name(experiment)
        if known is None:
            there_is = some_of(each.name for each in client.search_experiments())
            raise TrackingError(f"retriever.experiment: {uri} has no experiment {experiment!r} (there is {there_is})")
        ids: list[str] = []
        elsewhere, token = 0, None
        while len(ids) + elsewhere < MOST_TRACES:
            page = client.search_traces(
                locations=[known.experiment_id],
                filter_string="span.type = 'RETRIEVER'",
                max_results=PAGE,
                page_token=token,
                include_spans=False,
            )
            here = [each.info.trace_id for each in page if each.info.tags.get(PLACE) == IN_THE_STORE]
            ids += here
            elsewhere += len(page) - len(here)
            token = page.token
            if not token:
                break
    except UNREACHABLE as error:
        raise _unreadable(uri, error) from error
    return ListedTraces(tuple(ids), elsewhere, token is not None)


def fetch_spans(uri: str, ids: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """All spans of these traces, as MLflow writes them: times in nanoseconds, attributes as JSON.

    Raises:
        TrackingError: The store cannot be reached.
    """
    with progress("reading traces", len(ids)):
        for start in range(0, len(ids), TRACES_AT_ONCE):
            some = ids[start : start + TRACES_AT_ONCE]
            try:
                traces = _traces(uri, some)
            except UNREACHABLE as error:
                raise _unreadable(uri, error) from error
            yield from (span.to_dict() for trace in traces for span in trace.data.spans)
            advance(len(some))


def _traces(uri: str, ids: Sequence[str]) -> list[Trace]:
    """Traces with their spans. Of a server, MLflow's client would also fetch from where it says that spans are."""
    if is_server(uri):
        traces: list[Trace] = RestStore(partial(get_default_host_creds, uri)).batch_get_traces([*ids])
        return traces
    client = Client(uri)
    return [client.get_trace(each, display=False) for each in ids]


def _unreadable(uri: str, error: Exception) -> TrackingError:
    return TrackingError(f"retriever.experiment: traces cannot be read from {uri} ({first_line(error)})")
