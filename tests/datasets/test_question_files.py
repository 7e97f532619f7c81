"""Files of questions and judgments as people and programs write them: read, or refused with the setting to use."""

import json
import shlex
from pathlib import Path

import pandas as pd
import pyarrow
import pytest
from application import PROJECT
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from read_strictly import all_misses, expect_refusal, misses, read_strictly, refusal, span_questions

from ragsweep.datasets import Document, Reference, TableCorpus, TableQuestions
from ragsweep.datasets.readers.fields import EXPECTED, structured
from ragsweep.datasets.readers.qrels_files import read_qrels
from ragsweep.testing.datasets import AsIs

BOOK = Document.from_pages(
    "book.pdf", [(str(number), f"book.pdf#{number}", f"text {number}") for number in range(1, 7)]
)
NOTE = Document.from_pages("note.pdf", [("1", "note.pdf#1", "a note")])
TWO = (BOOK, NOTE)
MANUAL = (Document.from_pages("m", [("1", "m#1", "a"), ("2", "m#2", "b")]),)
HEAD = "query,relevant_docs\n"
BY_ROW = {"query": "question", "document": "file", "page": "page"}


def read(tmp_path, text, documents=(BOOK,), name="q.csv", **settings):
    """What is asked in a file, given as text, as bytes, or as rows of JSON."""
    if isinstance(text, list):
        name, text = name.replace(".csv", ".json"), json.dumps(text)
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_strictly(TableQuestions(str(tmp_path / name), **settings), documents)


def judged(tmp_path, text, documents=(BOOK,), name="q.csv", **settings):
    """The judgments of a file: query, unit and grade."""
    return [tuple(judgment) for judgment in read(tmp_path, text, documents, name, **settings).judgments]


def relevant(tmp_path, value, documents=TWO, **settings):
    """The units and grades of a row of JSON."""
    rows = [{"query": "q", "relevant_docs": value}]
    return [(unit, grade) for _, unit, grade in judged(tmp_path, rows, documents, **settings)]


# The columns of a table

ONE = [("1", "book.pdf#2", 1)]
ONE_AND_NOT_3, ONE_AND_3 = [*ONE, ("1", "book.pdf#3", 0)], [*ONE, ("1", "book.pdf#3", 1)]
BY_PAGE = {"page": "page", "grade": "none"}
READ = [  # a file, its settings, and its judgments
    (f"{HEAD}what,2\n", {}, ONE),
    ("question,page\nwhat,2\n", {"query": "question", **BY_PAGE}, ONE),
    ("q,p,g\nwhat,2,1\nwhat,3,0\n", {"query": "q", "page": "p", "grade": "g"}, ONE_AND_NOT_3),
    ("question,file,page,g\nwhat,book.pdf,2,yes\n", {**BY_ROW, "grade": "g", "grades": {"yes": 1, "no": 0}}, ONE),
    ("question,file,page\nwhat,book.pdf,1\n", {**BY_ROW, "grade": "none", "first_page": 0}, ONE),
    (f"{HEAD}what,book.pdf#1\n", {"first_page": 0}, ONE),
    ("query,page\nwhat,1.0\n", {**BY_PAGE, "first_page": 0}, ONE),  # of pandas
    ("query,page,g\nwhat,2,True\nwhat,3,False\n", {"page": "page", "grade": "g"}, ONE_AND_NOT_3),
    ("query,relevant_docs,score\nwhat,2,1\n", {"grade": "score"}, ONE),
    ("query,relevant_docs,score\nwhat,2,7\n", {"fields": ["score"]}, ONE),
    ("id,query,relevant_docs\na,what,2\n", {}, [("a", "book.pdf#2", 1)]),
    ("id,query,relevant_docs\na,what,2\n", {"id": None}, ONE),
    ("query;relevant_docs\nwhat;2\n", {"delimiter": ";"}, ONE),
    ("query\trelevant_docs\nwhat\t2\n", {"delimiter": r"\t"}, ONE),
    ('question,file,page\nwhat,book.pdf,"2; 3"\n', {**BY_ROW, "grade": "none"}, ONE_AND_3),
    ([{"q": "what", "gold": {"pages": [2]}}], {"query": "q", "relevant": "gold.pages"}, ONE),
    (
        [{"q": "what", "meta": {"file": "book.pdf"}, "p": 2}],
        {"query": "q", "document": "meta.file", "page": "p", "grade": "none"},
        ONE,
    ),
    (
        [{"query": "what", "file": "book.pdf", "relevant_docs": [2]}],
        {"document": "file", "page": "relevant_docs", "grade": "none"},
        ONE,
    ),
    # as programs write CSV
    (",query,relevant_docs\n0,what,2\n", {}, ONE),
    ("Unnamed: 0,query,relevant_docs\n0,what,2\n", {}, ONE),
    (f"{HEAD}what,2\n,\n,,,\n", {}, ONE),
    (f",\n{HEAD}what,2\n", {}, ONE),
    (b"\xef\xbb\xbf" + f"{HEAD}what,2\r\n".encode(), {}, ONE),
    ('relevant_docs, query\n2, "what, when"\n', {}, ONE),
    (f"{HEAD}what,2\nwho,\n", {}, ONE),  # a blank is no judgment
]


def test_columns_are_those_that_are_documented_or_named(tmp_path):
    wrong = []
    for text, settings, expected in READ:
        asked = read(tmp_path, text, **settings)
        numbers_of_rows = [name for name, _ in asked.queries[0].fields if name in ("", "Unnamed: 0")]
        if [tuple(judgment) for judgment in asked.judgments] != expected or numbers_of_rows:
            wrong.append((text, settings, asked.judgments))
    assert wrong == []


REFUSED = [  # a column whose meaning only the user knows, and the settings that say it
    ("question,document,pages\nq,book.pdf,6\n", {}, "questions.query=question", "questions.document=document"),
    ("question,page,score\nq,2,5\n", {}, "questions.page=page", "questions.grade=score", "questions.grade=none"),
    (f"{HEAD[:-1]},relevance\nq,2,0\n", {}, "questions.grade=relevance", "questions.fields=[relevance]"),
    ("query,page\nq,2\n", {"page": "page"}, "questions.grade=none"),
    ("query,page,page_2,g\nq,2,3,1\n", {"page": "page", "grade": "g"}, "questions.fields=[page_2]"),
    (f"{HEAD[:-1]},relevant_docs_2\nq,2,3\n", {}, "questions.fields=[relevant_docs_2]"),
    (f"{HEAD[:-1]},page\nq,2,3\n", BY_PAGE, "questions.relevant=null"),
    ('query,relevant_docs,references\nq,2,"[""text 2""]"\n', {}, "questions.relevant=null"),
    (f"{HEAD}q,2\nq,3\n", {}, "questions.grade=none"),
    ("id,query,relevant_docs\n1,q,2\n2,q,3\n", {}, "questions.id=null questions.grade=none"),
    ("query,page,g\nq,2,\n", {"page": "page", "grade": "g"}, "an empty string"),
    ("query,page,g\nq,2,yes\n", {"page": "page", "grade": "g"}, "grades={yes: 1, no: 0}"),
    ("query,page,g\nq,2,x\n", {"page": "page", "grade": "g", "grades": {"y": 1}}, "expected one of 'y'"),
    ("query,file,page\nq,note.pdf,1\nr,,1\n", {**BY_ROW, "query": "query", "grade": "none"}, "'file' is blank"),
    ("query,page\nq,one\n", {**BY_PAGE, "first_page": 0}, "first_page is 0"),
    ("query,relevant_docs,source\nq,5,note.pdf\n", {}, "questions.document=source questions.page=relevant_docs"),
    ("query,relevant_docs,source\nq,1,note.pdf\n", {}, "questions.document=source questions.page=relevant_docs"),
    ("query;relevant_docs\nq;2\n", {}, "'questions.delimiter=\";\"'"),
    ("sep=;\nquery;relevant_docs\nq;2\n", {}, "delete this line"),
    (f"{HEAD}q,2\n", {"document": "file", "grade": "none"}, "has no column 'file'"),
    (f"{HEAD}q,2\n", {"type": "level"}, "has no column 'level'", "questions.type=COLUMN"),
    ("Frage,Relevant Docs\nq,2\n", {"query": "frage"}, "questions.query=Frage", 'questions.relevant="Relevant'),
    # rows of one question that do not agree
    ("id,query,page,g\na,what,2,1\na,who,3,1", {"page": "page", "grade": "g"}, "the text is 'who', but 'what'"),
    ("id,query,page,g\na,what,2,1\na,what,2,0", {"page": "page", "grade": "g"}, "'2' has the grades 1 and 0"),
    ("id,query,page,g\na,what,2,1\na,what,3,1,x", {"page": "page", "grade": "g"}, "found 5 cells, expected 4"),
]


def test_what_a_column_means_is_asked_with_the_settings_to_paste(tmp_path):
    lines = [
        (refusal(lambda text=text, settings=settings: judged(tmp_path, text, TWO, **settings)), facts)
        for text, settings, *facts in REFUSED
    ]
    assert [(line, facts) for line, facts in lines if misses(line, *facts)] == []


def pasted(text):
    """The settings of a refusal up to the first choice, as Hydra reads them."""
    words = [word.rstrip(",;") for word in shlex.split(text.replace("'s ", " "))]
    typed = [OverridesParser.create().parse_override(word) for word in words if word.startswith("questions.")]
    values = {override.key_or_group: override.value() for override in typed}
    return {name.partition(".")[2]: str(getattr(value, "text", value)) for name, value in values.items()}


@pytest.mark.parametrize(
    "row",
    [
        {"Question": "q", "File": "m", "Page no.": "2", "Topic": "t"},
        {"question": "q", "expected_doc_id": "m", "evidence_pages": "2"},
        {"prompt": "q", "Relevant docs": "m#2"},
        {"question": "q", "file_name": "m", "relevant_pages": [2]},
        {"user_input": "q", "gold.document": "m", "gold.page": 2},
    ],
)
def test_the_settings_that_a_refusal_shows_read_the_file(tmp_path, row):
    line = refusal(lambda: judged(tmp_path, [row], MANUAL))
    settings = pasted(line.partition("such as ")[2].partition(", with")[0])
    settings |= {"grade": "none"} if settings.keys() & {"document", "page"} else {}
    assert judged(tmp_path, [row], MANUAL, **settings) == [("1", "m#2", 1)]


def test_a_run_says_what_is_read_as_what(tmp_path):
    text = "Question,Seite,author,note,id\nq,2,Zoë,x,a\nq,3,Zoë,y,a\n"
    asked = read(tmp_path, text, query="Question", page="Seite", grade="none")
    assert asked.columns == "q.csv read as: query=Question, page=Seite, id=id, grade=none; fields: author, note"
    assert asked.queries[0].fields == (("author", "Zoë"),)  # those that all of its rows share
    row = {"query": "q", "metadata": {"source": BOOK.source, "author": "Zoë"}, "page": 1, "Unnamed: 0": 7}
    asked = read(tmp_path, [row], document="metadata.source", page="page", grade="none", first_page=0)
    used = "query=query, document=metadata.source, page=page, grade=none, first_page=0"
    assert asked.columns == f"q.json read as: {used}; not read: the rest of 'metadata'"


@pytest.mark.parametrize("fault", ["1,,m,1,\n1,q,m,2,\n", "1,q,m,1,\n1,q,m,2,maybe\n"])
def test_a_row_that_cannot_be_read_takes_all_rows_of_its_question_with_it(tmp_path, fault):
    (tmp_path / "q.csv").write_text(f"id,query,doc,page,answerable\n{fault}2,r,m,1,\n")
    asked = TableQuestions(str(tmp_path / "q.csv"), document="doc", page="page", grade="none").read(MANUAL)
    assert [judgment.query_id for judgment in asked.judgments] == ["2"]
    assert len(asked.faults.faults) == 1


def test_a_document_is_found_by_its_own_name_before_a_whole_number(tmp_path):
    documents = tuple(Document.from_pages(name, [("1", name, "a")]) for name in ("12", "12.0"))
    table = "query,doc\nq,12.0\n"
    [(_, unit, _)] = judged(tmp_path, table, documents, document="doc", grade="none", unit="document")
    assert unit == "12.0"


@pytest.mark.parametrize("name", ["relevance_score", "is_correct", "Gold Score", "rating", "judgement", "is_rel"])
def test_a_column_that_looks_like_a_grade_is_refused_until_it_is_named(tmp_path, name):
    text = f"query,relevant_docs,{name}\nq,2,0\n"
    expect_refusal(lambda: read(tmp_path, text), f"'{name}' could be a grade")
    assert [judgment.grade for judgment in read(tmp_path, text, fields=[name]).judgments] == [1]
    assert [judgment.grade for judgment in read(tmp_path, text, grade=name).judgments] == [0]


# Judgments

CELLS = [  # a cell of CSV, and what it is in JSON; None: refused there, as a text of a list
    ("2", "2"),
    ('"2;"', None),
    ("2.0", 2.0),
    ("book.pdf#2", "book.pdf#2"),
    ('"[""2""]"', ["2"]),
    ("\"['2']\"", None),
    ('"{""2"": 1}"', {"2": 1}),
    ('"{""2"": ""1.0"", ""3"": null}"', {"2": "1.0", "3": None}),
]


@pytest.mark.parametrize(("cell", "value"), CELLS, ids=range(len(CELLS)))
def test_judgments_are_keys_or_grades(tmp_path, cell, value):
    assert judged(tmp_path, f"{HEAD}q,{cell}\n") == ONE
    if value is not None:
        assert relevant(tmp_path, value) == [("book.pdf#2", 1)]
    else:
        assert refusal(lambda: relevant(tmp_path, cell.strip('"')))


SEMICOLONS = "semicolons between several"
NO_JUDGMENTS = [  # a value of JSON, and what its refusal names
    ({"north.pdf": [1, 2]}, '["north.pdf#1", "north.pdf#2"]'),
    ([{"source": "book.pdf", "page_num": 2}], "objects with 'source', 'page_num'; expected a list like"),
    ({"source": "book.pdf", "page": 2}, 'the grade is "book.pdf"'),
    ([["1", "2"]], "expected a list like"),
    ("[south.pdf | Page 2]", 'expected a list like ["34", "manual.pdf#35"]'),
    ([2.5], "expected a list like"),
    ({"2": 0.5}, "the grade is 0.5"),
    ({"2": "ja"}, 'the grade is "ja"'),
    ({"2": "high"}, "grades={yes: 1, no: 0}"),
    ({"2": 10**10}, "the grade is 10000000000"),
    ({"2": 1, " 2": 2}, "has the grades 1 and 2"),
    ({"5": 1, "book.pdf#5": 2}, "has the grades 1 and 2"),
    ("1;2", "is the text '1;2'"),
    ("['1']", "not a text of one"),
    ("book.pdf, note.pdf", SEMICOLONS),
    *((text, SEMICOLONS) for text in ("1-3", "p. 1", "1, 2", "book.pdf#1-3", "1、3", "book.pdf#p.1")),
    ("0", "questions.first_page=0"),
]


def test_what_judgments_cannot_mean_is_refused_with_the_form(tmp_path):
    lines = [(refusal(lambda value=value: relevant(tmp_path, value)), fact) for value, fact in NO_JUDGMENTS]
    assert all_misses(lines) == []


def test_a_list_of_numpy_is_no_list(tmp_path):
    """Python joins '1' '2' to '12'."""
    for cell in ("['1' '2']", "['1' ... '9']", "['1' + '2']", "[1", "array(['1'])", "('1',)"):
        assert refusal(lambda cell=cell: judged(tmp_path, f'{HEAD}q,"{cell}"\n')), cell


@given(st.recursive(st.text(max_size=5) | st.integers() | st.booleans() | st.none(),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
                    max_leaves=8).filter(lambda value: isinstance(value, list | dict)))  # fmt: skip
def test_lists_as_python_prints_them_are_read_back(value):
    assert structured(repr(value), "here", EXPECTED) == value


@given(st.text(alphabet="[](){}'\",: 12abc\\xnp.", max_size=30))
def test_any_text_is_a_list_or_refused_in_one_line(text):
    refusal(lambda: structured(text, "here", EXPECTED))


def test_a_grade_that_only_other_rows_have_is_null(tmp_path):
    rows = [{"query": "a", "relevant_docs": {"1": 2, "3": None}}, {"query": "b", "relevant_docs": {"1": None, "3": 1}}]
    expected = [("1", "book.pdf#1", 2), ("2", "book.pdf#3", 1)]
    assert judged(tmp_path, rows) == expected
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "q.parquet")
    asked = read_strictly(TableQuestions(str(tmp_path / "q.parquet")), (BOOK,))
    assert [tuple(judgment) for judgment in asked.judgments] == expected


def test_a_document_may_be_called_nan(tmp_path):
    text = f"{HEAD}what,nan\n"
    expect_refusal(lambda: judged(tmp_path, text), "page 'nan' is not in the documents")
    named = Document.from_pages("nan", [("1", "nan", "x")])
    assert judged(tmp_path, text, (named,), unit="document") == [("1", "nan", 1)]


def test_a_document_named_by_a_column_is_never_a_page(tmp_path):
    named = {"query": "question", "document": "doc", "grade": "none"}
    three, book = "question,doc\nwhat,3\n", "question,doc\nwhat,book.pdf\n"
    expect_refusal(lambda: judged(tmp_path, three, **named), "document '3'", "(there are 'book.pdf')")
    expect_refusal(lambda: judged(tmp_path, book, **named), "(book.pdf has pages 1 to 6)")
    numbered = tuple(Document.from_pages(name, [("1", f"{name}#1", "text")]) for name in "123")
    assert judged(tmp_path, three, numbered, **named) == [("1", "3#1", 1)]
    assert judged(tmp_path, three, numbered, unit="document", **named) == [("1", "3", 1)]
    assert judged(tmp_path, three, (), unit="document", **named) == [("1", "3", 1)]


@pytest.mark.parametrize("value", ["C#", ["C#"], {"C#": 1}])
def test_the_name_of_a_document_may_end_in_a_number_sign(tmp_path, value):
    document = Document.from_pages("C#", [("1", "C##1", "a language")])
    assert relevant(tmp_path, value, (BOOK, document)) == [("C##1", 1)]
    assert relevant(tmp_path, value, (BOOK, document), unit="document") == [("C#", 1)]


@pytest.mark.parametrize(
    ("key", "is_refused"), [("a.pdf, b.pdf", 1), ("a.pdf|b.pdf", 1), ("a.pdf; b.pdf", 0), ("a-1", 0)]
)
def test_without_documents_an_id_that_could_be_several_is_refused(tmp_path, key, is_refused):
    if is_refused:
        expect_refusal(lambda: judged(tmp_path, f'{HEAD}what,"{key}"\n', ()), "expected semicolons between ids")
        key = json.dumps([key]).replace('"', '""')
    assert len(judged(tmp_path, f'{HEAD}what,"{key}"\n', ())) == 1 + (";" in key)


def test_a_cell_between_tabs_has_quotes_where_pandas_writes_them(tmp_path):
    frame = pd.DataFrame({"query": ['say "hi"', 'a 3" nail'], "relevant_docs": [json.dumps(["1"]), json.dumps(["2"])]})
    asked = read(tmp_path, frame.to_csv(sep="\t", index=False), name="q.tsv")
    assert [query.text for query in asked.queries] == ['say "hi"', 'a 3" nail']


# Qrels

QRELS = [("q1", "d1", 1), ("q1", "d 2", 0), ("q2", "d1", 2)]
HEADER = "query-id\tcorpus-id\tscore\n"


def test_qrels_are_those_of_beir_or_of_trec(tmp_path):
    lines = ["\t".join(map(str, row)) for row in QRELS]
    of_trec = ["\t".join((query, "0", document, str(grade))) for query, document, grade in QRELS]
    (tmp_path / "qrels.tsv").write_text(HEADER + "".join(f"{line}\n" for line in lines))
    (tmp_path / "without names.tsv").write_text("".join(f"{line}.0\n" for line in lines))
    (tmp_path / "trec.tsv").write_text("".join(f"{line}\n" for line in of_trec))
    spaced = "\n" + "".join(f"{line.replace('d 2', 'd_2')}\r\n" for line in of_trec).replace("\t", " ")
    (tmp_path / "spaces.tsv").write_text(spaced)
    frame = pd.DataFrame(QRELS, columns=["query-id", "corpus-id", "score"])
    frame.to_csv(tmp_path / "q.csv")
    frame.to_parquet(tmp_path / "q.parquet")
    frame.to_json(tmp_path / "q.jsonl", orient="records", lines=True)
    qrels = {path.name: [tuple(row) for _, row in read_qrels(path, "dataset.qrels")] for path in tmp_path.iterdir()}
    expected = dict.fromkeys(qrels, QRELS)
    assert qrels == expected | {"spaces.tsv": [QRELS[0], ("q1", "d_2", 0), QRELS[2]]}


NO_QRELS = [
    ("a.txt", "q1 d1\n", "line 1: found 2 columns, expected query-id, corpus-id and score"),
    ("a.txt", "q1 0 12\nq2 0 13\n", "the second of three columns is '0' in all lines"),
    ("a.txt", "q1 0 d1 1\nq1 d2 1\n", "line 2: found 3 columns, expected 4"),
    ("a.txt", "q1 0 d1 0.75\n", 'the grade is "0.75"'),
    ("a.txt", "query_id iteration doc_id relevance\nq1 0 d1 1\n", 'line 1: the grade is "relevance"'),
    ("a.txt", "q1,0,d1,1\n", "line 1: found 1 columns"),
    ("a.tsv", "q1\t7067032\t1\t0\nq2\t7067056\t1\t0\n", "the last of four columns is '0' in all lines"),
    ("a.jsonl", '{"query-id": "q", "corpus-id": "d", "mark": 1}\n', "has no column 'score'; found 'query-id'"),
    ("a.jsonl", '{"query-id": "q", "corpus-id": "d", "score": 0.5}\n', "the grade is 0.5"),
    ("a.json", '{"q": {"d": 1}}', "has no column 'query-id', 'corpus-id', 'score'; found 'q'"),
    ("a.csv", "query_id,doc_id,score\nq,d,3\n", "has no column 'query-id', 'corpus-id'"),
]


def test_other_qrels_are_refused(tmp_path):
    lines = []
    for name, text, fact in NO_QRELS:
        (tmp_path / name).write_text(text)
        lines.append((refusal(lambda name=name: list(read_qrels(tmp_path / name, "dataset.qrels"))), fact))
    assert all_misses(lines) == []


# The recipes of the documents

SQUAD = {"data": [{"title": "Normans", "paragraphs": [{"context": " Normandy is a region of France.", "qas": [
    {"id": "q1", "question": "Where is it?", "answers": [{"text": "region of France", "answer_start": 15}]},
    {"id": "q2", "question": "Whose is it?", "answers": [], "is_impossible": True}]}]}]}  # fmt: skip


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """An empty folder, in which the test runs."""
    monkeypatch.chdir(tmp_path)


def recipe_with(marker):
    """The recipe of the documents that contains this text."""
    page = (PROJECT / "docs/recipes.md").read_text(encoding="utf-8")
    [code] = [text.removeprefix("python\n") for text in page.split("```")[1::2] if marker in text]
    return compile(code, marker, "exec")


def recipe(marker):
    """Run the recipe that reads a file of this name, in this folder."""
    exec(recipe_with(marker), {})


def llama_index():
    questions = {"queries": {"a": "what"}, "corpus": {"d1": "x", "d2": "y"}, "relevant_docs": {"a": ["d1"]}}
    Path("qa_dataset.json").write_text(json.dumps(questions, indent=2))
    return TableCorpus("documents.jsonl")


def autorag():
    pd.DataFrame({"qid": ["a"], "query": ["what"], "retrieval_gt": [[["d1", "d2"], ["d3"]]]}).to_parquet("qa.parquet")
    pd.DataFrame({"doc_id": ["d1", "d2", "d3"], "contents": ["x", "y", "z"]}).to_parquet("corpus.parquet")
    return TableCorpus("corpus.parquet", id="doc_id", text="contents")


def sources_and_pages():
    rows = [{"question": "what", "relevant": [{"source": "book.pdf", "page": 1}]}]
    Path("golden.json").write_text(json.dumps(rows))
    return AsIs(TWO)


@pytest.mark.usefixtures("empty_folder")
@pytest.mark.parametrize(
    ("name", "write", "unit", "expected"),
    [
        ("qa_dataset.json", llama_index, "document", [("a", "d1")]),
        ("qa.parquet", autorag, "document", [("a", "d1"), ("a", "d2"), ("a", "d3")]),
        ("golden.json", sources_and_pages, "page", [("1", "book.pdf#2")]),  # LangChain counts from 0
    ],
)
def test_a_recipe_makes_a_table_of_the_file_of_another_program(name, write, unit, expected):
    corpus = write()
    recipe(name)
    asked = read_strictly(TableQuestions("questions.jsonl", unit=unit), corpus.read())
    assert [query.text for query in asked.queries] == ["what"]
    assert [tuple(judgment) for judgment in asked.judgments] == [(*pair, 1) for pair in expected]


@pytest.mark.usefixtures("empty_folder")
def test_the_recipe_for_squad():
    Path("dev-v2.0.json").write_text(json.dumps(SQUAD))
    recipe("dev-v2.0.json")
    documents = TableCorpus("documents.jsonl").read()
    asked = read_strictly(TableQuestions("questions.jsonl"), documents)
    assert [(query.query_id, query.answerable) for query in asked.queries] == [("q1", True), ("q2", False)]
    [reference] = asked.references
    assert documents[0].text[reference.start : reference.end] == "region of France"


@pytest.mark.usefixtures("empty_folder")
def test_the_recipe_for_ragas():
    rows = [{"user_input": "What?", "reference_contexts": ["<1-hop>\n\ntext 1", "<2-hop>\n\na note"], "reference": "x"}]
    pd.DataFrame(rows).to_csv("testset.csv", index=False)
    recipe("testset.csv")
    asked = read_strictly(TableQuestions("questions.jsonl"), TWO)
    assert asked.references == (Reference("1", "book.pdf", 0, 6), Reference("1", "note.pdf", 0, 6))


def test_the_recipe_for_the_hub_is_code():
    assert recipe_with("load_dataset")


def test_the_files_of_the_notebook_about_spans_are_read_with_settings(tmp_path):
    """Its documents have their name in an object, and its references a text and the chunks of its own database."""
    documents = [{"content": "Ice melts. Rivers rise.", "metadata": {"file_path": "papers/ice.md", "n": 1}},
                 {"content": "Soil dries.", "metadata": {"file_path": "papers/soil.md", "n": 2}}]  # fmt: skip
    (tmp_path / "documents.jsonl").write_text("".join(f"{json.dumps(document)}\n" for document in documents))
    question = {"question": "What rises?", "file_path": "papers/ice.md"}
    question |= {"references": [{"text": "Rivers rise.", "chunk_numbers": [0, 3]}], "refs_generated": 2}
    question |= {"source_document": "Ice melts. Rivers rise.", "refs_valid": 1, "refs_removed": 1}
    (tmp_path / "qa_evaluation_dataset.json").write_text(json.dumps([question], indent=2))
    corpus = TableCorpus(str(tmp_path / "documents.jsonl"), id="metadata.file_path", text="content").read()
    assert [document.source for document in corpus] == ["papers/ice.md", "papers/soil.md"]
    asked = read_strictly(span_questions(str(tmp_path / "qa_evaluation_dataset.json"), document="file_path"), corpus)
    assert asked.references == (Reference("1", "papers/ice.md", 11, 23),)
    page = (PROJECT / "docs/recipes.md").read_text(encoding="utf-8")
    assert "corpus.id=metadata.file_path corpus.text=content" in page
    assert "questions=spans questions.path=qa_evaluation_dataset.json questions.document=file_path" in page
