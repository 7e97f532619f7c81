"""Cases and recorded answers that cannot be used refuse a dataset or are left out, and are counted."""

import json
from dataclasses import replace

import pytest
import small

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.datasets import (
    Option,
    PageChunker,
)
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep_answers.answering import RecordedAnswerer, answer
from ragsweep_answers.answering.question import Question
from ragsweep_answers.cases import CaseColumns, CasesDataset
from ragsweep_answers.measuring.answer_settings import AnswerSettings
from ragsweep_answers.measuring.answers_task import AnswersTask

COLUMNS = CaseColumns(id="id", options=["opa", "opb"], answer="cop", answer_is="position_from_1")


def case(number, same=False):
    return {"id": f"c{number}", "question": "Which?", "opa": "yes", "opb": "yes" if same else "no", "cop": 1}


def cases(tmp_path, rows, **settings):
    (tmp_path / "dev.json").write_text("\n".join(map(json.dumps, rows)))
    return CasesDataset("medmcqa", str(tmp_path / "dev.json"), COLUMNS, **settings)


def test_all_faults_are_said_at_once_up_to_a_readable_number(tmp_path):
    rows = [case(number, same=number % 2 == 0) for number in range(1, 21)]
    with pytest.raises(DatasetError) as refused:
        cases(tmp_path, rows).load()
    said = str(refused.value)
    assert said.startswith("10 of 20 questions cannot be used: ")
    assert [f"line {number}:" in said for number in (2, 4, 6, 8, 10, 12)] == [True] * 5 + [False]
    assert said.endswith("and 5 more (dataset.on_error=skip leaves them out)")
    assert len(said.splitlines()) == 1


def test_a_case_of_a_page_that_no_document_has_can_be_kept_at_its_place(tmp_path):
    small.write_pdf(tmp_path / "m.pdf", ["Iron tablets.", "Birth plan."])
    rows = [case(number) | {"pages": [page]} for number, page in enumerate(["1", "9", "2"], start=1)]
    settings = {"documents": str(tmp_path / "m.pdf"), "on_error": "keep"}
    dataset = cases(tmp_path, rows, **settings)
    collection = replace(dataset, columns=replace(COLUMNS, relevant="pages")).load()
    assert [each.query_id for each in collection.cases] == ["c1", "c2", "c3"]
    assert [each.query_id for each in collection.queries] == ["c1", "c2", "c3"]
    assert ("c2", "9", 1) in collection.judgments


def test_faulty_questions_are_left_out_and_counted(tmp_path):
    rows = [case(number, same=number == 2) for number in range(1, 5)]
    collection = cases(tmp_path, rows, on_error="skip").load()
    assert [each.query_id for each in collection.cases] == ["c1", "c3", "c4"]
    assert collection.left_out.of_all(len(collection.queries)) == "3 of 4 questions"
    assert "line 2: options A and B have the same text" in collection.left_out.faulty[0].text


@pytest.mark.parametrize("on_error", ["refuse", "skip"])
def test_answers_in_another_field_than_is_read_are_never_left_out(tmp_path, on_error):
    """MedQA's `answer` is a text. Of questions whose options are letters, a text would be read as a wrong letter."""
    rows = [{"question": "Which?", "options": {"A": "no", "B": "yes"}, "answer": "yes"} for _ in range(2)]
    rows.append({"question": "Which point?", "options": {"A": "B", "B": "A"}, "answer": "A"})
    (tmp_path / "dev.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(
        ConfigError, match=r'line 1: the answer "yes" is not the letter of an option .*answer_is=letter'
    ):
        CasesDataset("medqa", str(tmp_path / "dev.jsonl"), CaseColumns(), on_error=on_error).load()
    by_text = CasesDataset("medqa", str(tmp_path / "dev.jsonl"), CaseColumns(answer_is="text"), on_error=on_error)
    assert [case.correct for case in by_text.load().cases] == ["B", "B", "B"]


@pytest.mark.parametrize(("first", "other"), [(0, "position_from_0"), (1, "position_from_1")])
def test_positions_that_are_counted_from_the_other_number_are_never_left_out(tmp_path, first, other):
    """Only a quarter of the answers does not fit then; all others would mean the option beside the right one."""
    right = {"position_from_0": "position_from_1", "position_from_1": "position_from_0"}[other]
    rows = [{"question": "Which?", "options": [*"wxyz"], "cop": first + place, "id": f"c{place}"} for place in range(4)]
    (tmp_path / "dev.json").write_text("\n".join(map(json.dumps, rows)))

    def load(answer_is):
        columns = CaseColumns(id="id", answer="cop", answer_is=answer_is)
        return CasesDataset("medmcqa", str(tmp_path / "dev.json"), columns, on_error="skip").load()

    with pytest.raises(ConfigError, match=f"from {first}, set dataset.columns.answer_is={other}$"):
        load(right)
    assert [case.correct for case in load(other).cases] == ["A", "B", "C", "D"]


def test_cases_without_ids_keep_their_numbers(tmp_path):
    rows = [case(number, same=number == 2) for number in range(1, 4)]
    (tmp_path / "dev.jsonl").write_text("\n".join(map(json.dumps, rows)))
    columns = CaseColumns(options=["opa", "opb"], answer="cop", answer_is="position_from_1", id=None)
    collection = CasesDataset("medqa", str(tmp_path / "dev.jsonl"), columns, on_error="skip").load()
    assert [query.query_id for query in collection.queries] == ["1", "3"]


def test_a_dataset_with_nothing_but_faults_is_refused_in_any_case(tmp_path):
    with pytest.raises(DatasetError, match="2 of 2 questions cannot be used: ") as refused:
        cases(tmp_path, [case(1, same=True), case(2, same=True)], on_error="skip").load()
    assert "on_error" not in str(refused.value)


def written(tmp_path, name, text):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


THREE = [{**case(1), "id": name} for name in ("11", "22", "33")]


def test_ids_select_questions(tmp_path):
    for ids in (written(tmp_path, "ids.txt", "22\n\n33\n"), [22, "33"]):
        collection = cases(tmp_path, THREE, ids=ids).load()
        assert [query.query_id for query in collection.queries] == ["22", "33"]
        assert [each.query_id for each in collection.cases] == ["22", "33"]
        assert collection.left_out.of_all(2) == "2 of 3 questions"


def test_the_defaults_change_no_setting_and_no_digest(tmp_path):
    unused = {"group", "ids", "on_error", "qrels"}
    assert {*cases(tmp_path, THREE).without_effect} >= unused
    assert {*cases(tmp_path, THREE, ids=["11"]).without_effect} & unused == unused - {"ids"}
    everything = cases(tmp_path, THREE, ids=["11", "22", "33"]).load()
    assert everything.digest == cases(tmp_path, THREE).load().digest


def test_an_accuracy_says_of_how_many_questions_it_is(tmp_path, capsys):
    dataset = cases(tmp_path, [case(number, same=number == 2) for number in range(1, 5)], on_error="skip")
    path = written(tmp_path, "a.json", json.dumps([{"id": f"c{number}", "answer": "A"} for number in (1, 3, 4)]))
    settings = AnswerSettings("after_cutoff", 1, 10, 10, 0.8, 0.5, [])
    answerer = RecordedAnswerer(path)
    task = AnswersTask(dataset, PageChunker(), SparseRetriever(NO_STORE), answerer, settings, 2, 0, NO_STORE)
    measured = task.measure(task.load())
    assert "measured: 3 of 4 questions\n" in (said := capsys.readouterr().err)
    assert "line 2: options A and B have the same text" in said
    assert measured.condition == "of 3 of 4 questions"
    assert "(3 of 4 questions)" in measured.sections["Answers"][0]
    assert "measured: 3 of 4 questions" in measured.findings[0]


QUESTIONS = [Question(name, "", "Which?", (Option("A", "yes"), Option("B", "no"))) for name in ("q1", "q2")]


def test_answers_to_questions_that_the_dataset_leaves_out_are_left_out_and_counted(tmp_path, capsys):
    rows = [{"id": name, "answer": "B"} for name in ("q1", "q2", "q9")]
    path = written(tmp_path, "a.json", json.dumps(rows))
    answers = answer(RecordedAnswerer(path), QUESTIONS, left_out=["q9"])
    assert [each.letter for each in answers] == ["B", "B"]
    assert "answers to questions that the dataset leaves out: 1" in capsys.readouterr().err
    for left_out in ([], ["q8"], [None]):
        with pytest.raises(DatasetError, match="the dataset has no case 'q9'"):
            answer(RecordedAnswerer(path), QUESTIONS, left_out=left_out)
