"""Check that a candidate is not worse than a baseline by more than a margin, for example in a pull request.

ragsweep gate CANDIDATE --baseline RUN_ID --metric recall --margin 0.01

Exit status: 0 where the candidate is shown not to be worse by the margin, 1 where it is worse, 3 where the queries
cannot tell (the number of queries that could is printed), 2 where the runs cannot be compared.
"""

from __future__ import annotations

from ragsweep.app.commands import check_ids, parser_of
from ragsweep.core.errors import ConfigError


def main() -> int:
    """Compare the two runs and return the exit status."""
    parser = parser_of("gate", __doc__)
    parser.add_argument("candidate", help="id of the run that may replace the baseline")
    parser.add_argument("overrides", nargs="*", metavar="name=value", help="settings of the tracking store")
    parser.add_argument("--baseline", metavar="RUN_ID", required=True, help="id of the run to compare it with")
    parser.add_argument("--metric", required=True, help="the metric that must not get worse")
    parser.add_argument("--margin", type=float, required=True, help="how much worse still counts as not worse")
    arguments = parser.parse_intermixed_args()
    check_ids([arguments.candidate, arguments.baseline])
    if not arguments.margin > 0:
        raise ConfigError(f"--margin: found {arguments.margin:g}, expected more than 0")

    from ragsweep.core.terminal import one_line
    from ragsweep.replay.gating import GateRequest, judge_candidate

    gate = judge_candidate(
        GateRequest(arguments.candidate, arguments.baseline, arguments.metric, arguments.margin, arguments.overrides)
    )
    print(*map(one_line, gate.sentences()), sep="\n")
    return int(gate.verdict)
