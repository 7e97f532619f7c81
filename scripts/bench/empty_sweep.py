"""A sweep with Hydra and MLflow that measures nothing and logs as much as a run of ragsweep.

It composes nothing of ragsweep's. The benchmark calls it with the size of one run: the same number of params, metrics,
files and bytes. They are logged with as few MLflow calls as possible.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig


@hydra.main(version_base="1.3", config_path=None, config_name=None)
def main(_: DictConfig) -> None:
    """Log one run."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

    params, metrics, files, file_bytes = (
        int(os.environ[name]) for name in ("PARAMS", "METRICS", "FILES", "FILE_BYTES")
    )
    client = MlflowClient(os.environ["URI"])
    experiment = client.get_experiment_by_name("empty")
    experiment_id = (
        experiment.experiment_id if experiment else client.create_experiment("empty", os.environ["ARTIFACTS"])
    )
    run = client.create_run(experiment_id)
    now = int(time.time() * 1000)
    client.log_batch(
        run.info.run_id,
        metrics=[Metric(f"metric{number}", 0.5, now, 0) for number in range(metrics)],
        params=[Param(f"param{number}", "value") for number in range(params)],
    )
    folder = Path(HydraConfig.get().runtime.output_dir) / "artifacts"
    folder.mkdir(parents=True)
    for number in range(files):
        (folder / f"results{number}.bin").write_bytes(os.urandom(file_bytes // files))
    client.log_artifacts(run.info.run_id, str(folder))
    client.set_terminated(run.info.run_id)


if __name__ == "__main__":
    main()
