"""Write a dataset of any format in the layout of BEIR: documents, queries and judgments.

ragsweep convert dataset=cho_manual --to beir --out manual    # the bundled manual: a page a document

The settings are those of ragsweep run. The folder is new; nothing is left there if something goes wrong. What the
layout cannot express is named and counted.

Exit status: 2 where the dataset cannot be read, or the layout cannot express what is judged.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from ragsweep.app.commands import composed, parser_of


def main() -> int:
    """Convert what the arguments name."""
    parser = parser_of("convert", __doc__)
    parser.add_argument("overrides", nargs="+", metavar="NAME=VALUE", help="the dataset, as for ragsweep run")
    parser.add_argument("--to", choices=("beir",), required=True, help="the layout")
    parser.add_argument("--out", type=Path, required=True, help="the new folder")
    arguments = parser.parse_intermixed_args()

    from ragsweep.config.walk import Walk
    from ragsweep.core.project import command
    from ragsweep.core.quoting import typed
    from ragsweep.core.terminal import counted
    from ragsweep.datasets.formats.conversion import convert
    from ragsweep.datasets.model.collection_checks import check

    config = composed(arguments.overrides, with_hydra=True)
    collection = Walk(config).build("dataset").load()
    check(collection)
    written = convert(collection, arguments.out)
    for sentence in written.lost:
        print(f"lost: {sentence}", file=sys.stderr)
    parts = [("document", collection.documents), ("query", collection.queries), ("judgment", collection.judgments)]
    print(f"{arguments.out}: {', '.join(counted(len(items), noun) for noun, items in parts)}")
    settings = (setting.partition("=") for setting in written.settings.split())
    shown = [typed(name, value.replace("{}", str(arguments.out))) for name, _, value in settings]
    given = [shlex.quote(override) for override in arguments.overrides if override.startswith("chunker.")]
    chunker = f"chunker={config.hydra.runtime.choices.chunker}"  # each format has a default of its own
    print(f"read it with: {command('run')} {' '.join([*shown, chunker, *given])}")
    return 0
