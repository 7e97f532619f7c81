"""Files that one process at a time reads and writes."""

import pytest

from ragsweep.core.locks import locked


@pytest.fixture
def victim(tmp_path):
    """A file that nobody means to write to."""
    (tmp_path / "victim").write_text("mine")
    return tmp_path / "victim"


def test_a_lock_follows_no_link(tmp_path, victim):
    (tmp_path / ".old.lock").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "old", 1):
        pass
    assert victim.read_text() == "mine"
