"""Explain a query of a recorded run: what was retrieved at which rank and why, and where the missed pages are.

python scripts/explain.py RUN_ID 17                         # the id of a query
python scripts/explain.py RUN_ID "vaccines got too warm"    # or a part of its text
python scripts/explain.py RUN_ID 17 k=20                    # the same further down
python scripts/explain.py RUN_ID 17 tracking.uri=http://mlflow.example.org:5000 dataset.path=/data/scifact

Exit status: 2 where the run cannot be read or built, or the query is not found.
"""

from __future__ import annotations

import argparse
import shutil
import sys

from ragsweep.core.terminal import end_of_script
from ragsweep.replay.explain import Question, explain


def main() -> int:
    """Explain what the arguments name."""
    parser = argparse.ArgumentParser(description="Explain a query of a recorded run: its ranking, and what it missed.")
    parser.add_argument("run_id", help="of a run, as MLflow shows it")
    parser.add_argument("query", help="its id, or a part of its text that no other query has")
    parser.add_argument("overrides", nargs="*", help="where things are here: tracking.uri=..., dataset.path=...")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="MODULE", help="a module whose classes the record may name"
    )
    arguments = parser.parse_intermixed_args()
    question = Question(arguments.run_id, arguments.query, arguments.overrides, arguments.allow)
    print(explain(question, shutil.get_terminal_size((100, 24)).columns))
    return 0


if __name__ == "__main__":
    sys.exit(end_of_script("explain", main))
