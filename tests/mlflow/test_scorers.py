"""`ragsweep.mlflow.scorers`: equal to trec_eval, on real traces of MLflow, never a silent 0; and EvaluationDatasets.

The recipes for these are those of docs/recipes.md.
"""

import json
import shutil
from pathlib import Path

import mlflow
import pytest
import pytrec_eval
from application import PROJECT, succeeded
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.mlflow import scorers
from ragsweep.mlflow.scorers import expected_grades, hit_rate, mrr, ndcg, precision, recall
from ragsweep.tasks.ranking import metrics

OF_TREC_EVAL = {
    metrics.ndcg: "ndcg_cut_{}",
    metrics.recall: "recall_{}",
    metrics.precision: "P_{}",
    metrics.hit_rate: "success_{}",
    metrics.mrr: "recip_rank",
}
UNITS = st.sampled_from([f"manual.pdf#{page}" for page in range(8)])


@given(
    ranking=st.lists(UNITS, max_size=12),
    grades=st.dictionaries(UNITS, st.integers(0, 3), min_size=1),
    k=st.integers(1, 8),
)
def test_values_are_those_of_trec_eval(ranking, grades, k):
    """Repeated units get a name of their own there, which nobody judges: they take a rank and earn nothing."""
    names = [unit if unit not in ranking[:at] else f"again{at}" for at, unit in enumerate(ranking)]
    run = {name: float(len(names) - at) for at, name in enumerate(names)}
    of_run = {name: score for name, score in run.items() if score > len(names) - k}  # for recip_rank
    for measure, pattern in OF_TREC_EVAL.items():
        name, ranked = pattern.format(k), of_run if measure is metrics.mrr else run
        evaluated = pytrec_eval.RelevanceEvaluator({"q": grades}, {name}).evaluate({"q": ranked})
        expected = evaluated["q"][name] if ranked else 0.0
        assert scorers.value_of(ranking, grades, measure, k) == pytest.approx(expected, abs=1e-12)


def document(page, **metadata):
    return {"page_content": "...", "metadata": {"source": "/data/manual.pdf", "page": page, **metadata}}


@pytest.fixture(scope="module")
def traced(tmp_path_factory, empty_database, processes):
    """A store for traces, and a function that traces a retriever which returns these documents."""
    database = tmp_path_factory.mktemp("traces") / "mlflow.db"
    shutil.copy(empty_database, database)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}")
        patch.setenv("MLFLOW_GENAI_EVAL_MAX_WORKERS", "1")
        patch.setenv("MLFLOW_ENABLE_ASYNC_TRACE_LOGGING", "false")
        mlflow.set_tracking_uri(f"sqlite:///{database}")
        mlflow.create_experiment("traces", (database.parent / "artifacts").as_uri())
        mlflow.set_experiment("traces")

        def trace(*retrieved, nested=False):
            with mlflow.start_span("answer") as root:
                for outputs in retrieved:
                    with mlflow.start_span("search", span_type="RETRIEVER") as span:
                        if nested:
                            with mlflow.start_span("inner", span_type="RETRIEVER") as inner:
                                inner.set_outputs([])
                        span.set_outputs(outputs)
            return mlflow.get_trace(root.trace_id)

        yield trace
        mlflow.set_tracking_uri(None)


def page_of(document):
    metadata = document["metadata"]
    return f"{metadata['source'].rpartition('/')[2]}#{metadata['page']}"


def values(scorer, trace, expected):
    return [feedback.value for feedback in scorer(trace=trace, expectations={"expected_documents": expected})]


def test_the_golden_values(traced):
    def of_pages(scorer, k, trace, expected):
        return values(scorer(k, name_of=page_of), trace, expected)

    trace = traced([document(page) for page in (34, 78, 35, 102, 45)])
    first, expected = ["manual.pdf#34"], ["manual.pdf#34", "manual.pdf#35"]
    assert of_pages(precision, 5, trace, expected) == [0.4]
    assert of_pages(recall, 5, trace, expected) == [1]
    assert of_pages(mrr, 5, trace, expected) == [1]
    assert of_pages(hit_rate, 1, trace, ["manual.pdf#35"]) == [0]
    assert of_pages(ndcg, 5, trace, expected) == [pytest.approx(0.919721, abs=1e-6)]
    graded = of_pages(ndcg, 5, trace, {"manual.pdf#34": 1, "manual.pdf#35": 3})
    assert graded == [pytest.approx((1 + 3 / 2) / (3 + 0.6309297536), abs=1e-9)]
    [feedback] = ndcg(5, name_of=page_of)(trace=trace, expectations={"expected_documents": expected})
    assert feedback.name == "ndcg_at_5"
    assert "manual.pdf#34" in feedback.rationale
    trace = traced([document(34, chunk_id=f"c{number}") for number in range(5)])
    assert of_pages(precision, 5, trace, first) == [0.2]
    assert of_pages(ndcg, 5, trace, first) == [1]
    assert of_pages(recall, 1, traced([document(34)], [document(2)], nested=True), first) == [1, 0]
    assert of_pages(recall, 1, traced([]), first) == [0]


CALLED = [  # a document, and its name among what is expected
    ({"id": "d7"}, ["d7"]),
    ({"metadata": {"doc_uri": "https://a.org/b"}}, ["https://a.org/b"]),
    ({"id": "c1", "metadata": {"doc_uri": "d"}}, {"d": 2}),
    ({"metadata": {"id": 7}}, [7]),
    ({"id": "A\u0308rzte.pdf#1"}, ["\u00c4rzte.pdf#1"]),
    ({"id": "a.pdf#3"}, '["a.pdf#3"]'),
]


def test_what_a_document_is_called_and_that_mlflows_own_expectations_are_read(traced):
    for retrieved, expected in CALLED:
        assert values(recall(1), traced([retrieved]), expected) == [1], retrieved
    context = [{"content": "...", "doc_uri": "a"}, {"content": "...", "doc_uri": "b"}]
    assert expected_grades({"expected_retrieved_context": context}) == {"a": 1, "b": 1}
    assert expected_grades({"expected_documents": None, "expected_retrieved_context": context}) == {"a": 1, "b": 1}


def test_a_row_without_expectations_and_what_cannot_be_read_get_no_value(traced):
    trace = traced([document(1)])
    for expectations in (None, {}, {"expected_facts": ["a fact"]}, {"expected_documents": []}):
        with pytest.raises(DatasetError, match=r"^expectations: found"):
            recall(1)(trace=trace, expectations=expectations)
    for outputs in (None, "text", {"documents": []}, ["a"], [{"page_content": "..."}]):
        unreadable = traced(outputs)
        with pytest.raises(DatasetError):
            recall(1)(trace=unreadable, expectations={"expected_documents": ["a"]})
    for k in (0, True, 1001):
        with pytest.raises(ConfigError, match=r"^k: found"):
            ndcg(k=k)


def test_mlflow_evaluates_with_them(traced):
    """The mean is over rows that have a value; the others carry an error."""

    @mlflow.trace(span_type="RETRIEVER")
    def search(query):
        return [document(page) for page in {"one": (1, 2), "two": (3, 2), "three": (2,)}[query]]

    @mlflow.trace
    def answer(query):
        return len(search(query)) if query != "none" else 0

    rows = {"one": ["manual.pdf#1"], "two": {"manual.pdf#2": 2}, "none": ["manual.pdf#1"]}
    data = [{"inputs": {"query": query}, "expectations": {"expected_documents": rows[query]}} for query in rows]
    data.append({"inputs": {"query": "three"}, "expectations": {"expected_facts": ["a fact"]}})
    result = mlflow.genai.evaluate(
        data=data, predict_fn=answer, scorers=[mrr(2, name_of=page_of), recall(1, name_of=page_of)]
    )
    assert result.metrics["mrr_at_2/mean"] == 0.75
    assert result.metrics["recall_at_1/mean"] == 0.5
    table = result.tables["eval_results"]
    assert sorted(table["mrr_at_2/value"].dropna()) == [0.5, 1]
    errors = table["mrr_at_2/error_message"].dropna()
    assert sum("no span of the type RETRIEVER" in error for error in errors) == 1
    assert sum("expected_facts" in error for error in errors) == 1


def test_the_recipes_make_a_dataset_of_a_table_and_a_table_of_it(application, dataset, monkeypatch, tmp_path):
    table = next(override.partition("=")[2] for override in dataset if override.startswith("dataset.queries="))
    monkeypatch.chdir(tmp_path)
    succeeded(application.script_here("run", *dataset, "retriever=sparse"))
    rows = json.loads(Path(table).read_text())
    numbered = [json.dumps({"id": str(number), **row}) for number, row in enumerate(rows, 1)]
    Path("questions.jsonl").write_text("\n".join(numbered))
    page = (PROJECT / "docs/recipes.md").read_text()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", application.uri)
    for name in ("merge_records", "get_dataset"):
        [recipe] = [text for text in page.split("```")[1::2] if name in text]
        exec(compile(recipe.removeprefix("python\n"), "recipe", "exec"), {})
        Path("questions.jsonl").replace("given.jsonl" if name == "merge_records" else "made.jsonl")
    path = next(override.partition("=")[2] for override in dataset if override.startswith("dataset.documents="))
    questions = ["questions=table", f"questions.path={tmp_path}/made.jsonl", "questions.id=id"]
    given = ["corpus=pdf", f"corpus.path={path}", *questions, "dataset.name=small", "retriever=sparse"]
    succeeded(application.script_here("run", *given))
    one, other = application.runs()
    assert one.data.metrics["ndcg"] == other.data.metrics["ndcg"]
