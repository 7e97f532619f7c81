"""The command `ragsweep`, installed from a wheel into an environment of its own and used in an empty folder."""

import os
import re
import shutil
import signal
import site
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from application import COMMAND, PROJECT, succeeded
from small import arguments
from warm import Process

from ragsweep.app.main import commands

pytestmark = [pytest.mark.usefixtures("processes"), pytest.mark.release]

COMMANDS = [*commands()]
HEX = r"[0-9a-f]{32}"
OWN_RETRIEVER = "from ragsweep.retrieval import SparseRetriever\n\nclass Mine(SparseRetriever):\n    pass\n"


def succeed(command, **options):
    done = succeeded(subprocess.run(command, capture_output=True, text=True, check=False, **options))
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The command in a fresh environment, which borrows our dependencies from this one, but not ragsweep."""
    home = tmp_path_factory.mktemp("installed")
    succeed([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", home, PROJECT])
    succeed([sys.executable, "-m", "venv", "--without-pip", home / "venv"])
    python = home / "venv/bin/python"
    [packages] = (home / "venv").glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text("\n".join(site.getsitepackages()))  # *.pth files there are not followed
    [wheel] = home.glob("*.whl")
    install = ["install", "--quiet", "--no-deps", "--ignore-installed", "--no-compile", wheel]
    succeed([sys.executable, "-m", "pip", "--python", python, *install])
    return python.parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the user works; the commands of this module follow each other in it."""
    return tmp_path_factory.mktemp("folder")


@pytest.fixture(scope="module")
def shell(installed, folder):
    """How a process of the user starts: in this folder, with the installed command in the path."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {"cwd": folder, "env": {**kept, "PATH": f"{installed}:{os.environ['PATH']}"}}


@pytest.fixture(scope="module")
def ragsweep(shell):
    return lambda *given: subprocess.run(["ragsweep", *given], capture_output=True, text=True, check=False, **shell)


@pytest.fixture(scope="module")
def swept(ragsweep):
    """The id of the sweep that the first commands of a new user make."""
    succeeded(ragsweep("init"))
    [sweep] = re.findall(rf"\(sweep ({HEX})\)", succeeded(ragsweep("run", "-m", "retriever=sparse", "k=3,5")).stdout)
    return sweep


def test_the_wheel_has_every_file_of_the_packages(installed):
    [packages] = installed.parent.glob("lib/python*/site-packages")
    source = PROJECT / "src"
    files = {path.relative_to(source) for path in source.glob("*/**/*.*") if path.suffix != ".pyc" and path.is_file()}
    files = {path for path in files if not path.parts[0].endswith(".egg-info")}
    assert len(files) > 300
    assert {str(path) for path in files if not (packages / path).is_file()} == set()


def test_everything_lies_in_the_folder_one_is_in(swept, folder):
    names = {path.name for path in folder.iterdir()}
    assert {".cache", "conf", "documents", "mlruns", "outputs", "questions.json"} <= names
    assert (folder / "mlruns/mlflow.db").is_file()


def test_the_library_reads_the_runs_of_this_folder_and_the_clone_reproduces_them(swept, installed, folder, shell):
    """What was recorded names the bundled data in a way that means the same everywhere."""
    code = "import ragsweep; print(ragsweep.__file__); print(*ragsweep.runs()[['name', 'run_id']].to_numpy().ravel())"
    where, runs = succeed([installed / "python", "-c", code], **shell).splitlines()
    assert Path(where).is_relative_to(installed.parent)
    first, _, second, run_id = runs.split()
    assert (first, second) == ("k=3", "k=5")
    store = f"tracking.uri=sqlite:///{folder}/mlruns/mlflow.db"
    clone = Process(COMMAND, ["reproduce", run_id, store], folder, {**os.environ, "RAGSWEEP_PROJECT": str(PROJECT)})
    stdout, stderr = clone.communicate(timeout=300)
    assert ": identical: " in stdout, stderr


def test_the_rest_of_the_commands_work(ragsweep, swept, folder):
    assert ragsweep("push").stdout == "0 runs uploaded\n"
    assert ragsweep("store").stdout.startswith(f"{folder}/.cache\n")
    assert ragsweep("--version").stdout == "ragsweep 0.1.0\n"


def test_your_own_questions_groups_and_classes_are_found(ragsweep, swept, folder, tmp_path):
    """As `ragsweep init` says: put the files into documents/, write the questions, run dataset=mine."""
    arguments(tmp_path / "small")
    shutil.copy(tmp_path / "small/pdfs/anaemia.pdf", folder / "documents")
    (folder / "questions.json").write_text('[{"query": "What clears worms?", "relevant_docs": ["3"]}]')
    (folder / "own_retriever.py").write_text(OWN_RETRIEVER)
    (folder / "conf/retriever").mkdir(exist_ok=True)
    (folder / "conf/retriever/mine.yaml").write_text("defaults: [sparse]\n_target_: own_retriever.Mine\n")
    measured = succeeded(ragsweep("run", "dataset=mine", "retriever=mine"))
    [run] = re.findall(rf"runs/({HEX})", measured.stdout)
    assert ": identical: " in ragsweep("reproduce", run).stdout  # ./conf allows the class
    refused = ragsweep("run", "retriever=mime")
    assert refused.returncode == 2
    assert re.search(r"expected one of .*dense, .*, mine, .* \(did you mean mine\?\)\n$", refused.stderr)
    assert "kept:    questions.json\n" in ragsweep("init").stdout


def test_bash_completes_groups_and_options(swept, folder, shell):
    (folder / "conf/retriever").mkdir(exist_ok=True)
    (folder / "conf/retriever/mine.yaml").touch()
    line = "ragsweep run retriever="
    script = f"""
        eval "$(ragsweep -sc install=bash)"
        COMP_LINE={line!r} COMP_POINT={len(line)} COMP_CWORD={len(line.split()) - 1}
        hydra_bash_completion
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    options = [option.rpartition("=")[2] for option in succeed(["bash", "-c", script], **shell).split()]
    expected = "callable dense fused http hybrid mine pipeline qdrant returned routed run_file sparse three_way"
    assert [option for option in options if option in expected.split()] == expected.split()


def test_help_answers_at_once_as_it_loads_nothing_heavy(ragsweep, shell, monkeypatch):
    monkeypatch.setitem(shell["env"], "PYTHONPROFILEIMPORTTIME", "1")  # a line on stderr for each module
    for command in (name for name in COMMANDS if name != "run"):  # whose help is Hydra's, and composes
        shown = succeeded(ragsweep(command, "--help"))
        assert command in shown.stdout
        lines = shown.stderr.splitlines()
        assert all(line.startswith("import time:") for line in lines), shown.stderr
        loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
        assert "ragsweep" in loaded
        assert {"hydra", "mlflow", "numpy", "pandas", "pydantic"} & loaded == set(), command


def test_the_subcommands_are_listed_and_an_unknown_one_gets_one_line(ragsweep):
    for given in ([], ["--help"]):
        shown = ragsweep(*given)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert re.findall(r"^  ragsweep (\w+) ", shown.stdout, re.MULTILINE) == COMMANDS
    for wrong, line in {
        "comapre": "ragsweep: comapre: no such command (did you mean ragsweep compare?)\n",
        "k=3": "ragsweep: k: no such command (did you mean ragsweep run k=...?)\n",
        "x": f"ragsweep: x: no such command; expected one of {', '.join(COMMANDS)}\n",
    }.items():
        refused = ragsweep(wrong)
        assert (refused.returncode, refused.stdout, refused.stderr) == (2, "", line)


def test_ui_serves_the_runs_of_this_folder_on_loopback_until_ctrl_c(ragsweep, swept, folder, shell):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        refused = ragsweep("ui", "--port", str(port))
        assert refused.returncode == 2
        assert refused.stderr == f"ui: --port: {port} cannot be used (address already in use)\n"
    log, experiment = folder / "ui.log", f"http://127.0.0.1:{port}/ajax-api/2.0/mlflow/experiments/get-by-name"
    with log.open("w") as file:
        ui = ["ragsweep", "ui", "--port", str(port)]
        server = subprocess.Popen(ui, stdout=file, stderr=file, start_new_session=True, **shell)
    try:
        for _ in range(1200):
            assert server.poll() is None, log.read_text()
            try:
                with urllib.request.urlopen(f"{experiment}?experiment_name=cho_manual", timeout=5) as answer:
                    assert b"cho_manual" in answer.read()
                break
            except OSError:
                time.sleep(0.1)
        first = log.read_text().splitlines()[0]
        assert first.startswith(f"the latest sweep: http://127.0.0.1:{port}/#/experiments/")
        assert f"sweep-{swept}" in first
        server.send_signal(signal.SIGINT)
        server.wait(60)
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
