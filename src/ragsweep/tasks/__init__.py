"""What a run measures; one folder a task."""
