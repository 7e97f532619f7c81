"""Write a dataset of any format as another one: documents, queries and judgments.

ragsweep convert dataset=beir dataset.path=scifact --to trec --out scifact_trec
ragsweep convert corpus=text corpus.path=texts questions=spans questions.path=questions.csv --to spans --out copy
ragsweep convert dataset=cho_manual --to table --out manual    # the bundled manual: a page a row, a question a row

The settings are those of ragsweep run. The folder is new; nothing is left there if something goes wrong. What the
format cannot express is named and counted.

Exit status: 2 where the dataset cannot be read, or the format cannot express what is judged.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragsweep.app.commands import composed, parser_of

if TYPE_CHECKING:
    from omegaconf import DictConfig

TO = ("beir", "trec", "table", "spans")


def main() -> int:
    """Convert what the arguments name."""
    parser = parser_of("convert", __doc__)
    parser.add_argument("overrides", nargs="+", metavar="NAME=VALUE", help="the dataset, as for ragsweep run")
    parser.add_argument("--to", choices=TO, required=True, help="the format")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the new folder")
    arguments = parser.parse_intermixed_args()

    from ragsweep.core.components import build
    from ragsweep.core.quoting import typed
    from ragsweep.core.terminal import counted
    from ragsweep.datasets.checks import check
    from ragsweep.datasets.conversion import convert
    from ragsweep.experiment import checked

    config = checked(composed(arguments.overrides))
    collection = build(config.dataset, "dataset").load()
    check(collection)
    written = convert(collection, arguments.to, arguments.out)
    for sentence in written.lost:
        print(f"lost: {sentence}", file=sys.stderr)
    judged = ("judgment", collection.judgments) if collection.judgments else ("reference", collection.references)
    parts = [("document", collection.documents), ("query", collection.queries), judged]
    print(f"{arguments.out}: {', '.join(counted(len(found), noun) for noun, found in parts)}")
    settings = (each.partition("=") for each in written.settings.split())
    shown = [typed(name, value.replace("{}", str(arguments.out))) for name, _, value in settings]
    print(f"read it with: ragsweep run {' '.join([*shown, *_chunking(config, arguments.overrides)])}")
    return 0


def _chunking(config: DictConfig, overrides: Sequence[str]) -> list[str]:
    """The settings that cut the converted documents as those that were read: each format has a default of its own."""
    from omegaconf import OmegaConf

    from ragsweep.core.project import conf_folders

    given = [each for each in overrides if each.lstrip("+").startswith(("chunker=", "chunker."))]
    if not any(each.lstrip("+").startswith("chunker=") for each in given):
        files = [path for conf in conf_folders() for path in sorted((conf / "chunker").glob("*.yaml"))]
        names = {OmegaConf.select(OmegaConf.load(path), "_target_"): path.stem for path in files}
        given = [f"chunker={names[config.chunker._target_]}"] * (config.chunker._target_ in names) + given
    return [shlex.quote(each) for each in given]
