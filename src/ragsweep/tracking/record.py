"""The life of one run in MLflow: opened, filled, and closed with the status that it deserves."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Run

from ragsweep.core.address import absolute
from ragsweep.core.digest import shortened
from ragsweep.core.errors import RagsweepError, RefusedError, TrackingError, first_line
from ragsweep.core.names import LONGEST_NAME, params_of, tags_of
from ragsweep.tasks.task import Items, Measurement
from ragsweep.tracking.client import Client, absolute_artifacts
from ragsweep.tracking.conditions import tagged
from ragsweep.tracking.job import NUMBER, PARENT, Job
from ragsweep.tracking.journal import FILE, KEY, Journal, create_run, send_files, send_numbers, send_tags, upload
from ragsweep.tracking.numbers import dataset_input, metrics_of
from ragsweep.tracking.store import UNREACHABLE, is_refusal, open_store

LONGEST_ERROR = 5000  # characters of a tag


class RunRecord:
    """An open run. What the store does not take is kept in the run's folder, for `ragsweep push`.

    Attributes:
        folder: Where the run's files are.
        experiment_id: The store's name for the experiment; empty while the store is out of reach.
        run_id: The store's name for the run; None while the store is out of reach.
        trouble: Why the store lacks something of the run; empty while it has all.
    """

    def __init__(self, job: Job, *, continued: Run | None = None) -> None:
        """Start a run, or go on with one that did not come to its end."""
        self.folder = job.folder
        self.trouble = ""
        self._ending = threading.Lock()
        self._client: Client | None = None
        self.experiment_id = ""
        now = int(time.time() * 1000)
        store = job.tracking
        name = shortened(job.name, LONGEST_NAME)
        artifacts = absolute_artifacts(store.artifacts)
        self._journal = Journal(absolute(store.uri), artifacts, store.experiment, name, tags_of(job.tags), now)
        if continued:
            self._journal.started, self._journal.run_id = continued.info.start_time, continued.info.run_id
            self._journal.key = continued.data.tags.get(KEY, self._journal.key)
        _records.add(self)  # first: an interrupted opening may have left a run in the store
        try:
            self._send(lambda _: self._open())
        except RefusedError:
            self.delete() if self.run_id and not continued else self.forget()
            raise

    @property
    def run_id(self) -> str | None:
        """The store's name for the run; None while the store is out of reach."""
        return self._journal.run_id

    def _open(self) -> None:
        book = self._journal
        self._client, self.experiment_id = open_store(book.uri, book.experiment, book.artifacts)
        if book.run_id is None:
            book.run_id = create_run(self._client, self.experiment_id, book)
            self._client.check_run(book.run_id)
        else:
            self._client.check_run(book.run_id)
            self._client.update_run(book.run_id, "RUNNING", book.name)
            send_tags(self._client, book.run_id, book.tags)
            with suppress(*UNREACHABLE):  # it need not have one
                self._client.delete_tag(book.run_id, "error")

    def log(
        self,
        settings: Mapping[str, Any],
        items: Items,
        measurement: Measurement,
        decide_by: str,
    ) -> None:
        """Log the settings that took effect as params, the dataset as input, all numbers as metrics.

        Args:
            settings: What took effect.
            items: On what was measured.
            measurement: What was measured.
            decide_by: The metric by which a sweep decides.
        """
        book = self._journal
        book.params = params_of(settings)
        book.metrics = [(*key, value) for key, value in metrics_of(measurement, decide_by).items()]
        book.dataset = dataset_input(items, settings)
        self._send(lambda client: send_numbers(client, book))

    def log_files(self, *names: str) -> None:
        """Upload these files and folders of the run's folder, or everything in it."""
        if not names:
            everything = (path.name for path in self.folder.iterdir())
            names = tuple(sorted(name for name in everything if not name.endswith(FILE)))
        self._journal.parts += names
        self._send(lambda client: send_files(client, self._journal, self.folder, names))

    def tag(self, tags: Mapping[str, str]) -> None:
        """Set tags."""
        taken = tags_of(tags)
        self._journal.tags |= taken
        self._send(lambda client: send_tags(client, self.run_id, taken))

    def delete(self) -> None:
        """Take the run out of the store."""
        self.close("FAILED")
        self.forget()
        if self._client and self.run_id:
            with suppress(*UNREACHABLE):
                self._client.delete_run(self.run_id)

    def forget(self) -> None:
        """Leave nothing that could be uploaded later."""
        _records.discard(self)
        (self.folder / FILE).unlink(missing_ok=True)

    def close(self, status: str) -> None:
        """End the run as FINISHED, FAILED or KILLED; what the store has missed so far is tried once more."""
        book = self._journal
        with self._ending:  # the watcher of signals may be here, too
            if book.status != "RUNNING":
                return
            try:
                book.status, book.ended = status, int(time.time() * 1000)
                self._keep()
                if self.trouble or book.run_id is None:
                    with suppress(TrackingError, *UNREACHABLE):
                        upload(book, self.folder)
                        self.trouble = ""
                else:
                    try:
                        self._send(lambda client: client.set_terminated(book.run_id, status, book.ended))
                    except RefusedError as error:  # somebody may have deleted the run
                        self.trouble = first_line(error)
                    book.uploaded = not self.trouble
                    self._keep()
            except BaseException:  # interrupted on the way: whoever closes it next begins anew
                book.status = "RUNNING"
                raise
            _records.discard(self)

    def _send(self, what: Callable[[MlflowClient], None]) -> None:
        """Do it unless the store is out of reach, now or before; raises `RefusedError` where it will not have it."""
        if self.trouble:
            return
        try:
            what(self._client)
        except (TrackingError, *UNREACHABLE) as error:
            if is_refusal(error):
                raise self._refused(error) from error
            self.trouble = first_line(error)
            self._keep()

    def _refused(self, error: Exception) -> RefusedError:
        if isinstance(error, RefusedError):
            return error
        return RefusedError(f"the tracking store refuses the run ({first_line(error)}); its files are in {self.folder}")

    def _keep(self) -> None:
        with suppress(OSError):  # a full disk must not keep the run open
            self._journal.write(self.folder)


_records: set[RunRecord] = set()


def close_all(status: str) -> None:
    """Close every run that this process has open."""
    for opened in list(_records):
        with suppress(Exception):
            opened.close(status)


@contextmanager
def failures(job: Job) -> Iterator[None]:
    """Within a sweep, leave a FAILED run behind for an error that came before its run was opened."""
    try:
        yield
    except Exception as error:
        if job.parent_run_id:
            end_failed(RunRecord(job, continued=_begun(job)), error)
        raise


@contextmanager
def record(job: Job, *, keep: bool = False) -> Iterator[RunRecord]:
    """Open a run; whatever ends the block, the run ends with it: FINISHED, FAILED, or KILLED when interrupted.

    Args:
        job: What is recorded.
        keep: Whether bad input that only the work itself could find leaves a FAILED run, as it does in a sweep.

    Raises:
        TrackingError: The store cannot be reached, and nothing has been done yet that could be lost by that.
    """
    opened = open_run(job) if job.parent_run_id is None else RunRecord(job, continued=_begun(job))
    try:
        yield opened
        opened.close("FINISHED")
    except BaseException as error:
        keeps_run = keep or job.parent_run_id or isinstance(error, RefusedError)
        if isinstance(error, RagsweepError) and not keeps_run:
            opened.delete()
        else:
            end_failed(opened, error)
        raise


def open_run(job: Job, *, continued: Run | None = None) -> RunRecord:
    """Start a run before any work is done.

    Raises:
        TrackingError: The store cannot be reached.
    """
    opened = RunRecord(job, continued=continued)
    if opened.trouble:
        opened.forget()
        raise TrackingError(opened.trouble)
    return opened


def _begun(job: Job) -> Run | None:
    """The run of this job that an earlier process has begun, such as one that a cluster has put back into its queue."""
    if not job.may_resume:
        return None
    with suppress(TrackingError, *UNREACHABLE):
        client, experiment_id = open_store(job.tracking.uri, job.tracking.experiment, job.tracking.artifacts)
        mine = f"{tagged(PARENT, job.parent_run_id)} AND {tagged(NUMBER, job.number)}"
        found = client.search_runs([experiment_id], f"{mine} AND attributes.status != 'FINISHED'", max_results=1)
        return found[0] if found else None
    return None


def end_failed(opened: RunRecord, error: BaseException) -> None:
    """Close a run that did not come to its end, with its error as a tag; never hide that error behind another."""
    interrupted = isinstance(error, KeyboardInterrupt | SystemExit)
    try:
        with suppress(Exception):
            opened.tag({"error": "".join(traceback.format_exception_only(error)).strip()[:LONGEST_ERROR]})
            if not interrupted:
                folder = opened.folder / "error"
                folder.mkdir(exist_ok=True)
                (folder / "traceback.txt").write_text("".join(traceback.format_exception(error)), encoding="utf-8")
                opened.log_files(*() if isinstance(error, RefusedError) else ("error",))
    finally:  # also where a second signal comes in between
        with suppress(Exception):
            opened.close("KILLED" if interrupted else "FAILED")
