"""Write the configuration of a run, or the choice of a sweep, as a folder that answers questions in your service.

ragsweep export SWEEP_ID --out retriever/
ragsweep export RUN_ID --out retriever/ --with-index    # with texts, embeddings and indexes: loads in seconds
ragsweep export RUN_ID --out retriever/ dataset.path=/data/scifact   # a dataset that lies elsewhere on this machine
ragsweep export SWEEP_ID --register NAME         # as a version of a model in MLflow's registry, alias candidate

ragsweep.load("retriever/") loads it in Python; ragsweep check retriever/ asks recorded questions again.
mlflow models serve -m models:/NAME@candidate --env-manager local answers questions over HTTP.
Exit status: 1 where the folder cannot be written, 2 where the run cannot be exported.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ragsweep.app.commands import add_allow, check_ids, parser_of
from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import FAILED, counted, one_line
from ragsweep.tracking.address import check_model_name


def main() -> int:
    """Export what the arguments name."""
    parser = parser_of("export", __doc__)
    parser.add_argument("run_id", help="id of a run or of a sweep, as MLflow shows it")
    parser.add_argument("overrides", nargs="*", default=[], help="places on this machine: dataset.path=...")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder to make")
    parser.add_argument("--register", metavar="NAME", help="the registered model that gets it as a new version")
    parser.add_argument("--with-index", action="store_true", help="keep what loading computes in the folder")
    add_allow(parser)
    arguments = parser.parse_intermixed_args()
    check_ids([arguments.run_id])
    if arguments.register is not None:
        check_model_name(arguments.register)
        if arguments.allow:
            raise ConfigError("--register: a server of MLflow builds only classes of ragsweep; leave out --allow")
    elif arguments.out is None:
        raise ConfigError("expected --out DIR, --register NAME or both")

    from ragsweep.production.exporting import export

    given = {"with_index": arguments.with_index, "overrides": arguments.overrides, "modules": arguments.allow}
    try:
        done = export(arguments.run_id, arguments.out, arguments.register, **given)
    except OSError as error:
        where = arguments.out or tempfile.gettempdir()
        print(f"export: {where} cannot be written ({one_line(str(error.strerror or error))})", file=sys.stderr)
        return FAILED
    version = done.version
    registered = [f"models:/{version.name}@{version.alias} (version {version.number})"] if version else []
    where = ", ".join([*([str(arguments.out)] if arguments.out else []), *registered])
    asked = counted(done.questions, "recorded question")
    print(f"{where}: {one_line(done.name)}, {counted(done.passages, 'passage')}; {asked} answered as recorded")
    if done.not_shipped:
        print(
            f"export: sweep {arguments.run_id} does not show that this should be shipped ({done.not_shipped})",
            file=sys.stderr,
        )
    return 0
