"""ragsweep's measures and questions in MLflow's own evaluation of applications."""

from ragsweep.mlflow.evaluation_questions import MlflowQuestions

__all__ = ["MlflowQuestions"]
