"""Copies of folders of databases that somebody else has filled."""

import os
from pathlib import Path

import pytest

from ragsweep.core.errors import RetrieverError
from ragsweep_engines.folder_copies import copy_of, digest_of


@pytest.mark.parametrize(
    ("make", "said"),
    [(lambda path: path.symlink_to("/etc"), "is a link"), (os.mkfifo, "is neither file nor folder")],
    ids=["link", "pipe"],
)
def test_what_no_engine_makes_is_refused_and_not_waited_for(tmp_path, make, said):
    (tmp_path / "data").write_text("x")
    make(tmp_path / "other")
    with pytest.raises(RetrieverError, match=rf"retriever\.path: .*other {said}, which no engine makes"):
        copy_of(tmp_path, "", "chroma")


def test_a_folder_that_changes_while_it_is_copied_is_refused_and_nothing_is_left(tmp_path, monkeypatch):
    folder, temporary = tmp_path / "theirs", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    (folder / "data").write_text("x")
    before = digest_of(folder)
    with copy_of(folder, before, "chroma") as copy:
        assert digest_of(Path(copy)) == before
    (folder / "data").write_text("y")
    with pytest.raises(RetrieverError, match=r"retriever\.path: .*theirs changed while it was read"):
        copy_of(folder, before, "chroma")
    assert [*temporary.iterdir()] == []


def test_a_file_that_vanishes_or_cannot_be_read_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "data").write_text("x")
    for error, said in ((FileNotFoundError(2, "gone"), "changed while it was read"), (OSError(28, "full"), "full")):

        def fails(path, error=error):
            raise error

        monkeypatch.setattr("ragsweep_engines.folder_copies.digest_file", fails)
        with pytest.raises(RetrieverError, match=said):
            digest_of(tmp_path)
