"""Judge what nobody judged: pages that unlike retrievers rank at the top and that have no judgment for the query.

ragsweep review dataset=cho_manual                       # how many there are, and what they would change
ragsweep review dataset=cho_manual --out review.csv      # a table to fill in: relevant is yes, no or a grade
ragsweep review dataset=cho_manual --out review.html     # a page for the browser, which saves such a table
ragsweep review dataset=cho_manual --apply review.csv --out reviewed.json    # the questions with these judgments
ragsweep review dataset=cho_manual --apply review.csv --in-place             # in their own file; the old one is kept
ragsweep review SWEEP_ID                                 # the decision of a sweep if all of them were relevant
ragsweep review SWEEP_ID --apply review.csv              # the decision with the judgments of the table

Exit status: 2 where something cannot be read; then nothing is written.
"""

from __future__ import annotations

from pathlib import Path

from ragsweep.app.commands import add_allow, check_ids, composed, parser_of
from ragsweep.core.errors import ConfigError

DEEPEST_REVIEWED = 10


def main() -> int:
    """Write, read or weigh what is to be judged."""
    parser = parser_of("review", __doc__)
    parser.add_argument(
        "arguments", nargs="*", metavar="name=value", help="settings as of ragsweep run, or a sweep's id"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="the file to write, which must not exist")
    parser.add_argument("--apply", type=Path, metavar="TABLE", help="a table that has been filled in")
    parser.add_argument(
        "--in-place", action="store_true", help="write into the file of the questions, and keep the old one"
    )
    parser.add_argument("--depth", type=int, default=3, help="how far down all retrievers must rank a page, 1 to 10")
    add_allow(parser)
    arguments = parser.parse_intermixed_args()
    run_ids = [each for each in arguments.arguments if "=" not in each]
    overrides = [each for each in arguments.arguments if "=" in each]
    check_ids(run_ids)
    if not 1 <= arguments.depth <= DEEPEST_REVIEWED:
        raise ConfigError(f"--depth: found {arguments.depth}, expected a number from 1 to {DEEPEST_REVIEWED}")
    if arguments.in_place and (arguments.out or not arguments.apply):
        raise ConfigError("--in-place: expected --apply TABLE with it, and no --out")
    if arguments.apply and not run_ids and not arguments.out and not arguments.in_place:
        raise ConfigError("--apply: expected --out FILE or --in-place with it")
    if run_ids and (arguments.out or arguments.in_place or len(run_ids) > 1):
        raise ConfigError("a sweep is only weighed: expected its id alone, without --out and --in-place")
    if arguments.out and arguments.out.exists():
        raise ConfigError(f"--out: {arguments.out} exists; name a new file")

    if run_ids:
        from ragsweep_audit.review_sweep import WeighRequest, weigh

        request = WeighRequest(run_ids[0], overrides, arguments.depth, arguments.apply, arguments.allow)
        print(*weigh(request), sep="\n")
        return 0

    from ragsweep_audit.reviewing import Review

    review = Review.of(composed(overrides))
    if arguments.apply:
        print(*review.apply(arguments.apply, None if arguments.in_place else arguments.out), sep="\n")
    else:
        print(*review.write(arguments.depth, arguments.out), sep="\n")
    return 0
