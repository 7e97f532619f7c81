"""The commands about recorded runs: those that compare, explain or repeat them, and `export` with its `check`."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from datetime import datetime
from pathlib import Path

from ragsweep.app.commands import add_allow, add_run, check_ids, parser_of
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import command
from ragsweep.core.terminal import FAILED, counted, one_line
from ragsweep.tracking.store_address import SCHEME, check_model_name, model_address

PAIR_FILES = {"markdown": "a table with letters", "latex": "the same in LaTeX", "csv": "a row per metric and pair"}
QUESTIONS_SHOWN = 5  # of those that an export answers otherwise
NAMED = re.compile(r"[^=]+=[0-9a-f]{32}")


def compare() -> int:
    """Compare finished runs: how their settings and results differ, and whether that is more than chance.

    ragsweep compare SWEEP_ID RUN_ID                   # runs, and sweeps as the runs in them
    ragsweep compare SWEEP_ID --metric recall          # the same sweep, decided by another metric
    ragsweep compare SWEEP_ID 'decision.require={latency/p95_ms:50}' decision.prefer=context/tokens decision.margin=0.01
    ragsweep compare SWEEP_ID --baseline RUN_ID        # every run against one that was fixed beforehand
    ragsweep compare RUN_ID RUN_ID --html page.html    # as a page with charts
    ragsweep compare BM25=RUN_ID SPLADE=RUN_ID --pairs # every pair, by every metric, under names of one's own
    ragsweep compare SWEEP_ID decision.at=10 --latex table.tex --csv pairs.csv --correction benjamini_hochberg
    ragsweep compare RUN_ID RUN_ID tracking=server tracking.uri=http://mlflow.example.org:5000

    Exit status: 2 where a run cannot be read, or was measured on other data than the others.
    """
    parser = parser_of("compare", compare.__doc__)
    parser.add_argument("run_ids", nargs="+", help="ids of runs and of sweeps, as MLflow shows them")
    parser.add_argument("--baseline", metavar="RUN_ID", help="the run to beat, fixed before the results were seen")
    parser.add_argument("--metric", help="the metric that decides; default: the one that decided when they were made")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the comparison as a page with charts")
    parser.add_argument("--pairs", action="store_true", help="print a table of all pairs of configurations")
    for ending, contents in PAIR_FILES.items():
        parser.add_argument(f"--{ending}", type=Path, metavar="FILE", help=f"write all pairs as {contents}")
    parser.add_argument("--test", choices=["randomisation", "t"], help="how to test a pair; default: randomisation")
    corrections = ["holm", "benjamini_hochberg"]
    parser.add_argument("--correction", choices=corrections, help="for the number of pairs; default: holm")
    given = parser.parse_intermixed_args()
    named = {text.rpartition("=")[2]: text.rpartition("=")[0] for text in given.run_ids if NAMED.fullmatch(text)}
    overrides = [text for text in given.run_ids if "=" in text and not NAMED.fullmatch(text)]
    run_ids = [text.rpartition("=")[2] for text in given.run_ids if text not in overrides]
    if not run_ids:
        parser.error("expected the id of a run or of a sweep")
    check_ids([*run_ids, *filter(None, [given.baseline])])

    from ragsweep import report, tracking
    from ragsweep.replay.comparing import compare_runs
    from ragsweep.replay.trusted_record import composed_today

    if given.metric:
        overrides.append(f"decision.metric={given.metric}")
    decision = compare_runs(run_ids, overrides, baseline=given.baseline)
    print("\n".join(report.comparison(decision)))
    if given.html:
        store = composed_today(overrides)[0].tracking
        again = command("compare", *sys.argv[1:], *tracking.store_overrides(store, overrides))
        origin = report.Origin(again, "", "", f"{datetime.now():%Y%m%d_%H%M%S}", store=tracking.store_overrides(store))
        report.write_comparison(given.html, decision, origin)
        print(f"page: {given.html}")
    files = {ending: getattr(given, ending) for ending in PAIR_FILES}
    shown = given.pairs or named or given.test or given.correction or given.markdown or given.latex
    if shown or given.csv:
        tables = report.pair_tables(decision, named, given.test or "randomisation", given.correction or "holm")
        if shown:
            print(f"\n{tables.markdown}")
        tables.write(**files)
        print("".join(f"pairs: {path}\n" for path in files.values() if path), end="")
    return 0


def gate() -> int:
    """Check that a candidate is not worse than a baseline by more than a margin, for example in a pull request.

    ragsweep gate RUN_ID --baseline RUN_ID --metric recall --margin 0.01
    ragsweep gate --candidate RUN_ID --baseline models:/NAME@production --metric recall --margin 0.01
    ragsweep gate --candidate models:/NAME@candidate --baseline models:/NAME@production --promote --metric recall ...

    A registered model stands for the run that was measured. --promote moves the baseline's alias to the candidate if it
    passes, and leaves it otherwise.

    Exit status: 0 where the candidate is shown not to be worse by the margin, or is the baseline's own run, 1 where it
    is worse, 3 where the queries cannot tell (the number of queries that could is printed), 2 where the runs cannot be
    compared.
    """
    parser = parser_of("gate", gate.__doc__)
    parser.add_argument("given", nargs="*", metavar="RUN_ID | name=value", help="the candidate; settings of the store")
    parser.add_argument("--candidate", metavar="RUN", help="what may replace the baseline: a run id, or models:/...")
    parser.add_argument("--baseline", metavar="RUN", required=True, help="what to compare it with: the same")
    parser.add_argument("--metric", required=True, help="the metric that must not get worse")
    parser.add_argument("--margin", type=float, required=True, help="how much worse still counts as not worse")
    parser.add_argument("--promote", action="store_true", help="move the baseline's alias to a candidate that passes")
    arguments = parser.parse_intermixed_args()
    overrides = [text for text in arguments.given if "=" in text]
    candidates = [text for text in arguments.given if "=" not in text]
    candidates += [arguments.candidate] if arguments.candidate is not None else []
    if len(candidates) != 1:
        raise ConfigError(f"found {len(candidates)} candidates, expected one: --candidate RUN")
    places = (candidates[0], arguments.baseline)
    for place in places:
        if place.startswith(SCHEME):
            model_address(place)
        else:
            check_ids([place])
    if not arguments.margin > 0:
        raise ConfigError(f"--margin: found {arguments.margin:g}, expected more than 0")

    from ragsweep.replay.gating import judge_candidate, promote

    judged = judge_candidate(*places, arguments.metric, arguments.margin, overrides, promote=arguments.promote)
    print(*map(one_line, judged.sentences()), sep="\n")
    if arguments.promote:
        print(promote(judged, overrides))
    return int(judged.verdict)


def explain() -> int:
    """Explain a query of a recorded run: what was retrieved at which rank and why, or what was answered from it.

    ragsweep explain RUN_ID 17                         # the id of a query
    ragsweep explain RUN_ID "vaccines got too warm"    # or a part of its text that no other query has
    ragsweep explain RUN_ID --query "vaccines got too warm" k=20    # the same, further down the ranking
    ragsweep explain RUN_ID --item case-21             # a multiple-choice case: its evidence, prompts and answer
    ragsweep explain RUN_ID 17 tracking.uri=http://mlflow.example.org:5000 dataset.path=/data/scifact

    Exit status: 2 where the run cannot be read or built, or the query is not found.
    """
    parser = parser_of("explain", explain.__doc__)
    parser.add_argument("run_id", help="id of a run, as MLflow shows it")
    parser.add_argument("query", nargs="*", default=[], help="its id or a part of its text; then overrides")
    parser.add_argument("--query", "--item", dest="text", metavar="QUERY", help="the query, wherever it stands")
    add_allow(parser)
    given = parser.parse_intermixed_args()
    check_ids([given.run_id])
    query, *overrides = [*([] if given.text is None else [given.text]), *given.query] or [""]

    from ragsweep.replay import recorded_experiment

    width = shutil.get_terminal_size((100, 24)).columns
    print(recorded_experiment.explain(given.run_id, query, overrides, given.allow, width))
    return 0


def reproduce() -> int:
    """Run a recorded run again, or a whole sweep, and compare every number with what was recorded.

    ragsweep reproduce RUN_ID                          # compares only; ragsweep run --from RUN_ID records a new run
    ragsweep reproduce RUN_ID --stored                 # faster: use the embeddings and rankings of the store
    ragsweep reproduce RUN_ID tracking=server tracking.uri=http://mlflow.example.org:5000
    ragsweep reproduce RUN_ID dataset.path=/data/scifact   # a dataset that lies elsewhere on this machine

    Exit status: 0 where all values are identical, 1 where one differs, 2 where the run cannot be read or built.
    """
    parser = parser_of("reproduce", reproduce.__doc__)
    add_run(parser)
    parser.add_argument("--stored", action="store_true", help="use the embeddings and rankings that the store has")
    parser.add_argument("--tolerance", type=float, default=0.0, help="largest difference that counts as none")
    given = parser.parse_intermixed_args()
    check_ids([given.run_id])
    if not given.tolerance >= 0:
        parser.error(f"--tolerance: found {given.tolerance}, expected a number of at least 0")

    from ragsweep.replay import reproducing

    how = {"tolerance": given.tolerance, "stored": given.stored}
    return 0 if reproducing.reproduce(given.run_id, given.overrides, given.allow, **how) else 1


def export() -> int:
    """Write the configuration of a run, or the choice of a sweep, as a folder that answers questions in your service.

    ragsweep export SWEEP_ID --out retriever/
    ragsweep export RUN_ID --out retriever/ --with-index    # with texts, embeddings and indexes: loads in seconds
    ragsweep export RUN_ID --out retriever/ dataset.path=/data/scifact   # a dataset that lies elsewhere on this machine
    ragsweep export SWEEP_ID --register NAME         # as a version of a model in MLflow's registry, alias candidate

    ragsweep.load("retriever/") loads it in Python; ragsweep check retriever/ asks recorded questions again.
    mlflow models serve -m models:/NAME@candidate --env-manager local answers questions over HTTP.
    Exit status: 1 where the folder cannot be written, 2 where the run cannot be exported.
    """
    parser = parser_of("export", export.__doc__)
    add_run(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder to make")
    parser.add_argument("--register", metavar="NAME", help="the registered model that gets it as a new version")
    parser.add_argument("--with-index", action="store_true", help="keep what loading computes in the folder")
    given = parser.parse_intermixed_args()
    check_ids([given.run_id])
    if given.register is not None:
        check_model_name(given.register)
        if given.allow:
            raise ConfigError("--register: a server of MLflow builds only classes of ragsweep; leave out --allow")
    elif given.out is None:
        raise ConfigError("expected --out DIR, --register NAME or both")

    from ragsweep.production import exporting

    options = {"with_index": given.with_index, "overrides": given.overrides, "modules": given.allow}
    try:
        done = exporting.export(given.run_id, given.out, given.register, **options)
    except OSError as error:
        where = given.out or tempfile.gettempdir()
        print(f"export: {where} cannot be written ({one_line(str(error.strerror or error))})", file=sys.stderr)
        return FAILED
    places = [str(given.out)] if given.out else []
    if version := done.version:
        places.append(f"models:/{version.name}@{version.alias} (version {version.number})")
    asked, passages = counted(done.questions, "recorded question"), counted(done.passages, "passage")
    print(f"{', '.join(places)}: {one_line(done.name)}, {passages}; {asked} answered as recorded")
    if reason := done.not_shipped:
        print(f"export: sweep {given.run_id} does not show that this should be shipped ({reason})", file=sys.stderr)
    return 0


def check() -> int:
    """Ask the recorded questions of an exported retriever again: the same passages must come back, in the same order.

    ragsweep check retriever/
    ragsweep check retriever/ corpus.path=/data/manual     # documents that lie elsewhere on this machine

    Exit status: 0 where all are the same, 1 where a question has other passages, 2 where the folder cannot be read.
    """
    parser = parser_of("check", check.__doc__)
    parser.add_argument("folder", type=Path, help="what ragsweep export has written")
    parser.add_argument("overrides", nargs="*", default=[], help="settings of retriever.yaml: corpus.path=...")
    add_allow(parser)
    given = parser.parse_intermixed_args()

    from ragsweep.production.export_folder import read_check
    from ragsweep.production.loading import differences, load
    from ragsweep.replay.trusted_record import composed_today

    recorded = read_check(given.folder)
    _, settings = composed_today(given.overrides)
    retriever = load(given.folder, overrides=settings, allow=given.allow)
    lines = differences(retriever, recorded)
    asked = counted(len(recorded.questions), "recorded question")
    if not lines:
        print(f"{given.folder}: {asked} answered as recorded")
        return 0
    print(f"{given.folder}: {len(lines)} of {asked} answered otherwise")
    print(*(f"  {one_line(line)}" for line in lines[:QUESTIONS_SHOWN]), sep="\n")
    return FAILED
