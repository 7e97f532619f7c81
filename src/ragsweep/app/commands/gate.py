"""Check that a candidate is not worse than a baseline by more than a margin, for example in a pull request.

ragsweep gate RUN_ID --baseline RUN_ID --metric recall --margin 0.01
ragsweep gate --candidate RUN_ID --baseline models:/NAME@production --metric recall --margin 0.01
ragsweep gate --candidate models:/NAME@candidate --baseline models:/NAME@production --promote --metric recall ...

ragsweep gate --candidate RUN_ID --baseline RUN_ID --metric recall --margin 0.01 --markdown >> "$GITHUB_STEP_SUMMARY"

A registered model stands for the run that was measured. --promote moves the baseline's alias to the candidate if it
passes, and leaves it otherwise.

Exit status: 0 where the candidate is shown not to be worse by the margin, or is the baseline's own run, 1 where it is
worse, 3 where the queries cannot tell (the number of queries that could is printed), 2 where the runs cannot be
compared.
"""

from __future__ import annotations

from ragsweep.app.commands import check_ids, parser_of
from ragsweep.core.errors import ConfigError
from ragsweep.tracking.address import SCHEME, model_address


def main() -> int:
    """Compare the two runs and return the exit status."""
    parser = parser_of("gate", __doc__)
    parser.add_argument("given", nargs="*", metavar="RUN_ID | name=value", help="the candidate; settings of the store")
    parser.add_argument("--candidate", metavar="RUN", help="what may replace the baseline: a run id, or models:/...")
    parser.add_argument("--baseline", metavar="RUN", required=True, help="what to compare it with: the same")
    parser.add_argument("--metric", required=True, help="the metric that must not get worse")
    parser.add_argument("--margin", type=float, required=True, help="how much worse still counts as not worse")
    parser.add_argument("--markdown", action="store_true", help="print it for the summary of a pull request")
    parser.add_argument("--promote", action="store_true", help="move the baseline's alias to a candidate that passes")
    arguments = parser.parse_intermixed_args()
    overrides = [each for each in arguments.given if "=" in each]
    candidates = [each for each in arguments.given if "=" not in each]
    candidates += [arguments.candidate] if arguments.candidate is not None else []
    if len(candidates) != 1:
        raise ConfigError(f"found {len(candidates)} candidates, expected one: --candidate RUN")
    for each in (*candidates, arguments.baseline):
        if each.startswith(SCHEME):
            model_address(each)
        else:
            check_ids([each])
    if not arguments.margin > 0:
        raise ConfigError(f"--margin: found {arguments.margin:g}, expected more than 0")

    from ragsweep.core.terminal import one_line
    from ragsweep.replay.gating import GateRequest, judge_candidate, promote

    [candidate] = candidates
    places = (candidate, arguments.baseline)
    gate = judge_candidate(GateRequest(*places, arguments.metric, arguments.margin, overrides, arguments.promote))
    print(*(gate.markdown() if arguments.markdown else map(one_line, gate.sentences())), sep="\n")
    if arguments.promote:
        print(promote(gate))
    return int(gate.verdict)
