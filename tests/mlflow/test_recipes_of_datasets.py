"""The recipes of docs/recipes.md for EvaluationDatasets, on a real store of MLflow."""

import json
from pathlib import Path

from application import PROJECT, succeeded


def test_the_recipes_make_a_dataset_of_a_table_and_a_table_of_it(application, dataset, monkeypatch, tmp_path):
    table = next(override.partition("=")[2] for override in dataset if override.startswith("dataset.queries="))
    monkeypatch.chdir(tmp_path)
    succeeded(application.run(*dataset, "retriever=sparse"))
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
    done = application.run("corpus=pdf", f"corpus.path={path}", *questions, "dataset.name=small", "retriever=sparse")
    assert done.returncode == 0, done.stderr
    one, other = application.runs()
    assert one.data.metrics["ndcg"] == other.data.metrics["ndcg"]
