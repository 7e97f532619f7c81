"""The command line: what `run.py` does around the experiment, from the arguments to the exit status."""

from __future__ import annotations

import copy
import gc
import json
import os
import re
import shlex
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.core.utils import JobReturn
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ragsweep.config import PROJECT, SWEEP_ID, leaves, nearest, register_resolvers, sweep_id
from ragsweep.errors import ConfigError, RagsweepError

if TYPE_CHECKING:
    from ragsweep.tracking import Job, RunRecord

CONF = PROJECT / "conf"
FULL_ERROR = "HYDRA_FULL_ERROR"
VERBOSE = "RAGSWEEP_VERBOSE"  # in the environment: show tracebacks
SWEEP = "RAGSWEEP_SWEEP"  # in the environment: what every job of a sweep needs to know of it, as JSON

UNNAMED = ("dataset", "tracking", "store", "hydra")  # settings that a run is not named by

OK, FAILED, BAD_INPUT, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143

register_resolvers()


def main() -> NoReturn:
    """Run Hydra on the arguments of this process; exit with 0, 1 where a job failed, or 2 for bad input."""
    if "-v" in sys.argv or os.environ.get(FULL_ERROR) == "1":
        os.environ[VERBOSE] = "1"
    sys.argv = [argument for argument in sys.argv if argument != "-v"]
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "8")  # else its threads spin where charts are being drawn
    gc.set_threshold(50_000, 10, 10)  # else it walks through all modules again and again while more are imported
    os.environ[FULL_ERROR] = "1"  # so that Hydra hands every error to us instead of printing its own account
    os.environ.pop(SWEEP, None)
    os.environ.pop(SWEEP_ID, None)
    sweep_id()
    signal.signal(signal.SIGTERM, _terminate)
    _shorten_warnings()
    status = OK
    try:
        hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")(job)()
    except BaseException as error:  # the status of the process tells them apart
        status = _explained(error)
    if SweepCallback.sweep is not None:
        for ending in (signal.SIGINT, signal.SIGTERM):  # a second one must not leave the sweep open
            signal.signal(ending, signal.SIG_IGN)
        try:
            status = _finish(SweepCallback.sweep, status)
        except Exception as error:
            status = _explained(error, job=False)
            with suppress(Exception):
                SweepCallback.sweep.parent.close("FAILED")
    sys.exit(status)


def job(config: DictConfig) -> float:
    """Measure one configuration and say so in one line; what Hydra calls for every job.

    Returns:
        The F1 at k, for sweepers that look for the best.
    """
    in_sweep = json.loads(os.environ[SWEEP]) if SWEEP in os.environ else None
    tracked = _tracked_job(config, in_sweep)
    place = f"{HydraConfig.get().job.num + 1}/{in_sweep['total'] or '?'} " if in_sweep else ""

    from ragsweep import experiment, tracking

    try:
        evaluation, record = experiment.run(config, tracked)
    except Exception as error:
        if not in_sweep:  # else Hydra would add a line of its own
            with suppress(OSError):  # a folder that is not empty stays
                tracked.folder.rmdir()
            raise SystemExit(_explained(error)) from error
        print(f"{place}{tracked.name} FAILED: {_one_line(error)}", file=sys.stderr)
        raise
    f1 = evaluation.means["f1"]
    print(f"{place}{tracked.name} f1={f1:.4f}", flush=True)
    if not in_sweep:
        print("  ".join(f"{name} {mean:.4f}" for name, mean in evaluation.means.items()))
        address = tracking.run_address(config.tracking, record.experiment_id, record.run_id)
        print(f"{address}{tracking.server_hint(config.tracking)}")
    return f1


@dataclass(frozen=True)
class OpenSweep:
    """A sweep that has begun: its parent run, and the job that describes it."""

    job: Job
    parent: RunRecord


class SweepCallback(Callback):
    """Checks a whole sweep before its first job, then opens its parent run."""

    sweep: OpenSweep | None = None

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Leave what the jobs need in the environment, which reaches the workers of every launcher."""
        from ragsweep import report

        try:
            if config.hydra.launcher._target_.endswith(".BasicLauncher"):  # the jobs run in this process
                report.start_drawing()
            jobs, swept = _jobs(config)
            first = _check_all(config, jobs)
            SweepCallback.sweep = _open_sweep(config, first.tracking, len(jobs) if jobs else None, swept)
            gc.freeze()  # modules and configuration stay: no collection need look at them again
        except Exception as error:  # Hydra would turn it into a warning and start the jobs
            raise SystemExit(_explained(error)) from error

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **_: Any) -> None:
        """Let go of a job's configuration, which Hydra would keep until the sweep ends."""
        job_return.cfg = job_return.hydra_cfg = None


def _jobs(config: DictConfig) -> tuple[list[list[str]], list[str]]:
    """The overrides of every job and the names of the swept settings; no jobs where only the sweeper knows them."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

    parser = OverridesParser.create(config_loader=GlobalHydra.instance().config_loader())
    params = [f"{name}={value}" for name, value in (config.hydra.sweeper.get("params") or {}).items()]
    overrides = parser.parse_overrides(params + list(config.hydra.overrides.task))
    last = {override.get_key_element(): override for override in overrides}  # as the sweeper does: the last one counts
    swept = [name.lstrip("+") for name, override in last.items() if override.is_sweep_override()]
    if not config.hydra.sweeper._target_.endswith((".BasicSweeper", ".CheckedSweeper")):
        return [], swept
    [jobs] = BasicSweeper.split_arguments(overrides, None)
    return jobs, swept


def _check_all(config: DictConfig, jobs: Sequence[list[str]]) -> DictConfig:
    """Build what every job will build, so that bad input stops the sweep before anything is recorded.

    Composing is dear, and Hydra does it twice for every job: jobs that differ in values only share a composition here.

    Returns:
        The configuration of the first job; that of the whole sweep lacks what is swept.
    """
    from ragsweep.experiment import Experiment

    loader = GlobalHydra.instance().config_loader()
    parser = OverridesParser.create(config_loader=loader)
    compositions: dict[tuple[str, ...], DictConfig] = {}
    is_group = cache(loader.get_group_options)
    first: DictConfig | None = None
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
            compositions[others] = loader.load_sweep_config(config, overrides)
        composed = compositions[others]
        for override in values:
            OmegaConf.update(composed, override.key_or_group, override.value(), merge=True)
        first = first or copy.deepcopy(composed)
        Experiment.of(OmegaConf.masked_copy(composed, [str(key) for key in composed if key != "hydra"]))
    return first or config


def _open_sweep(config: DictConfig, store: DictConfig, total: int | None, swept: list[str]) -> OpenSweep:
    from ragsweep import tracking

    try:
        Path(config.hydra.sweep.dir).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"hydra.sweep.dir: {config.hydra.sweep.dir} cannot be made ({error.strerror})") from error
    OmegaConf.resolve(store)
    sweep_job = tracking.Job(
        name=f"sweep {' '.join(_short(swept)) or sweep_id()}",
        folder=Path(config.hydra.sweep.dir) / "summary",
        overrides=config.hydra.overrides.task,
        command=shlex.join(["python", "run.py", *sys.argv[1:]]),
        swept={},
        sweep_id=sweep_id(),
        parent_run_id=None,
        tracking=store,
    )
    parent = tracking.open_run(sweep_job)
    os.environ[SWEEP] = json.dumps({"parent_run_id": parent.run_id, "total": total, "swept": swept})
    return OpenSweep(sweep_job, parent)


def _tracked_job(config: DictConfig, in_sweep: dict[str, Any] | None) -> Job:
    from ragsweep.tracking import Job

    hydra_config = HydraConfig.get()
    task = list(hydra_config.overrides.task)
    parsed = {override.key_or_group: override for override in OverridesParser.create().parse_overrides(task)}
    telling = [name for name in parsed if name.partition(".")[0] not in UNNAMED]
    named = in_sweep["swept"] if in_sweep and in_sweep["swept"] else telling
    shown = {name: parsed[name].get_value_element_as_str() for name in named if name in parsed}
    short = dict(zip(shown, _short(list(shown)), strict=True))
    mode = ["hydra.mode=RUN"] if any(override.startswith("experiment=") for override in task) else []
    return Job(
        name=" ".join(_named(short[name], value) for name, value in shown.items()) or "defaults",
        folder=Path(hydra_config.runtime.output_dir),
        overrides=task,
        command=shlex.join(["python", "run.py", *task, *mode]),
        swept={name: _plain(parsed[name]) for name in shown} if in_sweep else {},
        sweep_id=sweep_id(),
        parent_run_id=in_sweep["parent_run_id"] if in_sweep else None,
        tracking=config.tracking,
    )


def _named(name: str, value: str) -> str:
    """A swept value in a run's name; a configuration that has a name of its own goes by it."""
    if name == "configuration":
        return value
    with suppress(ValueError):  # a range makes values like 0.7000000000000001
        value = f"{float(value):.12g}" if "." in value else value
    return f"{name}={value}"


def _plain(override: Override) -> Any:
    """An override's value as JSON can hold it."""
    value = override.value()
    return value if isinstance(value, bool | int | float | None) else override.get_value_element_as_str()


def _short(names: Sequence[str]) -> list[str]:
    """The last words of dotted names, where that leaves them different."""
    last = [name.rpartition(".")[2] for name in names]
    return [word if last.count(word) == 1 else name for word, name in zip(last, names, strict=True)]


def _finish(sweep: OpenSweep, status: int) -> int:
    """Close the parent run with the summary of what finished; the status of the process."""
    from ragsweep import report, tracking

    tracking.close_open(sweep.job, sweep.parent)
    if status in (INTERRUPTED, TERMINATED):
        sweep.parent.close("KILLED")
        return status
    results = tracking.collect(sweep.job, sweep.parent)
    timestamp = sweep.job.sweep_id.rpartition("_")[0]
    parts = results.by_dataset
    texts = []
    for number, part in enumerate(parts, start=1):
        folder = sweep.job.folder if len(parts) == 1 else sweep.job.folder / f"dataset_{number}"
        texts.append(report.write_sweep(folder, part, sweep.job.command, timestamp))
        print(f"\n{report.terminal_table(part)}\n\n{report.best_lines(part)}")
    text = "\n".join(texts) or "No run finished.\n"
    for name, fate in results.unfinished.items():
        print(f"did not finish: {name} ({fate})", file=sys.stderr)
    failed = bool(results.unfinished) or status != OK
    tracking.close_sweep(sweep.parent, results, sweep.job.folder, text, "FAILED" if failed else "FINISHED")
    parent = sweep.parent
    address = tracking.sweep_address(sweep.job.tracking, parent.experiment_id, parent.run_id)
    print(f"{address}{tracking.server_hint(sweep.job.tracking)}")
    return FAILED if failed else OK


def _shorten_warnings() -> None:
    """Print our own warnings as we print errors, in a line without a place in the code."""
    usual = warnings.formatwarning

    def shortened(message: Warning | str, category: type[Warning], filename: str, *others: Any) -> str:
        ours = Path(filename).is_relative_to(Path(__file__).parent)
        return f"ragsweep: {message}\n" if ours else usual(message, category, filename, *others)

    warnings.formatwarning = shortened  # type: ignore[assignment]


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(TERMINATED)


def _explained(error: BaseException, *, job: bool = True) -> int:
    """Say in one line what went wrong, unless a job of a sweep has said it; the exit status that belongs to it."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if isinstance(error, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    if VERBOSE in os.environ:
        traceback.print_exception(error)
    if job and SweepCallback.sweep is not None:
        return FAILED
    print(f"ragsweep: {_one_line(error)}", file=sys.stderr)
    return BAD_INPUT if isinstance(error, RagsweepError | HydraException | OmegaConfBaseException) else FAILED


def _one_line(error: BaseException) -> str:
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, option = error.missing_cfg_file.rpartition("/")
        return f"{group}={option}: expected one of {', '.join(error.options)}{nearest(option, list(error.options))}"
    unknown = re.search(r"Could not (?:override|append) '([^']+)'", str(error))
    if isinstance(error, HydraException) and unknown:
        name = unknown.group(1)
        known = _known_settings(name)
        if name in known:
            return f"{name}: not every configuration of this sweep has this setting"
        return f"{name}: no such setting{nearest(name, known)}; python run.py --help lists them"
    text = " ".join(str(error).split())
    if isinstance(error, OverrideParseException):
        hint = "put a value with special characters into quotes, \"name='value'\""
        return f"{error.override}: cannot be read as name=value; {hint}"
    return (
        text
        if isinstance(error, RagsweepError | HydraException)
        else f"{type(error).__name__}: {text} (-v shows where)"
    )


def _known_settings(unknown: str) -> list[str]:
    """Groups and settings of the configuration that the other arguments describe."""
    others = [
        argument for argument in sys.argv[1:] if "=" in argument and "," not in argument and unknown not in argument
    ]
    groups = [path.name for path in CONF.iterdir() if path.is_dir()]
    GlobalHydra.instance().clear()  # a sweep that is refused here has one open
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        try:
            config = hydra.compose("config", others)
        except HydraException:
            config = hydra.compose("config")
    return groups + [name for name, _ in leaves(config)]
