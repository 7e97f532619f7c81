"""Multiple-choice cases in files, also as public question sets are published, and the pages that answer them."""

import csv
import gzip
import json
from dataclasses import replace
from typing import ClassVar

import pandas as pd
import pytest
import small
from answers.small_answers import measured, settings
from application import PROJECT, assert_refused
from conversions import converted
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from ragsweep.config.configuration_walk import Walk
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.project import option_file, register_resolvers
from ragsweep.datasets import Case, Dataset, Judgment, Option, PageChunker
from ragsweep.testing import DatasetContract
from ragsweep_answers.answering import RecordedAnswerer
from ragsweep_answers.cases import CaseColumns, CasesDataset

IRON = {
    "id": "c1",
    "clinical_case": "A tired woman in her sixth month.",
    "question": "What does she need?",
    "options": {"A": "Iron", "B": "Rest", "C": "Tea"},
    "correct_answer": "A",
    "specialty": "Obstetrics",
    "difficulty": "easy",
    "condition": "anaemia",
    "option_conditions": {"A": "anaemia", "C": None},
    "relevant_docs": ["2", "a.pdf#1"],
}
SAME = {name: name for name in ("id", "specialty", "difficulty", "condition", "option_conditions")}
ALL = CaseColumns(case="clinical_case", answer="correct_answer", relevant="relevant_docs", **SAME)
HOT = {"question": "What is hot?", "options": ["Fever", "Tea", "Ice"], "answer": "B"}
NONE = {"question": "What is loud?", "options": ["Fever", "Tea", "Ice"], "answerable": False}
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def options(*texts):
    return tuple(map(Option, ALPHABET, texts))


class TestCases(DatasetContract):
    component = CasesDataset
    settings: ClassVar = {"columns": CaseColumns(options=["a", "b"], relevant="page")}

    @pytest.fixture(autouse=True)
    def dataset(self, tmp_path):
        small.write_pdf(tmp_path / "a.pdf", ["Fever is hot."])
        (tmp_path / "cases.csv").write_text("question,a,b,answer,page\nWhat is hot?,Fever,Ice,A,1\n")
        files = {"cases": str(tmp_path / "cases.csv"), "documents": str(tmp_path / "a.pdf")}
        type(self).settings = {**TestCases.settings, "name": "small", **files}


class TestCasesWithoutDocuments(TestCases):
    @pytest.fixture(autouse=True)
    def without(self, dataset):
        type(self).settings["documents"] = None


@pytest.fixture
def load(tmp_path, write_pdf):
    """Load a file of cases, given as text or bytes, or as entries of a JSON list, with the pages of one PDF."""

    def load(content, columns=None, *, name="cases.json", pages=(), **settings):
        text = json.dumps(content) if isinstance(content, list) else content
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        if pages:
            settings["documents"] = str(write_pdf(tmp_path / "a.pdf", *pages))
        return CasesDataset("small", str(tmp_path / name), columns or CaseColumns(), **settings).load()

    return load


def test_a_case_is_read_with_everything_that_is_known_of_it_and_its_pages_are_judged(load, tmp_path):
    collection = load([IRON], ALL, pages=["Anaemia", "Iron tablets"])
    named = {name: IRON[name] for name in ("question", "specialty", "difficulty", "condition")}
    texts = options("Iron", "Rest", "Tea")
    case = Case("c1", IRON["clinical_case"], **named, options=texts, correct="A", conditions=("anaemia", None, None))
    assert collection.cases == (case,)
    assert collection.judgments == (Judgment("c1", "a.pdf#1", 1), Judgment("c1", "a.pdf#2", 1))
    lost, again = converted(tmp_path, collection)
    assert "the options and answers of 1 multiple-choice cases" in lost
    assert ({*again.judgments}, again.queries[0].query_id) == ({*collection.judgments}, "c1")


def test_options_and_answers_are_written_in_several_ways(load):
    by_letter = {"A": "Fever", "B": "Tea", "C": "Ice"}
    written = [HOT["options"], [" Fever ", "Tea", "Ice", ""], by_letter, json.dumps(HOT["options"])]
    written += [json.dumps(by_letter), {"C": "Ice", "B": "Tea", "A": "Fever", "D": None, "E": " "}]
    cases = load([{**HOT, "options": texts} for texts in written]).cases
    assert [case.options for case in cases] == [options(*HOT["options"])] * 6
    assert [case.query_id for case in cases] == [*"123456"]  # without an id they are numbered
    answers = {"letter": ["B", " b "], "text": ["Tea", " Tea "]}
    answers |= {"position_from_1": [2, "2", 2.0], "position_from_0": [1, "1.0"]}
    for answer_is, spellings in answers.items():
        cases = load([{**HOT, "answer": answer} for answer in spellings], CaseColumns(answer_is=answer_is)).cases
        assert {case.correct for case in cases} == {"B"}, answer_is
    table = "question,a,b,c,d,answer,of_a,of_b\nWhat is hot?,Fever,Tea,Ice,,B,infection,\nWho?,x,y,,,A,,\n"
    columns = CaseColumns(options=["a", "b", "c", "d"], option_conditions=["of_a", "of_b"])
    first, second = load(table, columns, name="cases.csv").cases
    assert (first.options, second.options) == (options("Fever", "Tea", "Ice"), options("x", "y"))
    assert (first.conditions, second.conditions) == (("infection", None, None), ())


def test_a_case_may_have_no_answer_which_is_part_of_its_digest(load):
    for answer in ({}, {"answer": None}, {"answer": ""}):
        collection = load([{**HOT, "answerable": True}, {**NONE, **answer}])
        assert [case.correct for case in collection.cases] == ["B", None]
        assert [query.answerable for query in collection.queries] == [True, False]
    assert load([HOT, {**HOT, "answer": "A"}]).digest != load([HOT, {**NONE, "question": HOT["question"]}]).digest


TEXT = st.text(st.sampled_from("ab é🙂,;\"'\\{[\n\r\t"), min_size=1, max_size=6).map(str.strip).filter(bool)
NAME = st.text(st.sampled_from("ab é,;\"'"), min_size=1, max_size=4).map(str.strip).filter(bool)
COLUMNS = CaseColumns("q", "o", "y", "letter", "c", "s", "d", "p", "oc", id="i")


@st.composite
def cases(draw):
    texts = draw(st.lists(TEXT, min_size=2, max_size=5, unique=True))
    conditions = tuple(draw(st.lists(st.none() | NAME, min_size=len(texts), max_size=len(texts))))
    return Case(
        query_id=draw(NAME),
        case=draw(st.just("") | TEXT),
        question=draw(TEXT),
        options=options(*texts),
        correct=draw(st.sampled_from(ALPHABET[: len(texts)])),
        specialty=draw(st.none() | NAME),
        difficulty=draw(st.none() | NAME),
        condition=draw(st.none() | NAME),
        conditions=conditions if any(conditions) else (),
    )


def row_of(case):
    fields = ("question", "correct", "case", "specialty", "difficulty", "condition", "query_id")
    row = dict(zip("qycsdpi", (getattr(case, field) for field in fields), strict=True))
    return {**row, "o": dict(case.options), "oc": dict(zip(ALPHABET, case.conditions, strict=False))}


def as_table(rows):
    rows = [{**row, "o": json.dumps(row["o"]), "oc": json.dumps(row["oc"])} for row in rows]
    return pd.DataFrame(rows).to_csv(index=False, quoting=csv.QUOTE_ALL)


def as_lines(rows):
    return "".join(f"{json.dumps(row)}\n" for row in rows)


WRITERS = {".csv": as_table, ".csv.gz": as_table, ".jsonl": as_lines, ".jsonl.gz": as_lines, ".json": json.dumps}


@given(st.lists(cases(), min_size=1, max_size=4, unique_by=lambda case: case.query_id), st.sampled_from([*WRITERS]))
def test_cases_are_read_as_they_were_written(tmp_path_factory, written, suffix):
    content = WRITERS[suffix]([row_of(case) for case in written]).encode()
    path = tmp_path_factory.mktemp("cases") / f"cases{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    assert CasesDataset("small", str(path), COLUMNS).load().cases == tuple(written)


BAD = [  # a file, and what the error names
    ("", r"cases\.json: contains no cases"),
    ("[\n{]", r"cases\.json, line 2: not JSON .*column 2"),
    ("[" * 2000, r"cases\.json: nested more than"),
    (f"{json.dumps(HOT)}\n{{", r"cases\.json, line 2: not JSON"),
    (b"{\xff", r"cases\.json: not UTF-8 \(line 1\)"),
    ([{name: HOT[name] for name in ("question", "options")}], r"entry 1: .*'answer'; .*dataset.columns.answer=COLUMN"),
    ([{**HOT, "answer": None}], "entry 1: the field 'answer' is empty"),
    ([{**HOT, "answerable": False}], "the field 'answer' is \"B\"; expected none, as answerable is false"),
    ([{**HOT, "answer": "D"}], r'the answer "D" .*dataset\.columns\.answer_is=let'),
    ([{**HOT, "question": " "}], "entry 1: the question is blank"),
    ([{**HOT, "question": "\ud83e"}], "entry 1: the field 'question' contains an invalid surrogate"),
    ([{**HOT, "options": ["Tea", "", "Ice"]}], "expected 2 to 26 options .*; found 'AC'"),
    ([{**HOT, "options": ["x"] * 27}], r"the field 'options' is \[.*"),
    ([{**HOT, "options": ["Tea", "Ice", " Tea"]}], "options A and C have the same text"),
    ([{**HOT, "options": ["B) Tea", "A) Ice"]}], "the texts of the options begin with the letters BA"),
    *(([{**IRON, **changed}], place) for changed, place in (
        ({"id": None}, "entry 1: the field 'id' is of type NoneType"),
        ({"id": "a\nb"}, "entry 1: the field 'id' contains a control character"),
        ({"specialty": "a\nb"}, r"entry 1: the specialty 'a\\nb' contains a control character"),
        ({"option_conditions": {"D": "thirst"}}, "entry 1: 'D' has a condition"),
        ({"relevant_docs": ["9"]}, r"entry 1: page '9' is not in the documents \(a\.pdf has pages 1 to 2\)"),
        ({"relevant_docs": [2.5]}, r"the field 'relevant_docs' is \[2\.5\]"),
    )),
]  # fmt: skip


def test_a_bad_case_is_refused_in_one_line_that_names_its_place(load, tmp_path):
    for content, place in BAD:
        columns = ALL if isinstance(content, list) and "clinical_case" in content[0] else None
        with pytest.raises((DatasetError, ConfigError), match=place) as refused:
            load(content, columns, pages=["one", "two"] if columns else ())
        assert len(str(refused.value).splitlines()) == 1, place
    for first, answer in [(1, 0), (1, 4), (0, -1), (0, 3), (1, "B"), (1, 1.5), (1, True), (1, [1])]:
        with pytest.raises(ConfigError, match=rf"is not a position from {first} to {first + 2} \(dataset\.columns\.an"):
            load([{**HOT, "answer": answer}], CaseColumns(answer_is=f"position_from_{first}"))
    with pytest.raises(DatasetError, match=r"dataset\.cases: .*none\.csv does not exist"):
        CasesDataset("small", str(tmp_path / "none.csv"), CaseColumns()).load()


ODD = st.sampled_from(["", " ", "A", "b", "Tea", "\ud83e", "a\nb", 0, 7, 1e300, True, None, [], {}, ["1"], [[]], [{}]])
FIELDS = st.dictionaries(
    st.sampled_from(["id", "question", "options", "answer", "specialty", "relevant"]),
    ODD | st.lists(ODD, max_size=3) | st.dictionaries(st.sampled_from(["A", "B", "C", ""]), ODD),
)
ROWS = st.lists(FIELDS.map(lambda row: {**HOT, "id": "1", "specialty": None, "relevant": []} | row) | ODD)


@given(st.binary(max_size=30) | ROWS.map(json.dumps).map(str.encode), st.sampled_from([".json", ".jsonl", ".csv"]))
def test_any_file_of_cases_loads_or_is_refused_in_one_line(tmp_path_factory, content, suffix):
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    path.write_bytes(content)
    columns, message = CaseColumns(id="id", specialty="specialty", relevant="relevant"), "one line"
    try:
        dataset = Dataset.from_collection(CasesDataset("any", str(path), columns).load(), PageChunker())
        assert len(dataset.cases) == len(dataset.queries) > 0
    except (DatasetError, ConfigError) as error:
        message = str(error)
    assert len(message.splitlines()) == 1


# The configurations of public question sets; the texts are ours

MEDQA = {
    "question": "A tired woman is pale. What does she need?",
    "answer": "Rest",
    "options": {"A": "Iron", "B": "Rest"},
    **{"meta_info": "step2&3", "answer_idx": "B", "metamap_phrases": ["tired woman", "pale"]},
}
MEDMCQA = {
    "question": "Which is hot?",
    "exp": "A fever is a temperature of 38 °C or more.",
    **{"cop": 1, "opa": "Fever", "opb": "Tea", "opc": "Ice", "opd": "None", "choice_type": "multi"},
    **{"subject_name": "Medicine", "topic_name": None, "id": "45258d3d-b974-44dd-a161-c3fccbdadd88"},
}
FROM_0 = {"columns": {"answer_is": "position_from_0"}}


@pytest.fixture
def preset(tmp_path):
    """Load a dataset of `conf/dataset/` from a file of rows, one JSON object per line, or of a text."""

    def load(name, content, file="cases.jsonl", **settings):
        (tmp_path / file).write_text(content if isinstance(content, str) else as_lines(content))
        register_resolvers()
        store = OmegaConf.load(PROJECT / "conf" / "config.yaml").store
        node = OmegaConf.merge(OmegaConf.load(option_file("dataset", name)), {"cases": str(tmp_path / file)}, settings)
        config = OmegaConf.create({"dataset": node, "store": {**store, "path": "unused", "enabled": False}})
        return Walk(config).build("dataset").load()

    return load


def test_medqa_and_medmcqa_are_read_as_their_authors_and_the_hub_publish_them(preset):
    medqa = Case("1", "", MEDQA["question"], options("Iron", "Rest"), "B", difficulty="step2&3")
    assert preset("medqa", [MEDQA]).cases == (medqa,)
    texts = options("Fever", "Tea", "Ice", "None")
    medmcqa = Case(MEDMCQA["id"], "", "Which is hot?", texts, "A", specialty="Medicine")
    assert preset("medmcqa", [MEDMCQA], "dev.json").cases == (medmcqa,)
    assert preset("medmcqa", [{**MEDMCQA, "cop": 0}], "validation.jsonl", **FROM_0).cases == (medmcqa,)
    with pytest.raises(ConfigError, match="line 2: the answer 0 is not a position from 1 to 4"):
        preset("medmcqa", [{**MEDMCQA, "cop": 3}, {**MEDMCQA, "id": "2", "cop": 0}])
    with pytest.raises(DatasetError, match="line 1: has no column 'cop'"):  # of the split without answers
        preset("medmcqa", [{name: value for name, value in MEDMCQA.items() if name != "cop"}])
    with pytest.raises(ConfigError, match="line 1: the answer -1 is not a position from 0 to 3"):
        preset("medmcqa", [{**MEDMCQA, "cop": -1}], **FROM_0)


def test_your_own_cases_and_pages_are_read(preset, tmp_path, write_pdf):
    table = 'id,question,options,answer,relevant\nc1,What is hot?,"[""Fever"", ""Tea""]",A,1; a.pdf#2;\r\n'
    table += 'c2,What is cold?,"[""Fever"", ""Tea""]",B,\r\n'
    pages = write_pdf(tmp_path / "a.pdf", "Fever", "Tea")
    collection = preset("cases", table, "cases.csv", documents=str(pages))
    hot, cold = (Case(f"c{row}", "", f"What is {text}?", options("Fever", "Tea"), right)
                 for row, text, right in ((1, "hot", "A"), (2, "cold", "B")))  # fmt: skip
    assert collection.cases == (hot, cold)
    assert [judgment.unit for judgment in collection.judgments] == ["a.pdf#1", "a.pdf#2"]


def test_questions_without_documents_cannot_be_ranked(application, tmp_path):
    (tmp_path / "test.jsonl").write_text(json.dumps(MEDQA))
    arguments = ["dataset=medqa", f"dataset.cases={tmp_path}/test.jsonl", "retriever=sparse"]
    expected = "medqa: has no documents, so no ranking can be measured; use task=answers"
    assert_refused(application.script_here("run", *arguments), application, expected)


# Cases that cannot be used, and those that are not chosen

MCQA = CaseColumns(id="id", options=["opa", "opb"], answer="cop", answer_is="position_from_1")


def rows(number, same=()):
    """Rows of so many cases, of which some have two equal options."""
    return [
        {"id": f"c{row}", "question": "Which?", "opa": "yes", "opb": "yes" if row in same else "no", "cop": 1}
        for row in range(1, number + 1)
    ]


def ids(items):
    return [item.query_id for item in items]


def test_faulty_cases_refuse_a_dataset_at_once_or_are_left_out_counted_and_said(load, tmp_path, capsys):
    with pytest.raises(DatasetError) as refused:
        load(rows(20, same=range(2, 21, 2)), MCQA)
    message = str(refused.value)
    assert message.startswith("10 of 20 questions cannot be used: ")
    assert [f"entry {number}:" in message for number in (2, 4, 6, 8, 10, 12)] == [True] * 5 + [False]
    assert message.endswith("and 5 more (dataset.on_error=skip leaves them out)")
    collection = load(rows(4, same=[2]), MCQA, on_error="skip")
    assert ids(collection.cases) == ids(collection.queries) == ["c1", "c3", "c4"]
    assert "entry 2: options A and B have the same text" in collection.left_out.faulty[0].text
    assert ids(load(rows(4, same=[2]), replace(MCQA, id=None), on_error="skip").queries) == ["1", "3", "4"]
    with pytest.raises(DatasetError, match="2 of 2 questions cannot be used: ") as refused:
        load(rows(2, same=[1, 2]), MCQA, on_error="skip")
    assert "on_error" not in str(refused.value)
    (tmp_path / "a.json").write_text(json.dumps([{"id": name, "answer": "A"} for name in ("c1", "c3", "c4")]))
    (tmp_path / "cases.json").write_text(json.dumps(rows(4, same=[2])))
    dataset = CasesDataset("small", str(tmp_path / "cases.json"), MCQA, on_error="skip")
    measurement = measured(dataset, RecordedAnswerer(str(tmp_path / "a.json")), evaluation=settings())
    printed = capsys.readouterr().err
    assert "measured: 3 of 4 questions\n" in printed
    assert "entry 2: options A and B have the same text" in printed
    assert measurement.condition == "of 3 of 4 questions"
    assert "(3 of 4 questions)" in measurement.sections["Answers"][0]
    assert "measured: 3 of 4 questions" in measurement.findings[0]


def test_ids_select_and_a_case_of_a_page_that_no_document_has_can_be_kept_at_its_place(load, tmp_path):
    (tmp_path / "ids.txt").write_text("c2\n\nc3\n")
    for chosen in (str(tmp_path / "ids.txt"), ["c2", "c3"]):
        collection = load(rows(3), MCQA, ids=chosen)
        assert ids(collection.queries) == ids(collection.cases) == ["c2", "c3"]
        assert collection.left_out.of_all(2) == "2 of 3 questions"
    numbered = [{**row, "id": number} for number, row in enumerate(rows(3), 11)]
    assert ids(load(numbered, MCQA, ids=[12, "13"]).cases) == ["12", "13"]
    unused, unchosen = {"group", "ids", "on_error", "qrels"}, CasesDataset("small", "cases.json", MCQA)
    assert {*unchosen.without_effect} >= unused
    assert {*replace(unchosen, ids=["c1"]).without_effect} & unused == unused - {"ids"}
    assert load(rows(3), MCQA, ids=["c1", "c2", "c3"]).digest == load(rows(3), MCQA).digest
    paged = [row | {"pages": [page]} for row, page in zip(rows(3), "192", strict=True)]
    kept = load(paged, replace(MCQA, relevant="pages"), pages=["Iron tablets.", "Birth plan."], on_error="keep")
    assert ids(kept.cases) == ids(kept.queries) == ["c1", "c2", "c3"]
    assert ("c2", "9", 1) in kept.judgments


def test_answers_in_another_field_or_counted_from_another_number_are_never_left_out(load):
    """MedQA's `answer` is a text. Of questions whose options are letters, a text would be read as a wrong letter.

    Only a quarter of the positions does not fit; all others would mean the option beside the right one.
    """
    texts = [{"question": "Which?", "options": {"A": "no", "B": "yes"}, "answer": "yes"} for _ in range(2)]
    texts.append({"question": "Which point?", "options": {"A": "B", "B": "A"}, "answer": "A"})
    for on_error in ("refuse", "skip"):
        with pytest.raises(ConfigError, match=r'entry 1: the answer "yes" is not the letter of an option'):
            load(texts, on_error=on_error)
        by_text = load(texts, CaseColumns(answer_is="text"), on_error=on_error)
        assert [case.correct for case in by_text.cases] == ["B", "B", "B"]
    for first in (0, 1):
        positions = [{"question": "Which?", "options": [*"wxyz"], "answer": first + place} for place in range(4)]
        with pytest.raises(ConfigError, match=f"from {first}, set dataset.columns.answer_is=position_from_{first}$"):
            load(positions, CaseColumns(answer_is=f"position_from_{1 - first}"), on_error="skip")
        read = load(positions, CaseColumns(answer_is=f"position_from_{first}"), on_error="skip")
        assert [case.correct for case in read.cases] == ["A", "B", "C", "D"]
