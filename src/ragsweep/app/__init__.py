"""The command line: plans a sweep, starts and ends its workers, says what failed."""
