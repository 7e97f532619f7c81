"""Questions whose judgments are texts without a document."""

import json

import pandas as pd
import pytest
from read_strictly import read_strictly, span_questions

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Document

ANAEMIA = "Iron tablets treat anaemia. Take one a day, with food.\nTea keeps iron from being absorbed."
FEVER = "A fever above 38 °C needs a\nvisit. Drink enough. Take one a day."
DOCUMENTS = (
    Document.from_pages("anaemia.txt", [("1", "anaemia.txt#1", ANAEMIA)]),
    Document.from_pages("fever.txt", [("1", "fever.txt#1", FEVER)]),
)
ROWS = [
    {
        "question": "What treats anaemia?",
        "references": ["Iron tablets treat anaemia."],
        "reference": "Iron tablets.",
        "synthesizer_name": "single_hop_specific_query_synthesizer",
    },
    {
        "question": "What goes with iron, and what with fever?",
        "references": ["Tea keeps iron from being absorbed.", "Drink enough."],
        "reference": "No tea, and much to drink.",
        "synthesizer_name": "multi_hop_abstract_query_synthesizer",
    },
]
FOUND = {
    ("1", "anaemia.txt", "Iron tablets treat anaemia."),
    ("2", "anaemia.txt", "Tea keeps iron from being absorbed."),
    ("2", "fever.txt", "Drink enough."),
}


def spans(asked):
    """The query, the document and the text of each reference."""
    texts = {each.source: each.text for each in DOCUMENTS}
    return {(each.query_id, each.source, texts[each.source][each.start : each.end]) for each in asked.references}


def read(path, **settings):
    return read_strictly(span_questions(str(path), document=None, **settings), DOCUMENTS)


def of_contexts(folder, *contexts):
    path = folder / "questions.json"
    path.write_text(json.dumps([{"question": "What?", "references": [*contexts]}]))
    return path


def as_csv(path):
    pd.DataFrame(ROWS).to_csv(path, index=False)


def as_lines(path):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))


def as_parquet(path):
    pd.DataFrame(ROWS).to_parquet(path)


@pytest.mark.parametrize(
    ("name", "write"), [("testset.csv", as_csv), ("testset.jsonl", as_lines), ("testset.parquet", as_parquet)]
)
def test_texts_are_found_in_each_kind_of_table(tmp_path, name, write):
    write(tmp_path / name)
    asked = read(tmp_path / name)
    assert spans(asked) == FOUND
    assert [query.text for query in asked.queries] == [row["question"] for row in ROWS]
    assert [query.query_type for query in asked.queries] == ["anaemia.txt", None]  # the second is about both
    assert dict(asked.queries[0].fields)["reference"] == "Iron tablets."


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("Take one a day", r"is in 2 documents \('anaemia.txt', 'fever.txt'\); questions\.document=COLUMN"),
        ("A fever above 38 °C needs a visit.", r"is in no document as it is written; questions\.document=COLUMN"),
        ("", r"found the reference .*; expected a list of texts, or of \{document"),
        (" \n", r"found the reference .*; expected a list of texts, or of \{document"),
        ({"content": "Iron", "start_index": 0, "end_index": 4}, r"names no document; expected its field document, or"),
    ],
)
def test_a_reference_without_a_document_is_in_one_alone(tmp_path, reference, said):
    with pytest.raises(DatasetError, match=said):
        read(of_contexts(tmp_path, reference))


def test_only_a_row_whose_text_several_documents_have_needs_its_document(tmp_path):
    rows = [("fever", "Take one a day"), ("", "Iron tablets treat anaemia.")]
    asked = [{"question": text, "corpus_id": name, "references": [text]} for name, text in rows]
    (tmp_path / "t.json").write_text(json.dumps(asked))
    found = spans(read_strictly(span_questions(str(tmp_path / "t.json")), DOCUMENTS))
    assert {(number, source) for number, source, _ in found} == {("1", "fever.txt"), ("2", "anaemia.txt")}
