"""Files that are written whole or not at all."""

import pytest

from ragsweep.core.whole_files import locked, write_new, write_over


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


def test_a_copy_of_a_private_file_is_private(tmp_path, victim):
    victim.chmod(0o600)
    write_new(tmp_path / "new", b"text", like=victim)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("link", ["victim", "absent"])
def test_a_new_file_replaces_nothing_and_follows_no_link(tmp_path, victim, link):
    (tmp_path / "new").symlink_to(tmp_path / link)
    for name in ("new", "victim"):
        with pytest.raises(FileExistsError):
            write_new(tmp_path / name, b"text")
    assert victim.read_text() == "mine"
    assert {each.name for each in tmp_path.iterdir()} == {"new", "victim"}


def test_a_file_keeps_its_permissions(tmp_path):
    (tmp_path / "old").write_text("old")
    (tmp_path / "old").chmod(0o640)
    write_over(tmp_path / "old", b"new")
    assert (tmp_path / "old").read_bytes() == b"new"
    assert (tmp_path / "old").stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["old"]


def test_a_lock_follows_no_link(tmp_path, victim):
    (tmp_path / ".old.lock").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "old", 1):
        pass
    assert victim.read_text() == "mine"
