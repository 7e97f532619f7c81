"""Compare finished runs: how their settings and results differ, and whether that is more than chance.

ragsweep compare SWEEP_ID RUN_ID                   # runs, and sweeps as the runs in them
ragsweep compare SWEEP_ID --metric recall          # the same sweep, decided by another metric
ragsweep compare SWEEP_ID 'decision.require={latency/p95_ms: 50}' decision.prefer=context/tokens decision.margin=0.01
ragsweep compare SWEEP_ID --baseline RUN_ID        # every run against one that was fixed beforehand
ragsweep compare RUN_ID RUN_ID --html page.html    # as a page with charts
ragsweep compare RUN_ID RUN_ID tracking=server tracking.uri=http://mlflow.example.org:5000

Exit status: 2 where a run cannot be read, or was measured on other data than the others.
"""

from __future__ import annotations

import shlex
import sys
from datetime import datetime
from pathlib import Path

from ragsweep.app.commands import check_ids, parser_of


def main() -> int:
    """Compare what the arguments name."""
    parser = parser_of("compare", __doc__)
    parser.add_argument("run_ids", nargs="+", help="ids of runs and of sweeps, as MLflow shows them")
    parser.add_argument("--baseline", metavar="RUN_ID", help="the run to beat, fixed before the results were seen")
    parser.add_argument("--metric", help="the metric that decides; default: the one that decided when they were made")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the comparison as a page with charts")
    arguments = parser.parse_intermixed_args()
    run_ids = [each for each in arguments.run_ids if "=" not in each]
    overrides = [each for each in arguments.run_ids if "=" in each]
    if not run_ids:
        parser.error("expected the id of a run or of a sweep")
    check_ids([*run_ids, *filter(None, [arguments.baseline])])

    from ragsweep import report
    from ragsweep.replay.comparing import CompareRequest, compare_runs

    if arguments.metric:
        overrides.append(f"decision.metric={arguments.metric}")
    decision = compare_runs(CompareRequest(run_ids, arguments.baseline, overrides))
    print("\n".join(report.comparison(decision)))
    if arguments.html:
        command = shlex.join(["ragsweep", "compare", *sys.argv[1:]])
        report.write_comparison(arguments.html, decision, command, f"{datetime.now():%Y%m%d_%H%M%S}")
        print(f"page: {arguments.html}")
    return 0
