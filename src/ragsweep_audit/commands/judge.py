"""Judge only what can change the decision between configurations, and stop when it is decided.

ragsweep judge retriever.alpha=0,0.3,0.5,0.7,1 k=10 dataset=pdf dataset.documents=manuals dataset.queries=questions.json
ragsweep judge SWEEP_ID                          # what nobody judged yet of a sweep that has been run
ragsweep judge SWEEP_ID --page                   # judge on a page in the browser
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
from argparse import ArgumentParser
from pathlib import Path

from ragsweep.app.commands import add_allow, check_ids, parser_of
from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import FAILED


def main() -> int:
    """Judge until it is decided."""
    options = vars(_parser().parse_intermixed_args())
    given = options.pop("arguments")
    ids = [text for text in given if "=" not in text]
    check_ids(ids)
    if len(ids) > 1:
        raise ConfigError(f"found {len(ids)} ids, expected that of one sweep")
    is_simulated = options["source"] is not None
    options["judge"] = options["judge"] or ("file" if is_simulated else getpass.getuser())
    options["journal"] = options["journal"] or Path("simulated.jsonl" if is_simulated else "judged.jsonl")
    port = options.pop("port")
    if not options.pop("page"):
        if port:
            raise ConfigError("--port: is that of a page; expected --page with it")
        port = None
    from ragsweep_audit.judging.deciding_by_judgments import judge_until_decided, verify_alone
    from ragsweep_audit.judging.judge_request import JudgeRequest

    overrides = [text for text in given if "=" in text]
    request = JudgeRequest(sweep_id="".join(ids), overrides=overrides, port=port, **options)
    decided = verify_alone(request.journal) if request.verify and not given else judge_until_decided(request)
    return 0 if decided else FAILED


def _parser() -> ArgumentParser:
    parser = parser_of("judge", __doc__)
    option = parser.add_argument
    option("arguments", nargs="*", metavar="name=value", help="settings as of ragsweep run -m, or a sweep's id")
    option("--metric", choices=("dcg", "precision"), default="dcg", help="what decides (default dcg)")
    option("--margin", type=float, default=0.0, help="how much worse than the best is good enough")
    option("--level", type=float, default=0.05, help="probability of an error (default 0.05)")
    option("--grades", type=int, default=1, metavar="HIGHEST", help="the highest grade (default 1)")
    option("--budget", type=int, metavar="N", help="stop after so many judgments")
    option("--journal", type=Path, metavar="FILE", help="the file of answers (default judged.jsonl)")
    source = "judgments in TREC format that stand for a judge, or 'dataset'"
    option("--from", dest="source", metavar="FILE", help=source)
    option("--guess", action="store_true", help="language_model guesses first, which only steers what is asked")
    tokens = "of a guess; a model that reasons needs thousands"
    option("--guess-tokens", type=int, default=32, metavar="N", help=tokens)
    option("--page", action="store_true", help="ask on a page in the browser, for this machine only")
    option("--port", type=int, default=0, help="of the page (default: a free one)")
    option("--verify", action="store_true", help="ask nothing: run the race again from the journal")
    option("--judge", metavar="NAME", help="who judges (default: your login)")
    option("--seed", type=int, default=42, help="of the draws (default 42)")
    option("--out", type=Path, metavar="FILE.tsv", help="write the judgments, for dataset.qrels=FILE.tsv")
    add_allow(parser)
    return parser
