"""Run a recorded run again, or a whole sweep, and compare every number with what was recorded.

python scripts/reproduce.py RUN_ID                          # as a new run, tagged with the one that it reproduces
python scripts/reproduce.py RUN_ID --no-log                 # compare only
python scripts/reproduce.py RUN_ID --stored                 # take embeddings and rankings from the store: sooner
python scripts/reproduce.py RUN_ID tracking=server tracking.uri=http://mlflow.example.org:5000
python scripts/reproduce.py RUN_ID dataset.path=/data/scifact   # a dataset that lies elsewhere on this machine

Exit status: 0 where all values are identical, 1 where one differs, 2 where the run cannot be read or built.
"""

from __future__ import annotations

import argparse
import signal
import sys

from ragsweep.core.terminal import end_of_script, terminate
from ragsweep.replay.reproduce import Request, reproduce


def main() -> int:
    """Reproduce what the arguments name."""
    parser = argparse.ArgumentParser(description="Run a recorded run or sweep again, and compare every number.")
    parser.add_argument("run_id", help="of a run or of a sweep's parent run, as MLflow shows it")
    parser.add_argument("overrides", nargs="*", help="where things are here: tracking.uri=..., dataset.path=...")
    parser.add_argument("--no-log", action="store_true", help="compare without recording a new run")
    parser.add_argument("--stored", action="store_true", help="take embeddings and rankings that the store has")
    parser.add_argument("--tolerance", type=float, default=0.0, help="largest difference that counts as none")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="MODULE", help="a module whose classes the record may name"
    )
    arguments = parser.parse_intermixed_args()
    if not arguments.tolerance >= 0:
        parser.error(f"--tolerance: found {arguments.tolerance}, expected a number of at least 0")
    request = Request(
        arguments.run_id,
        arguments.overrides,
        arguments.tolerance,
        log=not arguments.no_log,
        stored=arguments.stored,
        modules=arguments.allow,
    )
    signal.signal(signal.SIGTERM, terminate)  # so that a run ends as KILLED
    return 0 if reproduce(request) else 1


if __name__ == "__main__":
    sys.exit(end_of_script("reproduce", main))
