"""A sweep from its arguments to its summary: before its first job, after its last, and what each job is called."""

from __future__ import annotations

import copy
import gc
import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.core.utils import JobReturn
from hydra.errors import ConfigCompositionException
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf, open_dict

from ragsweep.config import PROJECT, SWEEP_ID, sweep_id
from ragsweep.digest import digest, shortened
from ragsweep.errors import ConfigError, first_line

if TYPE_CHECKING:
    from ragsweep.tracking import Job, RunRecord

SWEEP = "RAGSWEEP_SWEEP"  # in the environment: what every job of a sweep needs to know of it, as JSON
UNNAMED = ("dataset", "tracking", "store", "hydra", "dry_run")  # settings that a run is not named by
ABOUT_THIS_START = ("tracking.resume", "dry_run")  # settings that another start of the same sweep need not have
MOST_JOBS = 100_000
SECONDS_TO_END = 0.5  # for a worker, before it is killed
LAUNCHERS = {"JoblibLauncher": "joblib", "LocalLauncher": "submitit", "SlurmLauncher": "submitit", "RayLauncher": "ray"}
EXTRAS = {"joblib": "parallel", "submitit": "slurm", "ray": "ray"}  # what installs a launcher


class Planned(NamedTuple):
    """A job before it starts: its name, and the digest of all that decides its results."""

    name: str
    digest: str


@dataclass(frozen=True)
class OpenSweep:
    """A sweep that has begun: the job that describes it, its parent run, and its jobs where they are known before."""

    job: Job
    parent: RunRecord
    planned: Sequence[Planned]

    @property
    def stop(self) -> Path:
        """A file that tells the jobs not to start."""
        return self.job.folder.parent / "stop"


class SweepCallback(Callback):
    """Checks a whole sweep before its first job, then opens its parent run."""

    sweep: OpenSweep | None = None

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Leave what the jobs need where the workers of every launcher find it."""
        from ragsweep import cli, report

        try:
            here = config.hydra.launcher._target_.endswith(".BasicLauncher")  # the jobs run in this process
            if here:
                report.start_drawing()
            from ragsweep import tracking  # only now: it takes a second, in which the other process gets ready

            tracking.check_store(config)
            _check_launcher(config.hydra.launcher._target_)
            jobs, swept = _jobs(config)
            first, planned = _check_all(config, jobs, swept)
            if config.get("dry_run"):
                _say_what_would_run(first, planned)
                raise SystemExit(0)
            _say_what_has_no_effect(planned)
            SweepCallback.sweep = _open_sweep(config, first, planned, swept)
            about = {
                "parent_run_id": SweepCallback.sweep.parent.run_id,
                "total": len(jobs) or None,
                "swept": swept,
                "looks_back": first.tracking.resume or not here,
                "stop": str(SweepCallback.sweep.stop),
                "driver": os.getpid(),
            }
            os.environ[SWEEP] = json.dumps(about)
            if not here:
                _tell_workers(config, SWEEP, SWEEP_ID)
            gc.freeze()  # modules and configuration stay: no collection need look at them again
        except Exception as error:  # Hydra would turn it into a warning and start the jobs
            raise SystemExit(cli.explained(error)) from error

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **_: Any) -> None:
        """Let go of a job's configuration, which Hydra would keep until the sweep ends."""
        job_return.cfg = job_return.hydra_cfg = None


def _check_launcher(target: str) -> None:
    """Say what to install where the launcher's plugin is not there."""
    name = LAUNCHERS.get(target.rpartition(".")[2], "")
    package = f"hydra_{name}_launcher"
    if name and find_spec(f"hydra_plugins.{package}") is None:
        raise ConfigError(
            f"hydra.launcher: {package} is not installed here; run pip install 'ragsweep[{EXTRAS[name]}]'"
        )


def _jobs(config: DictConfig) -> tuple[list[list[str]], list[str]]:
    """The overrides of every job and the names of the swept settings; no jobs where only the sweeper knows them."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

    parser = OverridesParser.create(config_loader=GlobalHydra.instance().config_loader())
    params = [f"{name}={value}" for name, value in (config.hydra.sweeper.get("params") or {}).items()]
    overrides = parser.parse_overrides(params + _as_given(config.hydra.overrides.task))
    last = {override.get_key_element(): override for override in overrides}  # as the sweeper does: the last one counts
    swept = [name.lstrip("+") for name, override in last.items() if override.is_sweep_override()]
    _check_values(overrides)
    if not config.hydra.sweeper._target_.endswith((".BasicSweeper", ".CheckedSweeper")):
        return [], swept
    [jobs] = BasicSweeper.split_arguments(overrides, None)
    return jobs, swept


def _check_values(overrides: Sequence[Override]) -> None:
    """Raise `ConfigError` where a swept setting lists no value, or the jobs are too many to be listed."""
    jobs = 1
    for override in overrides:
        if override.is_sweep_override():
            try:
                values = sum(1 for _ in islice(override.sweep_iterator(), MOST_JOBS + 1))
            except ValueError as error:
                raise ConfigError(f"{override.input_line}: {first_line(error)}") from error
            if not values:
                raise ConfigError(f"{override.input_line}: lists no value, so that nothing would run")
            jobs *= values
    if jobs > MOST_JOBS:
        raise ConfigError(f"the sweep would have {jobs:,} jobs or more; expected at most {MOST_JOBS:,}")


def _as_given(overrides: Any) -> list[str]:
    """The overrides as they were typed; one that names an unknown setting, as `${nosuch}`, could not be resolved."""
    given: list[str] = OmegaConf.to_container(overrides, resolve=False)  # type: ignore[assignment]
    return given


def _check_all(config: DictConfig, jobs: Sequence[list[str]], swept: Sequence[str]) -> tuple[DictConfig, list[Planned]]:
    """Build what every job will build, so that bad input stops the sweep before anything is recorded.

    Composing a configuration is slow, and Hydra does it twice per job. Here, jobs that differ only in values share one.

    Returns:
        The configuration of the first job, since that of the whole sweep lacks what is swept; and what is planned.
    """
    from ragsweep.experiment import Experiment

    loader = GlobalHydra.instance().config_loader()
    parser = OverridesParser.create(config_loader=loader)
    compositions: dict[tuple[str, ...], DictConfig] = {}
    is_group = cache(loader.get_group_options)
    first: DictConfig | None = None
    planned = []
    for overrides in jobs:
        parsed = parser.parse_overrides(overrides)
        values = [
            override
            for override in parsed
            if override.type is OverrideType.CHANGE
            and not isinstance(override.value(), dict | list)
            and not is_group(override.key_or_group)
        ]
        others = tuple(str(override.input_line) for override in parsed if override not in values)
        if others not in compositions:
            try:
                compositions[others] = loader.load_sweep_config(config, overrides)
            except ValueError as error:  # Hydra's word for a group that is set to null
                raise ConfigCompositionException(str(error)) from error
        composed = compositions[others]
        for override in values:
            OmegaConf.update(composed, override.key_or_group, override.value(), merge=True)
        first = first or copy.deepcopy(composed)
        experiment = Experiment.of(OmegaConf.masked_copy(composed, [str(key) for key in composed if key != "hydra"]))
        planned.append(Planned(_named(parsed, swept)[0], experiment.digest))
    return first or config, planned


def _say_what_has_no_effect(planned: Sequence[Planned]) -> None:
    """Name the configurations that will measure the same, since a setting in which they differ decides nothing."""
    alike: dict[str, list[str]] = {}
    for job in planned:
        alike.setdefault(job.digest, []).append(job.name)
    same = [names for names in alike.values() if len(names) > 1]
    if same:
        more = f", and {len(same) - 1} more such groups" if len(same) > 1 else ""
        print(
            f"the same measurement, since a swept setting has no effect here: {', '.join(same[0])}{more}",
            file=sys.stderr,
        )


def _say_what_would_run(first: DictConfig, planned: Sequence[Planned]) -> None:
    """A line for each job: what `tracking.resume=true` would find finished, and what it would run."""
    from ragsweep import tracking

    if not planned:
        print("the sweeper chooses the jobs as it goes: none is known yet")
    missing = 0
    for job in planned:
        run = tracking.finished_with(first.tracking, job.digest)
        missing += run is None
        print(f"{job.name}: {'would run' if run is None else f'finished, run {run.info.run_id}'}")
    print(f"{missing} of {len(planned)} would run with tracking.resume=true, all without it")


def _open_sweep(config: DictConfig, first: DictConfig, planned: Sequence[Planned], swept: list[str]) -> OpenSweep:
    from ragsweep import report, tracking

    try:
        Path(config.hydra.sweep.dir).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"hydra.sweep.dir: {config.hydra.sweep.dir} cannot be made ({error.strerror})") from error
    store = first.tracking
    OmegaConf.resolve(store)
    job = tracking.Job(
        name=f"sweep {' '.join(report.short_names(swept)) or sweep_id()}",
        folder=Path(config.hydra.sweep.dir) / "summary",
        overrides=_as_given(config.hydra.overrides.task),
        command=_command(sys.argv[1:]),
        swept={},
        sweep_id=sweep_id(),
        parent_run_id=None,
        tracking=store,
        digest=digest([[each.name, each.digest] for each in planned]) if planned else None,
    )
    tracking.close_orphans(store)
    if store.resume:
        uploaded = tracking.push(PROJECT / "outputs", store.uri, store.artifacts).uploaded
        if uploaded:
            print(f"{uploaded} runs that were waiting in outputs/ uploaded")
    earlier = tracking.unfinished_sweep(job) if store.resume and planned else None
    if earlier:
        job = replace(job, sweep_id=earlier.data.tags["sweep.id"])
    sweep = OpenSweep(job, tracking.open_run(job, continued=earlier), planned)
    sweep.stop.unlink(missing_ok=True)
    return sweep


def _tell_workers(config: DictConfig, *variables: str) -> None:
    """Have these environment variables set, by overrides of Hydra's own, wherever a launcher starts a job."""
    overrides = [f"hydra.sweep.dir={_quoted(config.hydra.sweep.dir)}"]
    overrides += [f"+hydra.job.env_set.{name}={_quoted(os.environ[name])}" for name in variables]
    with open_dict(config):
        config.hydra.overrides.hydra = [*config.hydra.overrides.hydra, *overrides]


def _quoted(text: str) -> str:
    """A text as Hydra reads it back: only quotes, and backslashes right before one, are escaped."""
    escaped = re.sub(r"(\\*)('|$)", lambda found: 2 * found[1] + ("\\'" if found[2] else ""), text)
    return f"'{escaped}'"


def tracked_job(config: DictConfig) -> Job:
    """What is to be recorded of the job that Hydra has just started."""
    from ragsweep.tracking import Job

    in_sweep = sweep_of_job()
    hydra_config = HydraConfig.get()
    task = _as_given(hydra_config.overrides.task)
    parsed = OverridesParser.create().parse_overrides(task)
    name, swept = _named(parsed, in_sweep["swept"] if in_sweep else [])
    mode = ["hydra.mode=RUN"] if any(override.startswith("experiment=") for override in task) else []
    return Job(
        name=name,
        folder=Path(hydra_config.runtime.output_dir),
        overrides=task,
        command=_command([*task, *mode]),
        swept=swept if in_sweep else {},
        sweep_id=sweep_id(),
        parent_run_id=in_sweep["parent_run_id"] if in_sweep else None,
        tracking=config.tracking,
        number=hydra_config.job.num if in_sweep else None,
        total=in_sweep["total"] if in_sweep else None,
        looks_back=bool(in_sweep and in_sweep["looks_back"]),
    )


def sweep_of_job() -> dict[str, Any] | None:
    """What the sweep has left for its jobs; None for a single run."""
    return json.loads(os.environ[SWEEP]) if SWEEP in os.environ else None


def start_no_more_jobs() -> None:
    """Have the sweep's jobs that have not begun yet end at once, wherever they start."""
    if in_sweep := sweep_of_job():
        with suppress(OSError):
            Path(in_sweep["stop"]).touch()


def _command(arguments: Sequence[str]) -> str:
    """What runs this again."""
    names = [each.lstrip("+").partition("=")[0] for each in arguments]
    kept = [
        each
        for each, name in zip(arguments, names, strict=True)
        if name not in ABOUT_THIS_START and not name.startswith("hydra.job.env_set")  # where people put passwords
    ]
    return shlex.join(["python", "run.py", *kept])


def _named(parsed: Sequence[Override], swept: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """A run's name and the settings in it: the swept ones, or else those that were set."""
    from ragsweep import report
    from ragsweep.tracking.names import LONGEST_NAME

    by_name = {override.key_or_group: override for override in parsed}
    telling = [name for name in by_name if name.partition(".")[0] not in UNNAMED]
    shown = [name for name in swept or telling if name in by_name]
    words = zip(report.short_names(shown), (by_name[name].get_value_element_as_str() for name in shown), strict=True)
    name = " ".join(_word(short, value) for short, value in words) or "defaults"
    return shortened(name, LONGEST_NAME), {name: _plain(by_name[name]) for name in shown}


def _word(name: str, value: str) -> str:
    """A setting in a run's name; a configuration that has a name of its own goes by it."""
    if name == "configuration":
        return value
    with suppress(ValueError):  # a range makes values like 0.7000000000000001
        value = f"{float(value):.12g}" if "." in value else value
    return f"{name}={value}"


def _plain(override: Override) -> Any:
    """An override's value as JSON can hold it."""
    value = override.value()
    plain = isinstance(value, bool | int | None) or (isinstance(value, float) and isfinite(value))
    return value if plain else override.get_value_element_as_str()


def end_killed(sweep: OpenSweep) -> None:
    """End the workers of a sweep that was interrupted, and close what they leave open."""
    from ragsweep import tracking

    end_workers()
    sweep.parent.close("KILLED")
    tracking.close_open(sweep.job, sweep.parent)
    print(
        f"{tracking.finished_here(sweep.job)} of {len(sweep.planned) or 'some'} jobs had finished; "
        "the same command with tracking.resume=true goes on from there",
        file=sys.stderr,
    )
    _say_what_waits(sweep)


def end_workers() -> None:
    """End the processes that a launcher has started."""
    workers = [child for child in psutil.Process().children(recursive=True) if not _tidies_up(child)]
    for worker in workers:
        with suppress(psutil.Error):
            worker.terminate()
    _, alive = psutil.wait_procs(workers, SECONDS_TO_END)
    for worker in alive:
        with suppress(psutil.Error):
            worker.kill()


def _say_what_waits(sweep: OpenSweep) -> int:
    """Say how many runs, the sweep's own among them, the tracking store lacks, and what brings them there."""
    from ragsweep import tracking

    folder, store = sweep.job.folder.parent, sweep.job.tracking
    if waiting := tracking.waiting(folder):
        print(
            f"{waiting} runs are not in the tracking store ({sweep.parent.trouble or 'it was out of reach'}); "
            f"they are complete in {folder}: {tracking.push_command(folder, store.uri, store.artifacts)} uploads them",
            file=sys.stderr,
        )
    return waiting


def _tidies_up(process: psutil.Process) -> bool:
    """Whether this is a helper of multiprocessing or joblib, which ends by itself when those it tidies up after do."""
    with suppress(psutil.Error):
        return "resource_tracker" in " ".join(process.cmdline())
    return False


def finish(sweep: OpenSweep, *, failed: bool) -> bool:
    """Close the parent run with the summary of what finished, and say what did not; whether all is well."""
    from ragsweep import report, tracking

    tracking.close_open(sweep.job, sweep.parent)
    store = tracking.stored(sweep.job, sweep.parent)
    results = tracking.collect(sweep.job, sweep.parent, [job.name for job in sweep.planned], store)
    started = sweep.job.sweep_id.rpartition("_")[0]
    origin = report.Origin(sweep.job.command, sweep.parent.run_id or "", tracking.code_version(), started)
    parts = results.by_dataset
    folders = [
        sweep.job.folder / (f"dataset_{number}" if len(parts) > 1 else "") for number in range(1, len(parts) + 1)
    ]
    written = True
    try:
        texts = [report.write_sweep(folder, part, origin) for folder, part in zip(folders, parts, strict=True)]
    except Exception as error:  # the runs are measured: whatever keeps the report from being written, the rest goes on
        failed, written, texts = True, False, [f"The report could not be written: {first_line(error)}\n"]
        print(f"ragsweep: {texts[0]}", end="", file=sys.stderr)
    failed = failed or bool(results.unfinished)
    text = "\n".join(texts) or "No run finished.\n"
    tracking.close_sweep(sweep.parent, results, text, "FAILED" if failed else "FINISHED")
    for folder, part in zip(folders, parts, strict=True):  # only now: nobody may be reading any more
        print(f"\n{report.terminal_table(part)}\n", *report.decision(part), sep="\n")
        if written:
            print(f"report: {folder / 'report.html'} (sweep {sweep.parent.run_id or 'not in the tracking store yet'})")
    for name, fate in results.unfinished.items():
        print(f"did not finish: {name} ({fate})", file=sys.stderr)
    waiting = _say_what_waits(sweep)
    if run_id := sweep.parent.run_id:
        saved = store is not None and tracking.leave_view(store, run_id)
        address = tracking.sweep_address(sweep.job.tracking, sweep.parent.experiment_id, run_id, saved=saved)
        print(f"{address}{tracking.server_hint(sweep.job.tracking)}")
    return not failed and not waiting
