"""A retriever's own chunks are what is measured: the algorithm of the span evaluation notebook, as slow obvious loops.

The chunks of the collection are two sentences each, and none of them is a passage that ragsweep would cut.
"""

import json
import re
import string

import numpy as np
import pytest
from application import PROJECT
from hydra import compose, initialize_config_dir

from ragsweep.core.project import register_resolvers
from ragsweep.experiment import Experiment
from ragsweep.retrieval import WordLlamaEncoder

K, LEAST_SCORE, HELD = 5, 0.3, 0.8
DOCUMENTS = {
    "ice.txt": "Sea ice reflects most of the light of the sun. Open water takes up the heat instead. "
    "Radar sees the ice through clouds and in the polar night. It maps leads and ridges for ships. "
    "The thickness of ice is measured by laser altimeters. They time a pulse of light to the surface and back.",
    "crops.txt": "Optical images show how green the leaves of crops are. The index compares red and near infrared. "
    "Farmers learn from it where water or nitrogen is missing. Clouds hide the fields for weeks in the tropics. "
    "Radar fills these gaps, as it sees through clouds. The yield of wheat is forecast two months before harvest.",
    "cities.txt": "Cities are warmer than the country around them at night. Thermal sensors map this heat island. "
    "Trees along a street cool the air by two degrees. Roofs of white colour help as well. "
    "Lights at night show where people live. They are used to estimate the growth of towns.",
}
QUESTIONS = [
    ("What does radar see through in the polar night?", "ice.txt", ["Radar sees the ice through clouds"]),
    ("How is the thickness of sea ice measured?", "ice.txt", ["is measured by laser altimeters."]),
    ("How is the yield of wheat forecast?", "crops.txt", ["The yield of wheat is forecast two months before harvest."]),
    ("What cools the air along a street?", "cities.txt", ["Trees along a street cool the air"]),
    (
        "Which index shows how green the leaves of crops are?",
        "crops.txt",
        ["Optical images show how green the leaves of crops are.", "The index compares red and near infrared."],
    ),
]


def chunks():
    """The chunks of the collection, with the path of their file as the collection names it."""
    found = []
    for name, text in DOCUMENTS.items():
        sentences = re.split(r"(?<=\.) ", text)
        found += [(f"papers/{name}", " ".join(sentences[at : at + 2])) for at in range(0, len(sentences), 2)]
    return found


def plain(text):
    return text.lower().translate(str.maketrans("", "", string.punctuation)).split()


def holds(chunk, reference):
    words = plain(reference)
    return sum(word in plain(chunk) for word in words) / len(words) >= HELD


def of_notebook(references, file_path, found):
    """The metrics of a question at K, from the chunks that were found, as (file path, text)."""
    texts = [text for _, text in found]
    wanted, retrieved = [], []
    for reference in references:
        wanted += plain(reference)
        if any(holds(text, reference) for text in texts):
            for text in texts:
                retrieved += plain(text)
    left, shared = [*retrieved], 0
    for word in wanted:
        if word in left:
            left.remove(word)
            shared += 1
    held = sum(any(holds(text, reference) for text in texts) for reference in references) / len(references)
    right = sum(any(holds(text, reference) for reference in references) for text in texts) / max(1, len(texts))
    of_source = sum(path == file_path for path, _ in found)
    return {
        "token/iou": shared / (len(wanted) + len(retrieved) - shared),
        "token/precision": shared / len(retrieved) if retrieved else 0,
        "token/recall": shared / len(wanted),
        "passage/coverage": held,
        "passage/accuracy": float(held == 1),
        "passage/precision": right,
        "passage/recall": held,
        "document/coverage": float(of_source > 0),
        "document/precision": of_source / max(1, len(found)),
        "document/passages": of_source,
    }


def searched(query, k):
    """The chunks for a query, nearest first."""
    encode = WordLlamaEncoder().encode
    scores = encode([text for _, text in chunks()], "passage") @ encode([query], "query")[0]
    best = [row for row in np.argsort(-scores, kind="stable")[:k].tolist() if scores[row] >= LEAST_SCORE]
    return [chunks()[row] for row in best]


def search(query, k):
    """The same as a retriever of a user's."""
    return [{"file_path": path, "content": text} for path, text in searched(query, k)]


@pytest.fixture
def dataset(tmp_path):
    (tmp_path / "texts").mkdir()
    for name, text in DOCUMENTS.items():
        (tmp_path / "texts" / name).write_text(text)
    rows = [{"question": query, "corpus_id": name, "references": parts} for query, name, parts in QUESTIONS]
    (tmp_path / "spans.json").write_text(json.dumps(rows))
    corpus = ["corpus=text", f"corpus.path={tmp_path / 'texts'}", "dataset.name=earth", "questions=spans"]
    measured = ["evaluation=spans", "evaluation.token=word", "evaluation.resamples=100", f"k={K}"]
    return [*corpus, f"questions.path={tmp_path / 'spans.json'}", *measured, "store.enabled=false"]


def measured(dataset, *retriever):
    """The metrics of each question, in the order of the questions."""
    register_resolvers()
    with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
        scores = Experiment.of(compose("config", [*dataset, *retriever])).measure().scores
    columns = {score.metric.name: score.per_item for score in scores}
    return [{name: column[row] for name, column in columns.items()} for row in range(len(QUESTIONS))]


def assert_as_the_notebook(rows):
    for (query, name, references), row in zip(QUESTIONS, rows, strict=True):
        expected = of_notebook(references, f"papers/{name}", searched(query, K))
        if len(references) > 1:  # the notebook adds the words of each chunk once for each reference
            expected = {metric: value for metric, value in expected.items() if not metric.startswith("token")}
        assert {metric: row[metric] for metric in expected} == pytest.approx(expected, abs=1e-12), query
    assert sum(row["passage/coverage"] for row in rows) > 3


def test_a_function_is_measured_as_the_notebook_measures_its_chunks(dataset):
    assert_as_the_notebook(measured(dataset, "retriever=callable", f"retriever.call={__name__}:search"))


def besides(query, k):
    """A chunk that holds no reference, whatever is asked."""
    return [{"file_path": "papers/cities.txt", "content": "They are used to estimate the growth of towns."}]


def test_chunks_that_hold_no_reference_score_0(dataset):
    rows = measured(dataset, "retriever=callable", f"retriever.call={__name__}:besides")
    assert {row[name] for row in rows for name in ("passage/recall", "passage/coverage", "ndcg")} == {0}


@pytest.mark.extra("qdrant")
def test_a_collection_of_qdrant_is_measured_as_the_notebook_measures_its_chunks(dataset, monkeypatch):
    from qdrant_server import qdrant_server

    payloads = [{"file_path": path, "content": text} for path, text in chunks()]
    texts = [text for _, text in chunks()]
    with qdrant_server("a-key-that-nobody-may-see") as server:
        server.fill("papers", payloads, texts, WordLlamaEncoder().encode(texts, "passage"))
        monkeypatch.setenv("QDRANT_URL", server.url)
        monkeypatch.setenv("QDRANT_API_KEY", "a-key-that-nobody-may-see")
        settings = ["retriever.collection=papers", f"retriever.score_threshold={LEAST_SCORE}", "encoder=wordllama"]
        rows = measured(dataset, "retriever=qdrant", *settings, f"retriever.depth={K}")
        assert server.writes == []
    assert_as_the_notebook(rows)
    function = ["retriever=callable", f"retriever.call={__name__}:search", f"retriever.depth={K}"]
    assert rows == measured(dataset, *function)
