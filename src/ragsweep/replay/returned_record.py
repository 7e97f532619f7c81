"""The experiment of a recorded run, also where its system is not asked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig

from ragsweep import tracking
from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.core.parsing import MalformedError, from_yaml
from ragsweep.experiment import Experiment
from ragsweep.replay.trusted_record import trusted
from ragsweep.retrieval.returned import FILE, LARGEST_MB

RETRIEVER = "ragsweep.retrieval.ReturnedRetriever"
KEPT = ("first_page", "fuzzy_threshold")  # settings by which results are matched to what is judged


def recorded_experiment(
    run: tracking.StoredRun, today: DictConfig, settings: Mapping[str, Any], modules: Sequence[str], folder: Path
) -> tuple[Experiment, str]:
    """The experiment of a run; by what its system had returned where that may not or cannot be asked.

    Args:
        run: The recorded run.
        today: The configuration of this machine.
        settings: What the user overrides.
        modules: Modules outside ragsweep whose classes the record may name.
        folder: Where what the system had returned can be written.

    Returns:
        The experiment, and a line that says so where the system is not asked; otherwise an empty one.

    Raises:
        ConfigError: The record contains something that is not allowed, or cannot be composed.
    """
    try:
        return Experiment.of(trusted(run.config, today, settings, modules)), ""
    except (ConfigError, RetrieverError) as error:
        returned = tracking.fetch_text(today.tracking, run.run_id, f"results/{FILE}", LARGEST_MB)
        if returned is None:
            raise
        file = folder / f"{digest(run.run_id)}.jsonl"  # the id is what a server says
        file.write_text(returned, encoding="utf-8")
        said = f"{run.name}: by what the system had returned, as it is not asked again ({error})"
        settings = {**settings, "retriever.path": str(file)}
        return Experiment.of(trusted(with_returned(run.config), today, settings, modules)), said


def with_returned(text: str) -> str:
    """A run's `config/config.yaml` with the retriever that returns what is in a file, whose path is still to be set.

    Raises:
        ConfigError: The configuration has no retriever.
    """
    try:
        recorded: Any = from_yaml(text)
    except MalformedError as error:
        raise ConfigError(f"config.yaml of the run cannot be read ({error})") from error
    node = recorded.get("retriever") if isinstance(recorded, dict) else None
    if not isinstance(node, dict):
        raise ConfigError("retriever: config.yaml of the run has no such group of settings")
    matching = {name: node[name] for name in KEPT if name in node}
    recorded["retriever"] = {"_target_": RETRIEVER, "path": "???", "name": None, **matching}
    return str(yaml.safe_dump(recorded, allow_unicode=True, sort_keys=False))
