"""Answers from tables, what all recorded answers share, and the recipes of docs/recipes.md."""

import gzip
import json
import re
from pathlib import Path
from unicodedata import normalize

import pandas as pd
import pytest
from application import PROJECT, succeeded
from calls import calls_of
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf
from small import case_arguments, cases

from ragsweep.config.configuration_walk import Walk
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.project import option_file
from ragsweep.datasets import Case
from ragsweep.datasets.model.cases import LETTERS, Option
from ragsweep.testing import DatasetContract
from ragsweep_answers.answering import answer
from ragsweep_answers.answering.question import Answer, Question
from ragsweep_answers.answering.recorded_answers import RecordedAnswerer


def question(name, *texts):
    return Question(name, "", "What is it?", tuple(map(Option, LETTERS, texts)))


QUESTIONS = [question("q1", "Malaria", "Typhoid fever", "Dengue"), question("2", "yes", "no")]
MANY = [question(str(number), "Malaria", "Typhoid fever", "Dengue") for number in range(40)]
ROWS = [{"id": "q1", "answer": "B"}, {"id": "2", "answer": "A"}]


@pytest.fixture
def file(tmp_path):
    """Writes rows as JSONL, or a text as it is."""

    def write(content, name="answers.jsonl"):
        text = content if isinstance(content, str) else "".join(json.dumps(row) + "\n" for row in content)
        data = text.encode("utf-8", "surrogatepass")
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return str(tmp_path / name)

    return write


@pytest.fixture
def answers(file):
    """The recorded answers to the questions."""

    def read(content, name="answers.jsonl", questions=QUESTIONS, **settings):
        return RecordedAnswerer(file(content, name), **settings).answer(questions)

    return read


@pytest.fixture
def first(answers):
    """The answer to the first question, of a row with these fields."""
    return lambda settings=None, **fields: answers([{"id": "q1", **fields}, ROWS[1]], **(settings or {}))[0]


CSV = "id,answer\nq1,B\n2,A\n"
TABLES = [
    (ROWS, "answers.jsonl"),
    (ROWS, "answers.jsonl.gz"),
    (CSV, "answers.csv"),
    (CSV, "answers.csv.gz"),
    ("\ufeff" + CSV, "answers.csv"),
    ("answer,note,id\nB,x,q1\n\nA,,2\n", "answers.csv"),
    (json.dumps(ROWS, indent=1), "answers.jsonl"),
    ([{"id": 2, "answer": "A", "exchanges": [{"prompt": "?"}]}, {"id": " q1 ", "answer": "B"}], "answers.jsonl"),
]


def test_a_table_of_ids_in_any_normal_form_and_letters_is_enough_and_everything_else_is_kept(answers, first):
    assert [table for table in TABLES if answers(*table) != [Answer("B"), Answer("A")]] == []
    composed, decomposed = (normalize(form, "café") for form in ("NFC", "NFD"))
    for asked, written in ((composed, decomposed), (decomposed, composed)):
        rows = [{"id": written, "answer": "B"}]
        assert answers(rows, questions=[question(asked, "yes", "no")]) == [Answer("B")]
    fields = {"reasoning": "Because.", "time_ms": 12.5, "tokens_in": 100, "tokens_out": 7}
    given = first(answer="B", evidence=["m.pdf#34", "m.pdf#7"], cited=["m.pdf#7"], **fields)
    assert given == Answer("B", cited=("m.pdf#7",), retrieved=("m.pdf#34", "m.pdf#7"), **fields)
    retrieved = [answer.retrieved for answer in answers([{**ROWS[0], "evidence": ["a#1"]}, ROWS[1]])]
    assert retrieved == [("a#1",), ()]  # a system that retrieves found nothing where it gives no evidence
    assert [answer.retrieved for answer in answers([{**row, "evidence": []} for row in ROWS])] == [None, None]


def test_a_csv_file_says_the_same_as_a_jsonl_file(answers):
    fields = {"confidence": 0.75, "probabilities": [0.25, 0.5, 0.25], "reasoning": 'He said: "fever",\nand chills.'}
    fields |= {"evidence": ["manual.pdf#34", "manual.pdf#7"], "time_ms": 12.5, "tokens_in": 100}
    rows = [ROWS[0] | fields, {"id": "2", "answer": None}]
    table = pd.DataFrame(rows)
    for name in ("probabilities", "evidence"):
        table[name] = ["; ".join(map(str, values)) if isinstance(values, list) else None for values in table[name]]
    assert answers(table.to_csv(index=False), "answers.csv") == answers(rows)


@given(st.permutations(range(20)), st.lists(st.sampled_from([*"ABC", None]), min_size=20, max_size=20))
def test_the_order_of_the_rows_is_irrelevant(tmp_path_factory, order, letters):
    path = tmp_path_factory.mktemp("answers") / "answers.jsonl"
    path.write_text("".join(json.dumps({"id": str(row), "answer": letters[row]}) + "\n" for row in order))
    assert [answer.letter for answer in RecordedAnswerer(str(path)).answer(MANY[:20])] == letters


def test_four_times_as_many_answers_take_four_times_the_work(file):
    def calls(number):
        asked = [question(str(at), "w", "x", "y", "z") for at in range(number)]
        rows = [{"id": str(at), "answer": "ABCD"[at % 4], "confidence": at / number} for at in range(number)]
        answerer = RecordedAnswerer(file(rows))
        return calls_of(lambda: answerer.answer(asked))

    calls(100)  # imports what reads a table
    assert calls(400) < 5 * calls(100)


def test_an_answer_is_a_letter_or_the_text_of_an_option_and_no_other_letter(answers, first):
    letters = dict.fromkeys(["B", " b ", "Typhoid fever", "(B) Typhoid fever"], "B")
    letters |= dict.fromkeys([None, "", "The answer is (B).", "A or B"])
    for text, letter in letters.items():
        given = first({"max_unread": 1}, answer=text)
        assert (given.letter, given.unread) == (letter, "" if letter else text or "")
    for text in ("E.", "(e)", "E)", "e"):
        with pytest.raises(DatasetError, match=r"expected a letter of its case \(ABC\)"):
            first(answer=text)
    blood_groups = [question("q1", "B", "A", "AB", "O")]
    for text, letter in {"A) B": "A", "AB": "C", "O": "D", "C": "C", "D": "D"}.items():
        assert answers([{"id": "q1", "answer": text}], questions=blood_groups)[0].letter == letter
    for text in ("A", "(b)"):
        with pytest.raises(DatasetError, match="where a letter is also the text of another option"):
            answers([{"id": "q1", "answer": text}], questions=blood_groups)
    shown = [{**ROWS[0], "options": ["Malaria", "Typhoid  fever", "Dengue"]}, ROWS[1]]
    table = "id,answer,options\nq1,B,Malaria; Typhoid fever; Dengue\n2,A,\n"
    assert answers(shown) == answers(table, "answers.csv") == answers(ROWS)  # in the order of the dataset
    with pytest.raises(DatasetError, match=r"the field 'options' is .*'Malaria', 'Typhoid fever', 'Dengue'"):
        answers(table.replace("Malaria; Typhoid fever", "Typhoid fever; Malaria"), "answers.csv")


def test_a_response_is_read_where_there_is_no_answer_and_a_file_with_too_many_unread_texts_is_refused(answers, first):
    response = "Fever.\nAnswer: B\nConfidence: 80%"
    assert first(response=response) == Answer("B", 0.8, reasoning=response)
    assert first(response="The answer is B.", answer=None).letter is None

    def responses(number_read, unread, **settings):
        texts = ["Fever.\nAnswer: B"] * number_read + ["Final: B"] * unread
        rows = [{"id": str(number), "response": text} for number, text in enumerate(texts)]
        return answers(rows, questions=MANY[: len(rows)], **settings)

    assert [answer.letter for answer in responses(4, 1)] == [*"BBBB", None]
    advice = r"3 of 7 answers .*'Final: B'.*\"answerer\.pattern='Final: .*max_unread=0\.43"
    with pytest.raises(DatasetError, match=advice):
        responses(4, 3)
    assert responses(4, 3, max_unread=0.43)[-1].unread == "Final: B"
    assert [answer.letter for answer in responses(1, 4, pattern="(?:Final|Answer): ([A-E])")] == [*"BBBBB"]
    for pattern in ("Final", "(Final): ([A-E])", "Final: ([A-E]", ""):
        with pytest.raises(ConfigError, match=r"answerer\.pattern: "):
            responses(1, 0, pattern=pattern)


@pytest.mark.usefixtures("long_work")
def test_a_pattern_that_takes_too_long_is_refused(answers):
    rows = [{"id": question.question_id, "response": "x" * 5000} for question in MANY]
    with pytest.raises(ConfigError, match=r"answerer\.pattern: takes more than 1 s"):
        answers(rows, questions=MANY, pattern="(?:x+x+)+y([A-D])")


STATED = {  # a line of a response and the scale: the confidence
    ("Confidence: 85%", "unit"): 0.85,
    ("**Confidence:** 0.85", "unit"): 0.85,
    ("Confidence: 85", "percent"): 0.85,
    ("Confidence: 8.5", "ten"): 0.85,
    ("Confidence: 85", "unit"): None,  # no scale is guessed
    ("Confidence: high", "unit"): None,
    ("95% confidence interval: 0.2", "unit"): None,
}


def test_a_confidence_is_stated_in_a_line_or_that_of_the_probabilities_where_nothing_else_gives_one(first):
    stated = {
        (line, scale): first({"confidence_scale": scale}, response=f"Answer: B\n{line}").confidence
        for line, scale in STATED
    }
    assert stated == STATED
    assert first(probabilities=[0.2, 0.4, 0.4]) == Answer("B", 0.4, probabilities=(0.2, 0.4, 0.4))  # first of equals
    assert first(probabilities={"C": 0.5, "A": 0.25, "B": 0.25}) == Answer("C", 0.5, probabilities=(0.25, 0.25, 0.5))
    quarters = [0.25, 0.5, 0.25]
    assert first(answer="A", probabilities=quarters).confidence == 0.25
    assert first(answer="A", probabilities=quarters, confidence=0.9).confidence == 0.9
    assert first(answer=None, probabilities=quarters).confidence is None


SCALES = {
    "unit": [0.9, 0.35, 1, 0, 0.5, 0.75],
    "ten": [9, 3.5, 10, 0, 5, 7.5],
    "percent": [90, 35, 100, 0, 50, 75],
}


def test_confidences_are_read_on_the_scale_of_the_setting_and_refused_beyond_it(answers):
    for data, values in SCALES.items():
        rows = [{"id": str(number), "answer": "B", "confidence": value} for number, value in enumerate(values)]
        read = answers(rows, questions=MANY[: len(rows)], confidence_scale=data)
        assert [answer.confidence for answer in read] == SCALES["unit"]
        for scale in SCALES.keys() - {data, *(["percent"] if data == "ten" else [])}:  # nothing shows these are not %
            unit = "unit" if (data, scale) == ("unit", "percent") else ""  # none is above 1
            with pytest.raises(DatasetError, match=rf"answerer\.confidence_scale={unit}"):
                answers(rows, questions=MANY[: len(rows)], confidence_scale=scale)


SCALE = "a number from 0 to 1 (answerer.confidence_scale=ten"
BAD_VALUES = [  # a field, its value, how an error shows the value, and what it expects
    ("answer", "E", '"E"', "a letter of its case (ABC)"),
    ("answer", 1, "1", "a letter of its case (ABC)"),
    ("confidence", 70, "70", SCALE),
    ("confidence", float("nan"), "NaN", SCALE),
    ("confidence", "high", '"high"', SCALE),
    ("probabilities", [0.5, 0.6, 0.5], "[0.5, 0.6, 0.5]", "numbers that add up to 1"),
    ("probabilities", [1.5, -0.5, 0], "[1.5, -0.5, 0]", "numbers that add up to 1"),
    ("probabilities", {"A": 1}, "an object", "numbers that add up to 1"),
    ("options", ["b", "a", "c"], '["b", "a", "c"]', "the options of the dataset in its order ('Malaria', 'Typhoid fe"),
    ("evidence", [1.5], "[1.5]", "a list of pages"),
    ("time_ms", -1, "-1", "a number of at least 0"),
    ("tokens_in", 1.5, "1.5", "a whole number of at least 0"),
    ("reasoning", ["x"], '["x"]', "a string"),
]
BAD = [  # a file, its name, and what the error names
    *(
        (
            [ROWS[1], {**ROWS[0], field: value}],
            "a.jsonl",
            f"line 2: the field {field!r} is {shown}; expected {expected}",
        )
        for field, value, shown, expected in BAD_VALUES
    ),
    ([{"id": "q1", "letter": "B"}], "a.jsonl", "line 1: expected the field answer, response or probabilities; found"),
    ([*ROWS, {"id": "q9", "answer": "B"}], "a.jsonl", "line 3: the dataset has no case 'q9'; its cases are 'q1', '2'"),
    ([*ROWS, ROWS[0]], "a.jsonl", "line 3: the case 'q1' is answered twice, first in line 1"),
    (ROWS[:1], "a.jsonl", "1 of 2 cases has no answer: '2'; to count them as not answered, set answerer.missing=no_an"),
    ("", "a.jsonl", "contains no answers"),
    ("{", "a.jsonl", "is one object over several lines"),
    ('{"id": null}\n', "a.jsonl", "line 1: the field 'id' is of type NoneType"),
    ('{"answer": "B"}\n', "a.jsonl", "line 1: the field 'id' is missing"),
    ("id,answer,confidence\nq1,B,high\n2,A,\n", "a.csv", "line 2: the field 'confidence' is \"high\""),
    ("id,answer,time_ms\nq1,B,\u0665\n2,A,\n", "a.csv", "line 2: the field 'time_ms' is \"\\u0665\""),
    ("x", "a.txt", "has another ending than .jsonl, .json, .csv, .tsv and .parquet"),
]


def test_a_bad_value_or_file_is_refused_in_one_line_that_names_its_place(file, tmp_path):
    for content, name, place in BAD:
        path = file(content, name)
        with pytest.raises(DatasetError, match=rf"\A(answerer\.path: )?{re.escape(path)}.* {re.escape(place)}.*\Z"):
            RecordedAnswerer(path).answer(QUESTIONS)
    for path in ("nosuch.jsonl", "nosuch/answers.csv"):
        with pytest.raises(DatasetError, match=r"answerer.path: .* does not exist"):
            _ = RecordedAnswerer(str(tmp_path / path)).fingerprint


def test_a_bad_field_refuses_the_file_or_costs_nothing_else_and_is_named(answers):
    bad = [{"confidence": 85}, {"answer": "E"}, {"evidence": [1.5]}, {"time_ms": -1}, {"reasoning": ["x"]}]
    usual = {"answer": "B", "confidence": 0.75, "evidence": ["a#1"], "time_ms": 1, "reasoning": "So."}
    rows = [{"id": str(number), **usual, **(bad[number] if number < len(bad) else {})} for number in range(40)]
    with pytest.raises(DatasetError, match="5 of 40 answers cannot be used"):
        answers(rows, questions=MANY)
    read = answers(rows, questions=MANY, on_error="skip")
    lost = [("confidence",), (), ("evidence",), ("time_ms",), ("reasoning",), ()]
    assert [answer.lost for answer in read[:6]] == lost
    assert read[0] == Answer("B", None, reasoning="So.", retrieved=("a#1",), time_ms=1, lost=("confidence",))
    assert read[1] == Answer(None)  # an answer that is no option of its case is left out
    assert read[2].retrieved is None  # not known, which is not the same as none found
    assert all(answer.confidence == 0.75 for answer in read[2:])


def test_answers_to_questions_that_the_dataset_leaves_out_are_left_out_and_counted(file, capsys):
    path = file([*ROWS, {"id": "q9", "answer": "B"}])
    assert answer(RecordedAnswerer(path), QUESTIONS, left_out=["q9"]) == [Answer("B"), Answer("A")]
    assert "answers to questions that the dataset leaves out: 1" in capsys.readouterr().err
    for left_out in ([], ["q8"], [None]):
        with pytest.raises(DatasetError, match="the dataset has no case 'q9'"):
            answer(RecordedAnswerer(path), QUESTIONS, left_out=left_out)


def settings_of(path, **settings):
    node = OmegaConf.merge(OmegaConf.load(option_file("answerer", "recorded")), {"path": path, **settings})
    walk = Walk(OmegaConf.create({"answerer": node}))
    walk.build("answerer")
    return walk.settings_of("answerer")


def test_a_run_depends_on_the_content_and_the_name_of_the_file_and_not_on_its_folder(file, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    path, moved, changed = file(ROWS, "a.jsonl"), file(ROWS, "elsewhere/a.jsonl"), file(ROWS[::-1], "c.jsonl")
    assert settings_of(path) == settings_of(moved) == settings_of(file(ROWS, "b.jsonl"), name="a.jsonl")
    assert settings_of(path) != settings_of(changed, name="a.jsonl")


def test_recorded_answers_race_although_a_round_asks_some_questions_alone(application, file, tmp_path):
    def wrong(letter):
        return "BCA"["ABC".index(letter)]

    for name, letter in (("good.jsonl", str), ("bad.jsonl", wrong)):
        file([{"id": case["id"], "answer": letter(case["correct_answer"])} for case in cases()], name)
    files = f"answerer.path={tmp_path}/good.jsonl,{tmp_path}/bad.jsonl"
    race = ["-m", "hydra/sweeper=race", "hydra.sweeper.block=3"]
    arguments = [*race, *case_arguments(tmp_path / "data"), "answerer=recorded", files]
    assert "leaves out" not in succeeded(application.script_here("run", *arguments)).stderr
    assert {run.data.tags.get("race") for run in application.children()} == {None, "dropped after 6 of 8 questions"}


DATA = Path(__file__).parent / "data"
QUIZ = [json.loads(line) for line in (DATA / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
OF_QUIZ = [Question(case["id"], "", case["question"], tuple(map(Option, LETTERS, case["options"]))) for case in QUIZ]
REPORTED = json.loads((DATA / "reported.json").read_text(encoding="utf-8"))
PAGE = (PROJECT / "docs/recipes.md").read_text(encoding="utf-8")


def blocks(text):
    """The Python code of a part of the page."""
    return [block.partition("\n```")[0] for block in text.split("```python\n")[1:]]


INSPECT, HARNESS = blocks(PAGE.partition("### Logs of Inspect")[2])[:2]


def is_correct(answers):
    """Whether each answer is correct, in the order of the cases."""
    return [answer.letter == case["answer"] for answer, case in zip(answers, QUIZ, strict=True)]


def accuracy(answers):
    return sum(is_correct(answers)) / len(QUIZ)


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """The answers that a recipe writes, of a log in place of the one that it names."""

    def run(code, log):
        monkeypatch.chdir(tmp_path)
        for example in ("quiz.eval", "samples_quiz.jsonl"):
            code = code.replace(example, str(DATA / log))
        exec(compile(code, "recipe", "exec"), {})
        return RecordedAnswerer("answers.jsonl").answer(OF_QUIZ)

    return run


@pytest.mark.extra("recipes")
def test_the_accuracy_of_a_log_of_inspect_is_the_one_that_inspect_reports(recipe):
    for name in ("quiz", "quiz_shuffled_prompt"):
        read = recipe(INSPECT, f"{name}.eval")
        assert accuracy(read) == REPORTED["inspect-ai 0.3.285"][name]
        assert "ANSWER" in read[0].reasoning
    with pytest.raises(DatasetError, match=r"the field 'options' is .*'Rome', 'Paris'"):
        recipe(INSPECT, "quiz_shuffled_dataset.eval")


def test_each_answer_of_a_log_of_the_harness_is_right_where_the_harness_says_so(recipe):
    reported = REPORTED["lm-eval 0.4.13"]
    for name in ("choice", "text"):
        log = f"samples_quiz_{name}.jsonl"
        read = recipe(HARNESS, log)
        rows = [json.loads(line) for line in (DATA / log).read_text(encoding="utf-8").splitlines()]
        scored = {row["doc"]["id"]: bool(row["acc"]) for row in rows}
        assert is_correct(read) == [scored[case["id"]] for case in QUIZ]
        assert accuracy(read) == reported[f"quiz_{name}"]["acc,none"]
        assert all(0.2 < answer.confidence <= 1 for answer in read)
    generated = recipe(HARNESS.replace("'none'", "'strict'"), "samples_quiz_generate.jsonl")
    assert accuracy(generated) == reported["quiz_generate"]["exact_match,strict"]


# PubMedQA

[RECIPE] = [block for block in blocks(PAGE) if block.startswith("# pubmedqa.py")]
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

    def test_the_abstract_of_a_question_is_its_relevant_document(self):
        collection = self.component(**self.settings).load()
        options = tuple(map(Option, LETTERS, ("yes", "no", "maybe")))
        rows = {"21645374": ("Does iron help?", "A"), "9": ("Does tea help?", "C")}
        assert collection.cases == tuple(Case(name, "", text, options, right) for name, (text, right) in rows.items())
        texts = ["\n".join(entry["CONTEXTS"]) for entry in ENTRIES.values()]
        assert [document.text for document in collection.documents] == texts
        judged = [(judgment.query_id, judgment.unit) for judgment in collection.judgments]
        assert judged == [("21645374",) * 2, ("9",) * 2]
