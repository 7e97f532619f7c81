"""What is wrong with a dataset: each kind of problem is found by one module."""
