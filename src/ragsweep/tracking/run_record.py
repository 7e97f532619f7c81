"""Opens a run in MLflow, logs into it, and closes it with the right status."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Run

from ragsweep.core.digest import shortened_with_digest
from ragsweep.core.endings import end_if_signalled, of_signal
from ragsweep.core.errors import RagsweepError, RefusedError, TrackingError, UnusableError, first_line
from ragsweep.tasks.task import Items, Measurement
from ragsweep.tracking.address import absolute
from ragsweep.tracking.client import Client, absolute_artifacts, reason
from ragsweep.tracking.journal import FILE, KEY, Journal, create_run, send_files, send_numbers, send_tags, upload
from ragsweep.tracking.names import LONGEST_MLFLOW_NAME, params_of, tagged, tags_of
from ragsweep.tracking.numbers import dataset_input, metrics_of
from ragsweep.tracking.tracked_job import NUMBER, PARENT, Job
from ragsweep.tracking.tracking_store import UNREACHABLE, is_refusal, open_store

LONGEST_ERROR = 5000  # characters of a tag


class RunRecord:
    """An open run. If the store does not answer, everything is kept in the run's folder, for `ragsweep push`.

    Attributes:
        folder: The folder of the run's files.
        experiment_id: The experiment's id in the store; empty while the store does not answer.
        run_id: The run's id in the store; None while the store does not answer.
        trouble: Why something of the run is missing in the store; empty if nothing is.
    """

    def __init__(self, job: Job, *, continued: Run | None = None) -> None:
        """Start a run, or continue one that did not finish."""
        self.folder = job.folder
        self.trouble = ""
        self._ending = threading.Lock()
        self._client: Client | None = None
        self.experiment_id = ""
        now = int(time.time() * 1000)
        store = job.tracking
        name = shortened_with_digest(job.name, LONGEST_MLFLOW_NAME)
        artifacts = absolute_artifacts(store.artifacts)
        self._journal = Journal(absolute(store.uri), artifacts, store.experiment, name, tags_of(job.tags), now)
        if continued:
            self._journal.started, self._journal.run_id = continued.info.start_time, continued.info.run_id
            self._journal.key = continued.data.tags.get(KEY, self._journal.key)
        _records.add(self)  # first: if opening is interrupted, the run may be in the store already
        try:
            self._send(lambda _: self._open())
        except RefusedError:
            self.delete() if self.run_id and not continued else self.forget()
            raise

    @property
    def run_id(self) -> str | None:
        """The run's id in the store; None while the store does not answer."""
        return self._journal.run_id

    def _open(self) -> None:
        journal = self._journal
        self._client, self.experiment_id = open_store(journal.uri, journal.experiment, journal.artifacts)
        if journal.run_id is None:
            journal.run_id = create_run(self._client, self.experiment_id, journal)
            self._client.check_run(journal.run_id)
        else:
            self._client.check_run(journal.run_id)
            send_tags(self._client, journal.run_id, journal.tags)  # first: an open run without its process is closed
            self._client.update_run(journal.run_id, "RUNNING", journal.name)
            journal.named = journal.name
            with suppress(*UNREACHABLE):  # it may not have this tag
                self._client.delete_tag(journal.run_id, "error")

    def log(
        self,
        settings: Mapping[str, Any],
        items: Items,
        measurement: Measurement,
        decide_by: str,
    ) -> None:
        """Log the used settings as params, the dataset as input, and all numbers as metrics.

        Args:
            settings: The settings that were used.
            items: The items of the task.
            measurement: The measured values.
            decide_by: The metric by which a sweep decides.
        """
        journal = self._journal
        journal.params = params_of(settings)
        journal.metrics = [(*key, value) for key, value in metrics_of(measurement, decide_by).items()]
        journal.dataset = dataset_input(items, settings)
        self._send(lambda client: send_numbers(client, journal))

    def log_numbers(self, metrics: Mapping[str, float], params: Mapping[str, str]) -> None:
        """Log numbers and texts that were not measured by the run itself, such as those of a sweep's decision."""
        journal = self._journal
        journal.params |= params_of(params)
        journal.metrics = [(name, 0, value) for name, value in metrics.items()]
        self._send(lambda client: send_numbers(client, journal))

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

    def rename(self, name: str) -> None:
        """Give the run another name."""
        journal = self._journal
        journal.name = shortened_with_digest(name, LONGEST_MLFLOW_NAME)
        self._send(lambda client: client.update_run(str(self.run_id), name=journal.name))
        journal.named = journal.named if self.trouble else journal.name

    def delete(self) -> None:
        """Delete the run from the store."""
        self.close("FAILED")
        self.forget()
        if self._client and self.run_id:
            with suppress(*UNREACHABLE):
                self._client.delete_run(self.run_id)

    def forget(self) -> None:
        """Delete the journal, so that nothing is uploaded later."""
        _records.discard(self)
        (self.folder / FILE).unlink(missing_ok=True)

    def close(self, status: str) -> None:
        """End the run as FINISHED, FAILED or KILLED. Uploads what is missing in the store."""
        journal = self._journal
        with self._ending:  # the thread that handles signals may close it, too
            if journal.status != "RUNNING":
                return
            try:
                journal.status, journal.ended = status, int(time.time() * 1000)
                self._keep()
                if self.trouble or journal.run_id is None:
                    with suppress(TrackingError, *UNREACHABLE):
                        upload(journal, self.folder)
                        self.trouble = ""
                else:
                    try:
                        self._send(lambda client: client.set_terminated(journal.run_id, status, journal.ended))
                    except RefusedError as error:  # for example, somebody has deleted the run
                        self.trouble = first_line(error)
                    journal.uploaded = not self.trouble
                    self._keep()
            except BaseException:  # interrupted: the next call starts again
                journal.status = "RUNNING"
                raise
            _records.discard(self)

    def _send(self, what: Callable[[MlflowClient], None]) -> None:
        """Send something, unless the store has stopped answering. Raises `RefusedError` if the store rejects it."""
        if self.trouble:
            return
        try:
            what(self._client)
        except (TrackingError, *UNREACHABLE) as error:
            if is_refusal(error):
                raise self._refused(error) from error
            self.trouble = reason(error)
            self._keep()

    def _refused(self, error: Exception) -> RefusedError:
        if isinstance(error, RefusedError):
            return error
        return RefusedError(f"the tracking store refuses the run ({first_line(error)}); its files are in {self.folder}")

    def _keep(self) -> None:
        try:
            self._journal.write(self.folder)
        except OSError as error:  # a full disk must not keep the run open
            if self.trouble:
                self.trouble += f"; its journal cannot be written ({first_line(error)})"


_records: set[RunRecord] = set()


def close_all(status: str) -> None:
    """Close every run that this process has open."""
    for opened in list(_records):
        with suppress(Exception):
            opened.close(status)


@contextmanager
def failures(job: Job) -> Iterator[None]:
    """Within a sweep, record a FAILED run for an error that occurs before the job's run is opened."""
    try:
        yield
    except Exception as error:
        if job.parent_run_id:
            end_failed(RunRecord(job, continued=_begun(job)), error)
        raise


@contextmanager
def record(job: Job, *, keep: bool = False) -> Iterator[RunRecord]:
    """Open a run, and close it at the end of the block: as FINISHED, FAILED, or KILLED if interrupted.

    Args:
        job: What is recorded.
        keep: Whether bad input that is found only during the work leaves a FAILED run, as it does in a sweep.

    Raises:
        TrackingError: The store cannot be reached. Raised before any work is done.
    """
    opened = open_run(job) if job.parent_run_id is None else RunRecord(job, continued=_begun(job))
    try:
        yield opened
        end_if_signalled()  # a library may have caught the signal, and then gone on with half of its work
        opened.close("FINISHED")
    except BaseException as error:
        keeps_run = keep or job.parent_run_id or isinstance(error, RefusedError | UnusableError)
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
    """The run of this job that an earlier process began, for example before a cluster queued the job again."""
    if not job.may_resume:
        return None
    with suppress(TrackingError, *UNREACHABLE):
        client, experiment_id = open_store(job.tracking.uri, job.tracking.experiment, job.tracking.artifacts)
        mine = f"{tagged(PARENT, job.parent_run_id)} AND {tagged(NUMBER, job.number)}"
        found = client.search_runs([experiment_id], f"{mine} AND attributes.status != 'FINISHED'", max_results=1)
        return found[0] if found else None
    return None


def end_failed(opened: RunRecord, error: BaseException) -> None:
    """Close a run that did not finish, with its error as a tag. An error while closing does not hide the first one."""
    interrupted = isinstance(of_signal() or error, KeyboardInterrupt | SystemExit)
    try:
        with suppress(Exception):
            opened.tag({"error": "".join(traceback.format_exception_only(error)).strip()[:LONGEST_ERROR]})
            if not interrupted:
                folder = opened.folder / "error"
                folder.mkdir(exist_ok=True)
                (folder / "traceback.txt").write_text("".join(traceback.format_exception(error)), encoding="utf-8")
                opened.log_files(*() if isinstance(error, RefusedError) else ("error",))
    finally:  # also after a second signal
        with suppress(Exception):
            opened.close("KILLED" if interrupted else "FAILED")
