"""Standard streams that are closed or full, and a store that somebody deletes meanwhile."""

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from ragsweep.app.messages import in_one_line
from ragsweep.store.stage_store import Store

pytestmark = pytest.mark.usefixtures("processes")


def command(*arguments, redirected="", folder):
    """Start ragsweep in a shell that redirects its streams."""
    line = f'"$0" -m ragsweep "$@" {redirected}'
    environment = {**os.environ, "RAGSWEEP_PROJECT": str(folder)}
    return subprocess.run(
        ["sh", "-c", line, sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "redirected",
    [pytest.param(">&-", marks=pytest.mark.release), "<&- >&- 2>&-"],
    ids=["standard output", "all"],
)
def test_a_run_does_its_work_where_streams_are_closed(application, dataset, redirected):
    done = command("run", "-m", *application.arguments(*dataset, "retriever=sparse", "k=3,4"),
                   redirected=redirected, folder=application.home)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [run.info.status for run in application.children()] == ["FINISHED"] * 2


def test_what_cannot_be_printed_is_said_and_is_no_success(tmp_path):
    done = command("--version", redirected=">/dev/full", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "ragsweep: not everything could be printed (No space left on device)\n"


def test_a_full_disk_is_no_error_of_ours():
    assert "No space left on device" in in_one_line(OSError(errno.ENOSPC, "No space left on device"))


def test_a_store_that_is_deleted_meanwhile_costs_only_time(tmp_path, times):
    store, ended = Store(str(tmp_path / "store"), max_gb=0.001), threading.Event()

    def delete():
        while not ended.is_set():
            for stage in (tmp_path / "store").glob("*"):
                subprocess.run(["rm", "-rf", stage], check=False)

    deleting = threading.Thread(target=delete)
    deleting.start()
    try:
        for number in range(times(300)):
            [array] = store.get("stage", number % 5, lambda: {"array": np.arange(9)}).values()
            np.testing.assert_array_equal(array, np.arange(9))
    finally:
        ended.set()
        deleting.join()
    assert Path(store.path).parent.is_dir()
