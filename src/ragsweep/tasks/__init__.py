"""Tasks: what a run measures. One folder per task."""
