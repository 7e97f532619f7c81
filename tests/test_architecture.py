"""The rules of the house: which room may import which, and what a warm run does not load."""

import ast
import subprocess
import sys

import pytest
from application import PROJECT

import ragsweep

SOURCE = PROJECT / "src" / "ragsweep"


def imports(folder):
    """Every module that the files of a folder import, also inside functions."""
    found = set()
    for path in [folder] if folder.is_file() else folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                found |= {node.module} | {f"{node.module}.{name.name}" for name in node.names}
    return found


@pytest.mark.parametrize("room", ["evaluation", "report"])
@pytest.mark.parametrize("forbidden", ["retrieval", "tracking", "experiment", "cli"])
def test_evaluation_and_report_stay_pure(room, forbidden):
    assert not any(name.startswith(f"ragsweep.{forbidden}") for name in imports(SOURCE / room))


def test_only_tracking_knows_mlflow():
    others = [path for path in SOURCE.iterdir() if path.name not in ("tracking", "__pycache__")]
    assert not any(name.partition(".")[0] == "mlflow" for path in others for name in imports(path))


def test_a_warm_run_never_imports_torch(shared_application, dataset):
    assert shared_application.run(*dataset).returncode == 0
    process = shared_application.in_new_interpreter("run.py", *dataset, PYTHONPROFILEIMPORTTIME="1")
    assert process.returncode == 0
    loaded = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
    assert "mlflow" in loaded  # the trace has what it should have
    assert not {"torch", "sentence_transformers", "matplotlib.pyplot"} & loaded


@pytest.mark.parametrize(
    ("code", "unneeded"),
    [
        (
            "import ragsweep; assert {'evaluate', 'runs', 'per_query'} <= set(dir(ragsweep))",
            {"mlflow", "pandas", "torch"},
        ),
        ("import ragsweep; ragsweep.evaluate({'q': ['a']}, {'q': ['a']})", {"mlflow", "hydra", "torch"}),
        ("import ragsweep; ragsweep.runs; ragsweep.per_query", {"torch"}),
    ],
    ids=["import", "evaluate", "runs"],
)
def test_the_library_loads_only_what_is_used(code, unneeded):
    loaded = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "ragsweep" in loaded
    assert not unneeded & set(loaded)


def test_a_name_that_the_library_lacks_is_an_attribute_error():
    assert not hasattr(ragsweep, "evaluates")
