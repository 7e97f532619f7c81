"""Judgments and questions as other programs export them: pandas, spreadsheets, LangChain, LlamaIndex, ranx, MTEB."""

import json
from contextlib import nullcontext

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_strictly import read_strictly

from ragsweep.core.errors import DatasetError
from ragsweep.core.parsing import MalformedError
from ragsweep.datasets import BeirDataset, Document, SpanQuestions, TableCorpus, TableQuestions
from ragsweep.datasets.readers.python_values import from_python
from ragsweep.datasets.readers.qrels_files import read_qrels

BOOK = Document.from_pages(
    "book.pdf", [(str(number), f"book.pdf#{number}", f"text {number}") for number in range(1, 7)]
)
NOTE = Document.from_pages("note.pdf", [("1", "note.pdf#1", "a note")])
TWO = (BOOK, NOTE)


def judged(tmp_path, text, documents=(BOOK,), name="q.csv", **settings):
    """The judgments of a table: query, unit and grade."""
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    asked = read_strictly(TableQuestions(str(tmp_path / name), **settings), documents)
    return [tuple(judgment) for judgment in asked.judgments]


def in_json(tmp_path, relevant, documents=TWO, **settings):
    rows = [{"query": "what", "relevant_docs": relevant}]
    return [each[1:] for each in judged(tmp_path, json.dumps(rows), documents, "q.json", **settings)]


# Judgments with fields


@pytest.mark.parametrize(
    "written",
    [
        "1-3",
        "p. 1",
        "1, 2",
        "1\n2",
        "1 & 2",
        "book.pdf#1-3",
        "1..3",
        "1…3",
        "1—3",
        "1\u20113",
        "1、3",
        "1\uff0c3",
        "1 \u060c 3",
        "1\uff5e3",
        "book.pdf#p.1",
        "book.pdf#page=1",
        "book.pdf#'1",
        "book.pdf#1f",
    ],
)
def test_pages_in_another_notation_are_refused_with_the_right_one(tmp_path, written):
    with pytest.raises(DatasetError, match="write a number alone, and semicolons between several"):
        in_json(tmp_path, written)


@pytest.mark.parametrize(
    ("relevant", "expected"),
    [
        ([{"source": "book.pdf", "page": "3", "grade": 0}], [("book.pdf#3", 0)]),
        ([{"file": "book.pdf", "page": 3, "relevance": 2.0}], [("book.pdf#3", 2)]),
        ([{"doc": "note.pdf"}], [("note.pdf#1", 1)]),
        ({"document": "book.pdf", "page": 4, "rel": "2"}, [("book.pdf#4", 2)]),
        ([{"filename": "book.pdf", "source": "book.pdf", "page_number": 4}], [("book.pdf#4", 1)]),
        ([{"doc_id": "book.pdf", "page": 1, "score": -1, "reason": "it says so"}], [("book.pdf#1", -1)]),
        ([{"source": None, "page": 2}, 3, "4", 5.0], [(f"book.pdf#{page}", 1) for page in (2, 3, 4, 5)]),
        ([{"source": "book.pdf#6"}], [("book.pdf#6", 1)]),
        ([{"page": 1, "source": "book.pdf", "grade": 2}, {"page": 2, "grade": None}], [("book.pdf#1", 2)]),
        ([{"page": 1, "source": "book.pdf", "grade": None}], [("book.pdf#1", 1)]),
        ([["book.pdf#1"], ["2", "book.pdf#3"]], [(f"book.pdf#{page}", 1) for page in (1, 2, 3)]),  # AutoRAG
        (2, [("book.pdf#2", 1)]),
    ],
)
def test_a_judgment_may_name_its_document_page_and_grade(tmp_path, relevant, expected):
    assert in_json(tmp_path, relevant) == expected


def test_a_grade_that_only_other_rows_have_is_null(tmp_path):
    """The datasets library gives all rows all keys, and Parquet has maps."""
    import pyarrow
    from pyarrow import parquet

    of_all = [
        {"query": "a", "relevant_docs": {"1": 2, "3": None}},
        {"query": "b", "relevant_docs": {"1": None, "3": 1}},
    ]
    expected = [("1", "book.pdf#1", 2), ("2", "book.pdf#3", 1)]
    assert judged(tmp_path, json.dumps(of_all), name="q.json") == expected
    grades = pyarrow.array([[("1", 2)], [("3", 1)]], pyarrow.map_(pyarrow.string(), pyarrow.int64()))
    for column in (pyarrow.array([row["relevant_docs"] for row in of_all]), grades):
        parquet.write_table(pyarrow.table({"query": ["a", "b"], "relevant_docs": column}), tmp_path / "q.parquet")
        found = read_strictly(TableQuestions(str(tmp_path / "q.parquet")), (BOOK,))
        assert [tuple(each) for each in found.judgments] == expected


@pytest.mark.parametrize(
    ("relevant", "said"),
    [
        (
            [{"source": "note.pdf", "page": "3"}],
            "page 'note.pdf#3' is not in the documents (note.pdf has pages 1 to 1)",
        ),
        ([{"source": "zzz.pdf", "page": "4", "grade": 0}], "page 'zzz.pdf#4' is not in the documents"),
        ([{"page": 3, "weight": 0}], "a judgment has the field 'weight'; expected a document (source, file,"),
        ([{"source": "book.pdf", "file": "note.pdf", "page": 1}], "has the fields 'source', 'file'; expected one"),
        (
            [{"source": "book.pdf", "page": 1, "grade": 0.5}],
            "the grade of 'book.pdf#1' is 0.5; expected a whole number",
        ),
        ([{"page": 3, "grade": 1}, {"page": 3, "grade": 2}], "'3' has the grades 1 and 2; expected one"),
        ([{"grade": 2}], "names neither a document nor a page"),
        ([{"page": [3]}], "the page is [3]; expected a text or a whole number"),
    ],
)
def test_what_a_judgment_cannot_mean_is_refused_by_name(tmp_path, relevant, said):
    with pytest.raises(DatasetError) as refused:
        in_json(tmp_path, relevant)
    assert said in str(refused.value)


# Tables as pandas, numpy and spreadsheets write them

ROWS = [("1", "book.pdf#2", 1)]
HEAD = "query,relevant_docs\n"


@pytest.mark.parametrize(
    "text",
    [
        ",query,relevant_docs\n0,what,2\n",
        f"{HEAD}what,['2']\n",
        f"{HEAD}what,\"[{{'source': 'book.pdf', 'page': 2}}]\"\n",
        f"{HEAD}what,\"array(['2'], dtype=object)\"\n",
        f"{HEAD}what,[np.int64(2)]\n",
        f"{HEAD}what,\"('2',)\"\n",
        f"{HEAD}what,2.0\n",
        f"{HEAD}what,book.pdf#2.0\n",
        f"sep=;\n{HEAD.replace(',', ';')}what;2\n",
        f"sep=\t\n{HEAD.replace(',', chr(9))}what\t2\n",
        f"{HEAD}what,2\n,\n,,,\n",
        f",\n{HEAD}what,2\n",
        f"{HEAD}what,2\n".replace(",", "\t"),
        f"{HEAD}what,2\n".replace(",", "|"),
        f"{HEAD}what,2\n".replace(",", "\t").encode("utf-16"),
        b"\xfe\xff" + f"{HEAD}what,2\n".encode("utf-16-be"),
        "question,relevant_pages\nwhat,[2]\n",
        "question,page\nwhat,2\n",
        "question,document,page,relevance\nwhat,book.pdf,2,1.0\n",
        f"{HEAD.strip()},grade\nwhat,2,1\n",
        f"{HEAD}what,2\n".replace("\n", "\r"),
        f"{HEAD}what,2\r\n",
    ],
    ids=range(22),
)
def test_a_table_is_read_as_programs_write_it(tmp_path, text):
    assert judged(tmp_path, text) == ROWS


def test_an_array_of_numpy_has_no_commas(tmp_path):
    assert judged(tmp_path, f"{HEAD}what,['2' '3'\n '4']\n".replace("\n '", " '")) == [
        ("1", f"book.pdf#{page}", 1) for page in (2, 3, 4)
    ]


def test_a_missing_value_is_no_judgment_unless_a_document_is_called_so(tmp_path):
    missing = [
        f"{HEAD}what,2\n" + "".join(f"q{value},{value}\n" for value in ("nan", "NaN", "None", "", "<NA>", "NA", "#N/A"))
    ]
    assert judged(tmp_path, *missing) == ROWS
    assert judged(tmp_path, "query,doc\nwhat,note.pdf\nwho,nan\n", TWO) == [("1", "note.pdf#1", 1)]
    called = Document.from_pages("nan", [("1", "nan", "x")])
    assert judged(tmp_path, f"{HEAD}what,nan\n", (called,), unit="document") == [("1", "nan", 1)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{HEAD}was für\xe9,2\n".encode("cp1252"), "not UTF-8 (line 2); save it as UTF-8"),
        ("query,relevant_docs,\nwhat,2,lost\n", "column 3 has no name, but the text 'lost'"),
        (",query,relevant_docs\na,what,2\n", "column 1 has no name, but the text 'a'"),
        (f"{HEAD}what,2\n".encode("utf-16-le"), "line 1: the names contain null characters; save the table as CSV"),
        (b"PK\x03\x04\x14\0\6\0" + bytes(99), "the names contain null characters"),
        (f"{HEAD}what,['2' ... '9']\n", "the field 'relevant_docs': not JSON"),
        (f"{HEAD}what,\"['2' + '3']\"\n", "the field 'relevant_docs': not JSON"),
        (f"{HEAD.strip()},score\nwhat,2,0.83\n", "the grade of '2' is \"0.83\"; expected a whole number"),
        (f"{HEAD.strip()},relevant\nwhat,2,x\n", "the grade of '2' is \"x\"; expected a whole number, such as 1, or 0"),
    ],
)
def test_what_a_table_cannot_mean_is_refused(tmp_path, text, said):
    with pytest.raises(DatasetError) as refused:
        judged(tmp_path, text)
    assert said in str(refused.value)


def test_columns_that_number_the_rows_are_no_fields(tmp_path):
    pd.DataFrame({"query": ["what"], "relevant_docs": ["2"]}, index=["a"]).to_parquet(tmp_path / "q.parquet")
    (tmp_path / "q.csv").write_text("Unnamed: 0,query,relevant_docs\n0,what,2\n")
    for name in ("q.parquet", "q.csv"):
        [query] = read_strictly(TableQuestions(str(tmp_path / name)), (BOOK,)).queries
        assert query.fields == ()


VALUES = st.recursive(
    st.text(max_size=5)
    | st.integers(-(10**20), 10**20)
    | st.booleans()
    | st.none()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(VALUES, max_size=4) | st.dictionaries(st.text(max_size=3) | st.integers(0, 99), VALUES, max_size=3))
def test_lists_and_dictionaries_of_python_are_read_back(value):
    assert from_python(repr(value)) == value


@given(st.text(alphabet="[](){}'\",: 12abc\\xnp.", max_size=30))
def test_any_text_is_a_list_of_python_or_none(text):
    said = ""
    try:
        from_python(text)
    except MalformedError as error:
        said = str(error)
    assert said.count("\n") == 0


# One judgment a row


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (f"{HEAD}what,1\nwhat,2\nwho,3\nwhat,2\n", {}),
        ("qid,query,relevant_docs\n1,what,1\n2,who,3\n1,what,2\n", {"id": "qid"}),
        ("question,page,grade\nwhat,1,1\nwhat,2,1\nwho,3,1\n", {}),
        ("query,doc_id,page,score\nwhat,book.pdf,1,1\nwhat,book.pdf,2,1\nwho,book.pdf,3,1\n", {}),
    ],
    ids=["repeated texts", "ids", "pages and grades", "documents, too"],
)
def test_rows_of_one_question_are_its_judgments(tmp_path, text, settings):
    assert judged(tmp_path, text, **settings) == [
        ("1", "book.pdf#1", 1),
        ("1", "book.pdf#2", 1),
        ("2", "book.pdf#3", 1),
    ]


def test_pages_with_grades_keep_them_unless_the_row_has_one(tmp_path):
    assert judged(tmp_path, 'query,doc_id,page\nwhat,book.pdf,"{""1"": 0, ""2"": 2}"\n') == [
        ("1", "book.pdf#1", 0),
        ("1", "book.pdf#2", 2),
    ]
    assert judged(tmp_path, 'query,doc_id,page,grade\nwhat,book.pdf,"1; 2",3\n') == [
        ("1", "book.pdf#1", 3),
        ("1", "book.pdf#2", 3),
    ]


@pytest.mark.parametrize(
    ("text", "expected", "said"),
    [
        ("query,document,page,grade\nq,book.pdf,1,2\nq,book.pdf,2,0\nq,book.pdf,3,\n", [("1", 2), ("2", 0)], True),
        ("query,relevant_docs,grade\nq,1,2\nq,2, \nr,3,0\n", [("1", 2), ("3", 0)], True),
        (
            "query,relevant_docs,grade\nq,1,2\nq,2;3,\n",
            [("1", 2), ("2", 1), ("3", 1)],
            False,
        ),  # of several: none is read
        ("query,relevant_docs,grade\nq,1,\nq,2,\n", [("1", 1), ("2", 1)], False),
        ("query,relevant_docs,grade\nq,1,2\nr,,\n", [("1", 2)], False),
    ],
)
def test_a_row_without_a_grade_where_others_have_one_is_no_judgment(tmp_path, capsys, text, expected, said):
    found = judged(tmp_path, text)
    assert [(unit.removeprefix("book.pdf#"), grade) for _, unit, grade in found] == expected
    assert ("without a grade" in capsys.readouterr().err) == said


def test_a_grade_that_stands_beside_several_judgments_is_not_read_and_that_is_said(tmp_path, capsys):
    """It could be of the question. A sweep that takes pages with the grade 0 for relevant has to say so."""
    rows = 'query,relevant_docs,grade\nq,1,2\nr,1;2,0\ns,"{""1"": 2}",0\nt,1;2,\nu,,0\n'
    (tmp_path / "q.csv").write_text(rows)
    found = read_strictly(TableQuestions(str(tmp_path / "q.csv")), (BOOK,))
    assert [each.grade for each in found.judgments] == [2, 1, 1, 2, 1, 1]
    assert "not read for 2 rows with several judgments" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("values", "is_refused"),
    [
        (("1", "0"), True),
        (("2", "0"), True),
        (("True", "False"), True),
        (("Relevant", "Not relevant"), True),
        (("ja", "nein"), True),
        (("WAHR", "FALSCH"), True),
        (("sí", "no"), True),
        (("oui", "non"), True),
        (("accept", "reject"), True),
        (("✓", "✗"), True),
        (("x", ""), True),
        (("1", ""), True),
        (("2", ""), False),
        (("see above", ""), False),
        (("1", "2"), False),
        (("0", "7"), False),
        (("a", "b"), False),
        (("0", "0"), False),
        (("x", "x"), False),
    ],
)
def test_a_column_that_looks_like_the_grade_of_each_judgment_is_refused(tmp_path, capsys, values, is_refused):
    """Left out, a page that it says is not relevant would be relevant. Beside a single judgment, it may be anything."""
    table = "query,page,label\nwhat,1,{}\nwhat,2,{}\n".format(*values)
    with pytest.raises(DatasetError, match="call it 'grade'") if is_refused else nullcontext():
        judged(tmp_path, table)
    capsys.readouterr()
    of_one = table.replace("what,2", "who,2")
    assert [each[2] for each in judged(tmp_path, of_one)] == [1, 1]
    assert ("is not read as a grade" in capsys.readouterr().err) == is_refused
    graded = table.replace("label", "grade,other").replace(",1,", ",1,1,").replace(",2,", ",2,0,")
    assert [each[2] for each in judged(tmp_path, graded)] == [1, 0]


def test_columns_that_are_not_read_as_a_grade_are_said_in_one_sentence(tmp_path, capsys):
    """`answerable` is none of them: it is read."""
    judged(tmp_path, "query,page,answerable,is_multihop,needs_table\nwhat,1,true,0,yes\nwho,,false,1,no\n")
    assert capsys.readouterr().err.splitlines() == [
        f"{tmp_path / 'q.csv'}: the columns 'is_multihop', 'needs_table' are not read as a grade; "
        "if one is, call it 'grade', with whole numbers"
    ]


@pytest.mark.parametrize(
    ("key", "is_said"),
    [
        ("a.pdf, b.pdf", True),
        ("a.pdf|b.pdf", True),
        ("a.pdf#3-5", True),
        ("a.pdf; b.pdf", False),
        ("a-1.pdf", False),
        ("1-2", False),
        ("a.pdf#c3-5", False),
    ],
)
def test_without_documents_an_id_that_could_be_several_is_said_to_be_one(tmp_path, capsys, key, is_said):
    """With documents it is refused, as none is called so."""
    assert len(judged(tmp_path, f'query,relevant_docs\nwhat,"{key}"\n', ())) == 1 + (";" in key)
    assert (f"such as '{key}': each is one id" in capsys.readouterr().err) == is_said


@pytest.mark.parametrize("name", ["page", "source", "answerable"])
def test_a_known_column_is_not_taken_for_one_of_grades(tmp_path, capsys, name):
    rows = [{"query": "what", "relevant_docs": f"book.pdf#{page}", name: mark} for page, mark in ((1, "1"), (2, ""))]
    assert len(judged(tmp_path, json.dumps(rows), TWO, "q.json")) == 2
    assert "grade:" not in capsys.readouterr().err


def test_a_list_with_one_label_is_that_label(tmp_path):
    """As Doccano and Argilla write what people chose."""
    rows = [{"query": "what", "page": page, "label": [label]} for page, label in ((1, "relevant"), (2, "not relevant"))]
    with pytest.raises(DatasetError, match="the column 'label' has not relevant, relevant"):
        judged(tmp_path, json.dumps(rows), name="q.json")


@pytest.mark.parametrize(
    ("relevant", "rows"),
    [
        ('[["1", "2"], ["3"]]', 1),
        ("\"[['1', '2']]\"", 1),
        ('[["1"], ["3"]]', 0),
        ('["1", "2"]', 0),
        ('"1; 2"', 0),
    ],
)
def test_alternatives_of_autorag_are_said_to_count_each(tmp_path, capsys, relevant, rows):
    """Its retrieval_recall counts a list within a list as found if any of its ids is."""
    judged(tmp_path, f'[{{"query": "a", "relevant_docs": {relevant}}}]', name="q.json")
    assert (f"in {rows} row: recall needs all of them" in capsys.readouterr().err) == bool(rows)


def test_a_field_that_differs_between_the_rows_of_a_question_is_left_out_and_named(tmp_path, capsys):
    (tmp_path / "q.csv").write_text("query,relevant_docs,author,note\nwhat,1,Zoë,a\nwhat,2,Zoë,b\n")
    [query] = read_strictly(TableQuestions(str(tmp_path / "q.csv")), (BOOK,)).queries
    assert query.fields == (("author", "Zoë"),)
    said = capsys.readouterr().err
    assert "2 rows are 1 question" in said
    assert "left out: 'note'" in said
    assert "every row counts as relevant" in said


@pytest.mark.parametrize(
    "table",
    [
        "query,page,grade,note\nwhat,1,1,a\nwhat,2,1,b\n",
        'query,relevant_docs,note\nwhat,"{""1"": 1}",a\nwhat,"{""2"": 0}",b\n',
        "query,Seite,note\nwhat,1,a\nwhat,2,b\n",
    ],
)
def test_rows_with_grades_or_without_judgments_are_not_said_to_count_as_relevant(tmp_path, capsys, table):
    judged(tmp_path, table)
    said = capsys.readouterr().err
    assert "left out: " in said
    assert "counts as relevant" not in said


@pytest.mark.parametrize(
    ("row", "is_refused"),
    [
        ({"page": 1, "page_2": 2}, True),
        ({"page": 1, "page.1": 2}, True),
        ({"source": "book.pdf", "page": 1, "Source 2": "book.pdf", "Page 2": "3"}, True),
        ({"expected_page": 1, "expected_page2": 2}, True),
        ({"relevant_docs": "1", "relevant_docs_2": "2"}, True),
        ({"page": 1, "page_2": ""}, False),
        ({"page": 1, "page_2": []}, False),
        ({"page": 1, "page.1": 1}, False),
        ({"page": 1, "page_2": "nan"}, False),
        ({"page": 1, "page_0": 0}, False),
        ({"source": "book.pdf", "page": 1, "source_2024": "book_old.pdf"}, False),
        ({"relevant_docs": "1", "page_2": "2"}, False),
        ({"page": 1, "note_2": "2"}, False),
    ],
)
def test_a_numbered_column_beside_one_of_judgments_is_refused(tmp_path, row, is_refused):
    """Kept as a field, its judgment would be missing."""
    with pytest.raises(DatasetError, match="in a row of its own") if is_refused else nullcontext():
        assert judged(tmp_path, json.dumps([{"query": "what"} | row]), name="q.json") == [("1", "book.pdf#1", 1)]


def test_each_judgment_of_what_the_documents_lack_says_what_may_be_meant(tmp_path):
    (tmp_path / "q.csv").write_text("query,relevant_docs\nwhat,bok.pdf\nwho,notte.pdf\nhow,9\nwhy,8\n")
    with pytest.raises(DatasetError) as refused:
        read_strictly(TableQuestions(str(tmp_path / "q.csv"), unit="document"), TWO)
    said = str(refused.value)
    assert "'bok.pdf' is not in the documents (did you mean 'book.pdf'" in said
    assert "'notte.pdf', too (did you mean 'note.pdf'" in said
    assert said.count("there are 'book.pdf'") == 1
    with pytest.raises(DatasetError, match=r"; line 3: page 'book\.pdf#4 \(b\)', too$"):
        judged(tmp_path, "query,relevant_docs\nwhat,book.pdf#3 (a)\nwho,book.pdf#4 (b)\n")


def test_columns_that_make_the_judgments_are_named(tmp_path, capsys):
    judged(tmp_path, "question,source,kept\nwhat,note.pdf,x\n", TWO)
    assert "judgments are taken from 'source'; questions.relevant=FIELD" in capsys.readouterr().err
    judged(tmp_path, "question,Gold document\nwhat,note.pdf\n", TWO)
    assert "judgments are taken from 'Gold document'; questions.relevant=FIELD" in capsys.readouterr().err
    judged(tmp_path, "question,source,relevant_docs\nwhat,note.pdf,1\n", TWO)
    judged(tmp_path, "question,source,page\nwhat,note.pdf,1\n", TWO)
    assert "judgments" not in capsys.readouterr().err


def test_rows_of_one_question_must_agree(tmp_path):
    with pytest.raises(DatasetError, match=r"'1' has the grades 1 and 2 for the same question; expected one"):
        judged(tmp_path, "query,page,grade\nwhat,1,1\nwhat,1,2\n")
    assert len(judged(tmp_path, "query,relevant_docs,query_type\nwhat,1,a\nwhat,2,b\n")) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "query,source,relevant_docs\nwhat,note.pdf,1\nwho,book.pdf,1; 3\n",
            ["note.pdf#1", "book.pdf#1", "book.pdf#3"],
        ),
        ("question,file,relevant_pages\nwhat,book.pdf,note.pdf#1\n", ["note.pdf#1"]),
        ("query,source,relevant_docs\nwhat,by hand,5\n", ["book.pdf#5"]),
    ],
)
def test_the_pages_of_a_row_are_those_of_the_document_that_the_row_names(tmp_path, text, expected):
    assert [unit for _, unit, _ in judged(tmp_path, text, TWO)] == expected


def test_a_page_is_never_that_of_another_document_than_the_row_names(tmp_path):
    with pytest.raises(
        DatasetError, match="line 3: the row has a page without its document"
    ):  # merged cells of a sheet
        judged(tmp_path, "query,source,page\nwhat,note.pdf,1\nwho,,5\n", TWO)
    assert len(judged(tmp_path, "query,source,page\nwhat,note.pdf,1\nwho,,book.pdf#5\n", TWO)) == 2
    assert len(judged(tmp_path, "query,source,page\nwhat,book.pdf,1\nwho,,5\n")) == 2
    with pytest.raises(DatasetError, match=r"page 'zzz\.pdf#5' is not in the documents"):
        judged(tmp_path, "query,source,relevant_docs\nwhat,zzz.pdf,5\n", TWO)
    with pytest.raises(DatasetError, match=r"note\.pdf has pages 1 to 1"):
        judged(tmp_path, "query,source,relevant_docs\nwhat,note.pdf,5\n", TWO)
    with pytest.raises(DatasetError, match=r"page '5' is that of book\.pdf, but 'Fichier' is 'note\.pdf'"):
        judged(tmp_path, "query,page,Fichier\nwhat,5,note.pdf\n", TWO)
    assert len(judged(tmp_path, "query,page,Fichier\nwhat,5,book.pdf\nwho,book.pdf#4,note.pdf\n", TWO)) == 2
    level = Document.from_pages("A", [("1", "A#1", "a level")])  # a name without an ending may be anything
    assert judged(tmp_path, "query,page,level\nwhat,5,A\n", (BOOK, level)) == [("1", "book.pdf#5", 1)]


@pytest.mark.parametrize("row", ["doc_id", "document", "file"])
def test_the_number_of_a_document_is_never_that_of_a_page(tmp_path, row):
    with pytest.raises(DatasetError, match=r"line 2: document '3' is not in the documents \(there are 'book\.pdf'\)"):
        judged(tmp_path, f"question,{row}\nwhat,3\n")
    numbered = tuple(Document.from_pages(name, [("1", f"{name}#1", "text")]) for name in "123")
    assert judged(tmp_path, f"question,{row}\nwhat,1\n", numbered) == [("1", "1#1", 1)]
    for number in ("3", "3.0"):  # pandas writes decimals where another one is missing
        assert judged(tmp_path, f"question,{row}\nwhat,{number}\n", numbered, unit="document") == [("1", "3", 1)]
    for several in ("\"['1', '3']\"", '"[""1"", ""3""]"', '"[1, 3]"'):
        found = judged(tmp_path, f"question,{row}\nwhat,{several}\n", numbered, unit="document")
        assert found == [("1", "1", 1), ("1", "3", 1)]


@pytest.mark.parametrize("relevant", ["C#", ["C#"], [{"source": "C#"}], {"C#": 1}])
def test_the_name_of_a_document_may_end_in_a_number_sign(tmp_path, relevant):
    document = Document.from_pages("C#", [("1", "C##1", "a language")])
    assert in_json(tmp_path, relevant, (BOOK, document)) == [("C##1", 1)]
    assert in_json(tmp_path, relevant, (BOOK, document), unit="document") == [("C#", 1)]


@pytest.mark.parametrize("row", ["book.pdf,,2", ",book.pdf,2.0", "book.pdf,book.pdf,[2]"])
def test_the_columns_of_a_judgment_have_the_names_of_langchain_and_llama_index(tmp_path, row):
    assert judged(tmp_path, f"question,source,file_name,page_number\nwhat,{row}\n", TWO) == [("1", "book.pdf#2", 1)]


def test_a_document_of_several_pages_is_not_enough_for_a_page(tmp_path):
    with pytest.raises(DatasetError, match=r"'book\.pdf' is judged without a page \(book\.pdf has pages 1 to 6\)"):
        judged(tmp_path, "question,file,sheet\nwhat,book.pdf,2\n")


def test_a_row_may_list_its_documents(tmp_path):
    rows = [{"question": "what", "doc": ["book.pdf", "note.pdf"], "grade": 2}, {"question": "who", "doc": []}]
    found = judged(tmp_path, json.dumps(rows), TWO, "q.json", unit="document")
    assert found == [("1", "book.pdf", 2), ("1", "note.pdf", 2)]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        # Goldens of DeepEval, and rows of RAG test sets.
        ({"input": "what", "expected_output": "x"}, "the field 'query' is missing; found 'input', 'expected_output'"),
    ],
)
def test_the_setting_for_another_column_is_named(tmp_path, row, said):
    with pytest.raises(DatasetError) as refused:
        judged(tmp_path, json.dumps([row]), name="q.json")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"doc_id": "a", "contents": "x"}, "the field 'id' is missing; found 'doc_id', 'contents' (corpus.id=FIELD"),
        ({"id": "a", "page_content": "x"}, "(corpus.text=FIELD takes another)"),
    ],
)
def test_the_setting_for_another_column_of_documents_is_named(tmp_path, row, said):
    (tmp_path / "corpus.jsonl").write_text(json.dumps(row))
    with pytest.raises(DatasetError) as refused:
        TableCorpus(str(tmp_path / "corpus.jsonl")).read()
    assert said in str(refused.value)


# Objects in JSON

LLAMA = {
    "queries": {"a1": "when", "a2": "when"},
    "corpus": {"n1": "at nine", "n2": "at ten"},
    "relevant_docs": {"a1": ["n1"], "a2": ["n2"]},
    "mode": "text",
}
FRAME = pd.DataFrame({"query": ["what", "who"], "relevant_docs": [["1"], ["2"]]})


@pytest.mark.parametrize("indent", [None, 4])
def test_a_dataset_of_llama_index_is_a_corpus_and_questions_with_ids(tmp_path, indent):
    path = tmp_path / "qa.json"
    path.write_text(json.dumps(LLAMA, indent=indent))
    asked = read_strictly(TableQuestions(str(path)), TableCorpus(str(path)).read())
    assert [(query.query_id, query.text) for query in asked.queries] == [("a1", "when"), ("a2", "when")]
    assert [tuple(judgment) for judgment in asked.judgments] == [("a1", "n1#1", 1), ("a2", "n2#1", 1)]


def squad(*paragraphs, version="v2.0"):
    return {"version": version, "data": [{"title": "Normans", "paragraphs": [each]} for each in paragraphs]}


NORMANDY = " Normandy is a region of France. "  # its white space is not part of the document


def asked_of(question, *answers, **fields):
    found = [{"text": text, "answer_start": start} for text, start in answers]
    return {"question": question, "id": question[:5], "answers": found, **fields}


@pytest.mark.parametrize("indent", [None, 2])
def test_squad_is_documents_and_questions_with_spans(tmp_path, indent):
    where = asked_of("Where is it?", ("France", 25), ("region of France", 15), ("France", 25), is_impossible=False)
    whose = asked_of("Whose is it?", is_impossible=True, plausible_answers=[{"text": "France", "answer_start": 25}])
    what = asked_of("What is it?", ("clef", 2))
    path = tmp_path / "dev.json"
    path.write_text(
        json.dumps(
            squad({"context": NORMANDY, "qas": [where, whose]}, {"context": "𝄞 clef", "qas": [what]}), indent=indent
        )
    )
    documents = TableCorpus(str(path)).read()
    assert [(each.source, each.text) for each in documents] == [
        ("Normans 1", NORMANDY.strip()),
        ("Normans 2", "𝄞 clef"),
    ]
    asked = read_strictly(SpanQuestions(str(path)), documents)
    assert [(each.query_id, each.answerable, each.query_type) for each in asked.queries] == [
        ("Where", True, "Normans"),
        ("Whose", False, "Normans"),
        ("What", True, "Normans"),
    ]
    texts = {each.source: each.text for each in documents}
    spans = [(each.query_id, texts[each.source][each.start : each.end]) for each in asked.references]
    assert spans == [("Where", "region of France"), ("Where", "France"), ("What", "clef")]


HUB = [  # rows of the Hugging Face hub: a question each, those of a paragraph not always together
    ("q1", "Normans", NORMANDY, "Where is it?", [("France", 25), ("region of France", 15)]),
    ("q2", "Normans", "𝄞 clef", "What is it?", [("clef", 2)]),
    ("q3", "Normans", NORMANDY, "Whose is it?", []),
]


def hub_rows():
    for name, title, context, question, answers in HUB:
        found = {"text": [text for text, _ in answers], "answer_start": [start for _, start in answers]}
        yield {"id": name, "title": title, "context": context, "question": question, "answers": found}


@pytest.mark.parametrize("name", ["train.jsonl", "train.json", "train.parquet"])
def test_squad_is_also_read_from_rows_of_the_hub(tmp_path, name):
    path, rows = tmp_path / name, pd.DataFrame(hub_rows())
    rows.to_parquet(path) if name.endswith("parquet") else rows.to_json(
        path, orient="records", lines=name.endswith("l")
    )
    documents = TableCorpus(str(path)).read()
    assert [(each.source, each.text) for each in documents] == [
        ("Normans 1", NORMANDY.strip()),
        ("Normans 2", "𝄞 clef"),
    ]
    asked = read_strictly(SpanQuestions(str(path)), documents)
    assert {(each.query_id, each.answerable) for each in asked.queries} == {("q1", True), ("q2", True), ("q3", False)}
    texts = {each.source: each.text for each in documents}
    spans = [(each.query_id, texts[each.source][each.start : each.end]) for each in asked.references]
    assert spans == [("q1", "region of France"), ("q1", "France"), ("q2", "clef")]
    by_question = TableCorpus(str(path), text="context").read()  # whoever names the column means the rows
    assert [each.source for each in by_question] == ["q1", "q2", "q3"]


def test_a_row_that_is_not_one_of_squad_is_named(tmp_path):
    rows = [*hub_rows(), {"id": "q4", "context": NORMANDY, "question": "When?", "answers": {"text": ["a"]}}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(DatasetError, match=r"line 4: .*expected context, question and answers"):
        TableCorpus(str(tmp_path / "a.jsonl")).read()


@pytest.mark.parametrize(
    ("paragraph", "said"),
    [
        ({"context": NORMANDY}, "'Normans 1': found the fields 'context'; expected context and qas"),
        ({"context": NORMANDY, "qas": [{"question": "Where?"}]}, "expected id and question"),
        ({"context": NORMANDY, "qas": [{"id": 1, "question": "Where?"}]}, "found the answers null; expected a list"),
        ({"context": NORMANDY, "qas": [asked_of("Where?", ("France", 24))]}, "of Normans 1 are ' Franc', expected"),
        ({"context": NORMANDY, "qas": [asked_of("Where?", ("France", None))]}, "found the reference an object"),
    ],
)
def test_what_is_wrong_in_squad_is_named(tmp_path, paragraph, said):
    (tmp_path / "dev.json").write_text(json.dumps(squad(paragraph)))
    document = Document.from_pages("Normans 1", [("1", "Normans 1#1", NORMANDY.strip())])
    with pytest.raises(DatasetError) as refused:
        read_strictly(SpanQuestions(str(tmp_path / "dev.json")), (document,))
    assert said in str(refused.value)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("corpus", [LLAMA["corpus"], {name: {"text": text} for name, text in LLAMA["corpus"].items()}])
def test_texts_by_id_are_documents_and_questions(tmp_path, corpus, indent):
    (tmp_path / "corpus.json").write_text(json.dumps(corpus, indent=indent))
    (tmp_path / "queries.json").write_text(json.dumps(LLAMA["queries"], indent=indent))
    documents = TableCorpus(str(tmp_path / "corpus.json")).read()
    assert [(each.source, each.text) for each in documents] == [*LLAMA["corpus"].items()]
    asked = TableQuestions(str(tmp_path / "queries.json")).read(documents)
    assert [(query.query_id, query.text) for query in asked.queries] == [*LLAMA["queries"].items()]


def test_one_entry_is_no_file_of_texts_by_id(tmp_path):
    (tmp_path / "corpus.json").write_text('{"id": "n1", "text": "at nine"}')
    assert [each.source for each in TableCorpus(str(tmp_path / "corpus.json")).read()] == ["n1"]
    assert judged(tmp_path, '{"query": "what", "documents": [{"page": 2}]}', name="q.json", relevant="documents") == [
        ("1", "book.pdf#2", 1)
    ]


@pytest.mark.parametrize("indent", [None, 2])
def test_ids_of_documents_may_be_numbers(tmp_path, indent):
    corpus = {"4983": {"title": "Hours", "text": "at nine"}, "5836": {"text": "at ten", "title": ""}}
    (tmp_path / "corpus.json").write_text(json.dumps(corpus, indent=indent))
    assert [each.source for each in TableCorpus(str(tmp_path / "corpus.json")).read()] == ["4983", "5836"]


def test_the_only_line_of_json_lines_is_an_entry(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"name": "n1", "passage": "at nine"}')
    [document] = TableCorpus(str(tmp_path / "corpus.jsonl"), id="name", text="passage", title=None).read()
    assert (document.source, document.text) == ("n1", "at nine")


@pytest.mark.parametrize("orient", ["columns", "index", "split", "records", "table"])
def test_a_table_of_pandas_is_read_however_it_is_oriented(tmp_path, orient):
    for frame in (FRAME, FRAME.set_axis([3, 7])):  # the rows that a filter leaves keep their numbers
        for indent in (0, 2):
            text = frame.to_json(orient=orient, indent=indent)
            assert judged(tmp_path, text, name="q.json") == [("1", "book.pdf#1", 1), ("2", "book.pdf#2", 1)]


def test_a_table_of_pandas_may_have_one_row(tmp_path):
    for orient in ("columns", "index", "table"):
        assert judged(tmp_path, FRAME[:1].to_json(orient=orient), name="q.json") == [("1", "book.pdf#1", 1)]


@pytest.mark.parametrize("indent", [None, 2])
def test_grades_by_document_by_question_are_questions(tmp_path, indent):
    text = json.dumps({"what": {"book.pdf": 2, "note.pdf": 0}, "who": {"book.pdf": 1, "note.pdf": 1}}, indent=indent)
    asked = [("1", "book.pdf", 2), ("1", "note.pdf", 0), ("2", "book.pdf", 1), ("2", "note.pdf", 1)]
    assert judged(tmp_path, text, TWO, "q.json", unit="document") == asked
    assert [query.text for query in TableQuestions(str(tmp_path / "q.json"), "document").read(TWO).queries] == [
        "what", "who"
    ]  # fmt: skip


@pytest.mark.parametrize("indent", [None, 2])
def test_an_object_may_be_around_the_list(tmp_path, indent):
    rows = [{"query": "what", "relevant_docs": ["2"]}]
    for around in ({"cases": rows}, {"version": 2, "tags": ["a"], "questions": rows}):
        assert judged(tmp_path, json.dumps(around, indent=indent), name="q.json") == [("1", "book.pdf#2", 1)]
    entry = json.dumps({"query": "what", "relevant_docs": [{"page": 2}]})
    assert judged(tmp_path, entry, name="q.json") == [("1", "book.pdf#2", 1)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.xlsx", b"PK\x03\x04\x14\x00\x00\x00\x08\x00\xa5\xb1"),
        ("q.pkl", b"\x80\x04\x95\x1e\x00\x00\x00\x00"),
        ("q.yaml", b"tests:\n  - vars:\n      query: what\n"),
        ("q.txt", "query\trelevant_docs\nwhat\t2\n".encode("utf-16")),
    ],
)
def test_a_file_in_no_known_format_is_refused_with_those_that_are(tmp_path, name, content):
    with pytest.raises(DatasetError, match=rf"{name}.*expected a JSON, CSV, TSV or Parquet file of queries"):
        judged(tmp_path, content, name=name)


def test_a_cell_between_tabs_has_quotes_where_pandas_writes_them(tmp_path):
    frame = pd.DataFrame({"query": ['say "hi"', 'a 3" nail'], "relevant_docs": [json.dumps(["1"]), json.dumps(["2"])]})
    text = frame.to_csv(sep="\t", index=False) + '"as it is" 1"\t3\n'
    assert judged(tmp_path, text, name="q.tsv") == [(str(n), f"book.pdf#{n}", 1) for n in (1, 2, 3)]
    queries = TableQuestions(str(tmp_path / "q.tsv")).read((BOOK,)).queries
    assert [query.text for query in queries] == ['say "hi"', 'a 3" nail', '"as it is" 1"']


def test_spaces_after_a_comma_are_no_part_of_a_cell(tmp_path):
    assert judged(tmp_path, 'relevant_docs, query\n1, "what, when"\n') == [("1", "book.pdf#1", 1)]
    assert TableQuestions(str(tmp_path / "q.csv")).read((BOOK,)).queries[0].text == "what, when"


def test_a_table_of_r_between_tabs_has_quotes(tmp_path):
    text = '"query"\t"relevant_docs"\n"what ""is"" it"\t"2"\n'
    assert judged(tmp_path, text, name="q.tsv") == [("1", "book.pdf#2", 1)]
    assert TableQuestions(str(tmp_path / "q.tsv")).read((BOOK,)).queries[0].text == 'what "is" it'


def test_an_object_of_another_kind_is_named_by_its_fields(tmp_path):
    with pytest.raises(DatasetError, match=r"is one object with the fields 'a', 'b'; expected a list of objects"):
        judged(tmp_path, json.dumps({"a": 1, "b": [2]}, indent=1), name="q.json")


# Qrels

QRELS = [("q1", "d1", 1), ("q1", "d 2", 0), ("q2", "d1", 2)]
TABLE = pd.DataFrame(QRELS, columns=["q_id", "doc_id", "score"])


def write_qrels(path, kind):
    """Write the judgments as a program does."""
    if kind == "mteb.jsonl":
        names = TABLE.set_axis(["query-id", "corpus-id", "score"], axis=1).astype({"score": float})
        names.to_json(path, orient="records", lines=True)
    elif kind == "ranx.json":
        grades = {query: dict(of.set_index("doc_id")["score"].astype(int)) for query, of in TABLE.groupby("q_id")}
        path.write_text(
            json.dumps({query: {name: int(grade) for name, grade in of.items()} for query, of in grades.items()})
        )
    elif kind == "columns.json":
        path.write_text(json.dumps(TABLE.to_dict("list")))
    elif kind == "null.json":
        path.write_text('{"q1": {"d1": 1, "d 2": 0}, "q2": {"d1": 2, "d 2": null}}')
    elif kind == "ranx.parquet":
        TABLE.to_parquet(path)
    elif kind == "pandas.csv":
        TABLE.to_csv(path)
    elif kind == "beir.tsv":
        TABLE.to_csv(path, sep="\t", index=False, header=["query-id", "corpus-id", "score"])
    elif kind == "named.csv":
        TABLE.to_csv(path, index=False, header=["Query ID", "Doc ID", "Relevance score"])
    elif kind == "trec.tsv":
        path.write_text("".join(f"{query}\t0\t{document}\t{grade}\n" for query, document, grade in QRELS))
    return path


@pytest.mark.parametrize(
    "kind",
    [
        "mteb.jsonl",
        "ranx.json",
        "columns.json",
        "null.json",
        "ranx.parquet",
        "pandas.csv",
        "beir.tsv",
        "named.csv",
        "trec.tsv",
    ],
)
def test_qrels_are_read_as_programs_write_them(tmp_path, kind):
    found = read_qrels(write_qrels(tmp_path / kind, kind), "dataset.qrels")
    assert sorted(tuple(judgment) for _, judgment in found) == sorted(QRELS)


@pytest.mark.parametrize(
    "text",
    [
        "query-id\tcorpus-id\tscore\nq1 d1 1\n",
        "q1\t0\td1\t1\n",
        "q1 d1 1\n",
        "query_id iteration doc_id relevance\nq1 0 d1 1\n",
        "q1,0,d1,1\n",
        " q1 0\td1 1 \n",
        "qid,chunk_id,relevance_score\nq1,d1,1\n",
        ",qid,docno,rel_score\n197,q1,d1,1\n",
        '"query_id"\t"doc_id"\t"relevance"\n"q1"\t"d1"\t1\n',  # as R writes it
        '"";"query_id";"doc_id";"relevance"\n"1";"q1";"d1";1\n',
    ],
)
def test_columns_of_qrels_are_found_where_they_can_be_told_apart(tmp_path, text):
    (tmp_path / "qrels.txt").write_text(text)
    [(_, judgment)] = read_qrels(tmp_path / "qrels.txt", "dataset.qrels")
    assert judgment == ("q1", "d1", 1)
    (tmp_path / "qrels.txt").write_text("q1\td1\t-1\nq1\td2\t1\n")  # -1 is no name of a column
    assert [each.grade for _, each in read_qrels(tmp_path / "qrels.txt", "dataset.qrels")] == [-1, 1]


def test_the_first_line_of_qrels_says_what_is_between_the_columns(tmp_path):
    (tmp_path / "qrels.csv").write_text('query_id;doc_id;score\n"q1";"d1, page 2";1\nq1;d2;0\n')
    found = [tuple(judgment) for _, judgment in read_qrels(tmp_path / "qrels.csv", "dataset.qrels")]
    assert found == [("q1", "d1, page 2", 1), ("q1", "d2", 0)]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "q1 d1\n", "line 1: found 2 columns, expected query-id, corpus-id and score"),
        ("a.txt", "q1 0 12\nq2 0 13\n", "the second of three columns is '0' in all lines"),
        ("a.txt", "q1 0 d1 1\nq1 d2 1\n", "line 2: found 3 columns, expected 4 as in the first line"),
        ("a.txt", "q1 0 d1 0.75\n", "the grade is '0.75'; expected a whole number"),
        (
            "a.jsonl",
            '{"query-id": "q", "corpus-id": "d", "mark": 1}\n',
            "found the fields 'query-id', 'corpus-id', 'mark'",
        ),
        ("a.jsonl", '{"query-id": "q", "corpus-id": "d", "score": 0.5}\n', "the grade is 0.5"),
        ("a.json", '{"q": {"d": "high"}}', "query 'q': the grade is 'high'"),
        ("a.json", '{"q": [{"doc_id": "d", "relevance": 2}], "r": [{"doc_id": "e", "relevance": 1}]}', "the field"),
        ("a.json", '{"q": {"query": "what", "relevant_docs": ["d"]}}', "the field"),
        ("a.csv", "query_id,doc_id,score,relevance\nq,d,3,0\n", "'score' and 'relevance' could be the grade"),
        ("a.jsonl", '{"qid": "q", "docno": "d", "score": 3, "label": 0}', "'score' and 'label' could be the grade"),
        # Query, document, grade and iteration, as ir_datasets exports them.
        ("a.tsv", "q1\t7067032\t1\t0\nq2\t7067056\t1\t0\n", "the last of four columns is '0' in all lines"),
        ("a.csv", "topic,passage,importance\nq,d,1\n", "found the columns 'topic', 'passage', 'importance'"),
        ("a.json", '{"q": [["d", 1]]}', "query 'q': found [\"d\", 1]; expected an id"),
        ("a.json", '{"q": [{"d": 1}]}', "found the fields 'd'"),
        ("a.json", '{"q": ["d", null]}', "query 'q': found null; expected an id"),
    ],
)
def test_qrels_that_cannot_be_understood_are_refused(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(DatasetError) as refused:
        list(read_qrels(tmp_path / name, "dataset.qrels"))
    assert said in str(refused.value)


def test_a_benchmark_is_read_from_the_folders_of_the_hub(tmp_path):
    corpus = pd.DataFrame({"id": ["d1", "d2"], "title": ["A", None], "text": ["one", "two"]})
    queries = pd.DataFrame({"_id": ["q1", "q2", "q3"], "text": ["who", "what", "why"]})
    for folder, name, table in (
        ("corpus", "corpus-00000-of-00002.parquet", corpus[:1]),
        ("corpus", "corpus-00001-of-00002.parquet", corpus[1:]),
        ("queries", "queries-00000-of-00001.parquet", queries),
        ("default", "train-00000-of-00001.parquet", TABLE[:0].set_axis(["query-id", "corpus-id", "score"], axis=1)),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        table.to_parquet(tmp_path / folder / name, index=False)
    (tmp_path / "default" / "test.jsonl").write_text('{"query-id": "q2", "corpus-id": "d2", "score": 1.0}\n')
    collection = BeirDataset("hub", str(tmp_path)).load()
    assert [(document.source, document.text) for document in collection.documents] == [("d1", "A one"), ("d2", "two")]
    assert [tuple(judgment) for judgment in collection.judgments] == [("q2", "d2", 1)]
    assert [query.text for query in collection.queries] == ["what"]
    with pytest.raises(DatasetError, match=r"there are judgments of '?(test|train)"):
        BeirDataset("hub", str(tmp_path), split="dev").load()


@pytest.mark.parametrize(
    "lost", ["corpus/corpus-00001-of-00002", "queries/queries-00000-of-00002", "default/test-v1.0-00001-of-00002"]
)
def test_a_table_of_which_a_file_is_missing_is_refused(tmp_path, lost):
    tables = {
        "corpus/corpus": pd.DataFrame({"_id": ["d1", "d2"], "text": ["one", "two"]}),
        "queries/queries": pd.DataFrame({"_id": ["q1", "q2"], "text": ["who", "what"]}),
        "default/test-v1.0": pd.DataFrame({"query-id": ["q1", "q2"], "corpus-id": ["d1", "d2"], "score": [1, 1]}),
    }
    for name, table in tables.items():
        (tmp_path / name).parent.mkdir()
        for part in (0, 1):
            table[part : part + 1].to_parquet(tmp_path / f"{name}-0000{part}-of-00002.parquet", index=False)
    assert len(BeirDataset("hub", str(tmp_path), split="test-v1.0").load().documents) == 2
    (tmp_path / f"{lost}.parquet").unlink()
    with pytest.raises(DatasetError, match="has 1 of 2 files of a table"):
        BeirDataset("hub", str(tmp_path), split="test-v1.0").load()


def test_one_language_of_a_benchmark_has_a_path(tmp_path):
    for language in ("de", "sw"):
        for part, table in (
            ("corpus", pd.DataFrame({"_id": ["d1"], "title": [""], "text": [language]})),
            ("queries", pd.DataFrame({"_id": ["q1"], "text": ["who"]})),
            ("qrels", pd.DataFrame({"query-id": ["q1"], "corpus-id": ["d1"], "score": [1]})),
        ):
            (tmp_path / f"{language}-{part}").mkdir()
            table.to_parquet(tmp_path / f"{language}-{part}" / "dev-00000-of-00001.parquet", index=False)
    found = BeirDataset("hub", str(tmp_path / "sw"), split="dev").load()
    assert [document.text for document in found.documents] == ["sw"]
    assert [tuple(judgment) for judgment in found.judgments] == [("q1", "d1", 1)]
    with pytest.raises(DatasetError, match=r"there are the subsets 'de', 'sw', and .*de is the path of one"):
        BeirDataset("hub", str(tmp_path)).load()
    (tmp_path / "zip" / "scifact").mkdir(parents=True)
    (tmp_path / "zip" / "scifact" / "corpus.jsonl").write_text('{"_id": "d1", "text": "x"}\n')
    with pytest.raises(DatasetError, match="scifact is the path of one"):
        BeirDataset("hub", str(tmp_path / "zip")).load()
