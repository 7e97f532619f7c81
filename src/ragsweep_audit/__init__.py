"""What is wrong with a dataset, and judging what nobody has judged."""
