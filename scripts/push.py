"""Upload the runs of a folder that could not be uploaded when they were made.

python scripts/push.py outputs/20260718_101500_4711
python scripts/push.py outputs/20260718_101500_4711 --uri http://mlflow.example.org:5000

Without `--uri`, the runs go to the store that the configuration names, and runs of other stores stay. A store or folder
that only those files name gets neither our login nor data.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ragsweep import tracking
from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import end_of_script, one_line
from ragsweep.replay.recorded import composed_today


def main() -> int:
    """Upload what the store lacks; 2 where some of it stays here."""
    parser = argparse.ArgumentParser(description="Upload the runs of a folder that the tracking store lacks.")
    parser.add_argument("folder", type=Path, help="of a run or a sweep, as run.py has named it")
    parser.add_argument("--uri", help="the store that they were made for, where it is not the configuration's")
    parser.add_argument("--artifacts", help="where a local store keeps the artifacts of a new experiment")
    given = parser.parse_args()
    if not given.folder.is_dir():
        parser.error(f"{given.folder} is not a folder")
    own, own_artifacts = own_store()
    uri = given.uri or own
    artifacts = given.artifacts or (own_artifacts if uri == own else None)
    uploaded, refused, elsewhere = tracking.push(given.folder, uri, artifacts)
    print(f"{uploaded} runs uploaded")
    for reason in refused.values():
        _say(reason)
    if given.uri and (uploaded or refused):
        elsewhere = {}  # they are not meant
    for place, journal in elsewhere.items():
        command = tracking.push_command(place, journal.uri, journal.artifacts)
        _say(f"{place}: was made for another store; if you trust that one: {command}")
    return 2 if refused or elsewhere else 0


def own_store() -> tuple[str | None, str | None]:
    """The store that the configuration names, and where it keeps artifacts; None where it names no store."""
    try:
        own = composed_today([])[0].tracking
    except ConfigError:
        return None, None
    return own.uri, own.artifacts


def _say(text: str) -> None:
    """Print a line, in which a folder or a journal may have brought anything."""
    print(f"push: {one_line(text)}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(end_of_script("push", main))
