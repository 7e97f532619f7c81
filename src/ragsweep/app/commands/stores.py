"""The commands about stores: `push` and `ui` for that of the runs, `store` for that of intermediate results."""

from __future__ import annotations

import os
import socket
import sys
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ragsweep.app.commands import composed, parser_of
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import project
from ragsweep.core.terminal import BAD_INPUT, FAILED, aligned, counted, one_line

if TYPE_CHECKING:
    from ragsweep.store.stage_store import Entry


def push() -> int:
    """Upload the runs of a folder that could not be uploaded when they were made.

    ragsweep push                                      # all of outputs/
    ragsweep push outputs/20260718_101500_4711
    ragsweep push outputs/20260718_101500_4711 --uri http://mlflow.example.org:5000

    Without --uri, the runs go to the store that the configuration names, and runs of other stores stay. A store or
    folder that is named only in the files of a run gets neither your login nor data.

    Exit status: 2 where some of the runs stay here.
    """
    parser = parser_of("push", push.__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="of a run or a sweep; default: outputs")
    parser.add_argument("--uri", help="the store that they were made for, where it is not the configuration's")
    parser.add_argument("--artifacts", help="where a local store keeps the artifacts of a new experiment")
    given = parser.parse_args()
    folder = given.folder or project() / "outputs"
    if not folder.is_dir():
        parser.error(f"{folder} is not a folder")

    from ragsweep import tracking

    uri, artifacts = (given.uri, None) if given.uri else tracking.own_store()
    uploaded, refused, elsewhere = tracking.push(folder, uri, given.artifacts or artifacts)
    print(f"{counted(uploaded, 'run')} uploaded")
    stay = [*refused.values()]
    if not (given.uri and (uploaded or refused)):  # else runs of other stores are not meant
        for place, journal in elsewhere.items():
            command = tracking.push_command(place, journal.uri, journal.artifacts)
            stay.append(f"{place}: was made for another store; if you trust that one: {command}")
    for reason in stay:
        print(f"push: {one_line(reason)}", file=sys.stderr)
    return BAD_INPUT if stay else 0


def ui() -> int:
    """Show the runs of this folder in MLflow, for this machine only, until Ctrl-C.

    ragsweep ui                                 # on port 5000
    ragsweep ui --port 8080
    ragsweep ui --uri sqlite:////data/mlflow.db
    """
    parser = parser_of("ui", ui.__doc__)
    parser.add_argument("--port", type=int, default=5000, help="default: 5000")
    parser.add_argument("--uri", help="the tracking store; default: MLFLOW_TRACKING_URI, else the project's own")
    given = parser.parse_args()

    from ragsweep.tracking import own_store, print_latest_sweep
    from ragsweep.tracking.store_address import HOST, check_address, is_server, sqlite_file

    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, given.port))
    except (OSError, OverflowError) as error:
        problem = (isinstance(error, OSError) and error.strerror) or "expected a number up to 65535"
        raise ConfigError(f"--port: {given.port} cannot be used ({problem.lower()})") from error

    uri, setting = (given.uri, "--uri") if given.uri else (own_store()[0], "tracking.uri")
    check_address(uri, setting)
    if is_server(uri):
        raise ConfigError(f"{setting}: {uri} is a server; open it in a browser")
    if database := sqlite_file(uri):
        if given.uri and not database.is_file():
            raise ConfigError(f"--uri: {database}: there is no such file")
        database.parent.mkdir(parents=True, exist_ok=True)
    print_latest_sweep(uri, f"http://{HOST}:{given.port}")
    server = ["--backend-store-uri", uri, "--host", HOST, "--port", str(given.port), "--workers", "1"]
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    os.execve(sys.executable, [sys.executable, "-m", "mlflow", "server", *server], os.environ | quiet)


def store() -> int:
    """Show what the store of intermediate results holds, or clear it.

    ragsweep store                              # what it holds, by stage
    ragsweep store --clear                      # delete everything
    ragsweep store --clear dense embeddings     # delete these stages; embeddings means every embeddings-...
    """
    parser = parser_of("store", store.__doc__)
    parser.add_argument("--path", help="its folder; default: store.path of the configuration")
    parser.add_argument("--clear", nargs="*", metavar="STAGE", help="delete these stages, or everything")
    given = parser.parse_args()
    if given.path and not Path(given.path).is_dir():
        parser.error(f"--path: {given.path} is not a folder")

    from ragsweep.store.stage_store import Store

    stored = Store(given.path or composed([]).store.path)  # as `ragsweep run` uses it
    stages: dict[str, list[Entry]] = defaultdict(list)
    for entry in stored.entries():
        stages[entry.stage].append(entry)
    if given.clear is None:
        _show(Path(stored.path), stages)
        return 0
    chosen: set[str] = set()
    for name in given.clear:
        named = {stage for stage in stages if stage == name or stage.startswith(f"{name}-")}
        if not named:
            parser.error(f"no stage {name}; the store holds {', '.join(sorted(stages)) or 'nothing'}")
        chosen |= named
    entries = [entry for stage in chosen or stages for entry in stages[stage]]
    left = stored.clear(entries if chosen else None)
    deleted = [entry for entry in entries if entry.path not in left]
    print(f"deleted: {len(deleted)}, {_megabytes(deleted)}")
    if left:
        print(f"could not be deleted: {len(left)}, such as {left[0]}", file=sys.stderr)
    return FAILED if left else 0


def _show(path: Path, stages: dict[str, list[Entry]]) -> None:
    """Print a line per stage and one for all."""
    rows = [["stage", "entries", "size", "last used"]]
    for stage, entries in sorted(stages.items()):
        used = datetime.fromtimestamp(max(entry.used for entry in entries))
        rows.append([stage, f"{len(entries)}", _megabytes(entries), f"{used:%Y-%m-%d %H:%M}"])
    everything = [entry for entries in stages.values() for entry in entries]
    rows.append(["all", f"{len(everything)}", _megabytes(everything), ""])
    print(path, *aligned(rows, left=(0, 3)), sep="\n")


def _megabytes(entries: Sequence[Entry]) -> str:
    return f"{sum(entry.size for entry in entries) / 1e6:,.1f} MB"
