"""Answers from tables, and what all recorded answers share."""

import gzip
import json
from unicodedata import normalize

import pandas as pd
import pytest
from application import succeeded
from calls import calls_of
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf
from small import case_arguments, cases

from ragsweep.config.walk import Walk
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.project import option_file
from ragsweep.datasets.model.cases import LETTERS, Option
from ragsweep_answers.answering.question import Answer, Question
from ragsweep_answers.answering.recorded_answers import RecordedAnswerer


def question(name, *texts):
    return Question(name, "", "What is it?", tuple(map(Option, LETTERS, texts)))


QUESTIONS = [question("q1", "Malaria", "Typhoid fever", "Dengue"), question("2", "yes", "no")]
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

    def read(content, name="answers.jsonl", **settings):
        return RecordedAnswerer(file(content, name), **settings).answer(QUESTIONS)

    return read


@pytest.fixture
def first(answers):
    """The answer to the first question, of a row with these fields."""
    return lambda settings=None, **fields: answers([{"id": "q1", **fields}, ROWS[1]], **(settings or {}))[0]


CSV = "id,answer\nq1,B\n2,A\n"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (ROWS, "answers.jsonl"),
        (ROWS, "answers.jsonl.gz"),
        (CSV, "answers.csv"),
        (CSV, "answers.csv.gz"),
        ("\ufeff" + CSV, "answers.csv"),
        ("answer,note,id\nB,x,q1\n\nA,,2\n", "answers.csv"),
        (json.dumps(ROWS, indent=1), "answers.jsonl"),
        ([{"id": 2, "answer": "A", "exchanges": [{"prompt": "?"}]}, {"id": " q1 ", "answer": "B"}], "answers.jsonl"),
    ],
)
def test_a_table_of_ids_and_letters_is_enough(answers, content, name):
    assert answers(content, name) == [Answer("B"), Answer("A")]


@pytest.mark.parametrize("forms", [("NFC", "NFD"), ("NFD", "NFC")])
def test_ids_are_the_same_in_any_normal_form(file, forms):
    asked, written = (normalize(form, "café") for form in forms)
    path = file([{"id": written, "answer": "B"}])
    assert RecordedAnswerer(path).answer([question(asked, "yes", "no")]) == [Answer("B")]


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("B", "B"),
        (" b ", "B"),
        ("Typhoid fever", "B"),
        ("(B) Typhoid fever", "B"),
        (None, None),
        ("", None),
        ("The answer is (B).", None),
        ("A or B", None),
    ],
)
def test_an_answer_is_a_letter_or_the_text_of_an_option(first, answer, letter):
    given = first({"max_unread": 1}, answer=answer)
    assert (given.letter, given.unread) == (letter, "" if letter else answer or "")


def responses(file, read, unread, **settings):
    texts = ["Fever.\nAnswer: B"] * read + ["Final: B"] * unread
    rows = [{"id": each.question_id, "response": text} for each, text in zip(MANY, texts, strict=False)]
    return RecordedAnswerer(file(rows), **settings).answer(MANY[: len(rows)])


def test_a_file_with_too_many_texts_without_an_answer_is_refused_with_what_reads_them(file):
    assert [each.letter for each in responses(file, 4, 1)] == [*"BBBB", None]
    with pytest.raises(
        DatasetError, match=r"3 of 7 answers .*'Final: B'.*\"answerer\.pattern='Final: .*max_unread=0\.43"
    ):
        responses(file, 4, 3)
    assert [each.unread for each in responses(file, 4, 3, max_unread=0.43)][-1] == "Final: B"
    assert [each.letter for each in responses(file, 1, 4, pattern="(?:Final|Answer): ([A-E])")] == [*"BBBBB"]


@pytest.mark.parametrize("pattern", ["Final", "(Final): ([A-E])", "Final: ([A-E]", ""])
def test_a_pattern_has_one_group(file, pattern):
    with pytest.raises(ConfigError, match=r"answerer\.pattern: "):
        settings_of(file(ROWS), pattern=pattern)


@pytest.mark.usefixtures("long_work")
def test_a_pattern_that_takes_too_long_is_refused(file):
    path = file([{"id": each.question_id, "response": "x" * 5000} for each in MANY])
    with pytest.raises(ConfigError, match=r"answerer\.pattern: takes more than 1 s"):
        RecordedAnswerer(path, pattern="(?:x+x+)+y([A-D])").answer(MANY)


@pytest.mark.parametrize("answer", ["E.", "(e)", "E)", "e"])
def test_a_letter_that_is_no_option_is_refused_in_any_form(first, answer):
    with pytest.raises(DatasetError, match=r"expected a letter of its case \(ABC\)"):
        first(answer=answer)


@pytest.mark.parametrize(
    ("answer", "letter"), [("A) B", "A"), ("AB", "C"), ("O", "D"), ("C", "C"), ("D", "D"), ("A", None), ("(b)", None)]
)
def test_a_letter_that_is_also_the_text_of_another_option_is_refused(file, answer, letter):
    blood_groups = question("q1", "B", "A", "AB", "O")
    answerer = RecordedAnswerer(file([{"id": "q1", "answer": answer}]))
    if letter:
        assert answerer.answer([blood_groups])[0].letter == letter
        return
    with pytest.raises(DatasetError, match="where a letter is also the text of another option"):
        answerer.answer([blood_groups])


def test_a_response_is_read_where_there_is_no_answer(first):
    given = first(response="Fever.\nAnswer: B\nConfidence: 80%")
    assert given == Answer("B", 0.8, reasoning="Fever.\nAnswer: B\nConfidence: 80%")
    assert first(response="The answer is B.", answer=None).letter is None


@pytest.mark.parametrize(
    ("line", "scale", "confidence"),
    [
        ("Confidence: 85%", "unit", 0.85),
        ("**Confidence:** 0.85", "unit", 0.85),
        ("Confidence: 85", "percent", 0.85),
        ("Confidence: 8.5", "ten", 0.85),
        ("Confidence: 85", "unit", None),  # no scale is guessed
        ("Confidence: high", "unit", None),
        ("95% confidence interval: 0.2", "unit", None),
    ],
)
def test_a_confidence_is_a_number_in_its_line_on_the_scale_that_is_set(first, line, scale, confidence):
    assert first({"confidence_scale": scale}, response=f"Answer: B\n{line}").confidence == confidence


def test_the_first_of_the_most_probable_options_is_the_answer_where_nothing_else_is(first):
    assert first(probabilities=[0.2, 0.4, 0.4]) == Answer("B", 0.4, probabilities=(0.2, 0.4, 0.4))
    assert first(probabilities={"C": 0.5, "A": 0.25, "B": 0.25}) == Answer("C", 0.5, probabilities=(0.25, 0.25, 0.5))


def test_the_confidence_is_the_probability_of_the_answer_unless_it_is_stated(first):
    assert first(answer="A", probabilities=[0.25, 0.5, 0.25]).confidence == 0.25
    assert first(answer="A", probabilities=[0.25, 0.5, 0.25], confidence=0.9).confidence == 0.9
    assert first(answer=None, probabilities=[0.25, 0.5, 0.25]).confidence is None


def test_everything_else_is_kept(first):
    given = first(
        answer="B",
        reasoning="Because.",
        evidence=["manual.pdf#34", "manual.pdf#7"],
        cited=["manual.pdf#7"],
        time_ms=12.5,
        tokens_in=100,
        tokens_out=7.0,
    )
    assert given == Answer(
        "B",
        reasoning="Because.",
        cited=("manual.pdf#7",),
        retrieved=("manual.pdf#34", "manual.pdf#7"),
        tokens_in=100,
        tokens_out=7,
        time_ms=12.5,
    )


def test_a_csv_file_says_the_same_as_a_jsonl_file(answers):
    rows = [
        {
            "id": "q1",
            "answer": "B",
            "confidence": 0.75,
            "probabilities": [0.25, 0.5, 0.25],
            "reasoning": 'He said: "fever",\nand chills.',
            "evidence": ["manual.pdf#34", "manual.pdf#7"],
            "time_ms": 12.5,
            "tokens_in": 100,
        },
        {"id": "2", "answer": None},
    ]
    table = pd.DataFrame(rows)
    for name in ("probabilities", "evidence"):
        table[name] = ["; ".join(map(str, each)) if isinstance(each, list) else None for each in table[name]]
    assert answers(table.to_csv(index=False), "answers.csv") == answers(rows)


def test_options_in_the_order_of_the_dataset_are_those_that_were_shown(answers):
    rows = [{"id": "q1", "answer": "B", "options": ["Malaria", "Typhoid  fever", "Dengue"]}, ROWS[1]]
    assert answers(rows) == answers(ROWS)
    table = "id,answer,options\nq1,B,Malaria; Typhoid fever; Dengue\n2,A,\n"
    assert answers(table, "answers.csv") == answers(ROWS)
    with pytest.raises(DatasetError, match=r"the field 'options' is .*'Malaria', 'Typhoid fever', 'Dengue'"):
        answers(table.replace("Malaria; Typhoid fever", "Typhoid fever; Malaria"), "answers.csv")


def test_a_system_that_retrieves_found_nothing_where_it_gives_no_evidence(answers):
    retrieved = [answer.retrieved for answer in answers([{**ROWS[0], "evidence": ["a#1"]}, ROWS[1]])]
    assert retrieved == [("a#1",), ()]
    assert [answer.retrieved for answer in answers([{**row, "evidence": []} for row in ROWS])] == [None, None]


@given(st.permutations(range(20)), st.lists(st.sampled_from([*"ABC", None]), min_size=20, max_size=20))
def test_the_order_of_the_rows_is_irrelevant(tmp_path_factory, order, letters):
    path = tmp_path_factory.mktemp("answers") / "answers.jsonl"
    path.write_text("".join(json.dumps({"id": str(row), "answer": letters[row]}) + "\n" for row in order))
    asked = [question(str(number), "x", "y", "z") for number in range(20)]
    assert [answer.letter for answer in RecordedAnswerer(str(path)).answer(asked)] == letters


LOGS = "; docs/recipes.md turns logs of lm-evaluation-harness and Inspect into a table"
SCALE = "a number from 0 to 1 (answerer.confidence_scale=ten reads 0 to 10, percent 0 to 100)"
BAD = [  # a field, its value, how an error shows the value, and what it expects
    ("answer", "E", '"E"', "a letter of its case (ABC)"),
    ("answer", 1, "1", "a letter of its case (ABC)"),
    ("confidence", 70, "70", SCALE),
    ("confidence", float("nan"), "NaN", SCALE),
    ("confidence", "high", '"high"', SCALE),
    ("probabilities", [0.5, 0.6, 0.5], "[0.5, 0.6, 0.5]", "numbers that add up to 1, one for each letter"),
    ("probabilities", [1.5, -0.5, 0], "[1.5, -0.5, 0]", "numbers that add up to 1, one for each letter"),
    ("probabilities", {"A": 1}, "an object", "numbers that add up to 1, one for each letter"),
    ("options", ["Typhoid fever", "Malaria", "Dengue"], '["Typhoid fever", "Malaria", "Dengue"]',
     "the options of the dataset in its order ('Malaria', 'Typhoid fever', 'Dengue')"),
    ("evidence", [1.5], "[1.5]", "a list of pages"),
    ("time_ms", -1, "-1", "a number of at least 0"),
    ("tokens_in", 1.5, "1.5", "a whole number of at least 0"),
    ("reasoning", ["x"], '["x"]', "a string"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "shown", "expected"), BAD)
def test_a_bad_value_is_refused_in_one_line_that_names_its_place(file, field, value, shown, expected):
    path = file([ROWS[1], {"id": "q1", "answer": "B", field: value}])
    with pytest.raises(DatasetError) as error:
        RecordedAnswerer(path).answer(QUESTIONS)
    assert str(error.value).startswith(f"{path}, line 2: the field {field!r} is {shown}; expected {expected}")


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ([{"id": "q1", "letter": "B"}], "a.jsonl", "{path}, line 1: expected the field answer, response or "
         "probabilities; found 'id', 'letter'" + LOGS),
        ([*ROWS, {"id": "q9", "answer": "B"}], "a.jsonl", "{path}, line 3: the dataset has no case 'q9'; its cases are "
         "'q1', '2'"),
        ([*ROWS, ROWS[0]], "a.jsonl", "{path}, line 3: the case 'q1' is answered twice, first in line 1"),
        (ROWS[:1], "a.jsonl", "{path}: 1 of 2 cases has no answer: '2'; to count them as not answered, set "
         "answerer.missing=no_answer"),
        ("", "a.jsonl", "{path}: contains no answers; expected a row per case with id and answer"),
        ("{", "a.jsonl", "{path}: is one object over several lines; expected a list of objects, or an object on each "
         "line (docs/recipes.md has recipes for the JSON of other programs)"),
        ('{"id": null}\n', "a.jsonl", "{path}, line 1: the field 'id' is of type NoneType; expected a string"),
        ('{"answer": "B"}\n', "a.jsonl", "{path}, line 1: the field 'id' is missing; found 'answer'"),
        ("id,answer,confidence\nq1,B,high\n2,A,\n", "a.csv", "{path}, line 2: the field 'confidence' is \"high\"; "
         "expected " + SCALE),
        ("id,answer,time_ms\nq1,B,\u0665\n2,A,\n", "a.csv", "{path}, line 2: the field 'time_ms' is \"\\u0665\"; "
         "expected a number of at least 0"),
        ("x", "a.txt", "answerer.path: {path} has another ending than .jsonl, .json, .csv, .tsv and .parquet" + LOGS),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_in_one_line(file, content, name, message):
    path = file(content, name)
    with pytest.raises(DatasetError) as error:
        RecordedAnswerer(path).answer(QUESTIONS)
    assert str(error.value).removesuffix(" (answerer.on_error=skip leaves it out)") == message.format(path=path)


@pytest.mark.parametrize("name", ["nosuch.jsonl", "nosuch/answers.csv"])
def test_a_missing_file_is_refused_before_anything_is_measured(tmp_path, name):
    with pytest.raises(DatasetError, match=r"answerer.path: .* does not exist; expected a file of answers"):
        settings_of(str(tmp_path / name))


def test_confidences_that_are_not_in_percent_are_refused_where_the_setting_says_percent(first):
    with pytest.raises(DatasetError, match=r"from 0 to 100, but none is above 1; set answerer.confidence_scale=unit"):
        first({"confidence_scale": "percent"}, answer="B", confidence=0.9)


MANY = [question(str(number), "Malaria", "Typhoid fever", "Dengue") for number in range(40)]


def test_a_bad_field_refuses_the_file_or_costs_nothing_else_and_is_named(file):
    bad = [{"confidence": 85}, {"answer": "E"}, {"evidence": [1.5]}, {"time_ms": -1}, {"reasoning": ["x"]}]
    usual = {"answer": "B", "confidence": 0.75, "evidence": ["a#1"], "time_ms": 1, "reasoning": "So."}
    rows = [{"id": each.question_id, **usual, **(bad[n] if n < len(bad) else {})} for n, each in enumerate(MANY)]
    with pytest.raises(DatasetError, match="5 of 40 answers cannot be used"):
        RecordedAnswerer(file(rows)).answer(MANY)
    found = RecordedAnswerer(file(rows), on_error="skip").answer(MANY)
    lost = [("confidence",), (), ("evidence",), ("time_ms",), ("reasoning",), ()]
    assert [each.lost for each in found[:6]] == lost
    assert found[0] == Answer("B", None, reasoning="So.", retrieved=("a#1",), time_ms=1, lost=("confidence",))
    assert found[1] == Answer(None)  # an answer that is no option of its case is left out
    assert found[2].retrieved is None  # not known, which is not the same as none found
    assert all(each.confidence == 0.75 for each in found[2:])


def of_confidences(file, values, **settings):
    rows = [{"id": str(number), "answer": "B", "confidence": value} for number, value in enumerate(values)]
    found = RecordedAnswerer(file(rows), **settings).answer(MANY[: len(rows)])
    return [each.confidence for each in found]


SCALES = {
    "unit": [0.9, 0.35, 1, 0, 0.5, 0.75],
    "ten": [9, 3.5, 10, 0, 5, 7.5],
    "percent": [90, 35, 100, 0, 50, 75],
}


@pytest.mark.parametrize("data", SCALES)
@pytest.mark.parametrize("setting", SCALES)
def test_confidences_are_read_on_the_scale_of_the_setting_and_refused_beyond_it(file, data, setting):
    if data == setting:
        assert of_confidences(file, SCALES[data], confidence_scale=setting) == SCALES["unit"]
    elif (data, setting) != ("ten", "percent"):  # nothing shows that these are not of 100
        with pytest.raises(DatasetError, match=r"answerer\.confidence_scale="):
            of_confidences(file, SCALES[data], confidence_scale=setting)


def settings_of(path, **settings):
    node = OmegaConf.merge(OmegaConf.load(option_file("answerer", "recorded")), {"path": path, **settings})
    walk = Walk(OmegaConf.create({"answerer": node}))
    walk.build("answerer")
    return walk.settings_of("answerer")


def test_a_run_depends_on_the_content_and_the_name_of_the_file_and_not_on_its_folder(file, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    here, moved, changed = file(ROWS, "a.jsonl"), file(ROWS, "elsewhere/a.jsonl"), file(ROWS[::-1], "c.jsonl")
    assert settings_of(here) == settings_of(moved)
    assert settings_of(here) != settings_of(changed, name="a.jsonl")
    assert settings_of(here) == settings_of(file(ROWS, "b.jsonl"), name="a.jsonl")


def test_four_times_as_many_answers_take_four_times_the_work(file):
    def calls(number):
        asked = [question(str(at), "w", "x", "y", "z") for at in range(number)]
        rows = [{"id": str(at), "answer": "ABCD"[at % 4], "confidence": at / number} for at in range(number)]
        answerer = RecordedAnswerer(file(rows))
        return calls_of(lambda: answerer.answer(asked))

    calls(100)  # imports what reads a table
    assert calls(400) < 5 * calls(100)


def test_recorded_answers_race_although_a_round_asks_some_questions_alone(application, tmp_path):
    arguments = case_arguments(tmp_path / "data")
    for name, right in (("good", True), ("bad", False)):
        lines = [
            json.dumps({"id": case["id"], "answer": next(a for a in "ABC" if (a == case["correct_answer"]) == right)})
            for case in cases()
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    files = f"answerer.path={tmp_path}/good.jsonl,{tmp_path}/bad.jsonl"
    race = ["-m", "hydra/sweeper=race", "hydra.sweeper.block=3"]
    succeeded(application.run(*race, *arguments, "answerer=recorded", files))
    assert {run.data.tags.get("race") for run in application.children()} == {None, "dropped after 6 of 8 questions"}
