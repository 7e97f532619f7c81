"""The commands about exported retrievers: `export` writes one, `check` asks it again what was recorded."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ragsweep.app.commands import add_allow, add_run, check_ids, parser_of
from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import FAILED, counted, one_line
from ragsweep.tracking.address import check_model_name

QUESTIONS_SHOWN = 5


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

    what = {"with_index": given.with_index, "overrides": given.overrides, "modules": given.allow}
    try:
        done = exporting.export(given.run_id, given.out, given.register, **what)
    except OSError as error:
        where = given.out or tempfile.gettempdir()
        print(f"export: {where} cannot be written ({one_line(str(error.strerror or error))})", file=sys.stderr)
        return FAILED
    places = [str(given.out)] if given.out else []
    if version := done.version:
        places.append(f"models:/{version.name}@{version.alias} (version {version.number})")
    asked = counted(done.questions, "recorded question")
    passages = counted(done.passages, "passage")
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
