"""Keeps what judging decides where decisions are kept: in a file beside the journal, and in MLflow."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser

from ragsweep import tracking
from ragsweep.app.commands import composed
from ragsweep.app.sweep import jobs_of
from ragsweep.core.errors import ConfigError, RagsweepError, first_line
from ragsweep.core.project import command, sweep_id
from ragsweep.replay.trusted_record import composed_today
from ragsweep.report.record import VERSION, write_record
from ragsweep_audit.judging.journal import Journal
from ragsweep_audit.judging.state import as_record, is_decided, verdicts

NAME = "judged"  # of the decision's tags and artifacts, and of its part of a sweep's decision.json
JOURNAL = f"{NAME}/{NAME}.jsonl"  # among the artifacts


@dataclass(frozen=True)
class Keeping:
    """Where the decision of a race is kept.

    Attributes:
        journal: The race.
        sweep_id: The sweep that it is about; empty if it is about overrides.
        overrides: As they were given.
        run_ids: The runs of the sweep, in the order of the configurations.
        is_simulated: Whether a file stood for the judge, so that nothing is recorded in MLflow.
    """

    journal: Journal
    sweep_id: str
    overrides: Sequence[str]
    run_ids: Sequence[str]
    is_simulated: bool

    @property
    def file(self) -> Path:
        """The decision for programs, beside the journal."""
        return self.journal.path.with_suffix(".decision.json")

    def keep(self) -> str:
        """Write the decision, record it, and say where it is. A store that refuses loses nothing."""
        record = {"version": VERSION, "sweep": self.sweep_id, NAME: as_record(self.journal)}
        try:
            write_record(self.file, record)
        except OSError as error:
            raise ConfigError(f"{self.file}: cannot be written ({error.strerror})") from error
        if self.is_simulated:
            return f"Decision: {self.file}; a simulation is not recorded in MLflow"
        if not self.journal.grades and not is_decided(self.journal):
            return f"Decision: {self.file}; in MLflow once something is judged"
        try:
            address = self._record()
        except RagsweepError as error:
            why = f"not recorded in MLflow ({first_line(error)})"
            return f"Decision: {self.file}; {why}: the same command records it once that works"
        beside = ", beside what the sweep itself decided" if self.sweep_id else ""
        return f"Decision: {self.file}, and in MLflow{beside}: {address}"

    def _record(self) -> str:
        record = as_record(self.journal)
        decided, said = is_decided(self.journal), record["headline"]
        later = tracking.LaterDecision(
            name=NAME,
            sentences=said,
            is_decided=decided,
            record=record,
            tags={
                "decided": str(decided).lower(),
                "configuration": record["choice"] or "",
                "by": f"{record['metric']}@{record['at']}",
                "level": f"{record['level']:g}",
            },
            numbers={f"{NAME}/judgments": float(record["judgments"])},
            runs=dict(zip(self.run_ids, verdicts(self.journal), strict=bool(self.run_ids))),
            journal=self.journal.path,
        )
        if self.sweep_id:
            return tracking.add_decision(composed_today(self.overrides)[0].tracking, self.sweep_id, later)
        parsed = OverridesParser.create().parse_overrides(list(self.overrides))
        swept = [override.key_or_group.rpartition(".")[2] for override in parsed if override.is_sweep_override()]
        name = f"{NAME} {' x '.join(swept)}" + (f": {record['choice']}" if decided else "")
        store = composed(jobs_of(parsed)[0]).tracking
        with tempfile.TemporaryDirectory() as folder:
            job = tracking.Job(
                name=name,
                folder=Path(folder),
                overrides=self.overrides,
                command=command("judge", *self.overrides, *tracking.store_overrides(store, self.overrides)),
                swept={},
                sweep_id=sweep_id(),
                parent_run_id=None,
                tracking=store,
            )
            return tracking.record_decision(job, later, self.journal.key)
