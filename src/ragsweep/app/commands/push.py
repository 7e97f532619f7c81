"""Upload the runs of a folder that could not be uploaded when they were made.

ragsweep push                                      # all of outputs/
ragsweep push outputs/20260718_101500_4711
ragsweep push outputs/20260718_101500_4711 --uri http://mlflow.example.org:5000

Without --uri, the runs go to the store that the configuration names, and runs of other stores stay. A store or folder
that is named only in the files of a run gets neither your login nor data.

Exit status: 2 where some of the runs stay here.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ragsweep.app.commands import parser_of
from ragsweep.core.project import project
from ragsweep.core.terminal import BAD_INPUT, counted, one_line


def main() -> int:
    """Upload what the store lacks."""
    parser = parser_of("push", __doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="of a run or a sweep; default: outputs")
    parser.add_argument("--uri", help="the store that they were made for, where it is not the configuration's")
    parser.add_argument("--artifacts", help="where a local store keeps the artifacts of a new experiment")
    given = parser.parse_args()
    folder = given.folder or project() / "outputs"
    if not folder.is_dir():
        parser.error(f"{folder} is not a folder")

    from ragsweep import tracking

    uri, artifacts = (given.uri, given.artifacts) if given.uri else tracking.own_store()
    artifacts = given.artifacts or artifacts
    uploaded, refused, elsewhere = tracking.push(folder, uri, artifacts)
    print(f"{counted(uploaded, 'run')} uploaded")
    for reason in refused.values():
        _say(reason)
    if given.uri and (uploaded or refused):
        elsewhere = {}  # they are not meant
    for place, journal in elsewhere.items():
        command = tracking.push_command(place, journal.uri, journal.artifacts)
        _say(f"{place}: was made for another store; if you trust that one: {command}")
    return BAD_INPUT if refused or elsewhere else 0


def _say(text: str) -> None:
    """Print a line, in which a folder or a journal may have brought anything."""
    print(f"push: {one_line(text)}", file=sys.stderr)
