"""Multiple-choice cases in files, and the pages that answer them."""

import csv
import gzip
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.datasets import Case, Dataset, Judgment, Option, PageChunker
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
ALL = CaseColumns(
    id="id",
    case="clinical_case",
    answer="correct_answer",
    specialty="specialty",
    difficulty="difficulty",
    condition="condition",
    option_conditions="option_conditions",
    relevant="relevant_docs",
)
HOT = {"question": "What is hot?", "options": ["Fever", "Tea", "Ice"], "answer": "B"}
TEA = (Option("A", "Fever"), Option("B", "Tea"), Option("C", "Ice"))
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@pytest.fixture
def load(tmp_path, write_pdf):
    """Load a file of cases, given as text or bytes, or as entries of a JSON list, with the pages of one PDF."""

    def load(content, columns=None, *, name="cases.json", pages=(), labels=(), **settings):
        text = json.dumps(content) if isinstance(content, list) else content
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        if pages:
            settings["documents"] = str(write_pdf(tmp_path / "a.pdf", *pages, labels=labels))
        return CasesDataset("small", str(tmp_path / name), columns or CaseColumns(), **settings).load()

    return load


def test_a_case_is_read_with_everything_that_is_known_of_it(load):
    case = Case(
        query_id="c1",
        case="A tired woman in her sixth month.",
        question="What does she need?",
        options=(Option("A", "Iron"), Option("B", "Rest"), Option("C", "Tea")),
        correct="A",
        specialty="Obstetrics",
        difficulty="easy",
        condition="anaemia",
        conditions=("anaemia", None, None),
    )
    assert load([IRON], ALL).cases == (case,)


def test_the_pages_of_a_case_are_judged(load):
    collection = load([IRON], ALL, pages=["Anaemia", "Iron tablets"])
    assert collection.judgments == (Judgment("c1", "a.pdf#1", 1), Judgment("c1", "a.pdf#2", 1))


def test_pages_in_a_table_are_separated_by_semicolons(load):
    table = "question,A,B,answer,pages\nWhat?,x,y,A,1; a.pdf#2;\nWho?,x,y,B,\n"
    collection = load(table, CaseColumns(options=["A", "B"], relevant="pages"), name="cases.csv", pages=["one", "two"])
    assert collection.judgments == (Judgment("1", "a.pdf#1", 1), Judgment("1", "a.pdf#2", 1))


def test_cases_without_an_id_are_numbered_from_1(load):
    rows = '\n{"question": "What?", "options": ["x", "y"], "answer": "A"}\n\n'
    assert [case.query_id for case in load(rows * 2).cases] == ["1", "2"]


# Options and answers


@pytest.mark.parametrize(
    "options",
    [
        ["Fever", "Tea", "Ice"],
        [" Fever ", "Tea", "Ice", ""],
        {"A": "Fever", "B": "Tea", "C": "Ice"},
        {"C": "Ice", "B": "Tea", "A": "Fever", "D": None, "E": " "},
        '["Fever", "Tea", "Ice"]',
        '{"A": "Fever", "B": "Tea", "C": "Ice"}',
    ],
)
def test_options_are_a_list_or_a_mapping_also_as_json_in_a_text(load, options):
    assert load([{**HOT, "options": options}]).cases[0].options == TEA


def test_options_can_have_a_column_each_and_the_last_ones_can_be_blank(load):
    table = "question,a,b,c,d,answer\nWhat is hot?,Fever,Tea,Ice,,B\nWho?,x,y,,,A\n"
    cases = load(table, CaseColumns(options=["a", "b", "c", "d"]), name="cases.csv").cases
    assert [case.options for case in cases] == [TEA, (Option("A", "x"), Option("B", "y"))]


def test_conditions_can_have_a_column_each(load):
    row = {**HOT, "of_a": "infection", "of_b": "", "of_c": None}
    assert load([row], CaseColumns(option_conditions=["of_a", "of_b", "of_c"])).cases[0].conditions == (
        "infection",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("answer_is", "answer"),
    [
        ("letter", "B"),
        ("letter", " b "),
        ("text", "Tea"),
        ("text", " Tea "),
        ("position_from_1", 2),
        ("position_from_1", "2"),
        ("position_from_1", 2.0),
        ("position_from_0", 1),
        ("position_from_0", "1.0"),
    ],
)
def test_an_answer_is_a_letter_a_text_or_a_position(load, answer_is, answer):
    assert load([{**HOT, "answer": answer}], CaseColumns(answer_is=answer_is)).cases[0].correct == "B"


# Round trips

TEXT = st.text(st.sampled_from("ab é🙂,;\"'\\{[\n\r\t"), min_size=1, max_size=6).map(str.strip).filter(bool)
NAME = st.text(st.sampled_from("ab é,;\"'"), min_size=1, max_size=4).map(str.strip).filter(bool)
COLUMNS = CaseColumns("q", "o", "y", "letter", "c", "s", "d", "p", "oc", id="i")


@st.composite
def cases(draw):
    texts = draw(st.lists(TEXT, min_size=2, max_size=5, unique=True))
    options = tuple(map(Option, ALPHABET, texts))
    conditions = tuple(draw(st.lists(st.none() | NAME, min_size=len(texts), max_size=len(texts))))
    return Case(
        query_id=draw(NAME),
        case=draw(st.just("") | TEXT),
        question=draw(TEXT),
        options=options,
        correct=draw(st.sampled_from(options)).letter,
        specialty=draw(st.none() | NAME),
        difficulty=draw(st.none() | NAME),
        condition=draw(st.none() | NAME),
        conditions=conditions if any(conditions) else (),
    )


def row_of(case):
    options, conditions = dict(case.options), dict(zip(ALPHABET, case.conditions, strict=False))
    values = [case.question, options, case.correct, case.query_id, case.case, case.specialty, case.difficulty]
    return dict(zip("q o y i c s d p oc".split(), [*values, case.condition, conditions], strict=True))


def as_table(rows):
    text = io.StringIO()
    table = csv.DictWriter(text, rows[0].keys())
    table.writeheader()
    table.writerows({**row, "o": json.dumps(row["o"]), "oc": json.dumps(row["oc"])} for row in rows)
    return text.getvalue()


def as_lines(rows):
    return "".join(f"{json.dumps(row)}\n" for row in rows)


WRITERS = {".csv": as_table, ".csv.gz": as_table, ".jsonl": as_lines, ".jsonl.gz": as_lines, ".json": json.dumps}


@given(st.lists(cases(), min_size=1, max_size=4, unique_by=lambda case: case.query_id), st.sampled_from([*WRITERS]))
def test_cases_are_read_as_they_were_written(tmp_path_factory, written, suffix):
    content = WRITERS[suffix]([row_of(case) for case in written]).encode()
    path = tmp_path_factory.mktemp("cases") / f"cases{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    assert CasesDataset("small", str(path), COLUMNS).load().cases == tuple(written)


# Bad input


def without(name):
    return {field: value for field, value in HOT.items() if field != name}


def test_a_missing_file_names_the_setting(tmp_path):
    expected = "a JSON, CSV, TSV or Parquet file of cases"
    with pytest.raises(DatasetError, match=rf"dataset\.cases: .*none\.csv does not exist; expected {expected}"):
        CasesDataset("small", str(tmp_path / "none.csv"), CaseColumns()).load()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"cases\.json: contains no cases; expected at least one$"),
        ("[\n{]", r"cases\.json, line 2: not JSON \(Expecting property name enclosed in double quotes, column 2\)"),
        ("[" * 2000, r"cases\.json: nested more than"),
        (f"{json.dumps(HOT)}\n{{", r"cases\.json, line 2: not JSON .*; expected an object on each line, or a list"),
        (b"{\xff", r"cases\.json: not UTF-8 \(line 1\); expected a JSON, CSV"),
        (
            [without("answer")],
            r"entry 1: has no column 'answer'; found 'question', 'options'; .*dataset.columns.answer=COLUMN",
        ),
        ([{**HOT, "answer": None}], "entry 1: the field 'answer' is empty; expected the correct answer of each case"),
        ([{**HOT, "answerable": False}], "the field 'answer' is \"B\"; expected none, as answerable is false"),
        ([{**HOT, "answer": "D"}], r'the answer "D" is not the letter of an option \(dataset\.columns\.answer_is=let'),
        ([{**HOT, "question": " "}], "entry 1: the question is blank"),
        ([{**HOT, "question": "\ud83e"}], "entry 1: the field 'question' contains an invalid surrogate"),
        ([{**HOT, "options": ["Tea", "", "Ice"]}], "expected 2 to 26 options .*; found 'AC'"),
        ([{**HOT, "options": ["x"] * 27}], r"the field 'options' is \[.*; expected texts by letter, or a list of at m"),
        ([{**HOT, "options": ["Tea", "Ice", " Tea"]}], "options A and C have the same text; expected different ones"),
        (
            [{**HOT, "options": ["B) Tea", "A) Ice"]}],
            "the texts of the options begin with the letters BA; expected their",
        ),
    ],
)
def test_a_bad_case_is_named_with_place_and_expectation(load, content, message):
    with pytest.raises((DatasetError, ConfigError), match=message) as raised:
        load(content)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": None}, "entry 1: the field 'id' is of type NoneType; expected a string"),
        ({"id": "a\nb"}, "entry 1: the field 'id' contains a control character or a line end"),
        ({"specialty": "a\nb"}, r"entry 1: the specialty 'a\\nb' contains a control character or a line end"),
        ({"option_conditions": {"D": "thirst"}}, "entry 1: 'D' has a condition, but is not the letter of an option"),
        ({"relevant_docs": ["9"]}, r"entry 1: page '9' is not in the documents \(a\.pdf has pages 1 to 2\)"),
        ({"relevant_docs": [2.5]}, r"""the field 'relevant_docs' is \[2\.5\]; expected a list like"""),
    ],
)
def test_a_bad_value_of_a_named_column_is_refused(load, changed, message):
    with pytest.raises(DatasetError, match=message):
        load([{**IRON, **changed}], ALL, pages=["one", "two"])


@pytest.mark.parametrize(
    ("first", "answer"), [(1, 0), (1, 4), (0, -1), (0, 3), (1, "B"), (1, 1.5), (1, True), (1, [1])]
)
def test_a_position_is_that_of_an_option(load, first, answer):
    with pytest.raises(ConfigError, match=rf"is not a position from {first} to {first + 2} \(dataset\.columns\.answer"):
        load([{**HOT, "answer": answer}], CaseColumns(answer_is=f"position_from_{first}"))


ODD = st.sampled_from(["", " ", "A", "b", "Tea", "\ud83e", "a\nb", 0, 7, 1e300, True, None, [], {}, ["1"], [[]], [{}]])
ROWS = st.dictionaries(
    st.sampled_from(["id", "question", "options", "answer", "specialty", "relevant"]),
    ODD | st.lists(ODD, max_size=3) | st.dictionaries(st.sampled_from(["A", "B", "C", ""]), ODD),
)
FILES = st.lists(st.builds(lambda row: {**HOT, "id": "1", "specialty": None, "relevant": []} | row, ROWS) | ODD)


@given(st.binary(max_size=30) | FILES.map(json.dumps).map(str.encode), st.sampled_from([".json", ".jsonl", ".csv"]))
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


NONE = {"question": "What is loud?", "options": ["Fever", "Tea", "Ice"], "answerable": False}


@pytest.mark.parametrize("answer", [{}, {"answer": None}, {"answer": ""}])
def test_a_case_may_have_no_answer(load, answer):
    found = load([{**HOT, "answerable": True}, {**NONE, **answer}])
    assert [case.correct for case in found.cases] == ["B", None]
    assert [query.answerable for query in found.queries] == [True, False]


def test_whether_a_case_has_an_answer_is_part_of_its_digest(load):
    assert load([HOT, {**HOT, "answer": "A"}]).digest != load([HOT, {**NONE, "question": HOT["question"]}]).digest
