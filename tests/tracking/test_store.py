"""Where runs are kept, before any of them is opened."""

import shutil
import socket

import pytest


@pytest.mark.parametrize("kind", ["nobody listens", "nobody answers"])
def test_a_server_that_cannot_be_reached_is_said_before_any_work(application, kind):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{listening.getsockname()[1]}"
        if kind == "nobody answers":
            listening.listen()
        process = application.run("-m", "k=3,5", "tracking=server", f"tracking.uri={uri}")
    assert process.returncode == 2
    [line] = process.stderr.splitlines()
    assert line.startswith(f"ragsweep: tracking.uri: {uri} cannot be opened (")
    assert process.stdout == ""


def test_a_moved_folder_finds_its_artifacts(application, dataset, tmp_path):
    sweep = ["-m", *dataset, "retriever=sparse", "k=1,2"]
    assert application.run(*sweep).returncode == 0
    copy = type(application)(tmp_path / "copy", application.cache)
    shutil.copytree(application.home, copy.home, ignore=shutil.ignore_patterns("copy"))
    shutil.rmtree(application.home / "artifacts")
    run, *_ = copy.children()
    again = copy.script("reproduce", run.info.run_id, "--no-log", *dataset[2:])
    assert again.returncode == 0, again.stderr
    process = copy.run(*sweep, "tracking.resume=true")
    assert process.returncode == 0, process.stderr
    assert process.stdout.count("(finished before)") == 2
    [parent] = copy.parents()
    assert parent.info.artifact_uri.startswith(copy.home.as_uri())
    assert (copy.artifacts(parent) / "report.md").exists()
