"""The pages of docs/: their commands compose, their code compiles, and their recipes pass the conformance suites."""

import ast
import os
import pkgutil
import re
import shlex
import shutil
from functools import cache
from importlib import import_module

import hydra
import pytest
import yaml
from application import COMMAND, PROJECT, PYTEST
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf
from warm import Process

import ragsweep
from ragsweep.app.commands.records import PAIR_FILES
from ragsweep.app.main import commands
from ragsweep.core.project import CONF, register_resolvers

PAGES = {path.name: path.read_text() for path in sorted((PROJECT / "docs").glob("*.md"))}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    (ragsweep .*)$", re.MULTILINE)
OF_YAML = re.compile(r"^#   (ragsweep .*)$", re.MULTILINE)
SLOW = "killed or computed_can_be_found_again"  # tests of the suites that start processes
CHOOSING = ("task", "dataset", "corpus", "questions", "experiment", "strategy")  # groups that choose options of others
MOST_WORDS, MOST_PAGES = 25_000, 16
SETTING = re.compile(r"[+~]{0,2}[a-z][\w./]*(@[\w.]+)?=|~[a-z]")


def blocks(*languages):
    blocks = [(page, *block) for page, whole in PAGES.items() for block in BLOCK.findall(whole)]
    return [
        pytest.param(text, id=f"{page}: {text.splitlines()[0]}") for page, kind, text in blocks if kind in languages
    ]


def typed():
    """The arguments of every command of ragsweep in a block, an indented line or a YAML, and its first page."""
    places = {}
    for page, whole in PAGES.items():
        typed = "".join(text for language, text in BLOCK.findall(whole) if language in ("sh", "bash"))
        for line in [
            *typed.replace("\\\n", " ").splitlines(),
            *INDENTED.findall(BLOCK.sub("", whole)),
            *OF_YAML.findall(whole),
        ]:
            if line.startswith("ragsweep "):
                places.setdefault(tuple(shlex.split(line.partition(" | ")[0], comments=True)[1:]), page)
    return [pytest.param(arguments, id=f"{page}: {' '.join(arguments)}") for arguments, page in places.items()]


@pytest.fixture(scope="module")
def loader(tmp_path_factory):
    """Hydra in a project that has the options which the pages ask their reader to write."""
    project = tmp_path_factory.mktemp("project")
    for _, text in (block for page in PAGES.values() for block in BLOCK.findall(page)):
        if option := re.match(r"(?:# @package _global_\n)?# (conf/\S+)\n", text):
            (project / option[1]).parent.mkdir(parents=True, exist_ok=True)
            (project / option[1]).write_text(text)
    (project / "conf/dataset/mine.yaml").write_text("defaults: [pdf]\n")  # as `ragsweep init` writes it
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAGSWEEP_PROJECT", str(project))
        register_resolvers()
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            yield GlobalHydra.instance().config_loader()


@cache
def composed(primary, choices):
    return hydra.compose(primary, [*choices])


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("arguments", typed())
def test_a_command_names_options_and_settings_that_there_are(arguments, loader):
    name, *rest = arguments
    assert name in commands()
    choices = {}
    settings = []
    for override in OverridesParser.create().parse_overrides([*filter(SETTING.match, rest)]):
        options = loader.get_group_options(override.key_or_group)
        if options:
            values = [*override.sweep_string_iterator()] if override.is_sweep_override() else [override.value()]
            chosen = [str(value).partition("\\:")[0] for value in values]  # without settings of its own
            assert {*chosen} <= {*options}
            choices[override.key_or_group] = f"{override.input_line.partition('=')[0]}={chosen[0]}"
        elif not (override.is_add() or override.is_hydra_override() or override.value() == "RUN_ID"):  # no setting
            settings.append(override.key_or_group)
    needed = {*CHOOSING, *(setting.partition(".")[0] for setting in settings)}
    chosen = tuple(choice for group, choice in choices.items() if group in needed)
    for setting in settings:
        config = composed("generate" if name == "generate" else "config", chosen)
        above, _, key = setting.rpartition(".")
        node = OmegaConf.select(config, above) if above else config
        own_names = OmegaConf.is_dict(node) and not node  # a mapping that the user fills
        assert own_names or key in node or OmegaConf.is_missing(node, key), setting


def test_the_documents_have_at_most_16_pages_and_25_000_words():
    pages = [*PAGES.values(), *((PROJECT / name).read_text() for name in ("README.md", "CONTRIBUTING.md"))]
    assert sum(len(page.split()) for page in pages) <= MOST_WORDS
    assert len(PAGES) <= MOST_PAGES


def test_a_command_has_flags_that_there_are():
    source = "".join(path.read_text() for path in (PROJECT / "src").rglob("*.py"))
    flags = {flag for command in typed() for flag in command.values[0] if flag.startswith("--")}
    assert len(flags) > 20
    tables = {f"--{name}" for name in PAIR_FILES}
    assert {flag for flag in flags - tables if f'"{flag}"' not in source} == set()


@pytest.mark.parametrize("text", blocks("python", "py"))
def test_code_compiles(text):
    compile(text, "page", "exec")


@pytest.mark.parametrize("text", blocks("json", "yaml"))
def test_data_can_be_read(text):
    assert yaml.safe_load(text)  # JSON is YAML, too


def names_of_the_reference():
    """The modules and objects with an entry in the reference of Python."""
    text = "".join(path.read_text() for path in (PROJECT / "docs/reference/api").glob("*.md"))
    return {*re.findall(r"^::: ([\w.]+)$", text, re.MULTILINE)}


def test_every_room_with_public_names_is_in_the_reference():
    shown = names_of_the_reference()
    rooms = [module.name for module in pkgutil.iter_modules(ragsweep.__path__, "ragsweep.") if module.ispkg]
    public = {name for name in rooms if getattr(import_module(name), "__all__", ())}
    assert {"ragsweep", "ragsweep.evaluation", "ragsweep.retrieval"} <= shown
    assert public <= shown


def test_what_documents_and_the_plugin_of_the_tests_import_is_public():
    shown = names_of_the_reference()
    letters = [path.read_text() for path in (PROJECT / "tests/plugins/letters").rglob("*.py")]
    texts = [*(text for block in blocks("python", "py") for text in block.values), *letters]
    imports = [node for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    ours = re.compile(r"ragsweep(_(answers|audit|engines|generate))?(\.|$)")
    used = {(node.module, alias.name) for node in imports for alias in node.names if ours.match(node.module)}
    assert len(used) > 20
    assert {f"{module}.{name}" for module, name in used if not {module, f"{module}.{name}"} & shown} == set()


@pytest.mark.usefixtures("processes")
@pytest.mark.release
def test_the_recipes_pass_their_conformance_suites(tmp_path):
    for language, text in BLOCK.findall(PAGES["recipes.md"].partition("## Retrievers that you have")[0]):
        if language == "python" and (name := re.match(r"# (\w+\.py)\n", text)):
            (tmp_path / name[1]).write_text(text)
    assert [*tmp_path.glob("test_*.py")]
    given = ["-n0", "-q", "-k", f"not ({SLOW})", "."]
    process = Process(PYTEST, given, tmp_path, {**os.environ, "PYTHONPATH": str(tmp_path)})
    stdout, _ = process.communicate(timeout=300)
    assert process.returncode == 0, stdout


@pytest.mark.usefixtures("processes")
@pytest.mark.release
def test_the_recipe_of_a_task_is_recorded_although_it_has_no_charts(tmp_path, empty_database):
    for _, text in BLOCK.findall(PAGES["recipes.md"]):
        name = text.splitlines()[0].removeprefix("# ")
        if name in ("lengths.py", "conf/task/lengths.yaml"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
    [command] = [line for line in OF_YAML.findall(PAGES["recipes.md"]) if "task=lengths" in line]
    arguments = [
        argument for argument in shlex.split(command)[1:] if argument != "-m" and not argument.startswith("chunker=")
    ]
    (tmp_path / "mlruns").mkdir()
    shutil.copy(empty_database, tmp_path / "mlruns")
    process = Process(COMMAND, arguments, tmp_path, {**os.environ, "RAGSWEEP_PROJECT": str(tmp_path)})
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    assert "short_enough" in stdout
