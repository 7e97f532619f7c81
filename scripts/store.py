"""Show what the store of intermediate results holds, or clear it.

python scripts/store.py                   # what it holds, by stage
python scripts/store.py --clear           # delete everything
python scripts/store.py --clear dense embeddings   # delete these stages, and those whose names begin so
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from datetime import datetime
from pathlib import Path

import hydra

from ragsweep.core.project import CONF, register_resolvers
from ragsweep.core.store import Entry, Store


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description="Show what the store of intermediate results holds, or clear it.")
    parser.add_argument("--path", help="its folder; default: store.path of the configuration")
    parser.add_argument("--clear", nargs="*", metavar="STAGE", help="delete these stages, or everything")
    arguments = parser.parse_args()
    if arguments.path and not Path(arguments.path).is_dir():
        parser.error(f"--path: {arguments.path} is no folder")
    store = Store(arguments.path or configured_path())
    stages: dict[str, list[Entry]] = defaultdict(list)
    for entry in store.entries():
        stages[entry.stage].append(entry)
    if arguments.clear is None:
        show(Path(store.path), stages)
        return
    chosen: set[str] = set()
    for name in arguments.clear:
        found = {stage for stage in stages if stage == name or stage.startswith(f"{name}-")}
        if not found:
            parser.error(f"no stage {name}; the store holds {', '.join(sorted(stages)) or 'nothing'}")
        chosen |= found
    entries = [entry for stage in chosen or stages for entry in stages[stage]]
    left = store.clear(entries if chosen else None)
    deleted = [entry for entry in entries if entry.path not in left]
    print(f"deleted: {len(deleted)}, {megabytes(deleted)}")
    if left:
        parser.exit(1, f"could not be deleted: {len(left)}, such as {left[0]}\n")


def show(path: Path, stages: dict[str, list[Entry]]) -> None:
    """Print a line per stage and one for all."""
    width = max(16, *map(len, stages)) if stages else 16
    print(f"{path}\n{'stage':<{width}}{'entries':>8}{'size':>14}  last used")
    for stage, entries in sorted(stages.items()):
        used = datetime.fromtimestamp(max(entry.used for entry in entries))
        print(f"{stage:<{width}}{len(entries):>8}{megabytes(entries):>14}  {used:%Y-%m-%d %H:%M}")
    everything = [entry for entries in stages.values() for entry in entries]
    print(f"{'all':<{width}}{len(everything):>8}{megabytes(everything):>14}")


def megabytes(entries: list[Entry]) -> str:
    """The size of entries."""
    return f"{sum(entry.size for entry in entries) / 1e6:,.1f} MB"


def configured_path() -> str:
    """The folder that `python run.py` uses."""
    register_resolvers()
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        path: str = hydra.compose("config").store.path
    return path


if __name__ == "__main__":
    main()
