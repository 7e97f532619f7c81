"""Judge only what can change the decision between configurations, and stop when it is decided.

ragsweep judge retriever.alpha=0,0.3,0.5,0.7,1 k=10 dataset=pdf dataset.documents=manuals dataset.queries=questions.json
ragsweep judge SWEEP_ID                          # what nobody judged yet of a sweep that has been run
ragsweep judge SWEEP_ID --page                   # judge on a page in the browser
ragsweep judge SWEEP_ID --table judging.csv      # write the next 100 questions into a table to hand out
ragsweep judge SWEEP_ID --apply judging.csv      # take it back, filled in
ragsweep judge SWEEP_ID --strategy pooling       # all that nobody judged, the highest ranks first; decides nothing
ragsweep judge SWEEP_ID --margin 0.02            # stop once the leader loses less than that to the best
ragsweep judge SWEEP_ID --from dataset           # a simulation: hide the judgments, and look each answer up
ragsweep judge SWEEP_ID --guess language_model=openai language_model.model=NAME   # asks first what a model guesses
ragsweep judge --verify --journal judged.jsonl   # compute the decision again from that file alone
ragsweep judge SWEEP_ID --verify                 # and check that the sweep ranks what the journal says
ragsweep judge SWEEP_ID --out qrels.tsv          # write the judgments, for dataset.qrels=qrels.tsv

A pair of a question and a page is asked at a time, drawn so that it tells most between the configurations that are
still open. Each answer is kept in the journal before the next question is shown: stop at any time, and go on by the
same command. Keys: a grade, ? for "cannot tell", u to take the last answer back, q to stop. Questions without judgments
have an empty list of them: {"query": "...", "relevant_docs": []}.

Exit status: 0 where it is decided, 1 where it is not yet, 2 where something cannot be read.
"""

from __future__ import annotations

import getpass
import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

from ragsweep.app.commands import add_allow, check_ids, parser_of
from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import FAILED

DEFAULT_LEVEL = 0.05
MOST_ROWS = 10_000
MOST_TOKENS = 1_000_000  # of a guess
LONGEST_NAME = 100  # characters
JOURNALS = {"race": "judged.jsonl", "pooling": "pooled.jsonl"}  # by the strategy


def main() -> int:
    """Judge until it is decided."""
    arguments = _parser().parse_intermixed_args()
    ids = [each for each in arguments.arguments if "=" not in each]
    overrides = [each for each in arguments.arguments if "=" in each]
    check_ids(ids)
    if len(ids) > 1:
        raise ConfigError(f"found {len(ids)} ids, expected that of one sweep")
    simulated = arguments.source is not None
    arguments.judge = arguments.judge or ("file" if simulated else getpass.getuser())
    _check(arguments)
    _check_name(arguments.judge)
    if arguments.out and arguments.out.suffix != ".tsv":
        raise ConfigError(f"--out: found {arguments.out.name!r}, expected a name that ends in .tsv, such as qrels.tsv")
    from ragsweep_audit.judging.deciding_by_judgments import JudgeRequest, judge_until_decided, verify_alone

    if arguments.verify and not arguments.arguments:
        return 0 if verify_alone(arguments.journal or Path("judged.jsonl")) else FAILED
    request = JudgeRequest(
        sweep_id=ids[0] if ids else "",
        overrides=overrides,
        modules=arguments.allow,
        strategy=arguments.strategy,
        metric=arguments.metric,
        margin=arguments.margin,
        level=arguments.level,
        highest=arguments.grades,
        budget=arguments.budget,
        verify=arguments.verify,
        table=arguments.table,
        rows=arguments.rows,
        apply=arguments.apply,
        journal=arguments.journal or Path("simulated.jsonl" if simulated else JOURNALS[arguments.strategy]),
        source=arguments.source,
        port=arguments.port if arguments.page else None,
        judge=arguments.judge,
        seed=arguments.seed,
        guess=arguments.guess,
        guess_tokens=arguments.guess_tokens,
        out=arguments.out,
    )
    return 0 if judge_until_decided(request) else FAILED


def _parser() -> ArgumentParser:
    parser = parser_of("judge", __doc__)
    parser.add_argument(
        "arguments", nargs="*", metavar="name=value", help="settings as of ragsweep run -m, or a sweep's id"
    )
    parser.add_argument(
        "--strategy",
        choices=[*JOURNALS],
        default="race",
        help="race: what can change the decision (default); pooling: all that nobody judged, the highest ranks first",
    )
    parser.add_argument("--metric", choices=("dcg", "precision"), default="dcg", help="what decides (default dcg)")
    parser.add_argument("--margin", type=float, default=0.0, help="how much worse than the best is good enough")
    parser.add_argument("--level", type=float, default=DEFAULT_LEVEL, help="probability of an error (default 0.05)")
    parser.add_argument("--grades", type=int, default=1, metavar="HIGHEST", help="the highest grade (default 1)")
    parser.add_argument("--budget", type=int, metavar="N", help="stop after so many judgments")
    parser.add_argument(
        "--journal", type=Path, metavar="FILE", help="the file of answers (default judged.jsonl, or pooled.jsonl)"
    )
    parser.add_argument(
        "--from", dest="source", metavar="FILE", help="judgments in TREC format that stand for a judge, or 'dataset'"
    )
    parser.add_argument(
        "--guess", action="store_true", help="language_model guesses first, which only steers what is asked"
    )
    parser.add_argument(
        "--guess-tokens", type=int, default=32, metavar="N", help="of a guess; a model that reasons needs thousands"
    )
    parser.add_argument("--page", action="store_true", help="ask on a page in the browser, for this machine only")
    parser.add_argument("--port", type=int, default=0, help="of the page (default: a free one)")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the next questions into a table to hand out")
    parser.add_argument("--rows", type=int, default=100, metavar="N", help="of such a table (default 100)")
    parser.add_argument("--apply", type=Path, metavar="FILE", help="take a table back that was filled in")
    parser.add_argument("--verify", action="store_true", help="ask nothing: run the race again from the journal")
    parser.add_argument("--judge", metavar="NAME", help="who judges (default: your login)")
    parser.add_argument("--seed", type=int, default=42, help="of the draws (default 42)")
    parser.add_argument("--out", type=Path, metavar="FILE.tsv", help="write the judgments, for dataset.qrels=FILE.tsv")
    add_allow(parser)
    return parser


def _check(arguments: Namespace) -> None:
    if not 0 <= arguments.margin < float("inf"):
        raise ConfigError(f"--margin: found {arguments.margin:g}, expected 0 or more")
    for name in ("seed", "budget"):
        if (value := getattr(arguments, name)) is not None and value < 0:
            raise ConfigError(f"--{name}: found {value}, expected 0 or more")
    if arguments.journal and arguments.journal.is_dir():
        raise ConfigError(f"--journal: {arguments.journal} is a folder; expected a file")
    if not 0 < arguments.level < 1:
        raise ConfigError(f"--level: found {arguments.level:g}, expected a number between 0 and 1")
    if not 1 <= arguments.rows <= MOST_ROWS:
        raise ConfigError(f"--rows: found {arguments.rows}, expected 1 to {MOST_ROWS:,}")
    if arguments.verify and (arguments.apply or arguments.table or arguments.out):
        raise ConfigError("--verify: writes nothing; expected no --apply, --table or --out with it")
    if (arguments.page and arguments.table) or (arguments.port and not arguments.page):
        raise ConfigError("--page: asks in the browser; expected it with --port, and without --table")
    if not 1 <= arguments.guess_tokens <= MOST_TOKENS:
        raise ConfigError(f"--guess-tokens: found {arguments.guess_tokens}, expected 1 to {MOST_TOKENS:,}")
    if not 1 <= arguments.grades <= 9:
        raise ConfigError(f"--grades: found {arguments.grades}, expected 1 to 9")
    for name in ("out", "table"):
        if (path := getattr(arguments, name)) and os.path.lexists(path):
            raise ConfigError(f"--{name}: {path} exists; name a new file")


def _check_name(judge: str) -> None:
    from ragsweep.datasets.readers.fields import flaw_of_text

    if flaw := flaw_of_text(judge):
        raise ConfigError(f"--judge: {judge!r} {flaw}; expected a name in UTF-8")
    if len(judge) > LONGEST_NAME:
        raise ConfigError(f"--judge: found {len(judge):,} characters, expected at most {LONGEST_NAME}")
