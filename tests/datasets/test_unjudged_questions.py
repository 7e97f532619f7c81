"""Questions that nobody has judged: they can be judged, and a sweep refuses them."""

import json
from dataclasses import replace

import pandas as pd
import pytest
from read_strictly import misses, refusal

from ragsweep.datasets import Dataset, Judgment, OwnDataset, PageChunker, TableQuestions, TextCorpus, beir_dataset

TEXTS = ["How is iron kept?", "Where is the tea, the milk and the salt?"]
ASKED = [{"query": text} for text in TEXTS]
FILES = {  # as people have them
    "objects.json": json.dumps(ASKED, indent=1),
    "questions.jsonl": "".join(f"{json.dumps(row)}\n" for row in ASKED),
    "column.csv": f'query\n{TEXTS[0]}\n"{TEXTS[1]}"\n',
    "excel.tsv": f"query\tquery_type\n{TEXTS[0]}\twhat\n{TEXTS[1]}\twhere\n",
    "null.jsonl": "".join(json.dumps({"query": text, "relevant_docs": None}) + "\n" for text in TEXTS),
}
GIVEN = [Judgment("1", "iron.txt", 1), Judgment("1", "tea.txt", 0), Judgment("2", "tea.txt", 1)]


@pytest.fixture
def texts(tmp_path):
    """A corpus of two text files."""
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "iron.txt").write_text("Iron is kept dry.")
    (folder / "tea.txt").write_text("Tea and milk.")
    return TextCorpus(str(folder))


def asked_in(path, texts):
    return OwnDataset(name="own", corpus=texts, questions=TableQuestions(str(path), unit="document"))


@pytest.mark.parametrize("name", [*FILES, "questions.parquet"])
def test_questions_without_judgments_are_ranked_and_measured_once_these_are_added(tmp_path, texts, name):
    path = tmp_path / name
    if name in FILES:
        path.write_text(FILES[name])
    else:
        pd.DataFrame(ASKED).to_parquet(path)
    dataset = asked_in(path, texts)
    items = Dataset.from_collection(dataset.load(), PageChunker(), may_lack_judgments=True)
    assert [query.text for query in items.queries] == TEXTS
    assert not len(items.qrels.grade)
    line = refusal(lambda: Dataset.from_collection(dataset.load(), PageChunker()))
    assert misses(line, "so nothing can be measured; ragsweep judge") == []
    (tmp_path / "qrels.tsv").write_text("".join("\t".join(map(str, judgment)) + "\n" for judgment in GIVEN))
    judged = replace(dataset, qrels=str(tmp_path / "qrels.tsv")).load()
    assert (sorted(judged.judgments), judged.unjudged) == (sorted(GIVEN), "")


def test_a_table_that_may_have_judgments_after_all_is_refused(tmp_path, texts):
    (tmp_path / "gold.csv").write_text("query,gold_ids\nWhat?,iron.txt\n")
    line = refusal(lambda: Dataset.from_collection(asked_in(tmp_path / "gold.csv", texts).load(), PageChunker()))
    assert misses(line, "line 2: ", "'gold_ids'", "questions.relevant=COLUMN") == []
    (tmp_path / "some.jsonl").write_text('{"query": "a"}\n{"query": "b", "relevant_docs": ["iron.txt"]}\n')
    line = refusal(asked_in(tmp_path / "some.jsonl", texts).load)
    assert misses(line, "line 1: the field 'relevant_docs' is missing") == []


@pytest.fixture(params=["no qrels", "", "query-id\tcorpus-id\tscore\n", "\n\n"])
def beir(tmp_path, request):
    """A folder of BEIR without qrels, or with an empty file of them."""
    for name in ("corpus", "queries"):
        rows = ({"_id": f"{name[0]}{number}", "text": text} for number, text in enumerate(TEXTS))
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "qrels").mkdir()
    if request.param != "no qrels":
        (tmp_path / "qrels" / "test.tsv").write_text(request.param)
    return tmp_path


def test_a_folder_of_beir_without_qrels_has_all_its_queries(beir):
    dataset = beir_dataset(name="beir", path=str(beir))
    collection = dataset.load()
    assert [query.query_id for query in collection.queries] == ["q0", "q1"]
    line = refusal(lambda: Dataset.from_collection(collection, PageChunker()))
    assert misses(line, "qrels/test.tsv", "so nothing can be measured; ragsweep judge") == []
    (beir / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tc0\t1\n")
    assert dataset.load().judgments == (Judgment("q1", "c0", 1),)
