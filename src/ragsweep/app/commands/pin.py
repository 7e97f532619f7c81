"""Keep the decision of a sweep at the top of its experiment in MLflow, whatever is swept later.

ragsweep pin SWEEP_ID
ragsweep pin SWEEP_ID --remove
ragsweep pin SWEEP_ID tracking=server tracking.uri=http://mlflow.example.org:5000

Exit status: 2 where the sweep cannot be read or has no decision, or where the description is your own.
"""

from __future__ import annotations

from ragsweep.app.commands import check_ids, parser_of


def main() -> int:
    """Pin what the arguments name."""
    parser = parser_of("pin", __doc__)
    parser.add_argument("sweep_id", help="id of a sweep, as MLflow shows it")
    parser.add_argument("overrides", nargs="*", metavar="name=value", help="settings of the group tracking")
    parser.add_argument("--remove", action="store_true", help="pin it no longer")
    arguments = parser.parse_intermixed_args()
    check_ids([arguments.sweep_id])

    from ragsweep import tracking
    from ragsweep.replay.trusted_record import TODAYS, composed_today, refuse_others

    refuse_others(arguments.overrides, *TODAYS)
    name, experiment = tracking.pin_sweep(
        composed_today(arguments.overrides)[0].tracking, arguments.sweep_id, remove=arguments.remove
    )
    print(f"{'no longer pinned' if arguments.remove else 'pinned'}: {name}, in experiment {experiment}")
    return 0
