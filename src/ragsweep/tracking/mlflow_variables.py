"""Variables of MLflow's own client that ragsweep does not use: its configuration says where runs go."""

from __future__ import annotations

import os

from ragsweep.core.errors import RefusedError
from ragsweep.core.terminal import one_line, say_once
from ragsweep.tracking.address import absolute, check_address, is_server

URI_VARIABLE, EXPERIMENT_VARIABLE = "MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME"


def name_unused_variables(uri: str, experiment: object = None) -> None:
    """Name the variables of MLflow's own client that say something else than the configuration."""
    named = os.environ.get(URI_VARIABLE)
    if named and absolute(named) != absolute(uri):
        try:
            check_address(named)
        except RefusedError:  # it is no address of a store that ragsweep can use, or has a password
            say_once(f"{URI_VARIABLE} is not used; runs go to {uri} (tracking.uri changes that)")
        else:
            use = f"tracking=server tracking.uri={named}" if is_server(named) else f"tracking.uri={named}"
            say_once(f"{URI_VARIABLE}={named} is not used; runs go to {uri} ({use} changes that)")
    named = os.environ.get(EXPERIMENT_VARIABLE)
    if named and experiment and named != experiment:
        shown = one_line(named)
        said = f"{EXPERIMENT_VARIABLE}={shown} is not used; the experiment is {one_line(str(experiment))}"
        say_once(f"{said} (tracking.experiment={shown} changes that)")
