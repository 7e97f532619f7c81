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
from typing import TYPE_CHECKING, Any

from ragsweep.app.commands import composed, parser_of

if TYPE_CHECKING:
    from omegaconf import DictConfig


def main() -> int:
    """Convert what the arguments name."""
    parser = parser_of("convert", __doc__)
    parser.add_argument("overrides", nargs="+", metavar="NAME=VALUE", help="the dataset, as for ragsweep run")
    parser.add_argument("--to", choices=("beir",), required=True, help="the layout")
    parser.add_argument("--out", type=Path, required=True, help="the new folder")
    arguments = parser.parse_intermixed_args()

    from ragsweep.config.walk import Walk
    from ragsweep.core.quoting import typed
    from ragsweep.core.terminal import counted
    from ragsweep.datasets.formats.conversion import convert
    from ragsweep.datasets.model.collection_checks import check

    chosen = composed(arguments.overrides)
    collection = Walk(composed(arguments.overrides)).build("dataset").load()
    check(collection)
    written = convert(collection, arguments.out)
    for sentence in written.lost:
        print(f"lost: {sentence}", file=sys.stderr)
    parts = [("document", collection.documents), ("query", collection.queries), ("judgment", collection.judgments)]
    print(f"{arguments.out}: {', '.join(counted(len(found), noun) for noun, found in parts)}")
    settings = (each.partition("=") for each in written.settings.split())
    shown = [typed(name, value.replace("{}", str(arguments.out))) for name, _, value in settings]
    print(f"read it with: ragsweep run {' '.join([*shown, *_chunking(chosen)])}")
    return 0


def _chunking(config: DictConfig) -> list[str]:
    """The settings that cut the converted documents as those that were read: each format has a default of its own."""
    from omegaconf import OmegaConf

    from ragsweep.core.project import conf_folders

    chosen = _flat(OmegaConf.to_container(config.chunker, resolve=False))
    files = {path.stem: path for conf in conf_folders() for path in sorted((conf / "chunker").glob("*.yaml"))}
    found = []
    for name, path in files.items():
        option = _flat(OmegaConf.to_container(OmegaConf.load(path), resolve=False))
        if option.get("_target_") == chosen["_target_"]:
            changed = [key for key, value in chosen.items() if value != option.get(key)]
            values = [_typed(f"chunker.{key}", OmegaConf.select(config.chunker, key)) for key in changed]
            found.append([f"chunker={name}", *values])
    return min(found, key=len, default=[])


def _flat(settings: Any) -> dict[str, Any]:
    """The settings of a component by their names with dots."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat |= (
            {f"{name}.{key}": each for key, each in _flat(value).items()} if isinstance(value, dict) else {name: value}
        )
    return flat


def _typed(name: str, value: object) -> str:
    from ragsweep.config.annotations import as_configured
    from ragsweep.core.quoting import typed

    return typed(name, value) if isinstance(value, str) else shlex.quote(f"{name}={as_configured(value)}")
