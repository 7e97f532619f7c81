"""Compare finished runs: how their settings and results differ, and whether that is more than chance.

ragsweep compare SWEEP_ID RUN_ID                   # runs, and sweeps as the runs in them
ragsweep compare SWEEP_ID --metric recall          # the same sweep, decided by another metric
ragsweep compare SWEEP_ID 'decision.require={latency/p95_ms: 50}' decision.prefer=context/tokens decision.margin=0.01
ragsweep compare SWEEP_ID --baseline RUN_ID        # every run against one that was fixed beforehand
ragsweep compare RUN_ID RUN_ID --html page.html    # as a page with charts
ragsweep compare BM25=RUN_ID SPLADE=RUN_ID --pairs # every pair, by every metric, under names of one's own
ragsweep compare SWEEP_ID decision.at=10 --latex table.tex --csv pairs.csv --correction benjamini_hochberg
ragsweep compare RUN_ID RUN_ID tracking=server tracking.uri=http://mlflow.example.org:5000

Exit status: 2 where a run cannot be read, or was measured on other data than the others.
"""

from __future__ import annotations

import re
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ragsweep.app.commands import check_ids, parser_of

if TYPE_CHECKING:
    from ragsweep.statistics.all_pairs import Correction, PairTest

PAIR_FILES = {"markdown": "a table with letters", "latex": "the same in LaTeX", "csv": "a row per metric and pair"}
NAMED = re.compile(r"[^=]+=[0-9a-f]{32}")


def main() -> int:
    """Compare what the arguments name."""
    parser = parser_of("compare", __doc__)
    parser.add_argument("run_ids", nargs="+", help="ids of runs and of sweeps, as MLflow shows them")
    parser.add_argument("--baseline", metavar="RUN_ID", help="the run to beat, fixed before the results were seen")
    parser.add_argument("--metric", help="the metric that decides; default: the one that decided when they were made")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the comparison as a page with charts")
    parser.add_argument("--pairs", action="store_true", help="print a table of all pairs of configurations")
    for ending, what in PAIR_FILES.items():
        parser.add_argument(f"--{ending}", type=Path, metavar="FILE", help=f"write all pairs as {what}")
    parser.add_argument("--test", choices=["randomisation", "t"], help="how to test a pair; default: randomisation")
    corrections = ["holm", "benjamini_hochberg"]
    parser.add_argument("--correction", choices=corrections, help="for the number of pairs; default: holm")
    arguments = parser.parse_intermixed_args()
    named = {each.rpartition("=")[2]: each.rpartition("=")[0] for each in arguments.run_ids if NAMED.fullmatch(each)}
    run_ids = [each.rpartition("=")[2] for each in arguments.run_ids if "=" not in each or NAMED.fullmatch(each)]
    overrides = [each for each in arguments.run_ids if "=" in each and not NAMED.fullmatch(each)]
    if not run_ids:
        parser.error("expected the id of a run or of a sweep")
    check_ids([*run_ids, *filter(None, [arguments.baseline])])

    from ragsweep import report, tracking
    from ragsweep.core.project import command
    from ragsweep.replay.comparing import compare_runs
    from ragsweep.replay.trusted_record import composed_today

    if arguments.metric:
        overrides.append(f"decision.metric={arguments.metric}")
    decision = compare_runs(run_ids, overrides, baseline=arguments.baseline)
    print("\n".join(report.comparison(decision)))
    if arguments.html:
        store = composed_today(overrides)[0].tracking
        again = command("compare", *sys.argv[1:], *tracking.store_overrides(store, overrides))
        started = f"{datetime.now():%Y%m%d_%H%M%S}"
        origin = report.Origin(again, "", "", started, store=tracking.store_overrides(store))
        report.write_comparison(arguments.html, decision, origin)
        print(f"page: {arguments.html}")
    files = {ending: getattr(arguments, ending) for ending in PAIR_FILES}
    shown = arguments.pairs or named or arguments.test or arguments.correction or arguments.markdown or arguments.latex
    if shown or arguments.csv:
        test: PairTest = arguments.test or "randomisation"
        correction: Correction = arguments.correction or "holm"
        tables = report.pair_tables(decision, named, test, correction)
        if shown:
            print(f"\n{tables.markdown}")
        tables.write(**files)
        print("".join(f"pairs: {path}\n" for path in files.values() if path), end="")
    return 0
