"""Show the runs of this folder in MLflow, for this machine only, until Ctrl-C.

ragsweep ui                                 # on port 5000, or another one that is free
ragsweep ui --port 8080
ragsweep ui --uri sqlite:////data/mlflow.db
"""

from __future__ import annotations

import os
import socket
import sys

from ragsweep.app.commands import parser_of
from ragsweep.core.errors import ConfigError

HOST = "127.0.0.1"
USUAL_PORT = 5000  # the printed addresses of runs have it


def main() -> int:
    """Say where the latest sweep is, and become MLflow's server."""
    parser = parser_of("ui", __doc__)
    parser.add_argument("--port", type=int, help="default: 5000, or any free one where that is taken")
    parser.add_argument("--uri", help="the tracking store; default: tracking.uri of the configuration")
    arguments = parser.parse_args()
    port = _free_port(arguments.port)

    from ragsweep.replay.trusted_record import composed_today
    from ragsweep.tracking import print_latest_sweep
    from ragsweep.tracking.address import is_server, sqlite_file
    from ragsweep.tracking.schema import check_version

    uri = arguments.uri or str(composed_today([])[0].tracking.uri)
    if is_server(uri):
        raise ConfigError(f"{'--uri' if arguments.uri else 'tracking.uri'}: {uri} is a server; open it in a browser")
    if database := sqlite_file(uri):
        if arguments.uri and not database.is_file():
            raise ConfigError(f"--uri: {database}: there is no such file")
        database.parent.mkdir(parents=True, exist_ok=True)
        check_version(database)
    print_latest_sweep(uri, f"http://{HOST}:{port}")
    server = ["--backend-store-uri", uri, "--host", HOST, "--port", str(port), "--workers", "1"]
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    os.execve(sys.executable, [sys.executable, "-m", "mlflow", "server", *server], os.environ | quiet)


def _free_port(wanted: int | None) -> int:
    """The port to serve on: the wanted one, or else the usual one, or else any that is free."""
    for port in (USUAL_PORT, 0) if wanted is None else (wanted,):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except (OSError, OverflowError) as error:
                problem = (isinstance(error, OSError) and error.strerror) or "expected a number up to 65535"
            else:
                return int(probe.getsockname()[1])
    raise ConfigError(f"--port: {wanted} cannot be used ({problem.lower()})")
