"""Explain a query of a recorded run: what was retrieved at which rank and why, or what was answered from it.

ragsweep explain RUN_ID 17                         # the id of a query
ragsweep explain RUN_ID "vaccines got too warm"    # or a part of its text that no other query has
ragsweep explain RUN_ID --query "vaccines got too warm" k=20    # the same, further down the ranking
ragsweep explain RUN_ID --item case-21             # a multiple-choice case: its evidence, prompts and answer
ragsweep explain RUN_ID 17 tracking.uri=http://mlflow.example.org:5000 dataset.path=/data/scifact

Exit status: 2 where the run cannot be read or built, or the query is not found.
"""

from __future__ import annotations

import shutil

from ragsweep.app.commands import add_allow, check_ids, parser_of


def main() -> int:
    """Explain what the arguments name."""
    parser = parser_of("explain", __doc__)
    parser.add_argument("run_id", help="id of a run, as MLflow shows it")
    parser.add_argument("query", nargs="*", default=[], help="its id or a part of its text; then overrides")
    parser.add_argument("--query", "--item", dest="text", metavar="QUERY", help="the query, wherever it stands")
    add_allow(parser)
    arguments = parser.parse_intermixed_args()
    check_ids([arguments.run_id])
    given = arguments.query if arguments.text is None else [arguments.text, *arguments.query]

    from ragsweep.replay.explaining import explain

    width = shutil.get_terminal_size((100, 24)).columns
    print(explain(arguments.run_id, given[0] if given else "", given[1:], arguments.allow, width))
    return 0
