"""A PostgreSQL with pgvector for the tests of a worker."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def postgres_server(processes: None) -> Iterator[str]:
    """The folder of the socket of a server; what tests leave in its databases stays."""
    from postgres import postgres

    with postgres("shared_buffers=16MB") as folder:
        yield folder
