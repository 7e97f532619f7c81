"""What points of a collection stand for where parts of a text are judged. Needs no Qdrant."""

import pytest

from ragsweep.core.errors import RetrieverError
from ragsweep.retrieval import Names
from ragsweep_engines.qdrant.matching import Matcher
from ragsweep_engines.qdrant.qdrant_collection import Hit

TEXTS = ("iron tablets are taken daily", "malaria is found with a rapid test")
CHUNKS, DOCUMENTS = ("manual.txt#1/0", "manual.txt#1/1"), ("manual.txt", "manual.txt")
BY_TEXT = {"source": "file", "text": "content"}
POINT = Hit(7, 0.5, {"file": "manual.txt", "content": "malaria is found", "id": "another"})


def matcher(units, fields):
    return Matcher(Names(("q",), CHUNKS, units, DOCUMENTS), TEXTS, fields)


def test_a_passage_of_the_dataset_is_not_measured_in_place_of_a_point_where_spans_are_judged():
    with pytest.raises(RetrieverError, match=r"spans .*retriever=callable .*retriever\.payload\.passage") as refused:
        matcher(CHUNKS, BY_TEXT)
    assert "\n" not in str(refused.value)
    assert matcher(("manual.txt#1", "manual.txt#2"), BY_TEXT).passages([POINT]) == ([1], [0.5])


def test_where_spans_are_judged_a_point_is_the_passage_that_it_names_or_nothing():
    named = matcher(CHUNKS, {**BY_TEXT, "passage": "id"})
    assert named.passages([Hit(8, 0.9, {"id": CHUNKS[1]}), POINT]) == ([1], [0.9])
    assert named.unknown == {"another#manual.txt": 1}
