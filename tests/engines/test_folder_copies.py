"""Copies of folders of databases that somebody else has filled."""

import os

import pytest

from ragsweep.core.errors import RetrieverError
from ragsweep_engines.folder_copies import copy_of


@pytest.mark.parametrize(
    ("make", "said"),
    [(lambda path: path.symlink_to("/etc"), "is a link"), (os.mkfifo, "is neither file nor folder")],
    ids=["link", "pipe"],
)
def test_what_no_engine_makes_is_refused_and_not_waited_for(tmp_path, make, said):
    (tmp_path / "data").write_text("x")
    make(tmp_path / "other")
    with pytest.raises(RetrieverError, match=rf"retriever\.path: .*other {said}, which no engine makes"):
        copy_of(tmp_path, "chroma")
