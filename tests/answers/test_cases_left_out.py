"""Cases and recorded answers that cannot be used refuse a dataset or are left out, and are counted."""

import json
from dataclasses import replace

import pytest
import small
from answers import small_answers
from answers.small_answers import questions, settings

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep_answers.answering import RecordedAnswerer, answer
from ragsweep_answers.cases import CaseColumns, CasesDataset

COLUMNS = CaseColumns(id="id", options=["opa", "opb"], answer="cop", answer_is="position_from_1")


def case(number, same=False):
    return {"id": f"c{number}", "question": "Which?", "opa": "yes", "opb": "yes" if same else "no", "cop": 1}


@pytest.fixture
def cases(tmp_path):
    """A dataset of rows, one JSON object per line."""

    def cases(rows, columns=COLUMNS, **settings):
        (tmp_path / "dev.jsonl").write_text("\n".join(map(json.dumps, rows)))
        return CasesDataset("medmcqa", str(tmp_path / "dev.jsonl"), columns, **settings)

    return cases


def ids(items):
    return [item.query_id for item in items]


def test_all_faults_are_said_at_once_up_to_a_readable_number(cases):
    with pytest.raises(DatasetError) as refused:
        cases([case(number, same=number % 2 == 0) for number in range(1, 21)]).load()
    message = str(refused.value)
    assert message.startswith("10 of 20 questions cannot be used: ")
    assert [f"line {number}:" in message for number in (2, 4, 6, 8, 10, 12)] == [True] * 5 + [False]
    assert message.endswith("and 5 more (dataset.on_error=skip leaves them out)")
    assert len(message.splitlines()) == 1


def test_a_case_of_a_page_that_no_document_has_can_be_kept_at_its_place(cases, tmp_path):
    small.write_pdf(tmp_path / "m.pdf", ["Iron tablets.", "Birth plan."])
    rows = [case(number) | {"pages": [page]} for number, page in enumerate(["1", "9", "2"], start=1)]
    columns = replace(COLUMNS, relevant="pages")
    collection = cases(rows, columns, documents=str(tmp_path / "m.pdf"), on_error="keep").load()
    assert ids(collection.cases) == ids(collection.queries) == ["c1", "c2", "c3"]
    assert ("c2", "9", 1) in collection.judgments


def test_faulty_questions_are_left_out_and_counted_and_the_rest_keeps_its_numbers(cases):
    rows = [case(number, same=number == 2) for number in range(1, 5)]
    collection = cases(rows, on_error="skip").load()
    assert ids(collection.cases) == ["c1", "c3", "c4"]
    assert collection.left_out.of_all(len(collection.queries)) == "3 of 4 questions"
    assert "line 2: options A and B have the same text" in collection.left_out.faulty[0].text
    assert ids(cases(rows, replace(COLUMNS, id=None), on_error="skip").load().queries) == ["1", "3", "4"]
    with pytest.raises(DatasetError, match="2 of 2 questions cannot be used: ") as refused:
        cases([case(1, same=True), case(2, same=True)], on_error="skip").load()
    assert "on_error" not in str(refused.value)


def test_answers_in_another_field_than_is_read_are_never_left_out(cases):
    """MedQA's `answer` is a text. Of questions whose options are letters, a text would be read as a wrong letter."""
    rows = [{"question": "Which?", "options": {"A": "no", "B": "yes"}, "answer": "yes"} for _ in range(2)]
    rows.append({"question": "Which point?", "options": {"A": "B", "B": "A"}, "answer": "A"})
    for on_error in ("refuse", "skip"):
        with pytest.raises(ConfigError, match=r'line 1: the answer "yes" is not the letter of an option'):
            cases(rows, CaseColumns(), on_error=on_error).load()
        by_text = cases(rows, CaseColumns(answer_is="text"), on_error=on_error).load()
        assert [case.correct for case in by_text.cases] == ["B", "B", "B"]


@pytest.mark.parametrize("first", [0, 1])
def test_positions_that_are_counted_from_the_other_number_are_never_left_out(cases, first):
    """Only a quarter of the answers does not fit then; all others would mean the option beside the right one."""
    rows = [{"question": "Which?", "options": [*"wxyz"], "cop": first + place, "id": f"c{place}"} for place in range(4)]
    columns = CaseColumns(id="id", answer="cop", answer_is=f"position_from_{1 - first}")
    with pytest.raises(ConfigError, match=f"from {first}, set dataset.columns.answer_is=position_from_{first}$"):
        cases(rows, columns, on_error="skip").load()
    columns = replace(columns, answer_is=f"position_from_{first}")
    assert [case.correct for case in cases(rows, columns, on_error="skip").load().cases] == ["A", "B", "C", "D"]


THREE = [{**case(1), "id": name} for name in ("11", "22", "33")]


def test_ids_select_questions(cases, tmp_path):
    (tmp_path / "ids.txt").write_text("22\n\n33\n")
    for chosen in (str(tmp_path / "ids.txt"), [22, "33"]):
        collection = cases(THREE, ids=chosen).load()
        assert ids(collection.queries) == ids(collection.cases) == ["22", "33"]
        assert collection.left_out.of_all(2) == "2 of 3 questions"


def test_the_defaults_change_no_setting_and_no_digest(cases):
    unused = {"group", "ids", "on_error", "qrels"}
    assert {*cases(THREE).without_effect} >= unused
    assert {*cases(THREE, ids=["11"]).without_effect} & unused == unused - {"ids"}
    assert cases(THREE, ids=["11", "22", "33"]).load().digest == cases(THREE).load().digest


def test_an_accuracy_says_of_how_many_questions_it_is(cases, tmp_path, capsys):
    dataset = cases([case(number, same=number == 2) for number in range(1, 5)], on_error="skip")
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"id": f"c{number}", "answer": "A"} for number in (1, 3, 4)]))
    measured = small_answers.measured(dataset, RecordedAnswerer(str(path)), evaluation=settings())
    printed = capsys.readouterr().err
    assert "measured: 3 of 4 questions\n" in printed
    assert "line 2: options A and B have the same text" in printed
    assert measured.condition == "of 3 of 4 questions"
    assert "(3 of 4 questions)" in measured.sections["Answers"][0]
    assert "measured: 3 of 4 questions" in measured.findings[0]


def test_answers_to_questions_that_the_dataset_leaves_out_are_left_out_and_counted(tmp_path, capsys):
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"id": name, "answer": "B"} for name in ("q1", "q2", "q9")]))
    asked = questions(3)[1:]
    answers = answer(RecordedAnswerer(str(path)), asked, left_out=["q9"])
    assert [given.letter for given in answers] == ["B", "B"]
    assert "answers to questions that the dataset leaves out: 1" in capsys.readouterr().err
    for left_out in ([], ["q8"], [None]):
        with pytest.raises(DatasetError, match="the dataset has no case 'q9'"):
            answer(RecordedAnswerer(str(path)), asked, left_out=left_out)
