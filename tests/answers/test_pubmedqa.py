"""The recipe of docs/recipes.md that reads PubMedQA."""

import json

import pytest
from application import PROJECT

from ragsweep.datasets import Case, Option
from ragsweep.testing import DatasetContract

PAGE = (PROJECT / "docs/recipes.md").read_text(encoding="utf-8")
[RECIPE] = [text.partition("\n```")[0] for text in PAGE.split("```python\n") if text.startswith("# pubmedqa.py")]
PUBMEDQA = {"__name__": "pubmedqa"}
exec(compile(RECIPE, "pubmedqa.py", "exec", dont_inherit=True), PUBMEDQA)
ENTRIES = {  # as in ori_pqal.json
    "21645374": {"QUESTION": "Does iron help?", "CONTEXTS": ["Anaemia is common.", "Ninety took iron."],
                 "LONG_ANSWER": "Iron helps.", "final_decision": "yes"},
    "9": {"QUESTION": "Does tea help?", "CONTEXTS": ["Some drank tea."], "final_decision": "maybe"},
}  # fmt: skip


class TestPubMedQA(DatasetContract):
    component = PUBMEDQA["PubMedQA"]

    @pytest.fixture(autouse=True)
    def dataset(self, tmp_path):
        (tmp_path / "ori_pqal.json").write_text(json.dumps(ENTRIES))
        type(self).settings = {"path": str(tmp_path / "ori_pqal.json")}


def test_the_abstract_of_a_question_is_its_relevant_document(tmp_path):
    (tmp_path / "ori_pqal.json").write_text(json.dumps(ENTRIES))
    found = PUBMEDQA["PubMedQA"](str(tmp_path / "ori_pqal.json")).load()
    options = (Option("A", "yes"), Option("B", "no"), Option("C", "maybe"))
    assert found.cases == (
        Case("21645374", "", "Does iron help?", options, "A"),
        Case("9", "", "Does tea help?", options, "C"),
    )
    assert [document.text for document in found.documents] == [
        "Anaemia is common.\nNinety took iron.",
        "Some drank tea.",
    ]
    assert [(judgment.query_id, judgment.unit) for judgment in found.judgments] == [("21645374",) * 2, ("9",) * 2]
