"""Tasks: what a run measures. One folder per task. The names here are what a task of your own needs."""

from ragsweep.tasks.metric import Metric
from ragsweep.tasks.scores import Curve, Measure, Score, mean_scores
from ragsweep.tasks.task import Items, Measurement, Task

__all__ = ["Curve", "Items", "Measure", "Measurement", "Metric", "Score", "Task", "mean_scores"]
