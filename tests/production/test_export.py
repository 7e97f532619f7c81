"""`ragsweep export`, `ragsweep.load` and `ragsweep check`, on real runs of the bundled manual and of small PDFs."""

import json
import shutil
import subprocess
import sys
import warnings
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from types import SimpleNamespace

import pytest
import yaml
from application import PROJECT, error_lines, succeeded
from small import write_pdf

import ragsweep
from ragsweep import tracking
from ragsweep.config.walk import built
from ragsweep.core.errors import ConfigError, TrackingError
from ragsweep.core.trec_files import identifier
from ragsweep.datasets import RecursiveChunker
from ragsweep.production.exporting import _chosen
from ragsweep.production.loading import passages_of, refuse_if_not_alone
from ragsweep.retrieval import LogisticClassifier, RoutedRetriever, SparseRetriever, SpellCheck
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.search import in_stages

QUESTION = "How should vaccines be stored?"


@pytest.fixture(scope="module")
def sweep(shared_application):
    """A sweep over the bundled manual, with passages smaller than usual."""
    settings = ["retriever=sparse", "chunker.size=300", "query=spellcheck", "k=3"]
    succeeded(shared_application.run("-m", "retriever.b=0.5,0.75", *settings))
    [parent] = shared_application.parents()
    return parent


@pytest.fixture(scope="module")
def exported(sweep, shared_application):
    """The choice of the sweep, with its index."""
    folder = shared_application.home / "retriever"
    done = shared_application.script("export", sweep.info.run_id, "--out", str(folder), "--with-index")
    assert (done.returncode, error_lines(done.stderr)) == (0, [])
    assert len(done.stdout.splitlines()) == 1
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


def changed(folder, name, value):
    """Change one setting of `retriever.yaml`."""
    file = folder / "retriever.yaml"
    node = settings = yaml.safe_load(file.read_text())
    *groups, last = name.split(".")
    for group in groups:
        node = node[group]
    node[last] = value
    file.write_text(yaml.safe_dump(settings))
    return folder


def chosen_run(sweep, application):
    decision = json.loads((application.artifacts(sweep) / "decision.json").read_text())
    return application.client().get_run(decision["choice"]["run_id"])


def test_every_question_of_the_run_gets_the_ranking_that_it_recorded(sweep, shared_application, loaded):
    recorded = defaultdict(list)
    file = shared_application.artifacts(chosen_run(sweep, shared_application)) / "results/ranking.trec"
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


def test_the_folder_holds_what_decides_retrieval_and_nothing_of_the_questions(sweep, exported, shared_application):
    names = {path.name for path in exported.iterdir()}
    assert names == {"retriever.yaml", "check.json", "decision.json", "README.md", "index"}
    settings = yaml.safe_load((exported / "retriever.yaml").read_text())
    assert {*settings} == {"schema", "origin", "k", "depth", "corpus", "chunker", "retriever", "query"}
    assert (settings["k"], settings["chunker"]["size"]) == (3, 300)
    assert settings["corpus"]["path"] == "data/cho_manual/documents"
    assert "test_queries" not in (exported / "retriever.yaml").read_text()
    assert json.loads((exported / "decision.json").read_text())["sweep"] == sweep.info.run_id
    questions = json.loads((exported / "check.json").read_text())["questions"]
    assert [len(question["passages"]) for question in questions] == [3] * 20
    metrics = chosen_run(sweep, shared_application).data.metrics
    card = (exported / "README.md").read_text()
    assert f"| NDCG | {metrics['ndcg']:.3f} | {metrics['ci/ndcg_low']:.3f} to {metrics['ci/ndcg_high']:.3f} |" in card
    assert "133 questions" in card
    assert len(card.splitlines()) < 60  # a page


def test_a_single_run_has_no_decision_and_its_index_only_if_asked(sweep, shared_application, tmp_path):
    run = chosen_run(sweep, shared_application)
    succeeded(shared_application.script_here("export", run.info.run_id, "--out", str(tmp_path / "one")))
    assert {path.name for path in (tmp_path / "one").iterdir()} == {"retriever.yaml", "check.json", "README.md"}
    again = shared_application.script_here("export", run.info.run_id, "--out", str(tmp_path / "one"))
    assert (again.returncode, len(again.stderr.splitlines())) == (2, 1)


def test_what_was_not_measured_is_not_exported(sweep, shared_application, tmp_path):
    for override in ("k=2", "returns=page", "chunker.size=200"):
        done = shared_application.script_here("export", sweep.info.run_id, "--out", str(tmp_path / "new"), override)
        assert done.returncode == 2
        assert not (tmp_path / "new").exists()


def test_a_run_that_cannot_be_made_again_is_not_exported(sweep, shared_application, tmp_path):
    run = chosen_run(sweep, shared_application)
    file = shared_application.artifacts(run) / "results/ranking.trec"
    recorded = file.read_text()
    first, second, *rest = recorded.splitlines(keepends=True)
    try:
        file.write_text("".join([second, first, *rest]))
        done = shared_application.script_here("export", run.info.run_id, "--out", str(tmp_path / "one"))
    finally:
        file.write_text(recorded)
    assert done.returncode == 2
    assert f"ragsweep reproduce {run.info.run_id}" in done.stderr
    assert [*tmp_path.iterdir()] == []


def test_what_is_returned_in_place_of_a_passage_is_exported_and_explained(application, tmp_path):
    done = application.run("retriever=sparse", "chunker.size=300", "returns=parent", "returns.chunker.size=900", "k=3")
    assert done.returncode == 0, done.stderr
    [run] = application.runs()
    assert (run.data.params["returns"], run.data.params["returns.chunker.size"]) == ("ParentUnit", "900")
    folder = tmp_path / "retriever"
    done = application.script_here("export", run.info.run_id, "--out", str(folder))
    assert (done.returncode, error_lines(done.stderr)) == (0, [])
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


def test_check_says_what_has_changed(exported, folder, shared_application):
    done = shared_application.start_script("check", str(exported))
    assert (done.returncode, len(done.stdout.splitlines()), done.stderr) == (0, 1, "")
    check = json.loads((folder / "check.json").read_text())
    first = check["questions"][0]["passages"]
    check["questions"][0]["passages"] = [first[1], first[0], *first[2:]]
    (folder / "check.json").write_text(json.dumps(check))
    done = shared_application.start_script_here("check", str(folder))
    assert done.returncode == 1
    assert f"rank 1 was {first[1]}, is {first[0]}" in done.stdout
    done = shared_application.start_script_here("check", str(exported), "retriever.b=0")
    assert done.returncode == 1
    for broken in ("{", '{"schema": 1, "k": 3, "questions": []}', '{"schema": 2, "k": 3, "questions": []}'):
        (folder / "check.json").write_text(broken)
        done = shared_application.start_script_here("check", str(folder))
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_loading_needs_neither_mlflow_nor_torch_nor_the_questions(exported, tmp_path):
    code = (
        f"import ragsweep, sys; print(len(ragsweep.load({str(exported)!r}).search({QUESTION!r})))\n"
        "print(*{'mlflow', 'torch', 'pandas', 'ragsweep.tracking', 'ragsweep.tasks.ranking'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["3", ""]


def test_a_search_returns_hits_as_they_are_in_the_documents(loaded):
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


@pytest.mark.parametrize(
    ("query", "k"), [("", 3), (" ", 3), (None, 3), (QUESTION, 0), (QUESTION, True), (QUESTION, 1001)]
)
def test_what_is_no_question_is_refused(loaded, query, k):
    with pytest.raises(ConfigError, match=r"^(query|k): found"):
        loaded.search(query, k)


def test_threads_get_what_one_gets(loaded):
    questions = [QUESTION, "Who may see the records?", "What is malaria?", "How is iron taken?"] * 5
    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(loaded.search, questions)] == [loaded.search(question) for question in questions]


def test_overrides_change_the_retriever(exported, loaded):
    other = ragsweep.load(exported, overrides={"k": 2, "retriever.k1": 0.5})
    assert len(other.search(QUESTION)) == 2
    assert other.search(QUESTION)[0].score != loaded.search(QUESTION)[0].score
    with pytest.raises(ConfigError, match=r"^retriever\.k2: "):
        ragsweep.load(exported, overrides={"retriever.k2": 0.5})


def test_loading_and_searching_write_nothing(folder):
    def files():
        return {path: path.stat().st_size for path in folder.rglob("*")}

    before = files()
    ragsweep.load(folder).search(QUESTION)
    assert files() == before


def test_an_index_that_does_not_fit_is_told_and_computed_again(folder, loaded):
    shutil.rmtree(folder / "index" / "terms")
    with pytest.warns(UserWarning, match=r"computed again \(terms\)$"):
        again = ragsweep.load(folder)
    assert again.search(QUESTION) == loaded.search(QUESTION)


def test_what_others_search_with_goes_through_the_pipeline(exported, tmp_path):
    (tmp_path / "other").mkdir()
    write_pdf(tmp_path / "other" / "a.pdf", ["Vaccines are stored in the fridge."])
    with pytest.warns(UserWarning, match="other texts or names") as told:
        other = ragsweep.load(exported, corpus=tmp_path / "other")
    assert len(told) == 1
    assert [passage.chunk_id for passage in other.passages] == ["a.pdf#1/0"]


def test_documents_may_lie_in_the_folder_and_a_change_is_told(folder, tmp_path, loaded):
    shutil.copytree(PROJECT / "data/cho_manual/documents", folder / "documents")
    changed(folder, "corpus.path", "documents")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ragsweep.load(folder).search(QUESTION) == loaded.search(QUESTION)
    write_pdf(folder / "documents" / "new.pdf", ["Something new."])
    with pytest.warns(UserWarning, match="there were 1, now 2") as told:
        ragsweep.load(folder)
    assert len(told) == 1  # that the index is of other texts goes without saying
    shutil.rmtree(folder / "documents")
    with pytest.raises(ConfigError, match=r"^corpus\.path: .*'documents'.*corpus\.path=PATH"):
        ragsweep.load(folder)


def test_a_link_does_not_lead_out_of_the_folder(folder, tmp_path):
    (tmp_path / "secrets").mkdir()
    write_pdf(tmp_path / "secrets" / "a.pdf", ["A secret."])
    (folder / "linked").symlink_to(tmp_path / "secrets")
    with pytest.raises(ConfigError, match=r"^corpus\.path: .* neither in"):
        ragsweep.load(changed(folder, "corpus.path", "linked"))


def test_documents_outside_the_project_are_named_by_the_user(application, dataset, tmp_path):
    assert application.run(*dataset, "retriever=sparse", "k=2").returncode == 0
    [run] = application.runs()
    places = dataset[2:]
    succeeded(application.script_here("export", run.info.run_id, "--out", str(tmp_path / "small"), *places))
    documents = places[0].partition("=")[2]
    with pytest.raises(ConfigError, match=r"^corpus\.path: .* outside the project"):
        ragsweep.load(tmp_path / "small")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [hit, *_] = ragsweep.load(tmp_path / "small", corpus=documents).search("Which test finds malaria?")
    assert (hit.source, hit.page) == ("fever.pdf", "2")
    succeeded(application.start_script_here("check", str(tmp_path / "small"), f"corpus.path={documents}"))


def test_a_rule_of_a_benchmark_is_not_one_of_the_retriever(application, tmp_path):
    """The document with the id of a query is left out of what is measured, but not of what others ask."""
    documents = {
        "d1": "Iron tablets",
        "d2": "Malaria tests",
        "q1": "Iron tablets for women",
        "d3": "Worms",
        "d4": "Tea",
    }
    rows = [json.dumps({"_id": name, "title": text.split()[0], "text": text}) for name, text in documents.items()]
    (tmp_path / "beir" / "qrels").mkdir(parents=True)
    (tmp_path / "beir" / "corpus.jsonl").write_text("\n".join(rows))
    (tmp_path / "beir" / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "iron women"}))
    (tmp_path / "beir" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    place = f"dataset.path={tmp_path / 'beir'}"
    assert application.run("dataset=beir", place, "retriever=sparse", "k=2").returncode == 0
    [run] = application.runs()
    succeeded(application.script_here("export", run.info.run_id, "--out", str(tmp_path / "out"), place))
    [question] = json.loads((tmp_path / "out" / "check.json").read_text())["questions"]
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
    assert shared_application.script_here("export", sweep.info.run_id, *out).returncode == 0


def test_a_run_within_a_budget_or_that_learns_from_judgments_is_refused(application, letters):
    assert application.run("retriever=sparse", "budget=500").returncode == 0
    [run] = application.runs()
    done = application.script_here("export", run.info.run_id, "--out", "exported")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "measured within a budget; only runs of task=ranking with a k" in done.stderr
    sparse = SparseRetriever(NO_STORE)
    routed = RoutedRetriever({"one": sparse, "two": sparse}, LogisticClassifier(letters))
    with pytest.raises(ConfigError, match="RoutedRetriever cannot be exported: it learns from judgments"):
        refuse_if_not_alone(in_stages(routed, None, None, None), "run")
    refuse_if_not_alone(in_stages(sparse, SpellCheck(NO_STORE), None, None), "run")


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


@pytest.mark.parametrize(("name", "value", "expected"), HOSTILE.values(), ids=HOSTILE)
def test_a_folder_of_somebody_else_builds_nothing_but_retrievers(folder, monkeypatch, name, value, expected):
    monkeypatch.setattr("os.system", lambda _: pytest.fail("was called"))
    with pytest.raises(ConfigError, match=expected):
        ragsweep.load(changed(folder, name, value))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a list",
        "{",
        "a: &a [x]\nb: [*a, *a]",
        "[" * 1000,
        "k: 9" * 3_000_000,
        "!!python/object:os.system x",
        "\0",
    ],
)
def test_what_is_no_yaml_of_ours_is_refused_in_one_line(folder, text):
    (folder / "retriever.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"retriever\.yaml: ") as told:
        ragsweep.load(folder)
    assert "\n" not in str(told.value)


def test_a_class_of_a_user_is_built_only_if_they_say_so(folder, tmp_path, monkeypatch):
    source = "from ragsweep.retrieval import SparseRetriever\nclass Mine(SparseRetriever):\n    pass\n"
    (tmp_path / "my_stages.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    changed(folder, "retriever._target_", "my_stages.Mine")
    with pytest.raises(ConfigError, match=r"--allow MODULE"):
        ragsweep.load(folder)
    assert len(ragsweep.load(folder, allow=["my_stages"]).search(QUESTION)) == 3


def recipe(name, loaded):
    """The class of this name in docs/recipes.md, around a retriever."""
    page = (PROJECT / "docs/recipes.md").read_text()
    [code] = [text.removeprefix("python\n") for text in page.split("```")[1::2] if f"class {name}" in text]
    assert len([line for line in code.splitlines() if line]) <= 8
    names = {"r": loaded, "__name__": __name__}
    exec(compile(code, "recipe", "exec"), names)
    return names[name]()


def test_a_retriever_of_langchain_returns_the_same(loaded):
    pytest.importorskip("langchain_core")
    documents = recipe("OfLangChain", loaded).invoke(QUESTION)
    assert [document.id for document in documents] == [hit.passage_id for hit in loaded.search(QUESTION)]


def test_a_retriever_of_llama_index_returns_the_same(loaded):
    pytest.importorskip("llama_index.core")
    nodes = recipe("OfLlamaIndex", loaded).retrieve(QUESTION)
    hits = loaded.search(QUESTION)
    assert [(scored.node.node_id, scored.score) for scored in nodes] == [(hit.passage_id, hit.score) for hit in hits]


def test_a_component_of_haystack_returns_the_same(loaded):
    haystack = pytest.importorskip("haystack")
    pipeline = haystack.Pipeline()
    pipeline.add_component("retriever", recipe("OfHaystack", loaded))
    documents = pipeline.run({"retriever": {"query": QUESTION, "top_k": 2}})["retriever"]["documents"]
    assert [document.id for document in documents] == [hit.passage_id for hit in loaded.search(QUESTION, 2)]


def test_a_decision_that_does_not_say_whether_it_ships_is_not_taken_for_one_that_does(monkeypatch):
    """One that somebody else has written, or that an earlier version has."""
    record = {"choice": {"run_id": "0" * 32}}
    monkeypatch.setattr(tracking, "fetch_text", lambda *_: json.dumps(record))
    with pytest.raises(TrackingError, match=r"cannot be read .*not_shipped"):
        _chosen(SimpleNamespace(tracking=None), "1" * 32)
    record["not_shipped"] = None
    assert _chosen(SimpleNamespace(tracking=None), "1" * 32) == ("0" * 32, record)
