"""The configurations of public question sets read the files as their authors publish them; the texts are ours."""

import json

import pytest
from application import PROJECT, assert_refused
from omegaconf import OmegaConf

from ragsweep.config.walk import Walk
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.project import option_file, register_resolvers
from ragsweep.datasets import Case, Option

MEDQA = {
    "question": "A tired woman is pale. What does she need?",
    "answer": "Rest",
    "options": {"A": "Iron", "B": "Rest"},
    "meta_info": "step2&3",
    "answer_idx": "B",
    "metamap_phrases": ["tired woman", "pale"],
}
MEDMCQA = {
    "question": "Which is hot?",
    "exp": "A fever is a temperature of 38 °C or more.",
    "cop": 1,
    "opa": "Fever",
    "opb": "Tea",
    "opc": "Ice",
    "opd": "None",
    "subject_name": "Medicine",
    "topic_name": None,
    "id": "45258d3d-b974-44dd-a161-c3fccbdadd88",
    "choice_type": "multi",
}


@pytest.fixture
def load(tmp_path):
    """Load a dataset of `conf/dataset/` from a file with these rows, one JSON object per line."""

    def load(name, rows, file="cases.jsonl", **columns):
        (tmp_path / file).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return loaded(name, cases=str(tmp_path / file), columns=columns)

    return load


def loaded(name, **settings):
    register_resolvers()
    store = OmegaConf.load(PROJECT / "conf" / "config.yaml").store
    node = OmegaConf.merge(OmegaConf.load(option_file("dataset", name)), settings)
    config = OmegaConf.create({"dataset": node, "store": {**store, "path": "unused", "enabled": False}})
    return Walk(config).build("dataset").load()


def test_medqa_is_read(load):
    options = (Option("A", "Iron"), Option("B", "Rest"))
    case = Case("1", "", "A tired woman is pale. What does she need?", options, "B", difficulty="step2&3")
    assert load("medqa", [MEDQA]).cases == (case,)


@pytest.mark.parametrize(
    ("file", "cop", "columns"),
    [("dev.json", 1, {}), ("validation.jsonl", 0, {"answer_is": "position_from_0"})],
    ids=["authors", "hub"],
)
def test_medmcqa_is_read_as_its_authors_and_as_the_hub_count_options(load, file, cop, columns):
    options = (Option("A", "Fever"), Option("B", "Tea"), Option("C", "Ice"), Option("D", "None"))
    [case] = load("medmcqa", [{**MEDMCQA, "cop": cop}], file, **columns).cases
    assert case == Case(MEDMCQA["id"], "", "Which is hot?", options, "A", specialty="Medicine")


def test_medmcqa_counted_from_0_is_not_read_as_counted_from_1(load):
    with pytest.raises(ConfigError, match=r"line 2: the answer 0 is not a position from 1 to 4 \(dataset\.columns\.an"):
        load("medmcqa", [{**MEDMCQA, "cop": 3}, {**MEDMCQA, "id": "2", "cop": 0}])


def test_the_test_split_of_medmcqa_has_no_answers(load):
    unanswered = {name: value for name, value in MEDMCQA.items() if name != "cop"}
    with pytest.raises(DatasetError, match=r"line 1: has no column 'cop'; found"):
        load("medmcqa", [unanswered])
    with pytest.raises(ConfigError, match=r"line 1: the answer -1 is not a position from 0 to 3"):
        load("medmcqa", [{**MEDMCQA, "cop": -1}], answer_is="position_from_0")


def test_your_own_cases_and_pages_are_read(tmp_path, write_pdf):
    table = 'id,question,options,answer,relevant\nc1,What is hot?,"[""Fever"", ""Tea""]",A,1; a.pdf#2\n'
    (tmp_path / "cases.csv").write_text(table)
    pages = write_pdf(tmp_path / "a.pdf", "Fever", "Tea")
    collection = loaded("cases", cases=str(tmp_path / "cases.csv"), documents=str(pages))
    assert collection.cases == (Case("c1", "", "What is hot?", (Option("A", "Fever"), Option("B", "Tea")), "A"),)
    assert [judgment.unit for judgment in collection.judgments] == ["a.pdf#1", "a.pdf#2"]


# Ranking


def test_questions_without_documents_cannot_be_ranked(application, tmp_path):
    (tmp_path / "test.jsonl").write_text(json.dumps(MEDQA))
    arguments = ["dataset=medqa", f"dataset.cases={tmp_path}/test.jsonl", "retriever=sparse"]
    expected = "medqa: has no documents, so no ranking can be measured; use task=answers"
    assert_refused(application.run(*arguments), application, expected)
