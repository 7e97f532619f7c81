"""ragsweep's measures in MLflow's own evaluation of applications."""
