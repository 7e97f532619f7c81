"""The command `ragsweep generate`: what it writes, that a sweep runs on it, and what bad input gets."""

import json
import resource
import shlex

import pandas as pd
import pytest
from application import PROJECT, printed_arguments, succeeded
from question_server import Generate, assert_spans, lines, write_documents

from ragsweep.datasets import PdfDocuments, TextCorpus
from ragsweep.store.stage_store import NO_STORE
from ragsweep_generate.data_sheet import Recipe
from ragsweep_generate.draft_checks import Checker
from ragsweep_generate.drafts import GeneratorError
from ragsweep_generate.extractive import ExtractiveGenerator
from ragsweep_generate.question_set import Plan, make, sources_of
from ragsweep_generate.searching import CorpusSearch
from ragsweep_generate.set_folder import write

QUICK = ["~encoder", "shortest_passage=5"]
FIELDS = {"question", "corpus_id", "references", "query_type", "answerable", "page", "easy", "bm25_rank", "copied"}
FIELDS |= {"generated_from", "refs_generated", "refs_valid", "refs_removed"}


@pytest.fixture(scope="module")
def made(tmp_path_factory, processes):
    """A test set without a model, and what the command printed."""
    folder = tmp_path_factory.mktemp("made")
    write_documents(folder / "documents")
    generate = Generate(folder)
    asked = [*generate.documents, *QUICK, "--count", "16", "--out", "my questions"]
    return generate, generate.here(*asked), folder / "my questions"


def test_it_writes_questions_rejected_drafts_and_a_data_sheet(made):
    generate, (status, out, err), folder = made
    assert status == 0
    questions, rejected = lines(folder / "questions.jsonl"), lines(folder / "rejected.jsonl")
    assert len(questions) == 16
    assert_spans(questions, generate.folder / "documents")
    assert {question["query_type"] for question in questions} == {"keywords", "sentence"}
    for question in questions:
        assert question.keys() == FIELDS
        assert question["generated_from"] == f"{question['corpus_id']}#{question['page']}"
    drafts = len(questions) + len(rejected)
    passed = f"{16 / drafts:.0%} of {drafts} drafts passed the checks, {len(rejected)} skipped"
    assert f"my questions: 16 questions; {passed}" in out
    sheet = (folder / "data_sheet.md").read_text()
    easy = sum(question["easy"] for question in questions)
    assert easy >= 15
    [caution] = err.splitlines()
    assert f"BM25 finds the passage of {easy / 16:.0%} of the questions first" in caution
    assert caution.removeprefix("generate: ") in sheet
    references = len([*questions, *(draft for draft in rejected if draft["references"])])
    for text in (sheet, out):
        assert f"references: {references} generated, {references} valid (100%), 0 removed" in text
    for check in ("response", "context", "elsewhere"):
        [row] = [line for line in sheet.splitlines() if line.startswith(f"| {check} |")]
        _, _, _, reached, passed, _, _ = map(str.strip, row.split("|"))
        assert int(reached) - int(passed) == [draft["check"] for draft in rejected].count(check)


def test_the_printed_command_runs_a_sweep_on_it(made, application):
    _, (_, out, _), folder = made
    command = printed_arguments(out.splitlines()[-1])
    assert command[:2] == ["run", "-m"]
    sheet = (folder / "data_sheet.md").read_text().splitlines()
    assert command in [printed_arguments(line) for line in sheet if " -m " in line]
    rows = lines(folder / "questions.jsonl")
    out_of_scope = {**rows[0], "question": "Who paid for the pumps?", "references": [], "answerable": False}
    text = "".join(f"{json.dumps(row)}\n" for row in [*rows, out_of_scope])
    (application.home / "my questions").mkdir()
    (application.home / "my questions" / "questions.jsonl").write_text(text)
    process = succeeded(application.script_here("run", *command[1:], "retriever=sparse"))
    assert "queries without an answer in the documents: 1 (Who paid for the pumps?)" in process.stderr
    runs, [parent] = application.children(), application.parents()
    assert [run.info.status for run in runs] == ["FINISHED"] * 2
    assert {run.data.params["dataset.name"] for run in runs} == {"my questions"}
    decision = json.loads((application.artifacts(parent) / "decision.json").read_text())
    assert any(sentence.startswith("The questions were generated from the doc") for sentence in decision["headline"])
    assert {f"by_type/{query_type}/ndcg" for query_type in ("keywords", "sentence")} <= runs[0].data.metrics.keys()
    assert {"false_find_rate", "answered_rate", "hit_or_refuse", "false_find_auc"} <= runs[0].data.metrics.keys()
    table = pd.read_csv(application.artifacts(runs[0]) / "results/per_query.csv")
    assert len(table) == 16
    assert {"fields.easy", "fields.copied", "fields.answerable"} <= {*table.columns}


def test_the_same_settings_make_the_same_test_set_another_setting_another_one_and_fewer_questions_are_said(made):
    generate, _, folder = made
    assert generate.run(*generate.documents, *QUICK, "--count", "16", "--out", "again/below")[0] == 0
    for name in ("questions.jsonl", "rejected.jsonl"):
        assert (generate.folder / "again/below" / name).read_bytes() == (folder / name).read_bytes()
    for setting in ("seed=1", "passage_size=200", "shortest_passage=30", "generator.words=3"):
        settings = [usual for usual in QUICK if usual.partition("=")[0] != setting.partition("=")[0]]
        asked = [*generate.documents, *settings, setting, "--count", "16", "--out", f"by {setting}"]
        status, _, err = generate.here(*asked)
        assert status in (0, 1), err
        assert lines(generate.folder / f"by {setting}" / "questions.jsonl") != lines(folder / "questions.jsonl")
    documents = [*generate.documents, "corpus.plain=[.log]"]
    status, out, err = generate.here(*documents, *QUICK, "--types", "sentence", "--count", "900", "--out", "few")
    assert printed_arguments(out.splitlines()[-1])[2:5] == documents
    number = len(lines(generate.folder / "few/questions.jsonl"))
    assert (status, 16 < number < 900) == (1, True)
    assert f"few: {number} questions; " in out
    assert err.splitlines()[-1].startswith(f"generate: {900 - number} of 900 questions are missing: ")
    assert "Fewer than wanted: " in (generate.folder / "few/data_sheet.md").read_text()


BAD = {
    "--count 0 --out new": "--count: found 0, expected ",
    "--count 5 --out new --unanswerable 2": "--unanswerable: found 2.0, expected ",
    "--count 5 --out new --unanswerable 0.2": "--unanswerable: this generator makes none",
    "--count 5 --out new --types poems": "--types: found poems, expected some of keywords, sentence",
    "--count 5 --out documents": "--out: documents exists; expected a new folder",
    "--count 5 --out /proc/new": "--out: /proc/new cannot be made",
    "--count 5 --out new generator=llm language_model=openai": "language_model.model: no value; set it with",
    "--count 5 --out new passage_size=1": "passage_size: found 1, expected ",
    "--count 5 --out new shortest_passage=900": "no passage of 4 documents has 900 words or more (shortest_passage)",
    "--count 5 --out new corpus.path=nosuch": "nosuch does not exist",
    "--count 5 --out new dataset=pdf": "dataset=pdf: choose documents with corpus=",
}


def test_bad_input_gets_one_line_and_writes_nothing(made):
    generate, _, _ = made
    before = {*generate.folder.iterdir()}
    for arguments, message in BAD.items():
        documents = [usual for usual in generate.documents if usual.partition("=")[0] + "=" not in arguments]
        status, out, err = generate.here(*documents, *QUICK[:1], *shlex.split(arguments))
        assert (status, out) == (2, "")
        [line] = err.splitlines()
        assert message in line
        assert {*generate.folder.iterdir()} == before


def test_a_full_disk_leaves_no_half_of_a_test_set(tmp_path):
    documents = TextCorpus(str(write_documents(tmp_path / "documents"))).read()
    sources = sources_of(documents, 2000, 5)
    plan, generator = Plan(5, 0, (), 5, 2000, 5, 0), ExtractiveGenerator()
    outcome = make(generator, sources, Checker(CorpusSearch(sources, None, NO_STORE)), plan)
    recipe = Recipe(documents, len(sources), generator, {}, plan, "", "")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))  # of any file: stands for a full disk
    try:
        with pytest.raises(GeneratorError, match=r"--out: .*out cannot be written \(File too large\)"):
            write(tmp_path / "out", recipe, outcome)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {path.name for path in tmp_path.iterdir()} == {"documents"}
    write(tmp_path / "out", recipe, outcome)
    assert (tmp_path / "out" / "questions.jsonl").exists()


@pytest.mark.soak
def test_the_bundled_manual_gives_a_test_set_that_runs_in_a_sweep(tmp_path, application):
    status, out, err = Generate(tmp_path).run(f"store.path={application.cache}", "--count", "6", "--out", "out")
    assert status == 0, err
    manual = PROJECT / "data/cho_manual/documents"
    text = {document.source: document.text for document in PdfDocuments(str(manual)).read()}
    for question in lines(tmp_path / "out/questions.jsonl"):
        [reference] = question["references"]
        assert text[question["corpus_id"]][reference["start_index"] : reference["end_index"]] == reference["content"]
    printed = [
        given for given in printed_arguments(out.splitlines()[-1])[1:] if not given.startswith("questions.path=")
    ]
    path = f"questions.path={tmp_path / 'out/questions.jsonl'}"
    succeeded(application.run(*printed, path, "retriever=sparse"))
    assert [run.info.status for run in application.children()] == ["FINISHED"] * 2
