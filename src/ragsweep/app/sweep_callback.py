"""Starts a sweep, from its arguments to its first job, and ends one that was interrupted."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.utils import JobReturn
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ragsweep.app.messages import VERBOSE, explained
from ragsweep.app.naming import COMMAND, SWEEP, as_given, command_of
from ragsweep.app.plan import Plan, Planned, plan, say_what_would_run
from ragsweep.app.workers import check_launcher, end_workers, tell_workers
from ragsweep.core.digest import digest, shortened_with_digest
from ragsweep.core.drawing import start_drawing
from ragsweep.core.errors import ConfigError
from ragsweep.core.progress import progress
from ragsweep.core.project import PROJECT, SWEEP_ID, project, sweep_id
from ragsweep.core.terminal import counted
from ragsweep.tracking.place import check_places

if TYPE_CHECKING:
    from ragsweep.tracking import OpenSweep


class SweepCallback(Callback):
    """Checks a whole sweep before its first job, then opens its parent run."""

    sweep: OpenSweep | None = None
    plan: Plan

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Check and open the sweep, and tell its jobs what they need, whichever launcher starts them."""
        try:
            here = config.hydra.launcher._target_.endswith(".BasicLauncher")  # the jobs run in this process
            check_places(config)
            _check_folder(config)
            check_launcher(config.hydra.launcher._target_)
            os.environ.update({name: str(value) for name, value in config.hydra.job.env_set.items()})  # as in each job
            planned = SweepCallback.plan = plan(config)
            if here and not config.get("dry_run"):
                start_drawing()
            with progress("loading MLflow"):  # takes seconds, in which the other process gets ready
                from ragsweep.tracking.process import process_identity

            if config.get("dry_run"):
                say_what_would_run(planned)
                raise SystemExit(0)
            SweepCallback.sweep = _open_sweep(config, *planned)
            about = {
                "parent_run_id": SweepCallback.sweep.parent.run_id,
                "total": len(planned.jobs) or None,
                "swept": planned.swept,
                "may_resume": planned.first.tracking.resume or not here,
                "stop": str(SweepCallback.sweep.stop),
                "driver": os.getpid(),
                "identity": process_identity(),
            }
            os.environ[SWEEP] = json.dumps(about)
            if not here:
                tell_workers(config, SWEEP, COMMAND, SWEEP_ID, PROJECT)
            gc.freeze()  # modules and configuration stay in memory: no garbage collection has to visit them again
        except Exception as error:  # Hydra would turn it into a warning and start the jobs
            raise SystemExit(explained(error)) from error

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **_: Any) -> None:
        """Free a job's configuration, which Hydra would keep until the sweep ends."""
        job_return.cfg = job_return.hydra_cfg = None


def _check_folder(config: DictConfig) -> None:
    try:
        str(config.hydra.sweep.dir)
    except OmegaConfBaseException as error:
        raise ConfigError("hydra.sweep.dir: found what is not known before a sweep starts, expected a path") from error


def _open_sweep(config: DictConfig, first: DictConfig, planned: Sequence[Planned], swept: list[str]) -> OpenSweep:
    from ragsweep import tracking
    from ragsweep.sweeps import short_names
    from ragsweep.sweeps.decision_settings import decision_of
    from ragsweep.tracking.names import LONGEST_EXPERIMENT_NAME

    try:
        Path(config.hydra.sweep.dir).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"hydra.sweep.dir: {config.hydra.sweep.dir} cannot be made ({error.strerror})") from error
    store = first.tracking
    OmegaConf.resolve(store)
    if len(experiments := list(dict.fromkeys(job.experiment for job in planned))) > 1:
        store.experiment = shortened_with_digest(" + ".join(experiments), LONGEST_EXPERIMENT_NAME)
    job = tracking.Job(
        name=f"sweep {' '.join(short_names(swept)) or sweep_id()}",
        folder=Path(config.hydra.sweep.dir) / "summary",
        overrides=as_given(config.hydra.overrides.task),
        command=command_of(["-m", *(argument for argument in sys.argv[1:] if "=" in argument)], store),
        swept={},
        sweep_id=sweep_id(),
        parent_run_id=None,
        tracking=store,
        digest=digest([[job.name, job.digest] for job in planned]) if planned else None,
    )
    tracking.close_orphans(store)
    if store.resume:
        uploaded = tracking.push(project() / "outputs", store.uri, store.artifacts).uploaded
        if uploaded:
            print(f"uploaded {counted(uploaded, 'run')} that waited in outputs/")
    with tracking.earlier_start(job) if store.resume and planned else nullcontext() as earlier:
        if earlier:
            job = replace(job, sweep_id=earlier.data.tags["sweep.id"])
        parent = tracking.open_run(job, continued=earlier)
        parent.log({name: _values(planned, name) for name in swept if planned}, {})
        names = [job.name for job in planned]
        sweep = tracking.OpenSweep(job, parent, names, decision_of(first), VERBOSE in os.environ)
    sweep.stop.unlink(missing_ok=True)
    return sweep


def _values(planned: Sequence[Planned], name: str) -> str:
    """The values of a swept setting, as a command lists them."""
    from ragsweep.sweeps.configuration_names import as_text

    return ",".join(dict.fromkeys(as_text(job.swept[name]) for job in planned if name in job.swept))


def end_killed(sweep: OpenSweep) -> None:
    """End the workers of an interrupted sweep, and close the runs that they leave open."""
    from ragsweep import tracking

    end_workers()
    sweep.parent.close("KILLED")
    tracking.close_open(sweep.job, sweep.parent)
    print(
        f"{tracking.finished_here(sweep.job)} of {len(sweep.planned) or 'some'} jobs had finished; "
        "the same command with tracking.resume=true goes on from there",
        file=sys.stderr,
    )
    tracking.say_what_waits(sweep)
