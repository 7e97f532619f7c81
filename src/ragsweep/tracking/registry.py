"""The model registry of the tracking store: registers exported retrievers, finds their runs, moves their aliases.

What it returns is data: a name leads to the id of a run, and never to a path.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.metadata import version as version_of
from pathlib import Path

os.environ.setdefault("MLFLOW_UV_AUTO_DETECT", "false")  # else files of the current folder get into a model

import pandas as pd
from mlflow import pyfunc
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from mlflow.models import Model, ModelSignature
from mlflow.types.schema import Array, ColSpec, DataType, Object, ParamSchema, ParamSpec, Property, Schema
from omegaconf import DictConfig

from ragsweep.core.errors import RagsweepError, RefusedError
from ragsweep.core.project import command
from ragsweep.tracking.client import Client
from ragsweep.tracking.mlflow_names import RUN_ID, tags_of
from ragsweep.tracking.recorded_environment import requirements
from ragsweep.tracking.store_address import model_address, store_overrides
from ragsweep.tracking.stored_run import StoredRun
from ragsweep.tracking.tracked_job import DIGEST
from ragsweep.tracking.tracking_store import UNREACHABLE, reading

CANDIDATE = "candidate"  # alias of the newest version that was registered
REGISTERED_BY = "ragsweep.version"  # tag of a version: marks those of ragsweep
LONGEST_DESCRIPTION = 5000  # characters that MLflow keeps of a version


@dataclass(frozen=True)
class RegisteredRetriever:
    """A version of a registered model.

    Attributes:
        name: Of the model.
        number: Of the version.
        run_id: The run that was measured.
        alias: The alias by which it was found; None if it was found otherwise.
    """

    name: str
    number: str
    run_id: str
    alias: str | None = None


def register(
    tracking: DictConfig, run: StoredRun, folder: Path, name: str, *, loader: str, k: int, card: str
) -> RegisteredRetriever:
    """Make an exported folder the newest version of a model, with the alias `CANDIDATE`.

    Args:
        tracking: The store.
        run: The run that was measured.
        folder: The exported folder.
        name: Of the model, which is created if it is new.
        loader: The module that MLflow loads the folder with.
        k: How many passages are returned unless a request says otherwise.
        card: What MLflow shows of the version, as Markdown.

    Raises:
        TrackingError: The store refuses it, or cannot be reached.
    """
    with reading(tracking.uri, tracking.artifacts, f"models:/{name}") as client:
        experiment = client.get_run(run.run_id).info.experiment_id
        tags = {REGISTERED_BY: version_of("ragsweep"), "configuration": run.name, "dataset.digest": run.dataset}
        tags = tags_of({**tags, **({DIGEST: run.tags[DIGEST]} if DIGEST in run.tags else {})})
        model = client.create_logged_model(experiment, "retriever", run.run_id, tags, model_type="retriever")
        try:
            with tempfile.TemporaryDirectory() as draft:
                files = Path(draft) / "model"
                pyfunc.save_model(
                    files,
                    loader_module=loader,
                    data_path=str(folder),
                    signature=signature(k),
                    input_example=(pd.DataFrame({"query": ["What is this about?"]}), {"k": k}),
                    pip_requirements=requirements().split(),
                    mlflow_model=Model(run_id=run.run_id, model_id=model.model_id),
                )
                client.log_model_artifacts(model.model_id, str(files))
            client.finalize_logged_model(model.model_id, "READY")
        except BaseException:
            with suppress(*UNREACHABLE):
                client.finalize_logged_model(model.model_id, "FAILED")
            raise
        with suppress(MlflowException):  # it is there already; if it is not, the next request fails
            client.create_registered_model(name)
        place = model.artifact_location  # an SQLite store looks up models:/ID in MLflow's default store instead
        about = card[:LONGEST_DESCRIPTION]
        made = client.create_model_version(name, place, run.run_id, tags, description=about, model_id=model.model_id)
        client.set_registered_model_alias(name, CANDIDATE, made.version)
        return RegisteredRetriever(name, str(made.version), run.run_id, CANDIDATE)


def signature(k: int) -> ModelSignature:
    """What a registered retriever takes, a query a row and the number of passages, and what it returns."""
    fields = {"text": DataType.string, "source": DataType.string, "page": DataType.string, "score": DataType.double}
    hit = Object([Property(name, kind) for name, kind in {**fields, "passage_id": DataType.string}.items()])
    query = Schema([ColSpec(DataType.string, "query")])
    return ModelSignature(query, Schema([ColSpec(Array(hit))]), ParamSchema([ParamSpec("k", DataType.long, k)]))


@contextmanager
def as_mlflow_errors() -> Iterator[None]:
    """Turn our errors into MLflow's: its server says what they say, and of any other it shows the stack instead."""
    try:
        yield
    except RagsweepError as error:
        raise MlflowException.invalid_parameter_value(str(error)) from error


def registered(tracking: DictConfig, address: str) -> RegisteredRetriever:
    """The version that an address names: `models:/NAME@ALIAS` or `models:/NAME/VERSION`.

    Raises:
        ConfigError: It is no such address.
        TrackingError: There is no such model, alias or version; or ragsweep did not register it, or its run is gone.
    """
    name, alias, number = model_address(address)
    with reading(tracking.uri, tracking.artifacts, address) as client:
        if alias:
            aliases = _aliases(client, name, address, tracking)
            if alias not in aliases:  # no comparison can decide which version is the first one
                there_are = ", ".join(f"{other} is version {version}" for other, version in sorted(aliases.items()))
                to_set = f"MlflowClient({tracking.uri!r}).set_registered_model_alias({name!r}, {alias!r}, VERSION)"
                raise RefusedError(
                    f"{address}: no version has this alias ({there_are or 'the model has none'}); the first one is the "
                    f'decision of a person: python -c "from mlflow import MlflowClient; {to_set}"'
                )
            number = aliases[alias]
        return replace(_measured(client, client.get_model_version(name, number), address), alias=alias)


def version_of_run(tracking: DictConfig, name: str, run_id: str) -> RegisteredRetriever:
    """The newest version of a model that was measured as this run. Raises `TrackingError` if there is none."""
    address = f"models:/{name}"
    with reading(tracking.uri, tracking.artifacts, address) as client:
        of_run = client.search_model_versions(f"run_id = '{run_id}'")
        versions = [version for version in of_run if version.name == name and REGISTERED_BY in version.tags]
        if not versions:
            made = command("export", run_id, "--register", name, *store_overrides(tracking))
            raise RefusedError(f"{run_id}: is no version of {address}; register it: {made}")
        return _measured(client, max(versions, key=lambda version: int(version.version)), address)


def move_alias(tracking: DictConfig, was: RegisteredRetriever, to: RegisteredRetriever) -> None:
    """Move the alias of one version to another one, if the first one still has it.

    Raises:
        TrackingError: The alias has been moved meanwhile, or the store cannot be reached.
    """
    assert was.alias is not None
    address = f"models:/{was.name}@{was.alias}"
    with reading(tracking.uri, tracking.artifacts, address) as client:
        now = _aliases(client, was.name, address, tracking).get(was.alias)
        if now != was.number:
            raise RefusedError(
                f"{address}: was version {was.number}, and is {now or 'no version'} now: compare with what is there"
            )
        client.set_registered_model_alias(was.name, was.alias, to.number)


def _aliases(client: Client, name: str, address: str, tracking: DictConfig) -> dict[str, str]:
    """The aliases of a model, with the numbers of their versions."""
    try:
        return {alias: str(number) for alias, number in client.get_registered_model(name).aliases.items()}
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        made = command("export", "RUN_ID", "--register", name, *store_overrides(tracking))
        raise RefusedError(f"{address}: the registry has no model {name!r}; this makes it: {made}") from error


def _measured(client: Client, version: ModelVersion, address: str) -> RegisteredRetriever:
    """A version of ragsweep's whose run is there."""
    named = f"{address}: version {version.version}"
    if REGISTERED_BY not in version.tags or not RUN_ID.fullmatch(str(version.run_id)):
        raise RefusedError(f"{named} was not registered by ragsweep: nothing says which run was measured")
    if client.get_run(version.run_id).info.lifecycle_stage == "deleted":
        raise RefusedError(f"{named} was measured as run {version.run_id}, which was deleted; MLflow can restore it")
    return RegisteredRetriever(version.name, str(int(version.version)), version.run_id)
