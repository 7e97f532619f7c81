"""A field of the questions names their group, or near copies are found; a question without one is alone."""

import json

import pytest

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Query
from ragsweep.datasets.formats.own import OwnDataset
from ragsweep.datasets.formats.questions.question_table import TableQuestions
from ragsweep.datasets.model.collection import Collection, Document
from ragsweep.datasets.model.grouping import grouped
from ragsweep.testing.datasets import AsIs

FIELDS = [{"page": "1"}, {"page": "2"}, {"page": "1"}, {}, {"page": "3"}]


def asked(*fields, texts=None, types=None):
    """A collection of questions with these fields."""
    queries = [
        Query(f"q{row}", texts[row] if texts else f"What is {row}?", types and types[row], tuple(values.items()))
        for row, values in enumerate(fields)
    ]
    return Collection("mine", "page", (), tuple(queries), ())


def names(collection, field):
    return [query.group for query in grouped(collection, field).queries]


def test_a_field_names_the_groups_and_who_has_no_other_in_it_is_alone():
    assert names(asked(*FIELDS), "page") == ["1", None, "1", None, None]
    assert names(asked(*FIELDS), None) == [None] * 5  # nothing is grouped unless it is asked for
    assert names(asked({}, {}, {}, types=["a", None, "a"]), "query_type") == ["a", None, "a"]


def test_generated_questions_are_grouped_by_their_source_unless_they_are_alone():
    made = asked(*({"generated_from": page, "page": str(row)} for row, page in enumerate("aab")))
    assert names(made, None) == ["a", "a", None]
    assert names(made, "query_id") == [None] * 3


def test_near_copies_are_found_by_the_rule_of_the_audit():
    copies = [
        "Which dose of iron does a child with anaemia need?",
        "What dose of iron does a child with anaemia need",
        "Which dose of zinc does a child with diarrhoea need?",
        "Does a child with anaemia need which dose of iron?",
    ]
    assert names(asked({}, {}, {}, {}, texts=copies), "auto")[:3] == ["q0", "q0", None]


def test_a_field_that_no_question_has_is_refused_with_those_that_there_are():
    with pytest.raises(DatasetError, match=r"dataset.group: no question of mine has 'pages'; .*'query_id', 'page'"):
        grouped(asked(*FIELDS), "pages")


def test_a_field_that_groups_nothing_is_pointed_out(capsys):
    assert names(asked({"page": "1"}, {"page": "2"}), "page") == [None, None]
    assert "dataset.group: page puts no two questions" in capsys.readouterr().err


def test_the_digest_knows_the_groups_and_is_as_it_was_without():
    one = asked(*FIELDS)
    digests = {grouped(one, field).digest for field in (None, "page", "query_id")}
    assert digests == {one.digest, grouped(one, "page").digest}
    assert len(digests) == 2


def test_a_table_of_questions_is_grouped_by_its_column(tmp_path):
    rows = [{"query": f"What is {row}?", "relevant_docs": ["1"], "topic": "ab"[row % 2]} for row in range(4)]
    (tmp_path / "q.json").write_text(json.dumps(rows))

    corpus = AsIs((Document.from_pages("a.txt", [("1", "a.txt#1", "Iron.")]),))
    for group, expected in ((None, [None] * 4), ("topic", ["a", "b", "a", "b"])):
        questions = TableQuestions(str(tmp_path / "q.json"))
        dataset = OwnDataset(name="own", corpus=corpus, questions=questions, group=group)
        assert [query.group for query in dataset.load().queries] == expected
        assert ("group" in dataset.without_effect) is (group is None)
