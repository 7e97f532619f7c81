"""Answering multiple-choice questions from retrieved evidence: accuracy, calibration, reasoning, safety and errors."""
