"""Every command of the README works, in its order, in a folder with the files that the README asks for."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from application import COMMAND, PROJECT
from mlflow import MlflowClient
from warm import Process

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path, cache, empty_database):
    """The Makefile, a ready environment, and the files that the README asks its reader to write."""
    cache.mkdir(exist_ok=True)
    (tmp_path / ".cache").symlink_to(cache)  # other tests have embedded the same manual
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        (tmp_path / name).symlink_to(PROJECT / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    for name in ("mlruns", "my_pdfs"):
        (tmp_path / name).mkdir()
    shutil.copy(empty_database, tmp_path / "mlruns")
    shutil.copy(PROJECT / "data/cho_manual/documents/cho_training_manual.pdf", tmp_path / "my_pdfs/manual.pdf")
    for language, text in blocks():
        if language in ("python", "yaml"):
            (tmp_path / text.splitlines()[0].removeprefix("# ")).write_text(text)
        if language == "json":
            (tmp_path / "my_questions.json").write_text(text)
    return tmp_path


def blocks():
    return BLOCK.findall((PROJECT / "README.md").read_text())


@pytest.mark.usefixtures("processes")
@pytest.mark.release
@pytest.mark.timeout(900)
def test_every_command_works(folder):
    """From the fork server: tests/app/test_wheel.py starts the installed command."""
    environment = {**os.environ, "MAKEFLAGS": "--dry-run"}  # .ci/run runs `make sweep`, tests/browser runs `make ui`
    used = set()
    for line in "".join(text for language, text in blocks() if language == "bash").splitlines():
        name, *arguments = shlex.split(line, comments=True)
        used.add(name)
        if name == "ragsweep":
            process = Process(COMMAND, arguments, folder, {**os.environ, "RAGSWEEP_PROJECT": str(folder)})
            stdout, stderr = process.communicate(timeout=300)
            assert process.returncode == 0, f"{line}\n{stdout}\n{stderr}"
        else:
            subprocess.run(["bash", "-ec", line], check=True, cwd=folder, env=environment)
    assert used == {"ragsweep", "make", "source"}
    client = MlflowClient(f"sqlite:///{folder}/mlruns/mlflow.db")
    recorded = {experiment.name for experiment in client.search_experiments()}
    assert {"cho_manual", "my_manual"} <= recorded


def test_the_readme_shows_a_picture_that_is_there():
    for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", (PROJECT / "README.md").read_text()):
        assert (PROJECT / picture).is_file()


def test_the_links_of_the_readme_lead_somewhere():
    for link in re.findall(r"\]\(([^)#]+)\)", (PROJECT / "README.md").read_text()):
        assert link.startswith("http") or (PROJECT / Path(link)).exists()
