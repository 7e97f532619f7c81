"""The rules of the house: which room may import which, and what a warm run does not load."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from importlib import metadata

import pytest
from application import PROJECT

import ragsweep

SOURCE = PROJECT / "src"
KERNEL = "ragsweep"
PLUGINS = {"ragsweep_answers", "ragsweep_audit", "ragsweep_engines", "ragsweep_generate"}
# The kernel from its top to its bottom: a room imports only rooms below it.
ROOMS = (
    "testing app mlflow production replay race experiment tracking report sweeps tasks retrieval models datasets text "
    "statistics config store core"
).split()
PUBLIC = ("__init__", "__main__", "constraints", "evaluation", "plot")  # names for users, which no room imports
LONGEST = 500  # lines of a file: where it is one noun, a second file would only hide what it is
# The most lines that the Python files of a room may have, with blank ones and comments. Who shrinks a room lowers its
# number; raising one is a line of its own in a commit that says what for.
BUDGETS = {
    "testing": 1050,
    "app": 1701,
    "mlflow": 167,
    "production": 812,
    "replay": 1137,
    "tracking": 3381,
    "report": 2803,
    "sweeps": 2112,
    "tasks": 6803,
    "retrieval": 4513,
    "models": 3107,
    "datasets": 5214,
    "text": 849,
    "statistics": 2107,
    "config": 862,
    "store": 627,
    "core": 1920,
    "ragsweep": 688,  # what lies beside its rooms
    "hydra_plugins": 200,
    "ragsweep_answers": 5515,
    "ragsweep_audit": 4194,
    "ragsweep_engines": 2304,
    "ragsweep_generate": 1271,
    "tests": 39530,
}
PLUGIN_TESTS = ("answers", "audit", "engines", "generate", "plugins")  # folders of tests


def module(path):
    """The dotted name of a file, a package's own file going by the package's name."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module(path): path for path in SOURCE.rglob("*.py")}


@cache
def nodes(path):
    return [*ast.walk(ast.parse(path.read_text()))]


@cache
def imports(path):
    """Every module that a file imports, also inside functions."""
    names = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{name.name}" for name in node.names}
            names |= (inner & MODULES.keys()) or {node.module}
    return names


def package(name):
    return name.partition(".")[0]


def room(name):
    return name.split(".")[1] if "." in name else "__init__"


IN_KERNEL = sorted(name for name in MODULES if package(name) == KERNEL)


def test_a_room_imports_only_rooms_below_it():
    for name in IN_KERNEL:
        above = ROOMS[: ROOMS.index(room(name))] if room(name) not in PUBLIC else ()
        imported = {room(target) for target in imports(MODULES[name]) & {*IN_KERNEL}}
        refused = imported & {*above, *(() if room(name) in PUBLIC else PUBLIC)}
        assert not refused, f"{name} imports {refused}: import from a room below, not names for users"


def test_the_kernel_imports_and_names_no_plugin():
    assert {package(name) for name in MODULES} - {KERNEL, "hydra_plugins"} == PLUGINS
    for name in IN_KERNEL:
        assert not PLUGINS & {package(target) for target in imports(MODULES[name])}, name
        assert not [plugin for plugin in PLUGINS if plugin in MODULES[name].read_text()], name
    for file in (PROJECT / "conf").rglob("*.yaml"):
        assert not [plugin for plugin in PLUGINS if plugin in file.read_text()], file


def test_no_plugin_imports_another_one():
    for name, path in MODULES.items():
        if package(name) in PLUGINS:
            assert not (PLUGINS - {package(name)}) & {package(target) for target in imports(path)}, name


def test_no_files_import_each_other_in_a_circle():
    """A package's own file counts as imported only where it is named, as `from ragsweep.tasks import Task` does."""
    graph = {name: imports(path) & MODULES.keys() - {name} for name, path in MODULES.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError, which shows the circle


OF_MODULES = {"Stemmer": "pystemmer", "bs4": "beautifulsoup4", "dotenv": "python-dotenv", "faiss": "faiss-cpu"}
OF_MODULES |= {"markdown_it": "markdown-it-py", "sklearn": "scikit-learn", "yaml": "pyyaml", "hydra": "hydra-core"}
OF_MODULES |= {"submitit": "hydra-submitit-launcher"}
OF_TESTS = {"pytest"}  # imported by the suites in `ragsweep.testing`, whose users have it


def test_every_package_that_is_imported_is_declared():
    declared = {re.split(r"[^\w.-]", name)[0].lower().replace("_", "-") for name in metadata.requires("ragsweep")}
    ours = {package(name) for name in MODULES}
    imported = {package(name) for path in MODULES.values() for name in imports(path)} - ours - sys.stdlib_module_names
    names = {OF_MODULES.get(name, name.replace("_", "-")) for name in imported - OF_TESTS}
    assert names - declared == set()


WITHOUT_PLUGINS = """
import sys
from importlib import import_module

for name in {names}:
    import_module(name)
sys.argv[0] = "ragsweep"
try:
    import_module("ragsweep.app.main").main()
finally:
    assert not {plugins} & {{*sys.modules}}
"""


@pytest.mark.release
def test_the_kernel_sweeps_without_plugins(application, dataset):
    code = WITHOUT_PLUGINS.format(names=IN_KERNEL, plugins=PLUGINS)
    arguments = application.arguments("-m", *dataset, "retriever=sparse,hybrid", "encoder=wordllama", "k=1,2")
    environment = {**os.environ, "RAGSWEEP_PROJECT": str(PROJECT), "RAGSWEEP_DISABLE_PLUGINS": "1"}
    command = [sys.executable, "-c", code, "run", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=application.home, env=environment)
    assert done.returncode == 0, done.stderr
    assert [run.info.status for run in application.children()] == ["FINISHED"] * 4


def test_no_room_grows():
    """The first folder or file of a path is its room; what lies beside the rooms of the kernel is `ragsweep`."""
    lines = Counter()
    for path in [*MODULES.values(), *(PROJECT / "tests").rglob("*.py")]:
        top, *below = path.relative_to(PROJECT).parts[path.is_relative_to(SOURCE) :]
        lines[below[0] if top == KERNEL and len(below) > 1 else top] += path.read_text().count("\n")
    assert lines.keys() == BUDGETS.keys()
    over = {room: f"{lines[room]:,} lines of {budget:,}" for room, budget in BUDGETS.items() if lines[room] > budget}
    assert not over


def test_no_file_is_long():
    assert [name for name, path in MODULES.items() if len(path.read_text().splitlines()) > LONGEST] == []


# Names that say nothing of what they hold: a variable, argument, function or attribute has the noun of the field.
NO_NAMES = {"each", "found", "known", "said", "others", "its"}
NO_NAMES_IN_SOURCE = NO_NAMES | {
    *("told", "some", "which", "what", "who", "whose", "it", "they"),
    *("here", "there", "same", "whole", "got", "seen", "both", "aside"),
}
RECORDED = {"src/ragsweep/tasks/evaluation_record.py": {"found"}}  # fields of records, whose names are on disk


def names_bound(path):
    """The names that a file gives to things of its own, without underscores around them."""
    for node in nodes(path):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            name = node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = node.name
        else:
            name = node.arg if isinstance(node, ast.arg) else getattr(node, "asname", None)
        yield (name or "").strip("_")


def test_a_name_says_what_it_holds():
    banned = dict.fromkeys(MODULES.values(), NO_NAMES_IN_SOURCE)
    for folder in ("tests", "scripts"):
        banned |= dict.fromkeys((PROJECT / folder).rglob("*.py"), NO_NAMES)
    empty = {str(path.relative_to(PROJECT)): names & {*names_bound(path)} for path, names in banned.items()}
    assert {path: names for path, names in empty.items() if names - RECORDED.get(path, set())} == {}


def test_only_two_rooms_know_mlflow():
    knows = {
        ".".join(name.split(".")[:2])
        for name, path in MODULES.items()
        for target in imports(path)
        if target.partition(".")[0] == "mlflow"
    }
    assert knows == {"ragsweep.mlflow", "ragsweep.tracking"}


def test_the_kernels_tests_import_no_plugin():
    tests = PROJECT / "tests"
    plugins = {path.name for path in SOURCE.glob("ragsweep_*")}
    of_kernel = [path for path in tests.rglob("*.py") if path.relative_to(tests).parts[0] not in PLUGIN_TESTS]
    named = {path.relative_to(tests): {name.partition(".")[0] for name in imports(path)} for path in of_kernel}
    assert {str(path): packages & plugins for path, packages in named.items() if packages & plugins} == {}
    assert plugins <= set().union(*(imported_by(folder) for folder in PLUGIN_TESTS))  # it can find them


def imported_by(folder):
    """The packages that the tests in a folder import."""
    paths = (PROJECT / "tests" / folder).rglob("*.py")
    return {name.partition(".")[0] for path in paths for name in imports(path)}


@pytest.mark.release
def test_a_warm_run_never_imports_torch(shared_application, dataset):
    assert shared_application.run(*dataset).returncode == 0
    process = shared_application.in_new_interpreter("run", *dataset, PYTHONPROFILEIMPORTTIME="1")
    assert process.returncode == 0
    loaded = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
    assert "mlflow" in loaded  # the trace has what it should have
    assert not {"torch", "sentence_transformers", "matplotlib.pyplot"} & loaded


HEAVY = {"torch", "sentence_transformers", "faiss", "mlflow", "scipy", "pandas", "matplotlib"}


@pytest.mark.release
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-m", "k=3,0"], "k: found 0, expected "),
        (["retriever=hybird"], "did you mean hybrid?"),
        (["dataset.documents=nosuch.pdf"], "nosuch.pdf does not exist"),
        (["+dry_run=true"], "would run: defaults"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_input_is_checked_before_heavy_libraries_are_loaded(application, arguments, expected):
    process = application.in_new_interpreter("run", *arguments, PYTHONPROFILEIMPORTTIME="1")
    assert process.returncode == (0 if expected.startswith("would run") else 2)
    assert expected in process.stdout + process.stderr
    loaded = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines() if "|" in line}
    assert "hydra" in loaded  # the trace has what it should have
    assert not HEAVY & loaded


@pytest.mark.usefixtures("processes")
@pytest.mark.release
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


# What objects that are not ours may lack, each in the file that asks: no contract of ours is an attribute by its name.
OF_OTHERS = {
    "__abstractmethods__": {"component"},
    "__dict__": {"component", "identity", "result_reading"},
    "__slots__": {"result_reading"},
    "_fields": {"result_reading"},  # of a named tuple
    "__module__": {"trusted_record", "used_settings"},
    "__file__": {"code"},
    "__path__": {"code"},
    "full_key": {"error_messages"},  # of an error of OmegaConf
    "config": {"torch_model"},  # of a model of torch
    "vocab_size": {"torch_model"},
    "unk_token": {"tokenizer"},  # of a model of tokenizers
    "response": {"tracking_store"},  # of an error of requests
    "status_code": {"tracking_store"},
    "errors": {"terminal"},  # of a stream
    "sched_getaffinity": {"hardware"},  # of a system
    "do_polysemous_training": {"index"},  # of an index of FAISS
    "usage": {"endpoint"},  # of a response, as the next two and the row of an embedding
    "error": {"endpoint"},
    "finish_reason": {"response"},
    "message": {"response"},
    "index": {"endpoint_encoder"},
    "metric": {"metric"},  # of a function that computes one, as the next
    "of_spans": {"needs"},
    "store": {"stages", "ingest"},  # of a component, where what it returns is kept
    "finds_by_name": {"stages"},  # of an ingest or a rewriter, which are stages as rankers are
    "ids": {"datasets"},  # of a tokenizer or a chunker of somebody else's, in the suites
    "unit": {"datasets"},
    "is_worth_keeping": {"kept_responses"},  # of whatever is kept of a reply
    "model": {"language_model"},
}


def test_no_contract_is_an_attribute_by_its_name():
    asked = {}
    for path in (PROJECT / "src").rglob("*.py"):
        for node in nodes(path):
            match node:
                case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[_, ast.Constant(value=name), *_]):
                    asked.setdefault(name, set()).add(path.stem)
    assert asked == OF_OTHERS
