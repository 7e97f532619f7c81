"""The task of answering multiple-choice questions: answerers, reasoning methods, and what is measured of answers."""
