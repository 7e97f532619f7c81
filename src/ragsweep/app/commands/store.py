"""Show what the store of intermediate results holds, or clear it.

ragsweep store                              # what it holds, by stage
ragsweep store --clear                      # delete everything
ragsweep store --clear dense embeddings     # delete these stages; embeddings means every embeddings-...
"""

from __future__ import annotations

import sys
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ragsweep.app.commands import composed, parser_of

if TYPE_CHECKING:
    from ragsweep.store.stage_store import Entry


def main() -> int:
    """Show or clear what the arguments name."""
    parser = parser_of("store", __doc__)
    parser.add_argument("--path", help="its folder; default: store.path of the configuration")
    parser.add_argument("--clear", nargs="*", metavar="STAGE", help="delete these stages, or everything")
    arguments = parser.parse_args()
    if arguments.path and not Path(arguments.path).is_dir():
        parser.error(f"--path: {arguments.path} is not a folder")

    from ragsweep.store.stage_store import Store

    store = Store(arguments.path or composed([]).store.path)  # as `ragsweep run` uses it
    stages: dict[str, list[Entry]] = defaultdict(list)
    for entry in store.entries():
        stages[entry.stage].append(entry)
    if arguments.clear is None:
        _show(Path(store.path), stages)
        return 0
    chosen: set[str] = set()
    for name in arguments.clear:
        found = {stage for stage in stages if stage == name or stage.startswith(f"{name}-")}
        if not found:
            parser.error(f"no stage {name}; the store holds {', '.join(sorted(stages)) or 'nothing'}")
        chosen |= found
    entries = [entry for stage in chosen or stages for entry in stages[stage]]
    left = store.clear(entries if chosen else None)
    deleted = [entry for entry in entries if entry.path not in left]
    print(f"deleted: {len(deleted)}, {_megabytes(deleted)}")
    if left:
        print(f"could not be deleted: {len(left)}, such as {left[0]}", file=sys.stderr)
    return 1 if left else 0


def _show(path: Path, stages: dict[str, list[Entry]]) -> None:
    """Print a line per stage and one for all."""
    width = max(16, *map(len, stages)) if stages else 16
    print(f"{path}\n{'stage':<{width}}{'entries':>8}{'size':>14}  last used")
    for stage, entries in sorted(stages.items()):
        used = datetime.fromtimestamp(max(entry.used for entry in entries))
        print(f"{stage:<{width}}{len(entries):>8}{_megabytes(entries):>14}  {used:%Y-%m-%d %H:%M}")
    everything = [entry for entries in stages.values() for entry in entries]
    print(f"{'all':<{width}}{len(everything):>8}{_megabytes(everything):>14}")
    if sizes := [file.stat().st_size for file in (path / "engines").rglob("*") if file.is_file()]:
        print(f"beside it: {sum(sizes) / 1e6:,.1f} MB of engines in {path / 'engines'}, which you may delete")


def _megabytes(entries: list[Entry]) -> str:
    return f"{sum(entry.size for entry in entries) / 1e6:,.1f} MB"
