"""`ragsweep audit`, and the audit in runs and sweeps."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from application import assert_refused, succeeded

from ragsweep.app.commands import composed
from ragsweep.experiment import Experiment

KEPT = ["retriever=sparse"]
RECIPES = Path(__file__).parents[2] / "docs/recipes.md"


def audit(application, *given):
    return application.script_here("audit", *given, *KEPT)


def test_findings_are_printed_with_what_they_cost_and_what_to_do_and_the_bundled_manual_has_none(application, dataset):
    process = succeeded(audit(application, *dataset))
    assert process.stdout.partition("\n\ncould be missed\n")[0].splitlines() == [
        "small: 6 passages, 7 units, 5 queries, 6 judgments",
        "relevant pages: 5 expected, 5 present, 0 missing",
        "",
        "pages_without_text (1 of 7)",
        "  1 page without text (fever.pdf#3).",
        "  They are never retrieved.",
        "  Run OCR on those that are scanned; blank pages are harmless.",
        "",
        "not checked",
        "  unjudged: not looked for: that needs a retriever with an encoder.",
    ]
    assert "\nThe audit found nothing wrong with the dataset.\n" in succeeded(audit(application)).stdout


def test_findings_as_json_are_those_of_a_run(application, dataset):
    assert application.script_here("run", *dataset, *KEPT).returncode == 0
    [run] = application.runs()
    results = application.artifacts(run) / "results"
    process = audit(application, *dataset, "--json")
    record = json.loads(process.stdout)
    assert record == json.loads((results / "audit.json").read_text())
    assert record["findings"][0]["examples"] == ["fever.pdf#3"]
    [sentences] = json.loads((results / "evaluation.json").read_text())["findings"]
    assert sentences.startswith("1 page without text (fever.pdf#3). They are never retrieved.")


def test_a_kind_that_is_not_accepted_is_exit_status_3_and_stops_a_run_or_a_sweep_before_it_starts(application, dataset):
    refused = [*dataset, "audit.fail_on=[pages_without_text]"]
    process = audit(application, *refused)
    assert process.returncode == 3
    assert "pages_without_text (1 of 7)" in process.stdout
    assert audit(application, *dataset, "audit.fail_on=[shifted_pages]").returncode == 0
    for mode in ([], ["-m", "k=1,2"]):
        process = application.script_here("run", *mode, *refused, *KEPT)
        assert process.returncode == 3
        assert "audit.fail_on does not accept pages_without_text (1)" in process.stderr.splitlines()[-1]
    assert application.runs() == []


def test_the_audit_changes_no_parameter_and_no_digest(application, dataset):
    given = [*dataset, *KEPT, *(f"{name}={value}" for name, value in application.places.items())]
    one, other = (Experiment.of(composed([*given, f"audit.level={level}"])) for level in (0.01, 0.02))
    assert one.digest == other.digest
    assert not any(name.startswith("audit") for name in one.params)


@pytest.mark.release
def test_an_installed_package_adds_a_finding(application, dataset, tmp_path):
    """The class is that of docs/recipes.md."""
    [code] = re.findall(r"```python\n(from ragsweep_audit.findings.*?)```", RECIPES.read_text(), re.DOTALL)
    about = tmp_path / "shouting-1.0.dist-info"
    about.mkdir()
    (tmp_path / "shouting.py").write_text(code)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[ragsweep_audit.findings]\nshouting = shouting:ShoutingQueries\n")
    queries = tmp_path / "loud.json"
    queries.write_text('[{"query": "WHICH TEST FINDS MALARIA?", "relevant_docs": ["fever.pdf#2"]}]')
    given = [*dataset[:-1], f"dataset.queries={queries}", *KEPT, "audit.fail_on=[shouting_queries]"]
    process = application.in_new_interpreter("audit", *given, PYTHONPATH=str(tmp_path))
    assert process.returncode == 3, process.stderr
    assert "shouting_queries (1 of 1)\n" in process.stdout
    (tmp_path / "shouting.py").write_text("import nosuch")
    broken = application.in_new_interpreter("audit", *given, PYTHONPATH=str(tmp_path))
    assert "the finding shouting:ShoutingQueries cannot be loaded (ModuleNotFoundError" in broken.stderr


REFUSED = [
    (["audit.fail_on=[shifted]"], "audit.fail_on: found 'shifted', expected some of absent_units, "),
    (["audit.level=2"], "audit.level: found 2, expected "),
    (["audit.levl=0.1"], "did you mean audit.level?"),
    (["dataset=nosuch"], "dataset=nosuch: expected one of "),
    (["task=answers", "dataset=cho_manual"], "cho_manual: has no multiple-choice cases to answer"),
    (["dataset.documents=nosuch.pdf"], "nosuch.pdf does not exist"),
]


def test_bad_input_gets_one_line(application):
    for given, fact in REFUSED:
        assert_refused(audit(application, *given), application, fact)


@pytest.mark.usefixtures("processes")
def test_words_of_grades_are_set_as_for_a_run():
    """In a process of its own, as the tests before may have loaded what a run loads."""
    overrides = ["corpus=pdf", "corpus.path=x", "questions=table", "questions.path=q.csv"]
    code = "import sys; from ragsweep.app.commands import composed; print(composed(sys.argv[1:]).questions.grades)"
    grades = "questions.grades={ja: 1, nein: 0}"
    done = subprocess.run([sys.executable, "-c", code, *overrides, grades], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "{'ja': 1, 'nein': 0}\n"), done.stderr
