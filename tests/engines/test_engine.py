"""What comes from an engine is data: rows and labels are checked before they are used."""

import importlib
import json
import sys

import numpy as np
import pytest

from ragsweep.core.errors import RetrieverError
from ragsweep.retrieval.indexes.engine import ranked_by_engine
from ragsweep.store.stage_store import Store
from ragsweep_engines.lancedb import LanceDbIndex
from ragsweep_engines.testing import corpus, queries


@pytest.mark.parametrize("passage", [-2, 40])
def test_a_passage_that_the_corpus_does_not_have_is_refused(passage):
    of = corpus(40)
    with pytest.raises(RetrieverError, match=f"returned passage {passage}, expected 0 to 39"):
        ranked_by_engine(lambda asked, wanted: np.full((len(asked), wanted), passage), of.embeddings, queries(of), 3)


@pytest.mark.extra("lancedb")
@pytest.mark.parametrize(
    "label",
    ["[" * 100_000, json.dumps({"corpus": corpus(40).digest}) + " " * 1_100_000],
    ids=["deep", "long"],
)
def test_a_label_of_lancedb_is_read_with_limits(tmp_path, label):
    folder = tmp_path / "engines" / "lancedb" / "theirs"
    folder.mkdir(parents=True)
    (folder / "collection.json").write_text(label)
    LanceDbIndex(Store(str(tmp_path)), exact=True).delete(corpus(40).digest)
    assert (folder / "collection.json").read_text() == label


@pytest.mark.extra("lancedb")
def test_a_folder_called_datasets_is_not_taken_for_the_package(tmp_path, monkeypatch):
    (tmp_path / "path" / "datasets").mkdir(parents=True)
    monkeypatch.delitem(sys.modules, "datasets", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "path"), *sys.path])
    importlib.import_module("datasets")  # as sentence-transformers does
    found = LanceDbIndex(Store(str(tmp_path)), exact=True).open_corpus(corpus(40))(queries(corpus(40)), 3)
    assert found.passages.shape == (9, 3)
