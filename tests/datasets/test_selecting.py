"""Settings of a dataset: judgments from another file, questions that are left out or selected, and groups of them."""

from dataclasses import replace

import pytest
from conversions import METRICS
from read_strictly import expect_refusal, refusal, span_questions, write_table

from ragsweep.datasets import (
    Collection,
    Dataset,
    Document,
    Judgment,
    OwnDataset,
    PageChunker,
    Query,
    TableQuestions,
    beir_dataset,
    pdf_dataset,
)
from ragsweep.datasets.model.grouping import grouped
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep.testing.datasets import AsIs

PAGES = (("1", "m.txt#1", "Iron tablets."), ("2", "m.txt#2", "Birth plan."), ("3", "m.txt#3", "Worms."))
CORPUS = AsIs((Document.from_pages("m.txt", PAGES), Document.from_pages("a b", [("7", "a b#7", "Tea.")])))
HEAD = "query,relevant_docs\n"


@pytest.fixture
def write(tmp_path):
    """Writes a file into the folder of the test, and returns its path."""

    def write(name, text):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


@pytest.fixture
def qrels(write):
    """Writes judgments as `ragsweep judge --out` does."""
    return lambda *lines: write("added.tsv", "\n".join(["query-id\tcorpus-id\tscore", *lines, ""]))


@pytest.fixture
def table(write):
    """A dataset with a table of these rows of questions."""

    def table(rows, name="q.csv", *, head=HEAD, **settings):
        return OwnDataset("own", CORPUS, TableQuestions(write(name, head + rows)), **settings)

    return table


@pytest.fixture
def spans(tmp_path):
    """A dataset of two questions, one of which is about a document that is not there."""
    rows = [{"question": f"What of {name}?", "corpus_id": name, "references": ["Iron"]} for name in ("m", "n")]
    return OwnDataset("own", CORPUS, span_questions(write_table(tmp_path / "s.json", rows)))


@pytest.fixture
def beir(tmp_path, write):
    """A folder of BEIR with these qrels, or without any."""

    def beir(judged=None, queries=("hot", " "), **settings):
        for name, texts in (("corpus", ("Fever.", "Tea.")), ("queries", queries)):
            rows = [{"_id": f"{name[0].replace('c', 'd')}{at}", "text": text} for at, text in enumerate(texts, start=1)]
            write_table(tmp_path / f"{name}.jsonl", rows)
        if judged is not None:
            write("qrels/test.tsv", judged)
        return beir_dataset("b", str(tmp_path), **settings)

    return beir


def test_judgments_are_added_to_those_of_a_table_and_replace_them_before_questions_are_selected(table, qrels):
    own = table("Who?,m.txt#2\nWhat?,\n")
    collection = replace(own, qrels=qrels("1\tm.txt#2\t0", "2\ta b#7\t1")).load()
    assert collection.judgments == (Judgment("1", "m.txt#2", 0), Judgment("2", "a b#7", 1))
    assert collection.digest != own.load().digest
    collection = replace(own, qrels=qrels("1\tm.txt#1\t1", "2\tm.txt#3\t1"), ids=["2"]).load()
    assert collection.judgments == (Judgment("2", "m.txt#3", 1),)


def test_judgments_are_added_to_questions_about_pdfs_and_to_a_folder_of_beir(tmp_path, write_pdf, qrels, beir):
    write_pdf(tmp_path / "pdfs" / "a.pdf", "one", "two")
    asked = write_table(tmp_path / "q.json", [{"query": "Who?", "relevant_docs": ["1"]}])
    dataset = pdf_dataset("small", str(tmp_path / "pdfs"), asked, qrels=qrels("1\ta.pdf#2\t2"))
    assert dataset.load().judgments == (Judgment("1", "a.pdf#1", 1), Judgment("1", "a.pdf#2", 2))
    for own in ((), (Judgment("q1", "d1", 2),)):
        collection = beir("q1\td1\t2\n" if own else None, ["hot"], qrels=qrels("q1\td2\t0")).load()
        assert (collection.judgments, collection.unjudged) == ((*own, Judgment("q1", "d2", 0)), "")


def test_judgments_of_what_is_not_there_or_of_pages_beside_spans_are_refused(table, qrels, spans):
    own = table("Who?,m.txt#2\nWhat?,\n")
    expect_refusal(replace(own, qrels=qrels("3\tm.txt#1\t1")).load, "added.tsv: own has no query '3'; it has '1', '2'")
    expect_refusal(replace(own, qrels=qrels("1\tm.txt#9\t1")).load, "added.tsv: own has no page 'm.txt#9'")
    spans = replace(spans, on_error="skip", qrels=qrels("1\tm.txt#1\t1"))
    expect_refusal(spans.load, "dataset.qrels: own judges spans of text")


TEXTS = ["How is iron kept?", "Where is the tea, the milk and the salt?"]
ASKED = [{"query": text} for text in TEXTS]
FILES = {  # as people have them
    **dict.fromkeys(("objects.json", "column.csv", "questions.jsonl", "questions.parquet"), ASKED),
    "excel.tsv": [row | {"query_type": "what"} for row in ASKED],
    "null.jsonl": [row | {"relevant_docs": None} for row in ASKED],
}


def test_questions_without_judgments_are_ranked_and_measured_once_these_are_added(tmp_path, qrels):
    given = qrels("1\tm.txt\t1", "1\ta b\t0", "2\ta b\t1")
    for name, rows in FILES.items():
        questions = TableQuestions(write_table(tmp_path / name, rows), unit="document")
        dataset = OwnDataset("own", CORPUS, questions)
        items = Dataset.from_collection(dataset.load(), PageChunker(), may_lack_judgments=True)
        assert ([query.text for query in items.queries], len(items.qrels.grade)) == (TEXTS, 0)
        expect_refusal(lambda own=dataset: Dataset.from_collection(own.load(), PageChunker()), "; ragsweep judge")
        judged = replace(dataset, qrels=given).load()
        expected = [Judgment("1", "a b", 0), Judgment("1", "m.txt", 1), Judgment("2", "a b", 1)]
        assert (sorted(judged.judgments), judged.unjudged) == (expected, "")


def test_a_table_that_may_have_judgments_after_all_is_refused(table):
    gold = table("What?,m.txt\n", head="query,gold_ids\n").load()
    facts = "line 2: ", "'gold_ids'", "questions.relevant=COLUMN"
    expect_refusal(lambda: Dataset.from_collection(gold, PageChunker()), *facts)
    some = table('{"query": "a"}\n{"query": "b", "relevant_docs": ["m.txt"]}\n', "some.jsonl", head="")
    expect_refusal(some.load, "line 1: the field 'relevant_docs' is missing")


def test_a_folder_of_beir_without_qrels_has_all_its_queries(beir):
    for text in (None, "", "query-id\tcorpus-id\tscore\n", "\n\n"):
        collection = beir(text, TEXTS).load()
        assert [query.query_id for query in collection.queries] == ["q1", "q2"]
        facts = "qrels/test.tsv", "; ragsweep judge"
        expect_refusal(lambda read=collection: Dataset.from_collection(read, PageChunker()), *facts)
    assert beir("query-id\tcorpus-id\tscore\nq2\td1\t1\n", TEXTS).load().judgments == (Judgment("q2", "d1", 1),)


FAULTY = "iron,m.txt#1\nwho,9\n,2\nwhy,2\nwhy,8\n"


def test_questions_of_each_format_can_be_left_out(table, spans, beir):
    for dataset, left, out in ((table(FAULTY), 1, 3), (spans, 1, 1), (beir("q1\td1\t1\nq2\td1\t1\nq3\td1\t1\n"), 1, 2)):
        expect_refusal(dataset.load, "dataset.on_error=skip leaves ")
        collection = replace(dataset, on_error="skip").load()
        assert (len(collection.queries), collection.left_out.number) == (left, out)
        [query] = collection.queries
        assert {judgment.query_id for judgment in collection.judgments} <= {query.query_id}


def test_questions_of_pages_that_no_document_has_can_be_kept_at_their_places(table):
    dataset = table("who,9;n.txt#1\niron,m.txt#1\nwhy,2;8\n")
    expect_refusal(dataset.load, "on_error=skip leaves them out", "dataset.on_error=keep counts")
    kept = replace(dataset, on_error="keep").load()
    assert [query.text for query in kept.queries] == ["who", "iron", "why"]
    judged = {(judgment.query_id, judgment.unit) for judgment in kept.judgments}
    assert judged == {("1", "9"), ("1", "n.txt#1"), ("2", "m.txt#1"), ("3", "m.txt#2"), ("3", "8")}
    assert not kept.left_out.number
    assert [query.text for query in replace(dataset, on_error="keep", ids=("3",)).load().queries] == ["why"]


def test_keeping_forgives_no_other_fault(table):
    """Neither what is no name of a page, nor a document without a page, nor a question without a text."""
    rows = ("who,page nine", 'who,"1, 2"', "who,n.txt", "who,m.txt", ",9", ",2")
    assert [row for row in rows if not refusal(table(f"iron,1\n{row}\n", on_error="keep").load)] == []


def test_a_faulty_question_that_is_not_selected_refuses_nothing(table, spans):
    for dataset in (table(FAULTY), spans):
        collection = replace(dataset, ids=("1",)).load()
        assert [query.query_id for query in collection.queries] == ["1"]
        assert not collection.left_out.faulty
        assert "2" in collection.left_out.unselected
        expect_refusal(replace(dataset, ids=("1", "2")).load, "dataset.on_error=skip leaves it out")
    dataset = table("2,what,1\n,who,1\n3,why,2\n", head=f"id,{HEAD}", ids=["2"])  # no id is that of another
    assert [query.query_id for query in dataset.load().queries] == ["2"]


def test_a_ranking_says_of_how_many_queries_it_is(table, capsys):
    """Those without judgments are not among the measured ones."""
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 10, METRICS)
    ranker = SparseRetriever(NO_STORE, backend="bm25s")
    for rows, of, out in ((FAULTY, "1 of 4", 3), ("iron,1\nunjudged,\nfaulty,9\n", "1 of 2", 1)):
        task = RankingTask(table(rows, on_error="skip"), PageChunker(), ranker, evaluation, 5, 0, NO_STORE)
        items = task.load()
        assert task.measure(items).condition == f"at k = 5, {of} queries"
        assert items.profile["left_out"] == out
        assert f"questions left out by dataset.on_error=skip: {out}" in capsys.readouterr().err


FIELDS = [{"page": "1"}, {"page": "2"}, {"page": "1"}, {}, {"page": "3"}]
COPIES = [
    "Which dose of iron does a child with anaemia need?",
    "What dose of iron does a child with anaemia need",
    "Which dose of zinc does a child with diarrhoea need?",
    "Does a child with anaemia need which dose of iron?",
]


def collection_of(*fields, texts=None, types=None):
    """A collection of questions with these fields."""
    queries = [
        Query(f"q{row}", texts[row] if texts else f"What is {row}?", types and types[row], tuple(values.items()))
        for row, values in enumerate(fields)
    ]
    return Collection("mine", "page", (), tuple(queries), ())


def groups_of(collection, field):
    return [query.group for query in grouped(collection, field).queries]


def test_a_field_names_the_groups_and_who_has_no_other_in_it_is_alone(capsys):
    collection = collection_of(*FIELDS)
    assert groups_of(collection, "page") == ["1", None, "1", None, None]
    assert groups_of(collection, None) == [None] * 5  # nothing is grouped unless it is asked for
    assert groups_of(collection_of({}, {}, {}, types=["a", None, "a"]), "query_type") == ["a", None, "a"]
    assert groups_of(collection_of(*[{}] * 4, texts=COPIES), "auto")[:3] == ["q0", "q0", None]  # near copies
    made = collection_of(*({"generated_from": page, "page": str(row)} for row, page in enumerate("aab")))
    assert groups_of(made, None) == ["a", "a", None]  # generated questions, by their source
    assert groups_of(made, "query_id") == [None] * 3
    facts = "dataset.group: no question of mine has 'pages'", "'query_id', 'page'"
    expect_refusal(lambda: grouped(collection, "pages"), *facts)
    without, by_page, alone = (grouped(collection, field).digest for field in (None, "page", "query_id"))
    assert without == alone == collection.digest != by_page
    capsys.readouterr()
    assert groups_of(collection_of({"page": "1"}, {"page": "2"}), "page") == [None, None]
    assert "dataset.group: page puts no two questions" in capsys.readouterr().err


def test_a_table_of_questions_is_grouped_by_its_column(table):
    rows = "".join(f"What is {row}?,m.txt#1,{'ab'[row % 2]}\n" for row in range(4))
    for group, expected in ((None, [None] * 4), ("topic", ["a", "b", "a", "b"])):
        dataset = table(rows, head="query,relevant_docs,topic\n", group=group)
        assert [query.group for query in dataset.load().queries] == expected
        assert ("group" in dataset.without_effect) is (group is None)
