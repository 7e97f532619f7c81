"""Run a recorded run again, or a whole sweep, and compare every number with what was recorded.

ragsweep reproduce RUN_ID                          # as a new run, tagged with the one that it reproduces
ragsweep reproduce RUN_ID --no-log                 # compare only
ragsweep reproduce RUN_ID --stored                 # faster: use the embeddings and rankings of the store
ragsweep reproduce RUN_ID tracking=server tracking.uri=http://mlflow.example.org:5000
ragsweep reproduce RUN_ID dataset.path=/data/scifact   # a dataset that lies elsewhere on this machine

Exit status: 0 where all values are identical, 1 where one differs, 2 where the run cannot be read or built.
"""

from __future__ import annotations

from ragsweep.app.commands import add_allow, check_ids, parser_of


def main() -> int:
    """Reproduce what the arguments name."""
    parser = parser_of("reproduce", __doc__)
    parser.add_argument("run_id", help="id of a run or of a sweep, as MLflow shows it")
    parser.add_argument("overrides", nargs="*", default=[], help="places on this machine: dataset.path=...")
    parser.add_argument("--no-log", action="store_true", help="compare without recording a new run")
    parser.add_argument("--stored", action="store_true", help="use the embeddings and rankings that the store has")
    parser.add_argument("--tolerance", type=float, default=0.0, help="largest difference that counts as none")
    add_allow(parser)
    arguments = parser.parse_intermixed_args()
    check_ids([arguments.run_id])
    if not arguments.tolerance >= 0:
        parser.error(f"--tolerance: found {arguments.tolerance}, expected a number of at least 0")

    from ragsweep.replay.reproducing import reproduce

    identical = reproduce(
        arguments.run_id,
        arguments.overrides,
        arguments.allow,
        tolerance=arguments.tolerance,
        log=not arguments.no_log,
        stored=arguments.stored,
    )
    return 0 if identical else 1
