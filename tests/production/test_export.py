"""`ragsweep export`, `load`, `check` and `gate --promote`, on real runs of the bundled manual and of small PDFs.

The registry is a real one of MLflow.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import warnings
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, asdict
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import mlflow
import pandas as pd
import pytest
import yaml
from application import PROJECT, error_lines, succeeded
from mlflow.exceptions import MlflowException
from omegaconf import DictConfig
from servers import free_port
from small import write_pdf

import ragsweep
from ragsweep import tracking
from ragsweep.config.configuration_walk import built
from ragsweep.core.errors import RagsweepError, TrackingError
from ragsweep.core.trec_files import identifier
from ragsweep.datasets import RecursiveChunker
from ragsweep.production.exporting import _chosen
from ragsweep.production.loading import passages_of, refuse_if_not_alone
from ragsweep.report.markup import markdown
from ragsweep.retrieval import LogisticClassifier, RoutedRetriever, SparseRetriever, SpellCheck
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.search import in_stages
from ragsweep.tracking.client import Client
from ragsweep.tracking.store_address import check_model_name, model_address

QUESTION, OTHER = "How should vaccines be stored?", "Who may see the records?"
FILES = {"retriever.yaml", "check.json", "README.md"}


@pytest.fixture(scope="module")
def sweep(shared_application):
    """A sweep over the bundled manual, with passages smaller than usual: a good run and one that is far worse."""
    settings = ["retriever=sparse", "retriever.b=0", "chunker.size=300", "query=spellcheck", "k=3"]
    succeeded(shared_application.script_here("run", "-m", "retriever.k1=1.5,1000", *settings))
    [parent] = shared_application.parents()
    return parent


@pytest.fixture(scope="module")
def runs(sweep, shared_application):
    """The good run, which the sweep chooses, and the bad one."""
    by_name = {run.info.run_name: run for run in shared_application.children()}
    return by_name["k1=1.5"], by_name["k1=1000"]


@pytest.fixture(scope="module")
def exported(sweep, shared_application):
    """The choice of the sweep, with its index, also registered: version 1 of the model `manual`."""
    folder = shared_application.home / "retriever"
    places = ["--out", str(folder), "--register", "manual"]
    done = succeeded(shared_application.script("export", sweep.info.run_id, "--with-index", *places))
    assert error_lines(done.stderr) == []
    assert "models:/manual@candidate (version 1)" in done.stdout
    return folder


@pytest.fixture
def folder(exported, tmp_path):
    """A copy of it, which a test may change."""
    return shutil.copytree(exported, tmp_path / "copy")


@pytest.fixture(scope="module")
def loaded(exported):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing has changed, and nothing is computed again
        return ragsweep.load(exported)


@pytest.fixture
def export(application, tmp_path):
    """Run the only run of a store and export it; the process, and the folder."""

    def exporting(*given, places=()):
        succeeded(application.script_here("run", "retriever=sparse", *given, *places))
        [run] = application.runs()
        folder = tmp_path / "exported"
        return application.script_here("export", run.info.run_id, "--out", str(folder), *places), folder

    return exporting


def changed(folder, name, value, before=None):
    """Change one setting of `retriever.yaml`, as it is or as it was before."""
    file = folder / "retriever.yaml"
    node = settings = yaml.safe_load(before or file.read_text())
    *groups, last = name.split(".")
    for group in groups:
        node = node[group]
    node[last] = value
    file.write_text(yaml.safe_dump(settings))
    return folder


def refusal(refused, *given, **settings):
    """Why it is refused; empty if it is not."""
    try:
        refused(*given, **settings)
    except RagsweepError as error:
        return str(error)
    return ""


def error_line(done):
    """The one line with which a command refuses."""
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    return line


# The export


def test_every_question_of_the_run_gets_the_ranking_that_it_recorded(runs, shared_application, loaded):
    recorded = defaultdict(list)
    file = shared_application.artifacts(runs[0]) / "results/ranking.trec"
    for line in file.read_text().splitlines():
        query, _, unit, *_ = line.split()
        recorded[query].append(unit)
    rows = json.loads((PROJECT / "data/cho_manual/test_queries.json").read_text())
    questions = [row["query"] for row in rows]
    assert len(questions) == len(recorded) == 133
    for hits, units in zip(loaded.search_all(questions, 100), recorded.values(), strict=True):
        seen, names = set(), []
        for hit in hits:
            unit = identifier(f"{hit.source}#{hit.page}")
            names.append(f"{unit}@{identifier(hit.passage_id)}" if unit in seen else unit)
            seen.add(unit)
        assert names == units


def test_the_folder_holds_what_decides_retrieval_and_nothing_of_the_questions(sweep, runs, exported):
    assert {path.name for path in exported.iterdir()} == {*FILES, "decision.json", "index"}
    settings = yaml.safe_load((exported / "retriever.yaml").read_text())
    assert {*settings} == {"schema", "origin", "k", "depth", "corpus", "chunker", "retriever", "query"}
    assert (settings["k"], settings["chunker"]["size"]) == (3, 300)
    assert settings["corpus"]["path"] == "data/cho_manual/documents"
    assert "test_queries" not in (exported / "retriever.yaml").read_text()
    assert json.loads((exported / "decision.json").read_text())["sweep"] == sweep.info.run_id
    questions = json.loads((exported / "check.json").read_text())["questions"]
    assert [len(question["passages"]) for question in questions] == [3] * 20
    metrics, card = runs[0].data.metrics, (exported / "README.md").read_text()
    assert f"| NDCG | {metrics['ndcg']:.3f} | {metrics['ci/ndcg_low']:.3f} to {metrics['ci/ndcg_high']:.3f} |" in card
    assert "133 questions" in card
    assert len(card.splitlines()) < 60  # a page


def test_a_single_run_has_no_decision_and_its_index_only_if_asked_and_nothing_is_exported_that_was_not_measured(
    sweep, runs, shared_application, tmp_path
):
    run, out = runs[0], ["--out", str(tmp_path / "one")]
    file = shared_application.artifacts(run) / "results/ranking.trec"
    recorded = file.read_text()
    first, second, *rest = recorded.splitlines(keepends=True)
    try:
        file.write_text("".join([second, first, *rest]))  # cannot be made again
        done = shared_application.script_here("export", run.info.run_id, *out)
    finally:
        file.write_text(recorded)
    assert f"ragsweep reproduce {run.info.run_id}" in error_line(done)
    for override in ("k=2", "returns=page", "chunker.size=200"):
        error_line(shared_application.script_here("export", sweep.info.run_id, *out, override))
    assert [*tmp_path.iterdir()] == []
    done = succeeded(shared_application.script_here("export", run.info.run_id, *out))
    assert len(done.stdout.splitlines()) == 1
    assert {path.name for path in (tmp_path / "one").iterdir()} == FILES
    assert "one is there already" in error_line(shared_application.script_here("export", run.info.run_id, *out))


def test_what_is_returned_in_place_of_a_passage_is_exported_and_explained(application, export):
    done, folder = export("chunker.size=300", "returns=parent", "returns.chunker.size=900", "k=3")
    assert (done.returncode, error_lines(done.stderr)) == (0, [])
    [run] = application.runs()
    assert (run.data.params["returns"], run.data.params["returns.chunker.size"]) == ("ParentUnit", "900")
    retriever = ragsweep.load(folder)
    corpus = yaml.safe_load((folder / "retriever.yaml").read_text())["corpus"]
    documents = built("corpus", {**corpus, "path": str(PROJECT / corpus["path"])}, NO_STORE).read()
    parents = {passage.text for passage in passages_of(documents, RecursiveChunker(900, 0), NO_STORE)}
    hits = retriever.search(QUESTION)
    assert len(hits) == len({hit.text for hit in hits}) == 3
    assert all(any(parent in hit.text for parent in parents) for hit in hits)  # one parent, or several
    texts = [passage.text for passage in retriever.passages if passage.chunk_id in {hit.passage_id for hit in hits}]
    assert all(any(text in hit.text for hit in hits) for text in texts)
    done = application.script_here("check", str(folder))
    assert (done.returncode, error_lines(done.stderr)) == (0, [])
    explained = application.script_here("explain", run.info.run_id, "1").stdout
    assert explained.count("returned for what was found at rank") == 3


def test_documents_outside_the_project_are_named_by_the_user(application, dataset, export):
    done, folder = export(*dataset[:2], "k=2", places=dataset[2:])
    succeeded(done)
    documents = dataset[2].partition("=")[2]
    assert re.search(r"^corpus\.path: .* outside the project", refusal(ragsweep.load, folder))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [hit, *_] = ragsweep.load(folder, corpus=documents).search("Which test finds malaria?")
    assert (hit.source, hit.page) == ("fever.pdf", "2")
    succeeded(application.start_script_here("check", str(folder), f"corpus.path={documents}"))


def test_a_rule_of_a_benchmark_is_not_one_of_the_retriever(export, tmp_path):
    """The document with the id of a query is left out of what is measured, but not of what others ask."""
    documents = {"d1": "Iron tablets", "d2": "Malaria tests", "q1": "Iron tablets for women", "d3": "Worms"}
    documents["d4"] = "Tea"
    rows = [json.dumps({"_id": name, "title": text.split()[0], "text": text}) for name, text in documents.items()]
    (tmp_path / "beir" / "qrels").mkdir(parents=True)
    (tmp_path / "beir" / "corpus.jsonl").write_text("\n".join(rows))
    (tmp_path / "beir" / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "iron women"}))
    (tmp_path / "beir" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    done, folder = export("dataset=beir", "k=2", places=[f"dataset.path={tmp_path / 'beir'}"])
    succeeded(done)
    [question] = json.loads((folder / "check.json").read_text())["questions"]
    assert question["passages"] == ["q1#1/0", "d1#1/0"]


@pytest.fixture
def small_disk(tmp_path):
    """A file system that has room for the files of an export without its index."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", folder], check=False).returncode != 0:
        pytest.skip("only root may make a small file system")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_an_index_that_finds_no_room_is_a_line_and_leaves_nothing(sweep, shared_application, small_disk):
    out = ["--out", str(small_disk / "retriever")]
    done = shared_application.script_here("export", sweep.info.run_id, "--with-index", *out)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert "cannot be written (No space left on device)" in done.stderr
    assert [*small_disk.iterdir()] == []
    succeeded(shared_application.script_here("export", sweep.info.run_id, *out))


def test_a_run_within_a_budget_or_that_learns_from_judgments_is_refused(export, letters):
    done, _ = export("budget=500")
    assert "measured within a budget; only runs of task=ranking with a k" in error_line(done)
    sparse = SparseRetriever(NO_STORE)
    routed = RoutedRetriever({"one": sparse, "two": sparse}, LogisticClassifier(letters))
    learns = refusal(refuse_if_not_alone, in_stages(routed, None, None, None), "run")
    assert "RoutedRetriever cannot be exported: it learns from judgments" in learns
    refuse_if_not_alone(in_stages(sparse, SpellCheck(NO_STORE), None, None), "run")


def test_a_decision_that_does_not_say_whether_it_ships_is_not_taken_for_one_that_does(monkeypatch):
    """One that somebody else has written, or that an earlier version has."""
    record = {"choice": {"run_id": "0" * 32}}
    monkeypatch.setattr(tracking, "fetch_text", lambda *_: json.dumps(record))
    with pytest.raises(TrackingError, match=r"cannot be read .*not_shipped"):
        _chosen(SimpleNamespace(tracking=None), "1" * 32)
    record["not_shipped"] = None
    assert _chosen(SimpleNamespace(tracking=None), "1" * 32) == ("0" * 32, record)


# Loading, searching and checking


def test_check_says_what_has_changed(exported, folder, shared_application):
    done = succeeded(shared_application.start_script("check", str(exported)))
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")
    check = json.loads((folder / "check.json").read_text())
    first = check["questions"][0]["passages"]
    check["questions"][0]["passages"] = [first[1], first[0], *first[2:]]
    (folder / "check.json").write_text(json.dumps(check))
    done = shared_application.start_script_here("check", str(folder))
    assert done.returncode == 1
    assert f"rank 1 was {first[1]}, is {first[0]}" in done.stdout
    assert shared_application.start_script_here("check", str(exported), "retriever.b=0.75").returncode == 1
    for broken in ("{", '{"schema": 1, "k": 3, "questions": []}', '{"schema": 2, "k": 3, "questions": []}'):
        (folder / "check.json").write_text(broken)
        error_line(shared_application.start_script_here("check", str(folder)))


def test_loading_needs_neither_mlflow_nor_torch_nor_the_questions(exported, tmp_path):
    code = (
        f"import ragsweep, sys; print(len(ragsweep.load({str(exported)!r}).search({QUESTION!r})))\n"
        "print(*{'mlflow', 'torch', 'pandas', 'ragsweep.tracking', 'ragsweep.tasks.ranking'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["3", ""]


def test_a_search_returns_hits_as_they_are_in_the_documents(exported, loaded):
    hits = loaded.search(QUESTION)
    assert len(hits) == 3
    assert hits == sorted(hits, key=lambda hit: -hit.score)
    assert loaded.search(QUESTION, k=5)[:3] == hits
    [first, *_] = hits
    assert first.passage_id.startswith(f"{first.source}#{first.page}/")
    assert any(passage.text == first.text for passage in loaded.passages)
    with pytest.raises(FrozenInstanceError):
        first.score = 1.0
    assert loaded.search("777777777") == []
    assert loaded.search("How shuold vacines be stored?")  # the stages before the retriever are there, too
    assert loaded.search_all([]) == []
    for given in (("", 3), (" ", 3), (None, 3), (QUESTION, 0), (QUESTION, True), (QUESTION, 1001)):
        assert re.match(r"(query|k): found", refusal(loaded.search, *given)), given
    other = ragsweep.load(exported, overrides={"k": 2, "retriever.k1": 0.5})
    assert len(other.search(QUESTION)) == 2
    assert other.search(QUESTION)[0].score != first.score
    assert refusal(ragsweep.load, exported, overrides={"retriever.k2": 0.5}).startswith("retriever.k2: ")


def test_threads_get_what_one_gets(loaded):
    questions = [QUESTION, OTHER, "What is malaria?", "How is iron taken?"] * 5
    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(loaded.search, questions)] == [loaded.search(question) for question in questions]


def test_loading_writes_nothing_tells_of_an_index_that_does_not_fit_and_builds_classes_of_a_user_only_if_they_say_so(
    folder, loaded, tmp_path, monkeypatch
):
    def files():
        return {path: path.stat().st_size for path in folder.rglob("*")}

    before = files()
    ragsweep.load(folder).search(QUESTION)
    assert files() == before
    shutil.rmtree(folder / "index" / "terms")
    with pytest.warns(UserWarning, match=r"computed again \(terms\)$"):
        again = ragsweep.load(folder)
    assert again.search(QUESTION) == loaded.search(QUESTION)
    source = "from ragsweep.retrieval import SparseRetriever\nclass Mine(SparseRetriever):\n    pass\n"
    (tmp_path / "my_stages.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    changed(folder, "retriever._target_", "my_stages.Mine")
    assert "--allow MODULE" in refusal(ragsweep.load, folder)
    assert len(ragsweep.load(folder, allow=["my_stages"]).search(QUESTION)) == 3


def test_what_others_search_with_goes_through_the_pipeline(exported, tmp_path):
    (tmp_path / "other").mkdir()
    write_pdf(tmp_path / "other" / "a.pdf", ["Vaccines are stored in the fridge."])
    with pytest.warns(UserWarning, match="other texts or names") as told:
        other = ragsweep.load(exported, corpus=tmp_path / "other")
    assert len(told) == 1
    assert [passage.chunk_id for passage in other.passages] == ["a.pdf#1/0"]


def test_documents_may_lie_in_the_folder_and_a_change_is_told_but_no_link_leads_out_of_it(folder, tmp_path, loaded):
    shutil.copytree(PROJECT / "data/cho_manual/documents", folder / "documents")
    changed(folder, "corpus.path", "documents")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ragsweep.load(folder).search(QUESTION) == loaded.search(QUESTION)
    write_pdf(folder / "documents" / "new.pdf", ["Something new."])
    with pytest.warns(UserWarning, match="there were 1, now 2") as told:
        ragsweep.load(folder)
    assert len(told) == 1  # that the index is of other texts goes without saying
    (folder / "documents").rename(tmp_path / "outside")
    assert re.search(r"^corpus\.path: .*'documents'.*corpus\.path=PATH", refusal(ragsweep.load, folder))
    (folder / "documents").symlink_to(tmp_path / "outside")
    assert re.search(r"^corpus\.path: .* neither in", refusal(ragsweep.load, folder))


HOSTILE = {
    "a function of Python": ("retriever._target_", "os.system", r"^retriever\._target_: os\.system may not"),
    "a class of another group": ("corpus._target_", "ragsweep.retrieval.SparseRetriever", r"^corpus\._target_: "),
    "a function of ours": ("retriever._target_", "ragsweep.production.loading.load", r"^retriever\._target_: "),
    "the store of another": (
        "retriever.store",
        {"_target_": "os.system", "path": "x"},
        r"^retriever\.store\._target_: ",
    ),
    "positional arguments": ("retriever._args_", ["touch marker"], r"^retriever\._args_: "),
    "a new node": ("corpus.path", {"_target_": "builtins.exec", "_args_": ["1"]}, r"^corpus\.path"),
    "the environment": ("corpus.path", "${oc.env:HOME}", r"^corpus\.path: .* interpolation"),
    "an absolute path": ("corpus.path", "/etc", r"^corpus\.path: found '/etc', outside"),
    "a path upwards": ("corpus.path", "../../etc", r"^corpus\.path: .* outside"),
    "half a path": ("corpus.path", "a\0b", r"^corpus\.path"),
    "another model": ("chunker.tokenizer.model", "evil/model", r"^chunker\.tokenizer\.model: .* loads no model"),
    "a stage that is none": ("reranker", {"_target_": "os.system"}, r"^reranker\._target_: "),
    "a setting that there is not": ("hydra", {"run": {"dir": "/tmp"}}, r"retriever\.yaml: hydra: Unexpected"),
    "a component without its class": ("retriever", {"k1": 1}, r"^retriever: "),
    "no component": ("retriever", "sparse", r"retriever"),
    "no cutoff": ("k", 0, r"k: "),
    "a huge depth": ("depth", 10**12, r"depth: "),
    "another schema": ("schema", 2, r"schema: found 2, expected 1"),
    "a ranking of elsewhere": (
        "retriever",
        {"_target_": "ragsweep.retrieval.RunFileRetriever", "path": "data/cho_manual/test_queries.json"},
        r"retriever\.yaml: .*RunFileRetriever cannot be exported",
    ),
}
NO_YAML = ["", "- a list", "{", "a: &a [x]\nb: [*a, *a]", "[" * 1000, "k: 9" * 3_000_000, "\0"]
NO_YAML += ["!!python/object:os.system x"]


def test_a_folder_of_somebody_else_builds_nothing_but_retrievers(folder, monkeypatch):
    monkeypatch.setattr("os.system", lambda _: pytest.fail("was called"))
    file = folder / "retriever.yaml"
    good = file.read_text()
    for case, (name, value, expected) in HOSTILE.items():
        assert re.search(expected, refusal(ragsweep.load, changed(folder, name, value, good))), case
    for text in NO_YAML:
        file.write_text(text)
        told = refusal(ragsweep.load, folder)
        assert ("retriever.yaml: " in told, "\n" in told) == (True, False), text[:20]


def recipe(name, loaded):
    """The class of this name in docs/recipes.md, around a retriever."""
    page = (PROJECT / "docs/recipes.md").read_text()
    [code] = [text.removeprefix("python\n") for text in page.split("```")[1::2] if f"class {name}" in text]
    assert len([line for line in code.splitlines() if line]) <= 8
    names = {"r": loaded, "__name__": __name__}
    exec(compile(code, "recipe", "exec"), names)
    return names[name]()


def of_langchain(loaded):
    return [document.id for document in recipe("OfLangChain", loaded).invoke(QUESTION)]


def of_llama_index(loaded):
    scored = recipe("OfLlamaIndex", loaded).retrieve(QUESTION)
    assert [node.score for node in scored] == [hit.score for hit in loaded.search(QUESTION)]
    return [node.node.node_id for node in scored]


def of_haystack(loaded):
    import haystack

    pipeline = haystack.Pipeline()
    pipeline.add_component("retriever", recipe("OfHaystack", loaded))
    documents = pipeline.run({"retriever": {"query": QUESTION, "top_k": 3}})["retriever"]["documents"]
    return [document.id for document in documents]


FRAMEWORKS = {"langchain_core": of_langchain, "llama_index.core": of_llama_index, "haystack": of_haystack}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_retriever_of_a_framework_returns_the_same(loaded, name):
    pytest.importorskip(name)
    assert FRAMEWORKS[name](loaded) == [hit.passage_id for hit in loaded.search(QUESTION)]


# The registry

GATE = ["--metric", "recall", "--margin", "0.05"]


@pytest.fixture(scope="module")
def files(exported, shared_application):
    """The files of version 1."""
    return Path(unquote(urlsplit(shared_application.client().get_model_version_download_uri("manual", "1")).path))


@pytest.fixture(scope="module")
def store(exported, shared_application):
    """The settings of the store."""
    return DictConfig({"uri": shared_application.uri, "artifacts": str(shared_application.home / "artifacts")})


@pytest.fixture(scope="module")
def answers(loaded):
    """What the exported retriever finds, as a server returns it."""
    return [[asdict(hit) for hit in hits] for hits in loaded.search_all([QUESTION, OTHER], 4)]


def test_a_version_says_which_run_was_measured_and_what_it_needs(exported, files, runs, shared_application):
    client, run = shared_application.client(), runs[0]
    version = client.get_model_version("manual", "1")
    assert version.run_id == run.info.run_id
    assert version.description == (exported / "README.md").read_text()
    assert version.tags["config.digest"] == run.data.tags["config.digest"]
    assert version.tags["dataset.digest"] == run.inputs.dataset_inputs[0].dataset.digest
    model = mlflow.models.Model.load(files)
    assert client.get_logged_model(model.model_id).source_run_id == model.run_id == run.info.run_id
    assert model.get_input_schema().to_dict() == [{"type": "string", "name": "query", "required": True}]
    [hits] = model.get_output_schema().to_dict()
    assert {*hits["items"]["properties"]} == {"text", "source", "page", "score", "passage_id"}
    [k] = model.get_params_schema().to_dict()
    assert (k["name"], k["type"], k["default"]) == ("k", "long", 3)
    named = {line.partition("==")[0].lower() for line in (files / "requirements.txt").read_text().splitlines()}
    assert {"ragsweep", "mlflow", "hydra-core", "faiss-cpu"} <= named
    inner = files / "data" / "retriever"
    kept, given = ({path.relative_to(folder) for path in folder.rglob("*")} for folder in (inner, exported))
    assert kept == given
    assert {path.suffix for path in files.rglob("*") if path.is_file()} & {".py", ".pkl", ".pickle"} == set()


def test_a_model_answers_as_the_retriever_does(files, answers):
    model, questions = mlflow.pyfunc.load_model(str(files)), pd.DataFrame({"query": [QUESTION, OTHER]})
    assert model.predict(questions, params={"k": 4}) == answers
    assert model.predict([{"query": QUESTION}]) == [answers[0][:3]]
    with pytest.raises(MlflowException, match=r"^k: found 0"):
        model.predict(questions, params={"k": 0})


@pytest.mark.server
def test_a_server_answers_as_the_retriever_does(answers, shared_application, tmp_path):
    port = free_port()
    command = ["mlflow", "models", "serve", "-m", "models:/manual/1", "--env-manager", "local", "-p", str(port)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        env={**os.environ, "MLFLOW_TRACKING_URI": shared_application.uri, "PATH": path},
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )

    def ask(questions, **more):
        body = json.dumps({"dataframe_records": [{"query": text} for text in questions], **more}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/invocations", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    try:
        for _ in range(1200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/ping", timeout=1).close()
                break
            except OSError:
                assert process.poll() is None
                time.sleep(0.1)
        assert ask([QUESTION, OTHER], params={"k": 4}) == {"predictions": answers}
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(["  "])
        message = json.loads(refused.value.read())
        assert (refused.value.code, "stack_trace" in message) == (400, False)
        assert "expected the text of a question" in message["message"]
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_gate_by_name_promotes_what_passes_and_nothing_else(exported, runs, shared_application):
    client, [good, bad] = shared_application.client(), [run.info.run_id for run in runs]
    candidate = "models:/manual@candidate"

    def production():
        return str(client.get_registered_model("manual").aliases.get("production"))

    def gate(candidate, *more):
        return shared_application.script_here("gate", "--candidate", candidate, *baseline, *more)

    baseline = ["--baseline", "models:/manual@production", *GATE]
    done = shared_application.script("gate", "--candidate", candidate, *baseline, "--promote")
    assert production() == "None"
    command = re.search(r'python -c "(.*)"$', error_line(done))[1]
    exec(command.replace("VERSION", "1"), {})
    assert production() == "1"

    succeeded(shared_application.script_here("export", bad, "--register", "manual"))
    assert client.get_model_version_by_alias("manual", "candidate").run_id == bad
    done = gate(candidate, "--promote")
    assert (done.returncode, production()) == (1, "1"), done.stdout
    assert done.stdout.splitlines()[-1] == "not promoted: models:/manual@production stays at version 1"

    succeeded(shared_application.script_here("export", good, "--register", "manual"))
    assert "promoted" not in succeeded(gate(good)).stdout
    assert production() == "1"
    done = succeeded(gate(good, "--promote"))
    assert production() == "3"
    assert done.stdout.splitlines()[-1] == "promoted: models:/manual@production was version 1, is version 3"
    done = succeeded(gate(candidate, "--promote"))
    assert done.stdout.splitlines()[-1] == "models:/manual@production is version 3 already"


NOT_PROMOTED = [
    ("BAD", "models:/other@stable", "is no version of models:/other; register it: cd /"),
    ("models:/manual/1", "models:/other@stable", "models:/manual/1 is no version of the model 'other'"),
    ("BAD", "GOOD", "expected models:/NAME@ALIAS"),
    ("BAD", "models:/manual/1", "expected models:/NAME@ALIAS"),
    ("models:/manual", "models:/other@stable", "expected models:/NAME@ALIAS or models:/NAME/VERSION"),
]
NOT_REGISTERED = [
    ([], "expected --out DIR, --register NAME or both"),
    (["--register", "a/b"], "--register: found 'a/b'"),
    (["--register", "a", "--allow", "my_stages"], "leave out --allow"),
]


def test_what_cannot_be_promoted_or_registered_is_one_line(exported, runs, shared_application):
    client = shared_application.client()
    client.copy_model_version("models:/manual/1", "other")  # another model of the same run
    client.set_registered_model_alias("other", "stable", "1")
    ids = dict(zip(("GOOD", "BAD"), (run.info.run_id for run in runs), strict=True))
    for candidate, baseline, message in NOT_PROMOTED:
        names = ["--candidate", ids.get(candidate, candidate), "--baseline", ids.get(baseline, baseline)]
        assert message in error_line(shared_application.script_here("gate", *names, *GATE, "--promote"))
    assert str(client.get_registered_model("other").aliases["stable"]) == "1"
    for arguments, message in NOT_REGISTERED:
        assert message in error_line(shared_application.script_here("export", "0" * 32, *arguments))


def test_what_the_registry_lacks_is_named(store, runs, shared_application):
    client, good = shared_application.client(), runs[0].info
    client.create_registered_model("foreign")
    source = client.get_model_version("manual", "1").source
    ours = {"ragsweep.version": "0.1.0"}
    client.create_model_version("foreign", source, good.run_id)
    client.create_model_version("foreign", source, "0" * 32, ours)
    client.create_model_version("foreign", source, "../../secret", ours)
    deleted = client.create_run(good.experiment_id).info.run_id
    client.create_model_version("foreign", source, deleted, ours)
    client.delete_run(deleted)
    for address, message in {
        "models:/nosuch@production": "ragsweep export RUN_ID --register nosuch tracking.uri=sqlite:///",
        "models:/foreign@production": "no version has this alias (the model has none)",
        "models:/foreign/9": "version=9",
        "models:/foreign/1": "version 1 was not registered by ragsweep",
        "models:/foreign/2": f"Run with id={'0' * 32} not found",
        "models:/foreign/3": "version 3 was not registered by ragsweep",
        "models:/foreign/4": f"version 4 was measured as run {deleted}, which was deleted",
    }.items():
        assert message in refusal(tracking.registered, store, address), address
    assert tracking.registered(store, "models:/manual/1").run_id == good.run_id


def test_an_alias_that_was_moved_meanwhile_stays(store, shared_application):
    client = shared_application.client()
    client.set_registered_model_alias("manual", "stable", "1")
    was = tracking.registered(store, "models:/manual@stable")
    newest = client.copy_model_version("models:/manual/1", "manual").version
    client.set_registered_model_alias("manual", "stable", newest)
    with pytest.raises(RagsweepError, match="was version 1, and is"):
        tracking.move_alias(store, was, was)
    assert client.get_model_version_by_alias("manual", "stable").version == newest


def test_a_model_is_written_only_where_artifacts_are_allowed_and_through_no_link(store, tmp_path):
    client = Client(store.uri, store.artifacts)
    experiment = client.create_experiment("elsewhere", (tmp_path / "elsewhere").as_uri())
    model = client.create_logged_model(experiment, "retriever")
    with pytest.raises(RagsweepError, match="which you have not allowed"):
        client.log_model_artifacts(model.model_id, str(tmp_path))
    assert not (tmp_path / "elsewhere").exists()
    client = Client(store.uri, str(tmp_path))
    experiment = client.create_experiment("linked", (tmp_path / "linked").as_uri())
    model = client.create_logged_model(experiment, "retriever")
    place, outside = Path(unquote(urlsplit(model.artifact_location).path)), tmp_path / "outside"
    for folder in (place, outside, tmp_path / "new" / "data"):
        folder.mkdir(parents=True)
    (place / "data").symlink_to(outside)
    (tmp_path / "new" / "data" / "file").write_text("theirs")
    with pytest.raises(Exception, match="outside the artifact directory"):
        client.log_model_artifacts(model.model_id, str(tmp_path / "new"))
    assert [*outside.iterdir()] == []


def test_a_sweep_that_ships_nothing_is_not_registered(dataset, shared_application, tmp_path):
    settings = ["retriever=sparse", "retriever.b=0", "k=1", "decision.require={recall: 1}"]
    done = shared_application.script_here("run", "-m", *dataset, "retriever.k1=1.5,1000", *settings)
    sweep = re.search(r"\(sweep ([0-9a-f]{32})\)", done.stdout)[1]
    line = error_line(shared_application.script_here("export", sweep, "--register", "hopeless"))
    assert "(requirements)" in line
    run_id = re.search("ragsweep export ([0-9a-f]{32}) .*--register hopeless", line)[1]
    assert shared_application.client().get_run(run_id).info.run_name == "k1=1.5"
    assert shared_application.client().search_registered_models("name = 'hopeless'") == []
    done = succeeded(shared_application.script_here("export", sweep, "--out", str(tmp_path / "folder"), *dataset[2:]))
    assert "does not show that this should be shipped (requirements)" in done.stderr
    decision, card = ((tmp_path / "folder" / name).read_text() for name in ("decision.json", "README.md"))
    assert all(f"- {markdown(sentence)}\n" in card for sentence in json.loads(decision)["headline"])
    assert "Ship" not in card


def test_names_in_addresses():
    for name in ("manual", "Handbuch für Ärzte 2.1", "a", "a-b_c"):
        check_model_name(name)
        assert model_address(f"models:/{name}@production") == (name, "production", None)
        assert model_address(f"models:/{name}/12") == (name, None, "12")
    for name in ("", "a/b", "a:b", "a@b", " a", "a\n", ".", "a" * 101, "models:/a"):
        assert refusal(check_model_name, name).startswith("--register: found"), name
    for rest in ("", "a", "a@", "a/", "a/x", "a@b@c", "../a@b", "a@b/c", "a/1/2", "a@b\n"):
        assert "expected models:/NAME@ALIAS" in refusal(model_address, f"models:/{rest}"), rest
