"""A server of Chroma that tests start for themselves, on a free port of loopback."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from servers import free_port


@contextmanager
def chroma(folder: Path) -> Iterator[str]:
    """The address of a server over a folder."""
    port = free_port()
    program = [str(Path(sys.executable).with_name("chroma")), "run", "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen([*program, "--path", str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)
