"""Files of questions and judgments as people and programs write them: read, or refused with the setting to use."""

import json
import shlex

import pandas as pd
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st
from read_strictly import misses, read_strictly, refusal, write_table

from ragsweep.datasets import Document, Judgment, TableQuestions
from ragsweep.datasets.readers.fields import EXPECTED, structured
from ragsweep.datasets.readers.qrels_files import read_qrels


def paged(name, pages):
    return Document.from_pages(name, [(str(page), f"{name}#{page}", f"text {page}") for page in range(1, pages + 1)])


BOOK, TWO = (paged("book.pdf", 6),), (paged("book.pdf", 6), paged("note.pdf", 1))
DECIMAL = (paged("12", 1), paged("12.0", 1))  # a document is found by its own name, before a whole number
NUMBERED = (paged("1", 1), paged("2", 1), paged("3", 1))
WITH_C = (*BOOK, paged("C#", 1))
HEAD = "query,relevant_docs\n"


def written(tmp_path, rows, name="q.json", **settings):
    """Questions in a table of these rows, or in a file with this text or these bytes."""
    path = tmp_path / (name if isinstance(rows, list) else name.replace(".json", ".csv"))
    if isinstance(rows, list):
        write_table(path, rows)
    else:
        path.write_bytes(rows if isinstance(rows, bytes) else rows.encode())
    return TableQuestions(str(path), **settings)


def read(tmp_path, rows, documents=BOOK, name="q.json", **settings):
    """What is asked in a file."""
    return read_strictly(written(tmp_path, rows, name, **settings), documents)


def judged(tmp_path, rows, settings):
    """The judgments of a file: query, unit and grade."""
    return [tuple(judgment) for judgment in read(tmp_path, rows, **settings).judgments]


def asking(relevant):
    return [{"query": "q", "relevant_docs": relevant}]


ONE = [("1", "book.pdf#2", 1)]
ONE_AND_NOT_3, ONE_AND_3 = [*ONE, ("1", "book.pdf#3", 0)], [*ONE, ("1", "book.pdf#3", 1)]
BY_PAGE = {"page": "page", "grade": "none"}
BY_GRADE = {"page": "page", "grade": "g"}
BY_ROW = {"query": "question", "document": "file", "page": "page", "grade": "none"}
BY_DOCUMENT = {"document": "doc", "grade": "none"}
C_SHARP = ("C#", ["C#"], {"C#": 1})
GRADE_LIKE = ("relevance_score", "is_correct", "Gold Score", "rating", "judgement", "is_rel")
SPARSE = [{"query": "a", "relevant_docs": {"1": 2, "3": None}}, {"query": "b", "relevant_docs": {"1": None, "3": 1}}]
OF_SPARSE = [("1", "book.pdf#1", 2), ("2", "book.pdf#3", 1)]
READ = [  # judgments, the file that has them, and its settings
    (ONE, f"{HEAD}what,2\n", {}),
    (ONE, "question,page\nwhat,2\n", {"query": "question", **BY_PAGE}),
    (ONE_AND_NOT_3, "q,p,g\nwhat,2,1\nwhat,3,0\n", {"query": "q", "page": "p", "grade": "g"}),
    (ONE, "question,file,page,g\nwhat,book.pdf,2,yes\n", {**BY_ROW, "grade": "g", "grades": {"yes": 1, "no": 0}}),
    (ONE, "question,file,page\nwhat,book.pdf,1\n", {**BY_ROW, "first_page": 0}),
    (ONE, f"{HEAD}what,book.pdf#1\n", {"first_page": 0}),
    (ONE, "query,page\nwhat,1.0\n", {**BY_PAGE, "first_page": 0}),  # of pandas
    (ONE_AND_NOT_3, "query,page,g\nwhat,2,True\nwhat,3,False\n", BY_GRADE),
    (ONE, "query,relevant_docs,score\nwhat,2,1\n", {"grade": "score"}),
    (ONE, "query,relevant_docs,score\nwhat,2,7\n", {"fields": ["score"]}),
    (ONE, "query,relevant_docs,source\nwhat,2,note.pdf\n", {"fields": ["source"], "documents": TWO}),
    ([("a", "book.pdf#2", 1)], "id,query,relevant_docs\na,what,2\n", {}),
    ([("3", "book.pdf#2", 1)], [{"key": 3, "query": "what", "relevant_docs": ["2"]}], {"id": "key"}),
    (ONE, "id,query,relevant_docs\na,what,2\n", {"id": None}),
    (ONE, "query;relevant_docs\nwhat;2\n", {"delimiter": ";"}),
    (ONE, "query\trelevant_docs\nwhat\t2\n", {"delimiter": r"\t"}),
    (ONE_AND_3, 'question,file,page\nwhat,book.pdf,"2; 3"\n', BY_ROW),
    (ONE, [{"q": "what", "gold": {"pages": [2]}}], {"query": "q", "relevant": "gold.pages"}),
    (ONE, [{"query": "what", "meta": {"file": "book.pdf"}, "page": 2}], {"document": "meta.file", **BY_PAGE}),
    (ONE, [{"query": "what", "doc": "book.pdf", "relevant_docs": [2]}], {**BY_DOCUMENT, "page": "relevant_docs"}),
    # as programs write CSV
    (ONE, ",query,relevant_docs\n0,what,2\n", {}),
    (ONE, "Unnamed: 0,query,relevant_docs\n0,what,2\n", {}),
    (ONE, f"{HEAD}what,2\n,\n,,,\n", {}),
    (ONE, f",\n{HEAD}what,2\n", {}),
    (ONE, b"\xef\xbb\xbf" + f"{HEAD}what,2\r\n".encode(), {}),
    (ONE, 'relevant_docs, query\n2, "what, when"\n', {}),
    (ONE, f"{HEAD}what,2\nwho,\n", {}),  # a blank is no judgment
    # keys or grades, in a cell and as values
    *((ONE, f"{HEAD}q,{cell}\n", {}) for cell in ("2.0", "book.pdf#2", '"2;"', '"[""2""]"', "\"['2']\"")),
    *((ONE, f"{HEAD}q,{cell}\n", {}) for cell in ('"{""2"": 1}"', '"{""2"": ""1.0"", ""3"": null}"')),
    *((ONE, asking(value), {}) for value in ("2", 2.0, "book.pdf#2", ["2"], {"2": 1}, {"2": "1.0", "3": None})),
    *((OF_SPARSE, SPARSE, {"name": name}) for name in ("q.json", "q.parquet")),  # a grade that only other rows have
    # the names of documents
    ([("1", "nan", 1)], f"{HEAD}what,nan\n", {"documents": (paged("nan", 1),), "unit": "document"}),
    ([("1", "3#1", 1)], "query,doc\nwhat,3\n", {"documents": NUMBERED, **BY_DOCUMENT}),
    ([("1", "3", 1)], "query,doc\nwhat,3\n", {"documents": NUMBERED, "unit": "document", **BY_DOCUMENT}),
    ([("1", "3", 1)], "query,doc\nwhat,3\n", {"documents": (), "unit": "document", **BY_DOCUMENT}),
    ([("1", "12.0", 1)], "query,doc\nq,12.0\n", {"documents": DECIMAL, "unit": "document", **BY_DOCUMENT}),
    *(([("1", "C##1", 1)], asking(value), {"documents": WITH_C}) for value in C_SHARP),
    *(([("1", "C#", 1)], asking(value), {"documents": WITH_C, "unit": "document"}) for value in C_SHARP),
    *(([("1", name, 1)], f'{HEAD}q,"[""{name}""]"\n', {"documents": ()}) for name in ("a, b", "a|b")),
    ([("1", "a-1", 1)], f"{HEAD}q,a-1\n", {"documents": ()}),
    ([("1", "a.pdf", 1), ("1", "b.pdf", 1)], f"{HEAD}q,a.pdf; b.pdf\n", {"documents": ()}),
    # columns that look like a grade
    *((ONE, f"query,relevant_docs,{name}\nq,2,0\n", {"fields": [name]}) for name in GRADE_LIKE),
    *(([("1", "book.pdf#2", 0)], f"query,relevant_docs,{name}\nq,2,0\n", {"grade": name}) for name in GRADE_LIKE),
]


def test_columns_are_those_that_are_documented_or_named(tmp_path):
    wrong = []
    for expected, rows, settings in READ:
        asked = read(tmp_path, rows, **settings)
        numbers_of_rows = [name for name, _ in asked.queries[0].fields if name in ("", "Unnamed: 0")]
        if [tuple(judgment) for judgment in asked.judgments] != expected or numbers_of_rows:
            wrong.append((rows, settings, asked.judgments))
    assert wrong == []


SEMICOLONS = "semicolons between several"
REFUSED = [  # a file, its settings, and what the refusal names: often the settings that say what a column means
    ("question,document,pages\nq,book.pdf,6\n", {}, "questions.query=question", "questions.document=document"),
    ("question,page,score\nq,2,5\n", {}, "questions.page=page", "questions.grade=score", "questions.grade=none"),
    (f"{HEAD[:-1]},relevance\nq,2,0\n", {}, "questions.grade=relevance", "questions.fields=[relevance]"),
    ("query,page\nq,2\n", {"page": "page"}, "questions.grade=none"),
    ("query,page,page_2,g\nq,2,3,1\n", BY_GRADE, "questions.fields=[page_2]"),
    (f"{HEAD[:-1]},relevant_docs_2\nq,2,3\n", {}, "questions.fields=[relevant_docs_2]"),
    (f"{HEAD[:-1]},page\nq,2,3\n", BY_PAGE, "questions.relevant=null"),
    ('query,relevant_docs,references\nq,2,"[""text 2""]"\n', {}, "questions.relevant=null"),
    (f"{HEAD}q,2\nq,3\n", {}, "questions.grade=none"),
    ("id,query,relevant_docs\n1,q,2\n2,q,3\n", {}, "questions.id=null questions.grade=none"),
    ("id,query,relevant_docs\n1,q,2\n1,r,3\n", {}, "line 3: the id '1' is that of ", "line 2"),
    ("query,page,g\nq,2,\n", BY_GRADE, "an empty string"),
    ("query,page,g\nq,2,yes\n", BY_GRADE, "grades={yes: 1, no: 0}"),
    ("query,page,g\nq,2,x\n", {**BY_GRADE, "grades": {"y": 1}}, "expected one of 'y'"),
    ("question,file,page\nq,note.pdf,1\nr,,1\n", BY_ROW, "'file' is blank"),
    ("query,page\nq,one\n", {**BY_PAGE, "first_page": 0}, "first_page is 0"),
    ("query,relevant_docs,source\nq,5,note.pdf\n", {}, "questions.document=source questions.page=relevant_docs"),
    ("query,relevant_docs,source\nq,1,note.pdf\n", {}, "questions.document=source questions.page=relevant_docs"),
    ("query;relevant_docs\nq;2\n", {}, "'questions.delimiter=\";\"'"),
    ("sep=;\nquery;relevant_docs\nq;2\n", {}, "delete this line"),
    (f"{HEAD}q,2\n", {"document": "file", "grade": "none"}, "has no column 'file'"),
    (f"{HEAD}q,2\n", {"type": "level"}, "has no column 'level'", "questions.type=COLUMN"),
    ("Frage,Relevant Docs\nq,2\n", {"query": "frage"}, "questions.query=Frage", 'questions.relevant="Relevant'),
    # rows of one question that do not agree
    ("id,query,page,g\na,what,2,1\na,who,3,1", BY_GRADE, "the text is 'who', but 'what'"),
    ("id,query,page,g\na,what,2,1\na,what,2,0", BY_GRADE, "'2' has the grades 1 and 0"),
    ("id,query,page,g\na,what,2,1\na,what,3,1,x", BY_GRADE, "found 5 cells, expected 4"),
    # what judgments cannot mean
    (asking({"north.pdf": [1, 2]}), {}, '["north.pdf#1", "north.pdf#2"]'),
    (asking([{"source": "book.pdf", "page_num": 2}]), {}, "objects with 'source', 'page_num'; expected a list like"),
    (asking({"source": "book.pdf", "page": 2}), {}, 'the grade is "book.pdf"'),
    (asking([["1", "2"]]), {}, "expected a list like"),
    (asking("[south.pdf | Page 2]"), {}, 'expected a list like ["34", "manual.pdf#35"]'),
    (asking([2.5]), {}, "expected a list like"),
    (asking({"2": 0.5}), {}, "the grade is 0.5"),
    (asking({"2": "ja"}), {}, 'the grade is "ja"', "grades={yes: 1, no: 0}"),
    (asking({"2": 10**10}), {}, "the grade is 10000000000"),
    (asking({"2": 1, " 2": 2}), {}, "has the grades 1 and 2"),
    (asking({"5": 1, "book.pdf#5": 2}), {}, "has the grades 1 and 2"),
    *((asking(text), {}, "not a text of one") for text in ("1;2", "2;", "['1']")),
    *((asking(text), {}, SEMICOLONS) for text in ("1-3", "p. 1", "1, 2", "book.pdf#1-3", "1、3", "book.pdf#p.1")),
    (asking("book.pdf, note.pdf"), {}, SEMICOLONS),
    (asking("0"), {}, "questions.first_page=0"),
    # of numpy, which is no list: Python joins '1' '2' to '12'
    *(
        (f'{HEAD}q,"{cell}"\n', {}, "expected a list like")
        for cell in ("['1' '2']", "['1' ... '9']", "['1' + '2']", "[1")
    ),
    *((f'{HEAD}q,"{cell}"\n', {}, "line 2") for cell in ("array(['1'])", "('1',)")),
    (f"{HEAD}what,nan\n", {}, "page 'nan' is not in the documents"),
    ("query,doc\nwhat,3\n", {"documents": BOOK, **BY_DOCUMENT}, "document '3'", "(there are 'book.pdf')"),
    ("query,doc\nwhat,book.pdf\n", BY_DOCUMENT, "(book.pdf has pages 1 to 6)"),
    *((f'{HEAD}q,"{ids}"\n', {"documents": ()}, "expected semicolons between ids") for ids in ("a, b", "a|b")),
    # which questions the documents answer
    ("query,relevant_docs,answerable\nq,2,no\n", {}, "answerable is false, but there is something relevant"),
    ([{**asking("2")[0], "answerable": False}], {}, "answerable is false, but there is something relevant"),
    *((f"query,relevant_docs,{name}\nq,2,0\n", {}, f"'{name}' could be a grade") for name in GRADE_LIKE),
]


def test_what_is_not_clear_is_refused_with_the_settings_to_paste(tmp_path):
    lines = []
    for rows, settings, *facts in REFUSED:
        line = refusal(lambda rows=rows, settings=settings: read(tmp_path, rows, **{"documents": TWO, **settings}))
        lines.append((rows, line, misses(line, *facts)))
    assert [missed for missed in lines if missed[-1]] == []


def pasted(text):
    """The settings of a refusal up to the first choice, as Hydra reads them."""
    words = [word.rstrip(",;") for word in shlex.split(text.replace("'s ", " "))]
    typed = [OverridesParser.create().parse_override(word) for word in words if word.startswith("questions.")]
    values = {override.key_or_group: override.value() for override in typed}
    return {name.partition(".")[2]: str(getattr(value, "text", value)) for name, value in values.items()}


OF_OTHERS = [
    {"Question": "q", "File": "book.pdf", "Page no.": "2", "Topic": "t"},
    {"question": "q", "expected_doc_id": "book.pdf", "evidence_pages": "2"},
    {"prompt": "q", "Relevant docs": "book.pdf#2"},
    {"question": "q", "file_name": "book.pdf", "relevant_pages": [2]},
    {"user_input": "q", "gold.document": "book.pdf", "gold.page": 2},
]


def test_the_settings_that_a_refusal_shows_read_the_file(tmp_path):
    for row in OF_OTHERS:
        line = refusal(lambda row=row: read(tmp_path, [row]))
        settings = pasted(line.partition("such as ")[2].partition(", with")[0])
        settings |= {"grade": "none"} if settings.keys() & {"document", "page"} else {}
        assert judged(tmp_path, [row], settings) == ONE, row


def test_a_run_says_what_is_read_as_what(tmp_path):
    text = "Question,Seite,author,note,id\nq,2,Zoë,x,a\nq,3,Zoë,y,a\n"
    asked = read(tmp_path, text, query="Question", page="Seite", grade="none")
    assert asked.columns == "q.csv read as: query=Question, page=Seite, id=id, grade=none; fields: author, note"
    assert asked.queries[0].fields == (("author", "Zoë"),)  # those that all of its rows share
    row = {"query": "q", "metadata": {"source": "book.pdf", "author": "Zoë"}, "page": 1, "Unnamed: 0": 7}
    asked = read(tmp_path, [row], document="metadata.source", page="page", grade="none", first_page=0)
    used = "query=query, document=metadata.source, page=page, grade=none, first_page=0"
    assert asked.columns == f"q.json read as: {used}; not read: the rest of 'metadata'"


def test_a_row_that_cannot_be_read_takes_all_rows_of_its_question_with_it(tmp_path):
    for fault in ("1,,book.pdf,1,\n1,q,book.pdf,2,\n", "1,q,book.pdf,1,\n1,q,book.pdf,2,maybe\n"):
        text = f"id,query,doc,page,answerable\n{fault}2,r,book.pdf,1,\n"
        asked = written(tmp_path, text, document="doc", page="page", grade="none").read(BOOK)
        assert [judgment.query_id for judgment in asked.judgments] == ["2"]
        assert len(asked.faults.faults) == 1


def test_further_fields_are_kept_as_texts_and_any_can_be_the_type(tmp_path):
    row = asking(["2"])[0]
    further = {"author": "Zoë", "year": 1990, "tags": ["a"], "none": None, "metadata": {}}
    [query] = read(tmp_path, [row | further]).queries
    assert query.fields == (("author", "Zoë"), ("year", "1990"), ("tags", '["a"]'))
    first, second = read(tmp_path, [row | {"author": "Zoë"}, row | {"query": "r"}], type="author").queries
    assert (first.query_type, first.fields, second.query_type) == ("Zoë", (), None)


def test_a_question_of_a_table_can_be_one_that_the_documents_do_not_answer(tmp_path):
    for name, no in (("q.json", False), ("q.json", 0), ("q.csv", "FALSE"), ("q.csv", "no")):
        for nothing in ({"relevant_docs": ""}, {}):
            rows = [
                {"query": "How tall?", "relevant_docs": "2", "answerable": ""},
                {"query": "How old?", "answerable": no, **nothing},
            ]
            asked = read(tmp_path, rows, name=name)
            answerable = [(query.text, query.answerable) for query in asked.queries]
            assert answerable == [("How tall?", True), ("How old?", False)]
            assert asked.judgments == (Judgment("1", "book.pdf#2", 1),)


def test_a_cell_between_tabs_has_quotes_where_pandas_writes_them(tmp_path):
    frame = pd.DataFrame({"query": ['say "hi"', 'a 3" nail'], "relevant_docs": [json.dumps(["1"]), json.dumps(["2"])]})
    (tmp_path / "q.tsv").write_text(frame.to_csv(sep="\t", index=False))
    asked = read_strictly(TableQuestions(str(tmp_path / "q.tsv")), BOOK)
    assert [query.text for query in asked.queries] == ['say "hi"', 'a 3" nail']


@given(st.recursive(st.text(max_size=5) | st.integers() | st.booleans() | st.none(),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
                    max_leaves=8).filter(lambda value: isinstance(value, list | dict)))  # fmt: skip
def test_lists_as_python_prints_them_are_read_back(value):
    assert structured(repr(value), "here", EXPECTED) == value


@given(st.text(alphabet="[](){}'\",: 12abc\\xnp.", max_size=30))
def test_any_text_is_a_list_or_refused_in_one_line(text):
    refusal(lambda: structured(text, "here", EXPECTED))


QRELS = [("q1", "d1", 1), ("q1", "d 2", 0), ("q2", "d1", 2)]


def test_qrels_are_those_of_beir_or_of_trec(tmp_path):
    lines = ["\t".join(map(str, row)) for row in QRELS]
    of_trec = ["\t".join((query, "0", document, str(grade))) for query, document, grade in QRELS]
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"{line}\n" for line in lines))
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


@given(st.dictionaries(st.text(st.characters(categories=["L"]), min_size=1), st.integers(-5, 5), min_size=1))
def test_written_qrels_are_read_back(tmp_path_factory, grades):
    path = tmp_path_factory.mktemp("any") / "qrels.txt"
    path.write_text("".join(f"1\t0\t{name}\t{grade}\n" for name, grade in grades.items()))
    assert {judgment.unit: judgment.grade for _, judgment in read_qrels(path, "dataset.qrels")} == grades


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
    assert [(line, fact) for line, fact in lines if misses(line, fact)] == []
