"""Files that are written whole or not at all."""

import pytest

from ragsweep.core.whole_files import locked, write_new


@pytest.fixture
def victim(tmp_path):
    """A file that nobody means to write to."""
    (tmp_path / "victim").write_text("mine")
    return tmp_path / "victim"


def test_a_new_file_has_the_usual_permissions_and_leaves_nothing_beside_it(tmp_path):
    write_new(tmp_path / "new", b"text")
    (tmp_path / "usual").touch()
    assert (tmp_path / "new").read_bytes() == b"text"
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert {each.name for each in tmp_path.iterdir()} == {"new", "usual"}


@pytest.mark.parametrize("link", ["victim", "absent"])
def test_a_new_file_replaces_nothing_and_follows_no_link(tmp_path, victim, link):
    (tmp_path / "new").symlink_to(tmp_path / link)
    for name in ("new", "victim"):
        with pytest.raises(FileExistsError):
            write_new(tmp_path / name, b"text")
    assert victim.read_text() == "mine"
    assert {each.name for each in tmp_path.iterdir()} == {"new", "victim"}


def test_a_lock_follows_no_link(tmp_path, victim):
    (tmp_path / ".old.lock").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "old", 1):
        pass
    assert victim.read_text() == "mine"
