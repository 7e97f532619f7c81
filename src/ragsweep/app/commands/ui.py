"""Show the runs of this folder in MLflow, for this machine only, until Ctrl-C.

ragsweep ui                                 # on port 5000
ragsweep ui --port 8080
ragsweep ui --uri sqlite:////data/mlflow.db
"""

from __future__ import annotations

import os
import socket
import sys

from ragsweep.app.commands import parser_of
from ragsweep.core.errors import ConfigError


def main() -> int:
    """Say where the latest sweep is, and become MLflow's server."""
    parser = parser_of("ui", __doc__)
    parser.add_argument("--port", type=int, default=5000, help="default: 5000")
    parser.add_argument("--uri", help="the tracking store; default: tracking.uri of the configuration")
    arguments = parser.parse_args()

    from ragsweep.tracking import own_store, print_latest_sweep
    from ragsweep.tracking.address import HOST, check_address, is_server, sqlite_file

    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, arguments.port))
    except (OSError, OverflowError) as error:
        problem = (isinstance(error, OSError) and error.strerror) or "expected a number up to 65535"
        raise ConfigError(f"--port: {arguments.port} cannot be used ({problem.lower()})") from error

    uri = arguments.uri or own_store()[0]
    setting = "--uri" if arguments.uri else "tracking.uri"
    check_address(uri, setting)
    if is_server(uri):
        raise ConfigError(f"{setting}: {uri} is a server; open it in a browser")
    if database := sqlite_file(uri):
        if arguments.uri and not database.is_file():
            raise ConfigError(f"--uri: {database}: there is no such file")
        database.parent.mkdir(parents=True, exist_ok=True)
    print_latest_sweep(uri, f"http://{HOST}:{arguments.port}")
    server = ["--backend-store-uri", uri, "--host", HOST, "--port", str(arguments.port), "--workers", "1"]
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    os.execve(sys.executable, [sys.executable, "-m", "mlflow", "server", *server], os.environ | quiet)
