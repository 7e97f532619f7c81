"""PubMedQA, in the layout of its authors and in that of the Hugging Face hub."""

import json

import pytest

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Case, Document, Judgment, Option, Query
from ragsweep_answers.cases import PubMedQADataset

ORIGINAL = {
    "QUESTION": "Does iron help?",
    "CONTEXTS": ["Anaemia is common.", "Ninety women took iron. Their haemoglobin rose."],
    "LABELS": ["BACKGROUND", "RESULTS"],
    "MESHES": ["Anemia", "Iron"],
    "YEAR": "2006",
    "reasoning_required_pred": "no",
    "reasoning_free_pred": "no",
    "final_decision": "yes",
    "LONG_ANSWER": "Iron helps.",
}
SECOND = {**ORIGINAL, "QUESTION": "Does tea help?", "CONTEXTS": ["Some drank tea."], "final_decision": "maybe"}
HUB = {
    "pubid": 21645374,
    "question": "Does iron help?",
    "context": {
        "contexts": ["Anaemia is common.", "Ninety women took iron. Their haemoglobin rose."],
        "labels": ["BACKGROUND", "RESULTS"],
        "meshes": ["Anemia", "Iron"],
        "reasoning_required_pred": ["n", "o"],
        "reasoning_free_pred": ["n", "o"],
    },
    "long_answer": "Iron helps.",
    "final_decision": "yes",
}
OF_SECOND = {**HUB, "pubid": 9, "question": "Does tea help?", "context": {"contexts": ["Some drank tea."]}}
OPTIONS = (Option("A", "yes"), Option("B", "no"), Option("C", "maybe"))


@pytest.fixture
def load(tmp_path):
    """Load a file with this text, or with a JSON object."""

    def load(content, name="ori_pqal.json"):
        text = content if isinstance(content, str) else json.dumps(content, indent=4)
        (tmp_path / name).write_text(text)
        return PubMedQADataset("pubmedqa", str(tmp_path / name)).load()

    return load


def lines(*rows):
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def test_the_authors_file_and_the_rows_of_the_hub_are_the_same_dataset(load):
    original = load({"21645374": ORIGINAL, "9": SECOND})
    assert original == load(lines(HUB, {**OF_SECOND, "final_decision": "maybe"}), "train.jsonl")
    assert original.cases == (
        Case("21645374", "", "Does iron help?", OPTIONS, "A"),
        Case("9", "", "Does tea help?", OPTIONS, "C"),
    )
    assert original.queries == (Query("21645374", "Does iron help?"), Query("9", "Does tea help?"))


def test_the_abstract_of_a_question_is_its_relevant_document(load):
    collection = load({"21645374": ORIGINAL, "9": SECOND})
    abstract = "Anaemia is common.\nNinety women took iron. Their haemoglobin rose."
    assert collection.unit == "document"
    assert collection.documents[0] == Document.from_pages("21645374", [("1", "21645374", abstract)])
    assert collection.judgments == (Judgment("21645374", "21645374", 1), Judgment("9", "9", 1))


def test_the_conclusion_which_gives_the_answer_is_not_in_the_documents(load):
    assert "Iron helps." not in load({"1": ORIGINAL}).documents[0].text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"ori_pqal\.json, line 1: not JSON .*; expected a JSON file of cases"),
        ([], r"ori_pqal\.json: found an empty list, expected an object of questions by PubMed id"),
        ({"7": 3}, r"ori_pqal\.json, '7': expected an object, found 3"),
        ({" ": ORIGINAL}, r"ori_pqal\.json, ' ': the field 'id' is blank"),
        ({"7": {"QUESTION": "Why?"}}, r"'7': the field 'CONTEXTS' is missing; found 'QUESTION'$"),
        ({"7": {**ORIGINAL, "QUESTION": " "}}, "'7': the question is blank"),
        ({"7": {**ORIGINAL, "CONTEXTS": "Iron."}}, r"""'7': the abstract is "Iron\."; expected a list of paragraphs"""),
        ({"7": {**ORIGINAL, "CONTEXTS": [3]}}, r"'7': the abstract is \[3\]; expected a list of paragraphs"),
        (
            {"7": {**ORIGINAL, "final_decision": "perhaps"}},
            "'7': 'final_decision' is \"perhaps\"; expected yes, no or m",
        ),
        ({"7": {**ORIGINAL, "final_decision": None}}, "'final_decision' is null; .*questions without an answer cannot"),
    ],
)
def test_a_bad_original_file_is_named_with_the_question(load, content, message):
    with pytest.raises(DatasetError, match=message):
        load(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            lines(HUB, {**HUB, "pubid": "21645374"}),
            r"train\.jsonl, line 2: the PubMed id '21645374' is in the file twi",
        ),
        (lines({**HUB, "context": 3}), r"train\.jsonl, line 1: the abstract is 3; expected a list of paragraphs"),
        (lines({**HUB, "context": {}}), r"train\.jsonl, line 1: the field 'contexts' is missing; found none"),
        (lines({"question": "Why?"}), r"train\.jsonl, line 1: the field 'pubid' is missing; found 'question'"),
        ("", r"train\.jsonl: contains no cases; expected at least one"),
    ],
)
def test_a_bad_row_is_named_with_its_line(load, content, message):
    with pytest.raises(DatasetError, match=message):
        load(content, "train.jsonl")
