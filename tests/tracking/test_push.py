"""`ragsweep push`: uploads what waits in a folder, wherever the folder has come from."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from application import error_lines, printed_arguments, succeeded
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mlflow import MlflowClient

from ragsweep.tracking import push
from ragsweep.tracking.journal import Journal, create_run
from tracking.stored import ANYTHING, change_journal, execute, pushed, resume

SECRET, PASSWORD = "a secret of ours", "c4n4ry"


def waiting_run(box, name, /, **fields):
    """A finished run that waits in a folder of this name, but for these fields of its journal. Returns the folder."""
    folder = box.home / "outputs" / name
    (folder / "results").mkdir(parents=True, exist_ok=True)
    (folder / "results" / "numbers.csv").write_text("f1\n0.5\n")
    journal = Journal(box.uri, None, "waiting", "k=1", {"sweep.id": "1"}, 1, status="FINISHED", ended=2)
    journal.metrics, journal.parts = [("f1", 0, 0.5)], ["results"]
    journal.write(folder)
    change_journal(folder, **fields)
    return folder


@pytest.fixture
def box(application):
    """A store, a folder of runs, and beside it what must not leave this machine."""
    application.client().create_experiment("waiting", (application.home / "artifacts").as_uri())
    (application.home / "secret.txt").write_text(SECRET)
    (application.home / "outputs").mkdir()
    return application


def push_all(box, artifacts=None):
    return push(box.home / "outputs", box.uri, artifacts)


def uploaded(box):
    """The text of every file that the store has."""
    return "".join(file.read_text() for file in (box.home / "artifacts").rglob("*") if file.is_file())


def test_a_waiting_run_is_uploaded_once(box):
    waiting_run(box, "0")
    for expected in ("1 run uploaded\n", "0 runs uploaded\n"):
        process = pushed(box)
        assert (process.returncode, process.stdout, process.stderr) == (0, expected, "")
    [run] = box.runs()
    assert (run.info.status, run.data.metrics["f1"]) == ("FINISHED", 0.5)
    assert uploaded(box) == "f1\n0.5\n"


def test_no_part_outside_of_the_run_is_uploaded_nor_a_link_followed(box):
    outside = [f"{box.home}/secret.txt", "../../secret.txt", "results/../../../secret.txt", ".", "", "\0"]
    for number, part in enumerate(outside):
        waiting_run(box, f"outside{number}", parts=[part])
    for number, link in enumerate(["results/link.txt", "results/below/link", "link"]):
        folder = waiting_run(box, f"link{number}", parts=["results", link])
        (folder / link).parent.mkdir(exist_ok=True)
        (folder / link).symlink_to(box.home / "secret.txt" if link.endswith("txt") else box.home)
    waiting_run(box, "whole")
    count, refused, _ = push_all(box)
    for folder, reason in refused.items():
        assert ("is not in the run's folder" if "outside" in folder.name else "part") in reason
    assert (count, len(refused), len(box.runs())) == (1, 9, 1)
    assert SECRET not in uploaded(box)


def test_neither_the_journal_of_a_folder_nor_what_it_is_written_through_is_a_link(box):
    read, written = waiting_run(box, "0"), waiting_run(box, "1")
    shutil.move(read / "tracking.json", box.home / "journal")
    (read / "tracking.json").symlink_to(box.home / "journal")
    (written / ".tracking.json").symlink_to(box.home / "secret.txt")
    count, refused, _ = push_all(box)
    assert (count, [*refused]) == (1, [read])
    assert refused[read].endswith("tracking.json: a link")
    assert (box.home / "secret.txt").read_text() == SECRET


def test_the_results_of_a_run_that_the_store_has_whole_stay_and_no_other_takes_its_number(box):
    folder = waiting_run(box, "0")
    push_all(box)
    tags = {**change_journal(folder)["tags"], "decision": "tied"}
    change_journal(folder, metrics=[["f1", 0, 0.9]], uploaded=False, tags=tags)
    (folder / "results" / "numbers.csv").write_text("f1\n0.9\n")
    assert push_all(box).uploaded == 1
    [run] = box.runs()
    assert (run.data.metrics["f1"], run.data.tags["decision"]) == (0.5, "tied")
    other = waiting_run(box, "1", run_id=run.info.run_id, name="k=2")
    assert "is another one" in push_all(box).refused[other]
    assert uploaded(box) == "f1\n0.5\n"


def test_a_store_that_only_a_journal_names_gets_nothing_until_the_user_says_so(box):
    folder = waiting_run(box, "0", artifacts=f"{box.home}/elsewhere")
    process = box.start_script_here("push", f"{box.home}/outputs")
    assert (process.returncode, process.stdout) == (2, "0 runs uploaded\n")
    [line] = process.stderr.splitlines()
    reason, _, command = line.rpartition(": ")
    assert reason == f"push: {folder}: was made for another store; if you trust that one"
    assert command.endswith(f" ragsweep push {folder} --uri {box.uri} --artifacts {box.home}/elsewhere")
    assert box.runs() == []
    process = box.start_script_here(*printed_arguments(command))
    assert (process.returncode, process.stdout) == (0, "1 run uploaded\n")
    assert not (box.home / "elsewhere").exists()  # the experiment was there


def test_a_journal_does_not_say_where_a_new_experiment_keeps_its_files(box):
    folder = waiting_run(box, "0", experiment="new", artifacts=f"{box.home}/theirs")
    assert "--artifacts says where" in push_all(box).refused[folder]
    assert push_all(box, f"{box.home}/ours").uploaded == 1
    assert (box.home / "ours").is_dir()
    assert not (box.home / "theirs").exists()


BROKEN = [
    ("[]", "expected an object"),
    ("{}", "uri: Field required"),
    ("[" * 5000, "nested more than"),
    ("", "not JSON"),
    ({"schema": 2**63}, f"schema: found {2**63}, expected another one; install the newest ragsweep"),
    ({"schema": 2}, "schema: found 2, expected 1; install the newest ragsweep"),
    ({"schema": 2, "uri": None, "surprise": 1}, "schema: found 2, expected 1"),
    ({"surprise": 1}, "surprise: Unexpected keyword argument"),
    ({"uri": "here"}, "uri: expected an address"),
    ({"artifacts": "a\nb"}, "artifacts: expected a string of one line"),
    ({"parts": "results"}, "parts: expected a valid"),
    ({"metrics": [["f1", 0]]}, "metrics.0.2: Field required"),
    ({"metrics": [["f1", -1, 0.5]]}, "metrics.0.1: expected greater than or equal to 0"),
    ({"metrics": [["f1", 0, 10**400]]}, "metrics.0.2: expected a finite number"),
    ({"tags": {"a": 1}}, "tags.a: expected a valid string"),
    ({"dataset": {"name": "a"}}, "dataset: expected texts named"),
    ({"status": "DONE"}, "status: String should match pattern '^(RUNNING|FINISHED"),
    ({"started": 10**20}, "started: expected less than or equal to 253402300799000"),
    ({"started": True}, "started: expected a valid integer"),
    ({"key": "' OR '1' = '1"}, "key: String should match pattern '^[0-9a-f]{32}$'"),
    ({"name": "\ud800"}, "Invalid JSON: "),
    ({"uri": f"http://alice:{PASSWORD}@there:5000"}, "uri: the address has a user or password in it"),
]


def test_each_broken_journal_is_one_line_and_the_others_are_uploaded(box):
    for number, (journal, _) in enumerate(BROKEN):
        if isinstance(journal, dict):
            waiting_run(box, f"{number:02}", **journal)
        else:
            (waiting_run(box, f"{number:02}") / "tracking.json").write_text(journal)
    waiting_run(box, "99")
    process = pushed(box)
    assert (process.returncode, process.stdout) == (2, "1 run uploaded\n")
    lines = process.stderr.splitlines()
    assert len(lines) == len(BROKEN), process.stderr
    assert PASSWORD not in process.stderr
    for number, (line, (_, expected)) in enumerate(zip(lines, BROKEN, strict=True)):
        assert line.startswith(f"push: {box.home}/outputs/{number:02}/tracking.json: ")
        assert expected in line


_opened: list[str] | None = None  # the paths of files, while a test listens


def _listen(event, arguments):
    if _opened is not None and event == "open" and isinstance(arguments[0], str):
        _opened.append(arguments[0])


sys.addaudithook(_listen)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_journal_holds_it_is_uploaded_or_refused_and_nothing_else_is_touched(box, data):
    global _opened  # noqa: PLW0603  # an audit hook cannot be removed
    folder, private = waiting_run(box, "0"), box.home / "private"
    whole = change_journal(folder)
    paths = st.sampled_from([str(private), "../../private/secret", "..", "/", "results"])
    changes = st.dictionaries(st.sampled_from(list(whole)), ANYTHING | paths | st.lists(paths), max_size=2)
    changed = data.draw(changes.map(lambda fields: {**whole, **fields}) | ANYTHING)
    (folder / "tracking.json").write_text(json.dumps(changed))
    private.mkdir(exist_ok=True)
    (private / "secret").write_text(SECRET)
    _opened = opened = []
    try:
        count, refused, elsewhere = push_all(box, f"{box.home}/artifacts")
    finally:
        _opened = None
    done = isinstance(changed, dict) and changed.get("uploaded") is True and not refused
    assert count + len(refused) + len(elsewhere) == (not done)
    assert all("\n" not in reason for reason in refused.values())
    assert [path for path in opened if "private" in path] == []
    assert any("tracking.json" in path for path in opened)
    assert [path.name for path in private.iterdir()] == ["secret"]
    assert SECRET not in uploaded(box)


def test_what_the_store_refuses_is_named_and_the_next_uploaded_and_once_it_is_taken_it_has_no_error(box):
    folder, _ = waiting_run(box, "0", params={"a@b": "1"}), waiting_run(box, "1", key="1" * 32)
    count, refused, _ = push_all(box)
    assert (count, [*refused]) == (1, [folder])
    assert "a@b" in refused[folder]
    states = {run.info.status: run.data.tags.get("error") for run in box.runs()}
    assert ({*states}, states["FINISHED"]) == ({"FAILED", "FINISHED"}, None)
    assert "a@b" in states["FAILED"]
    change_journal(folder, params={})
    assert push_all(box).uploaded == 1
    assert [(run.info.status, run.data.tags.get("error")) for run in box.runs()] == [("FINISHED", None)] * 2


def test_a_run_that_was_renamed_while_it_waited_keeps_its_name(box):
    client, names = box.client(), {}
    for number, name in enumerate((None, "the good one")):
        journal = Journal(box.uri, None, "waiting", "sweep", {}, 1, status="FINISHED", ended=2)
        journal.run_id = create_run(client, client.get_experiment_by_name("waiting").experiment_id, journal)
        journal.name = "k: 3"  # as its decision names it
        journal.write(box.home / "outputs" / str(number))
        if name:
            client.update_run(journal.run_id, name=name)
        names[journal.run_id] = name or journal.name
    assert push_all(box).uploaded == 2
    assert {run_id: client.get_run(run_id).info.run_name for run_id in names} == names


def test_a_run_whose_process_was_killed_in_its_upload_is_whole_after_the_next_one(copied_sweep, dataset):
    before, _ = copied_sweep.children()
    for table in ("metrics", "latest_metrics", "params"):
        execute(copied_sweep.home / "mlflow.db", f"DELETE FROM {table} WHERE run_uuid = ?", before.info.run_id)
    client = copied_sweep.client()
    client.set_terminated(before.info.run_id, "KILLED")  # as the next start does
    client.set_tag(before.info.run_id, "error", "the process ended without closing the run")
    for number in range(2):
        journal = change_journal(copied_sweep.home / f"outputs/{number}", uri=copied_sweep.uri)
        if journal["run_id"] == before.info.run_id:
            change_journal(copied_sweep.home / f"outputs/{number}", uploaded=False)
    assert pushed(copied_sweep).stdout == "1 run uploaded\n"
    after = client.get_run(before.info.run_id)
    assert (after.info.status, after.data.metrics) == ("FINISHED", before.data.metrics)
    assert (after.data.params, after.data.tags) == (before.data.params, before.data.tags)
    assert resume(copied_sweep, dataset).stdout.count("(finished before)") == 2


def test_the_command_that_is_printed_uploads_what_the_store_did_not_take(application, dataset):
    database = application.home / "mlflow.db"
    execute(database, "CREATE TRIGGER full BEFORE INSERT ON metrics BEGIN SELECT out_of_order(); END")
    process = application.run(*dataset, "retriever=sparse")
    assert process.returncode == 1
    [command] = re.findall(r"(cd .* ragsweep push .*) uploads it$", process.stderr, re.MULTILINE)
    execute(database, "DROP TRIGGER full")
    succeeded(application.start_script_here(*printed_arguments(command)))
    [run] = application.runs()
    assert "f1" in run.data.metrics


def test_runs_of_a_sweep_that_are_uploaded_later_have_what_was_decided_of_them(application, dataset):
    """The store takes the sweep's own run alone, at first, without its new name."""
    rules = {
        "full": "INSERT ON runs WHEN new.name NOT LIKE 'sweep%'",
        "name": "UPDATE ON runs WHEN new.name <> old.name",
    }
    database = application.home / "mlflow.db"
    for name, when in rules.items():
        execute(database, f"CREATE TRIGGER {name} BEFORE {when} BEGIN SELECT RAISE(ABORT, 'away'); END")
    assert application.run("-m", "retriever.b=0.5,0.75", *dataset, "retriever=sparse").returncode == 1
    assert len(application.runs()) == 1
    for name in rules:
        execute(database, f"DROP TRIGGER {name}")
    assert pushed(application).returncode == 0
    [parent] = application.parents()
    assert [run.data.tags.get("decision") for run in application.children()] == ["tied"] * 2  # b hardly differs
    assert parent.info.run_name.startswith("b: ")
    assert parent.data.tags["best.headline"]


@pytest.fixture
def small_disk(application, request):
    """A file system that has room for little more than an empty store, which is in it."""
    folder = application.home / "disk"
    folder.mkdir()
    spare_kb = getattr(request, "param", 64)
    room = (application.home / "mlflow.db").stat().st_size // 1024 + spare_kb
    command = ["mount", "-t", "tmpfs", "-o", f"size={room}k", "tmpfs", folder]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("only root may make a small file system")
    try:
        shutil.copy(application.home / "mlflow.db", folder)
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def stored_runs(disk):
    client = MlflowClient(f"sqlite:///{disk}/mlflow.db")
    return client, client.search_runs([experiment.experiment_id for experiment in client.search_experiments()])


def test_a_full_disk_below_the_store_is_a_line_and_loses_nothing(application, dataset, small_disk):
    store = f"tracking.uri=sqlite:///{small_disk}/mlflow.db"
    process = application.run("-m", "k=1,2", *dataset, "retriever=sparse", store)
    assert process.returncode == 1
    assert process.stdout.count(" ndcg=") == 2
    assert "Traceback" not in process.stderr
    [line] = error_lines(process.stderr)
    assert "not in the tracking store: " in line
    subprocess.run(["mount", "-o", "remount,size=20m", small_disk], check=True)
    pushed = application.start_script_here(*printed_arguments(line.removesuffix(" uploads them")))
    assert (pushed.returncode, pushed.stderr) == (0, "")
    measured = [run for run in stored_runs(small_disk)[1] if "f1" in run.data.metrics]
    assert sorted((run.info.run_name, run.info.status) for run in measured) == [(f"k={k}", "FINISHED") for k in (1, 2)]


@pytest.mark.parametrize(
    "small_disk", [700, *(pytest.param(spare_kb, marks=pytest.mark.soak) for spare_kb in (300, 1100))], indirect=True
)
def test_a_disk_that_fills_up_anywhere_in_a_sweep_is_said(application, dataset, small_disk):
    """Also where nothing is left for the journal of what is missing."""
    places = [f"tracking.uri=sqlite:///{small_disk}/mlflow.db", f"hydra.sweep.dir={small_disk}/outputs/x"]
    process = application.run("-m", "k=1,2", *dataset, "retriever=sparse", *places)
    subprocess.run(["mount", "-o", "remount,size=20m", small_disk], check=True)
    client, runs = stored_runs(small_disk)
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    complete = [run.info.status for run in parents] == ["FINISHED"] and any(
        file.path == "report.html" for file in client.list_artifacts(parents[0].info.run_id)
    )
    assert "Traceback" not in process.stderr
    assert process.returncode == (0 if complete else 1)
    reasons = ("No space left on device", "disk is full", "not in the tracking store")
    assert complete or any(reason in process.stderr for reason in reasons)
