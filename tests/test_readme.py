"""Every command of the README works, typed in its order in a copy of the project."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from application import PROJECT

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def copy(tmp_path, cache):
    """The files that git knows, a ready environment, and the files that the README asks its reader to write."""
    cache.mkdir(exist_ok=True)
    (tmp_path / ".cache").symlink_to(cache)  # other tests have embedded the same manual
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        if (PROJECT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / "my_pdfs").mkdir()
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
@pytest.mark.timeout(900)
def test_every_command_block_works(copy):
    environment = {
        **os.environ,
        "PATH": f"{copy / '.venv/bin'}:{os.environ['PATH']}",  # as `source .venv/bin/activate` leaves it
        "PYTHONPATH": f"{copy / 'src'}",  # the environment is installed for the project, not for its copy
        "MAKEFLAGS": "--dry-run",  # .ci/run and test_sweep.py run `make sweep`, tests/browser runs `make ui`
    }
    for language, text in blocks():
        if language != "bash":
            continue
        done = subprocess.run(
            ["bash", "-ec", text], check=False, cwd=copy, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    assert (copy / "mlruns/mlflow.db").exists()


def test_the_readme_shows_a_picture_that_is_there():
    for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", (PROJECT / "README.md").read_text()):
        assert (PROJECT / picture).is_file()


def test_the_links_of_the_readme_lead_somewhere():
    for link in re.findall(r"\]\(([^)#]+)\)", (PROJECT / "README.md").read_text()):
        assert link.startswith("http") or (PROJECT / Path(link)).exists()
