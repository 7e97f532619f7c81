"""A sweep that was ended before its time, and goes on."""

import random
import re
import shlex
import socket
import time
from subprocess import CompletedProcess

import pytest
from application import Application, succeeded
from held import ENVIRONMENT, held_by
from omegaconf import OmegaConf
from small import QUERIES, write_queries
from warm import CHARTS

from ragsweep.tracking import close_orphans
from tracking.stored import SWEEP, change_journal, refusal, resume, run_here

LARGER = ["-m", "retriever=sparse", "retriever.b=0.3,0.75", "k=1,2"]
JOBS = 4


@pytest.fixture(scope="module")
def undisturbed(shared_application, dataset):
    """A sweep that nothing happens to, and how long it takes."""
    started = time.monotonic()
    succeeded(shared_application.run(*LARGER, *dataset, **CHARTS))
    return shared_application, time.monotonic() - started


def summary(application):
    """The files of the summary, without what names the place and the hour."""
    [parent] = application.parents()
    folder = application.artifacts(parent)
    files = [*sorted((folder / "results").iterdir()), folder / "report.md"]
    assert len(files) == 3
    texts = (file.read_text().replace(str(application.home), "HOME") for file in files)
    return [re.sub(r"\b[0-9a-f]{32}\b|\d{4}-\d\d-\d\d \d\d:\d\d", "THIS ONE", text) for text in texts]


def charts(application):
    [parent] = application.parents()
    return {file.name: file.read_bytes() for file in (application.artifacts(parent) / "charts").iterdir()}


def statuses(application):
    return [run.info.status for run in application.children()]


def names(process):
    """The names of the jobs that a process has run, and of those that it has found finished."""
    lines = [line.split(" ", 1)[1] for line in process.stdout.splitlines() if line[:1].isdigit() and " ndcg=" in line]
    ran = [line.partition(" ndcg=")[0] for line in lines if not line.endswith("(finished before)")]
    return ran, [line.partition(" ndcg=")[0] for line in lines if line.endswith("(finished before)")]


def assert_whole(application, undisturbed):
    assert statuses(application) == ["FINISHED"] * JOBS
    assert len({run.info.run_name for run in application.children()}) == JOBS
    assert [run.info.status for run in application.parents()] == ["FINISHED"]
    assert summary(application) == summary(undisturbed)


def test_a_killed_sweep_is_resumed_as_if_nothing_had_happened(application, dataset, undisturbed):
    undisturbed, _ = undisturbed
    process = application.start(*LARGER, *dataset, **CHARTS)
    for _ in range(2):
        process.stdout.readline()
    process.kill()
    process.communicate()
    hashes = {"PYTHONHASHSEED": "1"}  # of strings, so that the order of a set is another one
    resumed = succeeded(application.in_new_interpreter("run", *LARGER, *dataset, "tracking.resume=true", **hashes))
    ran, finished = names(resumed)
    assert len(finished) >= 2
    assert len(ran) + len(finished) == JOBS
    assert_whole(application, undisturbed)
    assert charts(application) == charts(undisturbed)


@pytest.mark.soak
@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("repetition", range(20))
def test_a_sweep_killed_at_any_moment_is_resumed(tmp_path, cache, dataset, undisturbed, repetition):
    undisturbed, seconds = undisturbed
    application = Application(tmp_path, cache)  # on no store yet: it may be killed while it makes one
    process = application.start(*LARGER, *dataset)
    time.sleep(random.Random(repetition).uniform(0, seconds))
    process.kill()
    process.communicate()
    succeeded(application.run(*LARGER, *dataset, "tracking.resume=true"))
    assert_whole(application, undisturbed)


def test_a_run_that_was_finished_in_the_store_alone_does_not_wait_for_it(copied_sweep, dataset):
    folder = copied_sweep.home / "outputs/0"
    change_journal(folder, status="RUNNING", ended=None, uploaded=False)  # killed just there
    resumed = resume(copied_sweep, dataset)
    assert [len(jobs) for jobs in names(resumed)] == [0, 2]
    assert change_journal(folder)["uploaded"]


def planned(application, *given):
    """How many jobs of a sweep would run, and how many are finished."""
    plan = succeeded(run_here(application, *given, "tracking.resume=true", "+dry_run=true")).stdout
    return plan.count(": would run"), plan.count(": finished, run ")


def test_a_finished_run_stands_in_for_one_that_failed(copied_sweep, dataset):
    failed = copied_sweep.children()[1]
    copied_sweep.client().set_terminated(failed.info.run_id, "FAILED")
    journals = (copied_sweep.home / "outputs").glob("*/tracking.json")
    next(file for file in journals if f'"run_id": "{failed.info.run_id}"' in file.read_text()).unlink()
    assert planned(copied_sweep, *SWEEP, *dataset) == (1, 1)
    succeeded(copied_sweep.run(*dataset, "retriever=sparse", f"k={failed.data.params['k']}"))
    assert planned(copied_sweep, *SWEEP, *dataset) == (0, 2)


def test_finished_runs_of_a_smaller_sweep_are_joined(copied_sweep, dataset, undisturbed):
    resumed = succeeded(copied_sweep.run(*LARGER, *dataset, "tracking.resume=true"))
    assert [len(jobs) for jobs in names(resumed)] == [2, 2]
    smaller, larger = copied_sweep.parents()
    assert (smaller.info.status, larger.info.status) == ("FINISHED", "FINISHED")
    assert {run.info.run_name for run in copied_sweep.children()} == {"k=1", "k=2", "b=0.3 k=1", "b=0.3 k=2"}
    undisturbed, _ = undisturbed
    [whole] = undisturbed.parents()
    table = "results/summary_statistics.csv"
    assert (copied_sweep.artifacts(larger) / table).read_text() == (undisturbed.artifacts(whole) / table).read_text()


def test_without_resume_and_for_other_data_everything_runs_again(copied_sweep, dataset, tmp_path):
    assert [len(jobs) for jobs in names(copied_sweep.run(*SWEEP, *dataset))] == [2, 0]
    assert len(copied_sweep.children()) == 4
    changed = [(text.replace("What clears", "Which drug clears"), *judged) for text, *judged in QUERIES]
    queries = write_queries(tmp_path / "questions.json", changed)
    assert planned(copied_sweep, *SWEEP, *dataset[:-1], f"dataset.queries={queries}") == (2, 0)


def test_a_dry_run_says_what_is_there_and_records_nothing(dataset, undisturbed, processes):
    application, _ = undisturbed
    before = len(application.runs())
    swept = ["-m", "retriever=sparse", "retriever.b=0.2,0.75", "k=1,2", "+dry_run=true"]
    lines = succeeded(run_here(application, *swept, *dataset)).stdout.splitlines()
    assert lines[0] == "b=0.2 k=1: would run"
    assert lines[2].startswith("b=0.75 k=1: finished, run ")
    assert lines[-1] == "2 of 4 would run with tracking.resume=true, all without it"
    assert len(application.runs()) == before


def running(application, processes):
    """The one process that goes on with the sweep and has a job at work; the others have been refused."""
    for _ in range(1200):
        left = [process for process in processes if process.returncode is None]
        if len(left) == 1 and "RUNNING" in statuses(application):
            return left[0]
        time.sleep(0.1)
    return pytest.fail(f"{len(left)} processes run the sweep: {statuses(application)}")


def test_of_processes_that_resume_a_sweep_at_once_one_goes_on_also_after_a_crash(application, dataset):
    wait = application.home / "wait"
    wait.touch()
    sweep = ["-m", *dataset, *held_by(wait), "k=1,2"]
    first = application.start(*sweep, **ENVIRONMENT)
    running(application, [first])
    first.kill()
    first.communicate()
    starts = [application.start(*sweep, "tracking.resume=true", **ENVIRONMENT) for _ in range(2)]
    first = running(application, starts)
    [second] = [process for process in starts if process is not first]
    out, err = second.communicate()
    line = refusal(CompletedProcess([], second.returncode, out, err))
    own = rf"process {first.pid} on {re.escape(socket.gethostname())} since \d{{4}}-\d\d-\d\d [\d:]{{8}}"
    what_to_do = "wait until it has ended, or end that process"
    assert re.search(rf"this sweep is being run by {own} \(run \w{{32}}\); {what_to_do}$", line)
    # What a run does as it starts leaves the runs of a living process alone, and closes those of a killed one.
    [parent] = application.parents()
    tracking = {"uri": application.uri, "experiment": "small", "artifacts": f"{application.home}/artifacts"}
    close_orphans(OmegaConf.create(tracking))
    assert [run.info.status for run in application.parents()] == ["RUNNING"]
    first.kill()
    first.communicate()
    succeeded(application.run(*dataset, "retriever=sparse", "k=1"))
    assert "RUNNING" not in {run.info.status for run in application.runs()}
    parent = application.client().get_run(parent.info.run_id)
    assert (parent.info.status, parent.data.tags["error"]) == ("KILLED", "the process ended without closing the run")
    wait.unlink()
    succeeded(application.run(*sweep, "tracking.resume=true", **ENVIRONMENT))
    assert statuses(application) == ["FINISHED"] * 2
    assert len({run.info.run_name for run in application.children()}) == 2
    assert [run.info.status for run in application.parents()] == ["FINISHED"] * 2


def test_a_sweep_that_may_be_running_on_another_host_is_not_resumed_until_its_run_is_closed(copied_sweep, dataset):
    [parent] = copied_sweep.parents()
    client = copied_sweep.client()
    client.set_tag(parent.info.run_id, "process", '{"host": "elsewhere", "pid": 1}')
    client.set_terminated(parent.info.run_id, "RUNNING")
    line = refusal(run_here(copied_sweep, *SWEEP, *dataset, "tracking.resume=true"))
    assert "this sweep is being run by process 1 on elsewhere since ?" in line
    _, command = line.split("close its run: python ")
    option, code = shlex.split(command)
    assert option == "-c"
    exec(code, {})
    resumed = resume(copied_sweep, dataset)
    assert [len(jobs) for jobs in names(resumed)] == [0, 2]
