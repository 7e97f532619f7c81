"""The notebook that judges a Qdrant collection by spans of text: its files, its algorithm, its three levels of metrics.

The collection has chunks that ragsweep would not cut: two sentences each, on one line. Its own files are read as they
are; the algorithm is written anew as slow loops over the texts that were retrieved. Where the notebook's code differs
from its definition (it counts the words of what was retrieved once for each reference), the definition holds.
"""

import json
import re
import string
from collections import Counter
from contextlib import suppress

import pandas as pd
import pytest
from application import PROJECT, in_this_process, succeeded
from endpoint_server import EndpointServer, answer, completion
from question_server import Generate, QuestionServer, honest, lines, write_documents
from small import case_arguments

from ragsweep.retrieval import WordLlamaEncoder

with suppress(ImportError):  # where it is not installed, the mark skips the tests
    from qdrant_client import models
    from qdrant_server import qdrant_server

THRESHOLD, K, MOST, CUTOFFS = 0.115, 5, 15, (3, 5, 10, 15)
KEY = "a-key-that-nobody-may-see"
DOCUMENTS = {
    "papers/land.pdf": [
        "Hyperspectral sensors measure hundreds of narrow bands. They tell minerals in bare rock apart.",
        "A drone carries a smaller camera for the same bands. It flies below the clouds.",
        "Farmers map nitrogen in maize from red edge bands. Stressed maize is seen early.",
    ],
    "papers/ice.pdf": [
        "Glaciers lose mass every summer. Altimeters measure the height of glaciers from orbit.",
        "Gravity missions weigh whole ice sheets. The signal is coarse but complete.",
        "Dry snow hides crevasses from cameras. Radar sees through dry snow.",
    ],
    "papers/sea.pdf": [
        "Plankton colours the sea green. Ocean colour sensors count the chlorophyll in it.",
        "Oil slicks smooth the waves of the sea. Radar images show oil slicks as dark stains.",
        "Fishing ships switch off their transponders at night. Radar finds the ships by bright echoes.",
    ],
}
QUESTIONS = [
    ("What do hyperspectral sensors measure?", "papers/land.pdf", ["measure hundreds of narrow bands"]),
    ("How is the height of glaciers measured?", "papers/ice.pdf", ["Altimeters measure the height of glaciers"]),
    ("What weighs whole ice sheets?", "papers/ice.pdf", ["The signal is coarse but complete.\nDry"]),  # 6 of 7 words
    (
        "How does radar show ships and oil slicks at sea?",
        "papers/sea.pdf",
        ["Radar images show oil slicks as dark stains.", "Radar finds the ships by bright echoes."],
    ),
    ("What does a drone carry?", "papers/land.pdf", ["It flies below the clouds.\nFarmers map nitrogen"]),  # 5 of 8
    ("Who won the chess tournament?", "papers/sea.pdf", ["Plankton colours the sea green."]),  # nothing is alike
]
CHUNKS = [(file_path, text) for file_path, texts in DOCUMENTS.items() for text in texts]


@pytest.fixture(scope="module")
def vectors():
    return WordLlamaEncoder().encode([text for _, text in CHUNKS], "passage")


@pytest.fixture(scope="module")
def hits(vectors):
    """What the collection returns for each question, best first: file path, text and score."""
    queries = WordLlamaEncoder().encode([question for question, _, _ in QUESTIONS], "query")
    results = {}
    for (question, _, _), query in zip(QUESTIONS, queries, strict=True):
        scored = [(*chunk, float(vector @ query)) for chunk, vector in zip(CHUNKS, vectors, strict=True)]
        results[question] = sorted((hit for hit in scored if hit[2] >= THRESHOLD), key=lambda hit: -hit[2])[:MOST]
    assert results[QUESTIONS[-1][0]] == []
    assert max(map(len, results.values())) > K
    return results


@pytest.fixture(scope="module")
def files(tmp_path_factory, hits):
    """The notebook's two files, and a module that returns what the collection does."""
    folder = tmp_path_factory.mktemp("notebook")
    documents = [{"content": "\n".join(texts), "metadata": {"file_path": path}} for path, texts in DOCUMENTS.items()]
    (folder / "documents.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
    rows = [
        {
            "question": question,
            "file_path": file_path,
            "references": [{"text": text, "chunk_numbers": [0]} for text in references],
            "source_document": "\n".join(DOCUMENTS[file_path])[:60],
            "refs_generated": len(references) + 1,
            "refs_valid": len(references),
            "refs_removed": 1,
        }
        for question, file_path, references in QUESTIONS
    ]
    (folder / "qa_evaluation_dataset.json").write_text(json.dumps(rows))
    results = {
        query: [{"file_path": path, "content": text, "score": score} for path, text, score in of_query]
        for query, of_query in hits.items()
    }
    (folder / "recorded_hits.py").write_text(
        f"HITS = {results!r}\n\n\ndef search(query, k):\n    return HITS[query][:k]\n"
    )
    return folder


@pytest.fixture(scope="module")
def settings(files):
    """The overrides that read both files as they are and measure by words."""
    documents = ["corpus=table", f"corpus.path={files}/documents.jsonl", "corpus.id=metadata.file_path"]
    questions = ["corpus.text=content", "questions=spans", f"questions.path={files}/qa_evaluation_dataset.json"]
    measured = ["questions.document=file_path", "evaluation=spans", "evaluation.token=word", "evaluation.resamples=100"]
    return [*documents, *questions, *measured, "dataset.name=earth", f"k={K}", "encoder=wordllama"]


def measured_run(application, name, *arguments, **environment):
    """The files of a run in an experiment of its own."""
    succeeded(application.script_here("run", *arguments, f"tracking.experiment={name}", **environment))
    [*_, run] = application.runs()
    return application.artifacts(run)


@pytest.fixture(scope="module")
def sweep(shared_application, settings, files):
    """A sweep over the cutoffs of the collection behind a function of the user's."""
    of_all = [setting for setting in settings if not setting.startswith("k=")]
    called = ["retriever=callable", "retriever.call=recorded_hits:search", f"k={','.join(map(str, CUTOFFS))}"]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(files)
        succeeded(shared_application.script_here("run", "-m", *shared_application.arguments(*of_all, *called)))
    return shared_application


@pytest.fixture(scope="module")
def called(sweep):
    """The files of its run at k."""
    [run] = [run for run in sweep.children() if run.data.params["k"] == str(K)]
    return sweep.artifacts(run)


def words(text):
    return text.lower().translate(str.maketrans("", "", string.punctuation)).split()


def holds(text, reference):
    """Whether a text has at least four fifths of a reference's words, wherever they stand."""
    return sum(word in words(text) for word in words(reference)) >= 0.8 * len(words(reference))


def mean_of_harmony(precision, recall):
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def by_loops(references, file_path, hits, *, times=1):
    """The values of a question by the notebook's definitions; `times` repeats the words of what was retrieved."""
    texts = [text for _, text, _ in hits]
    wanted = Counter(word for reference in references for word in words(reference))
    retrieved = Counter(word for text in texts * times for word in words(text))
    shared = sum((wanted & retrieved).values())
    precision, recall = shared / max(retrieved.total(), 1), shared / wanted.total()
    held = sum(any(holds(text, reference) for text in texts) for reference in references) / len(references)
    holding = sum(any(holds(text, reference) for reference in references) for text in texts) / max(len(texts), 1)
    of_source = sum(path == file_path for path, _, _ in hits)
    return {
        "token/iou": shared / (wanted.total() + retrieved.total() - shared),
        "token/precision": precision,
        "token/recall": recall,
        "token/f1": mean_of_harmony(precision, recall),
        "passage/coverage": held,
        "passage/accuracy": float(held == 1),
        "passage/precision": holding,
        "passage/recall": held,
        "passage/f1": mean_of_harmony(holding, held),
        "document/coverage": float(of_source > 0),
        "document/accuracy": float(of_source > 0),
        "document/precision": of_source / max(len(hits), 1),
        "document/recall": float(of_source > 0),
        "document/passages": of_source,
    }


def assert_measured_as_defined(folder, hits):
    """Each value of each question at k, and each mean at the notebook's cutoffs of the one ranking."""
    rows = pd.read_csv(folder / "results/per_query.csv").to_dict("records")
    for row, (question, file_path, references) in zip(rows, QUESTIONS, strict=True):
        expected = by_loops(references, file_path, hits[question][:K])
        assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-12), question
    report = json.loads((folder / "results/evaluation.json").read_text())
    for k in CUTOFFS:
        values = pd.DataFrame([by_loops(texts, path, hits[question][:k]) for question, path, texts in QUESTIONS])
        at_k = {name: report["at_k"][name][k - 1] for name in values}
        assert at_k == pytest.approx(values.mean().to_dict(), abs=1e-12), k


def test_a_function_is_measured_by_the_chunks_that_it_returned_whose_words_count_once(called, hits):
    assert_measured_as_defined(called, hits)
    rows = pd.read_csv(called / "results/per_query.csv", index_col="query")
    assert (rows["time_ms"] >= 0).all()
    for question, of_question in hits.items():
        scores = [score for _, _, score in of_question[:K]]
        assert rows.loc[question, "mean_score"] == pytest.approx(sum(scores) / len(scores) if scores else 0)
    names = by_loops(["any"], "any", [])
    assert len(names) == 14
    assert rows.loc[QUESTIONS[-1][0], [*names]].eq(0).all()  # what returns nothing scores 0 on each level
    # With two references, the notebook's code halves the precision of the same chunks.
    [(question, path, references)] = [row for row in QUESTIONS if len(row[2]) == 2]
    rows = pd.read_csv(called / "results/per_query.csv", index_col="query")
    once, twice = (by_loops(references, path, hits[question][:K], times=times) for times in (1, 2))
    assert rows.loc[question, "token/iou"] == pytest.approx(once["token/iou"]) != pytest.approx(twice["token/iou"])


def test_the_report_has_each_level_at_every_k_side_by_side(sweep, hits):
    [parent] = sweep.parents()
    page = (sweep.artifacts(parent) / "report.md").read_text().partition("## Metrics at each k")[2]
    lines = page.partition("\n## ")[0].splitlines()
    head, _, *rows = [[*map(str.strip, line.strip("|").split("|"))] for line in lines if line.startswith("|")]
    assert head == ["metric", *(f"k = {k}" for k in CUTOFFS)]
    shown = {name: values for name, *values in rows}
    for name in ("token/f1", "passage/coverage", "document/precision"):
        at_k = [[by_loops(texts, path, hits[asked][:k])[name] for asked, path, texts in QUESTIONS] for k in CUTOFFS]
        expected = [sum(values) / len(values) for values in at_k]
        bold = [mean == max(expected) != min(expected) for mean in expected]
        texts = [f"**{mean:.3f}**" if best else f"{mean:.3f}" for mean, best in zip(expected, bold, strict=True)]
        assert shown[name.replace("/", " ").capitalize().replace("f1", "F1")] == texts


@pytest.fixture
def server(vectors):
    """A server with the collection."""
    with qdrant_server(KEY) as running:
        size = models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)
        running.local.create_collection("earth", size)
        points = [
            models.PointStruct(
                id=number,
                vector=vector.tolist(),
                payload={"content": text, "file_path": path, "metadata": {"file_path": path}},
            )
            for number, (vector, (path, text)) in enumerate(zip(vectors, CHUNKS, strict=True))
        ]
        running.local.upsert("earth", points)
        yield running


QDRANT = ["retriever=qdrant", "retriever.collection=earth", f"retriever.score_threshold={THRESHOLD}"]


@pytest.mark.extra("qdrant")
def test_a_collection_is_measured_by_its_own_chunks_and_may_be_filtered(application, settings, hits, server):
    """By a field within its payload; its size is printed."""
    environment = {"QDRANT_URL": server.url, "QDRANT_API_KEY": KEY}
    chosen = ["+retriever.filter.metadata.file_path=papers/ice.pdf", "retriever.score_threshold=null"]
    given = [*settings, *QDRANT[:2], *chosen, "tracking.experiment=filtered"]
    process = succeeded(application.script_here("run", *given, **environment))
    assert re.search(rf"earth.*\b{len(CHUNKS)} points.*green", process.stdout + process.stderr)
    rows = pd.read_csv(application.artifacts(application.runs()[-1]) / "results/per_query.csv", index_col="query")
    expected = [float(path == "papers/ice.pdf") for _, path, _ in QUESTIONS]
    assert rows["document/precision"].tolist() == expected
    assert_measured_as_defined(measured_run(application, "qdrant", *settings, *QDRANT, **environment), hits)


@pytest.mark.extra("qdrant")
def test_what_is_missing_is_said_before_a_run(tmp_path, monkeypatch, settings, server):
    """The address is in the file .env of the project folder."""
    for name in ("QDRANT_URL", "QDRANT_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    nowhere = ["retriever.collection=other", "retriever.snapshot=nowhere.snapshot"]
    for url, collection, expected in (
        ("http://127.0.0.1:9", QDRANT[1:2], "http://127.0.0.1:9 cannot be reached"),
        ("", QDRANT[1:2], "QDRANT_URL"),
        (server.url, nowhere, "nowhere.snapshot"),
    ):
        (tmp_path / ".env").write_text(f"QDRANT_URL={url}\nQDRANT_API_KEY={KEY}\n" if url else "")
        places = [f"tracking.uri=sqlite:///{tmp_path}/mlflow.db", f"store.path={tmp_path}/store"]
        refused = in_this_process(tmp_path, "run", *settings, "retriever=qdrant", *collection, *places)
        assert refused.returncode == 2
        assert expected in refused.stderr
        assert not (tmp_path / "mlflow.db").exists()


def test_an_example_of_the_environment_file_is_there_to_copy(tmp_path):
    variables = {"QDRANT_URL", "QDRANT_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"}
    succeeded(in_this_process(tmp_path, "init"))
    for folder in (PROJECT, tmp_path):
        text = (folder / ".env.example").read_text()
        assert {*re.findall(r"^#? ?(\w+)=", text, re.MULTILINE)} >= variables


def test_sentences_of_the_documents_are_questions_without_a_model(tmp_path, application):
    write_documents(tmp_path / "documents")
    generate = Generate(tmp_path)
    asked = ["generator=extractive", "~encoder", "shortest_passage=5", "--count", "10", "--out", "made"]
    status, _, err = generate.here(*generate.documents, *asked)
    assert status == 0, err
    questions = lines(tmp_path / "made/questions.jsonl")
    assert len(questions) == 10
    for question in questions:
        text = (tmp_path / "documents" / question["corpus_id"]).read_text()
        assert {*words(question["question"])} <= {*words(text)}
    assert "10" in (tmp_path / "made/data_sheet.md").read_text()
    corpus = ["corpus=text", f"corpus.path={tmp_path}/documents", "dataset.name=made", "retriever=sparse"]
    folder = measured_run(
        application, "made", *corpus, "questions=spans", f"questions.path={tmp_path}/made/questions.jsonl"
    )
    assert len(pd.read_csv(folder / "results/per_query.csv")) == 10


@pytest.mark.extra("openai")
@pytest.mark.usefixtures("secret_key")
def test_a_bad_reference_removes_itself_and_the_data_sheet_counts_it(tmp_path):
    def with_an_invented_one(prompt, messages, times):
        question = honest(prompt)
        invented = "The valve was invented by a king of Norway."
        return completion(json.dumps(question | {"references": [*question["references"], invented]}))

    write_documents(tmp_path / "documents")
    generate = Generate(tmp_path)
    with QuestionServer(with_an_invented_one) as running:
        status, out, err = generate.here(*generate.endpoint(running, "made", "--count", "6"))
    assert status == 0, out + err
    questions = lines(tmp_path / "made/questions.jsonl")
    assert [len(question["references"]) for question in questions] == 6 * [1]
    sheet = (tmp_path / "made/data_sheet.md").read_text()
    counts = [[question[f"refs_{name}"] for name in ("generated", "valid", "removed")] for question in questions]
    assert counts == 6 * [[2, 1, 1]]
    counted = {name: int(number) for number, name in re.findall(r"(\d+) (generated|valid|removed)", sheet)}
    assert counted["generated"] == 2 * counted["valid"] == 2 * counted["removed"] >= 12


@pytest.mark.extra("openai")
def test_the_address_of_an_endpoint_may_be_in_the_environment_and_is_logged(application, tmp_path):
    model = ["answerer=llm", "language_model=openai", "language_model.model=model", "evaluation.controls=[]"]
    with EndpointServer(lambda prompt, times: answer("A")) as running:
        environment = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": running.url}
        asked = [*case_arguments(tmp_path / "cases"), *model, "retriever=sparse", f"store.path={tmp_path / 'store'}"]
        process = succeeded(application.script_here("run", *asked, **environment))
        assert running.requests
        assert running.url in process.stderr + process.stdout
        [run] = application.runs()
        assert run.data.params["language_model.base_url"] == running.url
