"""Where a decision by judgments is kept: beside the journal, at the sweep in MLflow, and as a run of its own."""

import io
import json
import sys
from pathlib import Path

import pytest

from ragsweep.core.errors import RagsweepError, TrackingError
from ragsweep_audit.judging.deciding_by_judgments import verify_alone

OWN = ["decision.json", "report.html", "report.md"]


def judge(application, *arguments, keys="", **places):
    """Run the command in this process with these answers."""
    where = [f"{name}={value}" for name, value in places.items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(keys))
        return application.script_here("judge", *arguments, *where)


@pytest.fixture(scope="module")
def judged(shared_application, settings):
    """Overrides that were judged to the end, after a stop."""
    stopped = judge(shared_application, *settings(0), keys="1 0 q")
    assert stopped.returncode == 1, stopped.stderr
    process = judge(shared_application, *settings(0), keys="10" * 99)
    assert process.returncode == 0, process.stderr
    return shared_application, process.stdout


def test_what_is_judged_without_a_sweep_is_kept_beside_its_journal(judged):
    application, output = judged
    record = json.loads((application.home / "judged.decision.json").read_text())["judged"]
    assert record["decided"]
    assert record["headline"][0] in output
    assert not application.parents()


def test_the_journal_alone_shows_what_it_decides(judged, tmp_path, capsys):
    application, _ = judged
    moved = tmp_path / "elsewhere.jsonl"
    moved.write_bytes((application.home / "judged.jsonl").read_bytes())
    assert verify_alone(moved)
    record = json.loads((application.home / "judged.decision.json").read_text())["judged"]
    assert capsys.readouterr().out.splitlines()[:-1] == record["headline"]


def test_a_journal_that_was_changed_is_noticed(judged, tmp_path):
    application, _ = judged
    text = (application.home / "judged.jsonl").read_text()
    for change in (("[0, ", "[1, "), ('"grade": 1', '"grade": 0'), ("{", "[")):
        (tmp_path / "changed.jsonl").write_text(text.replace(*change, 1))
        with pytest.raises(RagsweepError, match=r"changed\.jsonl"):
            verify_alone(tmp_path / "changed.jsonl")


@pytest.fixture(scope="module")
def swept(shared_application, settings):
    """A sweep on these data, with what it decided."""
    process = shared_application.script_here("run", "-m", *settings(2))
    assert process.returncode == 0, process.stderr
    [parent] = shared_application.parents()
    artifacts = shared_application.artifacts(parent)
    return parent.info.run_id, {name: (artifacts / name).read_text() for name in OWN}


def test_a_sweep_has_the_judged_decision_beside_its_own(swept, shared_application, settings, capsys):
    sweep_id, before = swept
    at = [setting for setting in settings(2) if ".path" in setting]
    journal = ["--journal", str(shared_application.home / "of_sweep.jsonl")]
    undecided = judge(shared_application, sweep_id, *at, *journal, keys="1 q")
    assert undecided.returncode == 1, undecided.stderr
    client = shared_application.client()
    parent = client.get_run(sweep_id)
    assert parent.data.tags["judged.decided"] == "false"
    assert "Not decided after 1 judgment" in parent.data.tags["judged.headline"]
    process = judge(shared_application, sweep_id, *at, *journal, keys="10" * 99)
    assert process.returncode == 0, process.stderr
    parent = client.get_run(sweep_id)
    artifacts = shared_application.artifacts(parent)
    record = json.loads((artifacts / "judged" / "decision.json").read_text())
    assert record["decided"]
    assert {name: (artifacts / name).read_text() for name in before} == before
    assert parent.data.tags["judged.decided"] == "true"
    assert parent.data.tags["judged.headline"] in process.stdout
    assert parent.data.tags["judged.configuration"] == record["choice"]
    assert parent.data.metrics["judged/judgments"] == record["judgments"]
    assert (artifacts / "judged" / "judged.jsonl").read_bytes() == Path(journal[1]).read_bytes()
    assert parent.data.tags["mlflow.note.content"].count("/artifacts/judged/decision.json)") == 1
    verdicts = [run.data.tags["judged"] for run in shared_application.children()]
    assert sorted(verdicts) == sorted(row["verdict"] for row in record["configurations"])
    assert verify_alone(artifacts / "judged" / "judged.jsonl")
    assert record["headline"][0] in capsys.readouterr().out


def test_a_store_that_refuses_loses_nothing(swept, shared_application, settings, monkeypatch):
    def refuse(*arguments):
        raise TrackingError("gone")

    monkeypatch.setattr("ragsweep.tracking.decisions.add_decision", refuse)
    journal = shared_application.home / "refused.jsonl"
    at = [setting for setting in settings(2) if ".path" in setting]
    process = judge(shared_application, swept[0], *at, "--journal", str(journal), keys="10" * 99)
    assert process.returncode == 0, process.stderr
    assert "not recorded in MLflow (gone)" in process.stdout
    assert json.loads(journal.with_suffix(".decision.json").read_text())["judged"]["decided"]
