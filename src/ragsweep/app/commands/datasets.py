"""The commands about datasets: `init` prepares a folder for one, `convert` writes one in another layout."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from ragsweep.app.commands import composed, parser_of
from ragsweep.core.project import command, project
from ragsweep.core.terminal import counted

TEMPLATES = Path(__file__).parents[1] / "templates"


def init() -> int:
    """Prepare the current folder for your own PDF files. What is there already stays as it is.

    ragsweep init
    """
    parser_of("init", init.__doc__).parse_args()
    folder = project()
    for name in ("documents/", "questions.json", "conf/dataset/mine.yaml", ".env.example"):
        file = folder / name
        print(f"{'kept:   ' if file.exists() else 'written:'} {name}")
        file.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            file.mkdir(exist_ok=True)
        elif not file.exists():
            shutil.copyfile(TEMPLATES / name, file)
    print((TEMPLATES / "next_steps.txt").read_text(encoding="utf-8").format(folder=shlex.quote(str(folder))), end="")
    return 0


def convert() -> int:
    """Write a dataset of any format in the layout of BEIR: documents, queries and judgments.

    ragsweep convert dataset=cho_manual --to beir --out manual    # the bundled manual: a page a document

    The settings are those of ragsweep run. The folder is new; nothing is left there if something goes wrong. What the
    layout cannot express is named and counted.

    Exit status: 2 where the dataset cannot be read, or the layout cannot express what is judged.
    """
    parser = parser_of("convert", convert.__doc__)
    parser.add_argument("overrides", nargs="+", metavar="NAME=VALUE", help="the dataset, as for ragsweep run")
    parser.add_argument("--to", choices=("beir",), required=True, help="the layout")
    parser.add_argument("--out", type=Path, required=True, help="the new folder")
    given = parser.parse_intermixed_args()

    from ragsweep.config.configuration_walk import Walk
    from ragsweep.core.project import typed
    from ragsweep.datasets.formats import conversion
    from ragsweep.datasets.model.collection_checks import check

    config = composed(given.overrides, with_hydra=True)
    collection = Walk(config).build("dataset").load()
    check(collection)
    written = conversion.convert(collection, given.out)
    for sentence in written.lost:
        print(f"lost: {sentence}", file=sys.stderr)
    parts = [("document", collection.documents), ("query", collection.queries), ("judgment", collection.judgments)]
    print(f"{given.out}: {', '.join(counted(len(items), noun) for noun, items in parts)}")
    shown = ["dataset=beir", typed("dataset.path", str(given.out)), *written.settings]
    shown.append(f"chunker={config.hydra.runtime.choices.chunker}")  # each format has a default of its own
    shown += [shlex.quote(override) for override in given.overrides if override.startswith("chunker.")]
    print(f"read it with: {command('run')} {' '.join(shown)}")
    return 0
