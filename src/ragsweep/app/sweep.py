"""A sweep: opens it before its first job, and tells its jobs what they need."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hydra.core.utils import JobReturn
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from ragsweep.app.error_messages import explained
from ragsweep.app.job import COMMAND, SWEEP, as_given, command_of
from ragsweep.app.planning import Plan, Planned, plan, print_plan
from ragsweep.app.workers import check_launcher, tell_workers
from ragsweep.core.digest import digest, shortened_with_digest
from ragsweep.core.drawing import start_drawing
from ragsweep.core.errors import ConfigError
from ragsweep.core.progress import progress
from ragsweep.core.project import PROJECT, SWEEP_ID, project, sweep_id
from ragsweep.core.terminal import VERBOSE, counted
from ragsweep.tracking.store_address import check_places

if TYPE_CHECKING:
    from ragsweep.app.race_rounds import Launch
    from ragsweep.race import Race
    from ragsweep.tracking import OpenSweep

RACE = "race.json"  # in the folder of a sweep: what its jobs do in a round of a race


class SweepCallback(Callback):
    """Checks a whole sweep before its first job, then opens its parent run."""

    sweep: OpenSweep | None = None
    plan: Plan
    race: Race | None = None
    left: ClassVar[list[str]] = []  # overrides of settings that the defaults do not have

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Check and open the sweep, and tell its jobs what they need, whichever launcher starts them."""
        try:
            in_process = config.hydra.launcher._target_.endswith(".BasicLauncher")  # the jobs run in this process
            check_places(config)
            check_launcher(config.hydra.launcher._target_)
            os.environ.update({name: str(value) for name, value in config.hydra.job.env_set.items()})  # as in each job
            planned = SweepCallback.plan = plan(config, SweepCallback.left)
            if in_process and not config.get("dry_run"):
                start_drawing()
            with progress("loading MLflow"):  # takes seconds, in which the other process gets ready
                from ragsweep.tracking.run_owner import process_identity

            if config.get("dry_run"):
                print_plan(planned)
                raise SystemExit(0)
            SweepCallback.race = _race(config, planned)
            SweepCallback.sweep = _open_sweep(config, *planned)
            of_jobs = {  # with which every job is recorded
                "parent_run_id": SweepCallback.sweep.parent.run_id,
                "total": len(planned.jobs) or None,
                "may_resume": planned.first.tracking.resume or not in_process,
            }
            process: dict[str, Any] = {
                "stop": str(SweepCallback.sweep.stop),
                "driver": [os.getpid(), process_identity()],
                "race": str(SweepCallback.sweep.stop.with_name(RACE)) if SweepCallback.race else None,
            }
            os.environ[SWEEP] = json.dumps({"job": of_jobs, "swept": planned.swept, **process})
            if not in_process:
                tell_workers(config, SWEEP, COMMAND, SWEEP_ID, PROJECT)
            gc.freeze()  # modules and configuration stay in memory: no garbage collection has to visit them again
        except Exception as error:  # Hydra would turn it into a warning and start the jobs
            raise SystemExit(explained(error)) from error

    @classmethod
    def run_race(cls, launch: Launch) -> None:
        """Race the configurations of the sweep, and keep what came of it for the decision."""
        if cls.race and cls.sweep:
            from ragsweep.app.race_rounds import race_of_jobs

            jobs = [job.overrides for job in cls.plan.jobs]
            record = race_of_jobs(cls.race, jobs, launch, cls.sweep.stop.with_name(RACE))
            cls.sweep = replace(cls.sweep, race=record)

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **_: Any) -> None:
        """Free a job's configuration, which Hydra would keep until the sweep ends."""
        job_return.cfg = job_return.hydra_cfg = None


def _race(config: DictConfig, planned: Plan) -> Race | None:
    """The race between the jobs, if that is asked for. Raises `ConfigError` if they cannot race."""
    if not config.hydra.sweeper._target_.endswith(".RaceSweeper"):
        return None
    from ragsweep.experiment import Experiment
    from ragsweep.race import Race, Racer
    from ragsweep.sweeps.race_record import RaceSettings

    if len({job.items for job in planned.jobs}) > 1:
        raise ConfigError("hydra/sweeper=race: found several datasets, or several ways to judge; expected one")
    racers = [Racer(job.name, job.cutoff) for job in planned.jobs]
    return Race.of(RaceSettings.of(config.hydra.sweeper), Experiment.of(planned.first), racers)


def _open_sweep(config: DictConfig, first: DictConfig, planned: Sequence[Planned], swept: list[str]) -> OpenSweep:
    from ragsweep import tracking
    from ragsweep.sweeps.configuration_names import as_text, short_names
    from ragsweep.sweeps.decision_settings import decision_of
    from ragsweep.tracking.mlflow_names import LONGEST_EXPERIMENT_NAME

    try:
        Path(config.hydra.sweep.dir).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"hydra.sweep.dir: {config.hydra.sweep.dir} cannot be made ({error.strerror})") from error
    typed = [*as_given(config.hydra.overrides.task), *SweepCallback.left]
    of_hydra = [line for line in as_given(config.hydra.overrides.hydra) if line != "hydra.mode=MULTIRUN"]
    store = first.tracking
    OmegaConf.resolve(store)
    if len(experiments := list(dict.fromkeys(job.experiment for job in planned))) > 1:
        store.experiment = shortened_with_digest(" + ".join(experiments), LONGEST_EXPERIMENT_NAME)
    job = tracking.Job(
        name=f"sweep {' '.join(short_names(swept)) or sweep_id()}",
        folder=Path(config.hydra.sweep.dir) / "summary",
        overrides=typed,
        command=command_of(["-m", *typed, *of_hydra], store),
        swept={},
        sweep_id=sweep_id(),
        parent_run_id=None,
        tracking=store,
        digest=digest([[job.name, job.digest] for job in planned]) if planned else None,
    )
    tracking.close_orphans(store)
    if store.resume and (uploaded := tracking.push(project() / "outputs", store.uri, store.artifacts).uploaded):
        print(f"uploaded {counted(uploaded, 'run')} that waited in outputs/")
    with tracking.earlier_start(job) if store.resume and planned else nullcontext() as earlier:
        if earlier:
            job = replace(job, sweep_id=earlier.data.tags["sweep.id"])
        parent = tracking.open_run(job, continued=earlier)
        values = {name: [as_text(one.swept[name]) for one in planned if name in one.swept] for name in swept}
        parent.log({name: ",".join(dict.fromkeys(texts)) for name, texts in values.items() if planned}, {})
        names = [one.name for one in planned]
        sweep = tracking.OpenSweep(job, parent, names, decision_of(first), VERBOSE in os.environ)
    sweep.stop.unlink(missing_ok=True)
    return sweep
