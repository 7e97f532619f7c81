"""A plugin that nothing of ours knows, installed from its own package, and plugins that cannot be used."""

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pandas as pd
import pytest

from ragsweep.app import main
from ragsweep.core import plugins
from ragsweep.core.errors import ConfigError
from ragsweep.core.plugins import Command, Plugin
from ragsweep.tasks import run_check

LETTERS = Path(__file__).parent / "letters"


@pytest.fixture(scope="module")
def installed(processes, tmp_path_factory):
    """The environment in which the plugin is installed."""
    site = tmp_path_factory.mktemp("site")
    install = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--target", site, LETTERS]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    return {"PYTHONPATH": str(site)}


def ragsweep(folder, site, *given):
    environment = {**os.environ, "PYTHONPATH": str(site), "RAGSWEEP_PROJECT": str(folder)}
    command = [sys.executable, "-m", "ragsweep", *given]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.release
def test_a_plugin_adds_a_command(installed, tmp_path):
    lines = ragsweep(tmp_path, installed["PYTHONPATH"], "--help").stdout.splitlines()
    at = lines.index("letters: retrieval by letters")
    assert lines[at + 1].split()[:2] == ["ragsweep", "letters"]
    assert ragsweep(tmp_path, installed["PYTHONPATH"], "letters", "Iron for two?").stdout == "10 letters\n"


@pytest.fixture(scope="module")
def letters_sweep(installed, shared_application, dataset):
    """A sweep over the group and with the retriever of the plugin."""
    swept = ["-m", *dataset, "retriever=letters", "alphabet=latin,vowels", "k=3"]
    process = shared_application.in_new_interpreter("run", *swept, **installed)
    assert process.returncode == 0, process.stderr
    return shared_application


@pytest.mark.release
def test_a_plugin_adds_a_group_a_retriever_and_a_check_of_a_run(installed, letters_sweep, dataset):
    runs = letters_sweep.children()
    assert {run.data.params["alphabet.letters"] for run in runs} == {"abcdefghijklmnopqrstuvwxyz", "aeiou"}
    assert {run.data.params["retriever"] for run in runs} == {"LettersRetriever"}
    report = (letters_sweep.artifacts(letters_sweep.parents()[0]) / "report.md").read_text()
    assert " of the characters of the questions are vowels." in report
    sparse = [*dataset, "retriever=sparse"]
    refused = letters_sweep.in_new_interpreter("run", *sparse, "vowels.least=0.9", **installed)
    assert refused.returncode == 3
    assert "vowels.least does not accept" in refused.stderr


@pytest.mark.release
def test_a_run_of_a_plugin_is_reproduced(installed, letters_sweep, dataset):
    """A record may name the classes of an installed plugin."""
    run_id = letters_sweep.children()[0].info.run_id
    again = letters_sweep.in_new_interpreter("reproduce", run_id, *dataset[2:], **installed)
    assert again.returncode == 0, again.stderr
    assert "identical: " in again.stdout
    without = letters_sweep.script("reproduce", run_id, *dataset[2:])
    assert without.returncode == 2
    assert "ragsweep_letters.components.LettersRetriever may not be built from a record" in without.stderr


@pytest.mark.release
def test_a_plugin_adds_a_task(installed, application):
    process = application.in_new_interpreter("run", "-m", "task=coverage", "alphabet=latin,vowels", **installed)
    assert process.returncode == 0, process.stderr
    covered = {run.data.params["alphabet.letters"]: run.data.metrics["covered"] for run in application.children()}
    assert covered["abcdefghijklmnopqrstuvwxyz"] == 1
    assert covered["aeiou"] == pytest.approx((2 / 4 + 2 / 3 + 0) / 3)
    table = pd.read_csv(application.artifacts(application.children()[0]) / "results/per_query.csv")
    assert [*table["query"]] == ["iron", "tea", "rhythm"]


@pytest.fixture
def pointing(monkeypatch):
    """Lets the entry points of plugins be others."""

    def to(*values):
        points = tuple(EntryPoint("broken", value, plugins.GROUP) for value in values)
        monkeypatch.setattr(plugins, "entry_points", lambda group: points if group == plugins.GROUP else ())
        plugins.plugins.cache_clear()

    yield to
    plugins.plugins.cache_clear()


def test_a_plugin_that_cannot_be_used_is_named_and_all_can_be_left_out(pointing, monkeypatch, tmp_path):
    (tmp_path / "ends_python.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    reasons = {
        "nosuch.module:PLUGIN": "cannot be loaded (ModuleNotFoundError: No module named 'nosuch')",
        "json:PLUGIN": "cannot be loaded (AttributeError: ",
        "json:loads": "is a function, expected a ragsweep Plugin",
        "ends_python:PLUGIN": "cannot be loaded (SystemExit: 0)",
    }
    for value, reason in reasons.items():
        pointing(value)
        with pytest.raises(ConfigError) as error:
            plugins.plugins()
        assert str(error.value).startswith(f"plugin broken: {value} {reason}")
    monkeypatch.setenv(plugins.DISABLED, "1")
    assert plugins.plugins() == {}


@pytest.mark.release
@pytest.mark.usefixtures("processes")
def test_a_broken_plugin_ends_every_command_in_one_line(tmp_path):
    """It is somebody else's package, which the user can leave out."""
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{plugins.GROUP}]\nbroken = nosuch:PLUGIN\n")
    for given in (["--help"], ["run"], ["gate", "x"]):
        process = ragsweep(tmp_path, tmp_path, *given)
        assert (process.returncode, process.stdout) == (2, "")
        [line] = process.stderr.splitlines()
        assert line.startswith("ragsweep: plugin broken: nosuch:PLUGIN cannot be loaded")
        assert line.endswith("set RAGSWEEP_DISABLE_PLUGINS=1 to start without plugins")


def test_parts_of_a_plugin_that_are_not_there_or_are_there_already_are_named(pointing, monkeypatch, tmp_path):
    broken = {
        r"its configuration folder .*nosuch does not exist": Plugin("", conf=tmp_path / "nosuch"),
        "its default nogroup=no is no file": Plugin("", defaults={"nogroup": "no"}),
    }
    for reason, plugin in broken.items():
        monkeypatch.setattr(EntryPoint, "load", lambda self, plugin=plugin: plugin)
        pointing("broken:PLUGIN")
        with pytest.raises(ConfigError, match=f"plugin broken: {reason}"):
            plugins.plugins()
    pointing("one:PLUGIN", "other:PLUGIN")
    with pytest.raises(ConfigError, match="plugin broken: two installed packages have a plugin of this name"):
        plugins.plugins()
    plugin = Plugin("", commands={"count": Command("", "")}, checks={"vowels": "json:loads"})
    both, replacing = {"one": plugin, "two": plugin}, {"one": Plugin("", commands={"compare": Command("", "")})}
    absent = {"one": Plugin("", checks={"vowels": "json:Vowels"})}
    refused = [
        (run_check, run_check.installed_checks, absent, r"one: its check json:Vowels cannot be loaded \(AttributeErr"),
        (run_check, run_check.installed_checks, both, "two: another plugin has the check 'vowels', too"),
        (main, main.commands, both, "two: the command 'count' is there already"),
        (main, main.commands, replacing, "one: the command 'compare' is there already"),
    ]
    for module, read, installed, reason in refused:
        monkeypatch.setattr(module, "plugins", lambda installed=installed: installed)
        with pytest.raises(ConfigError, match=f"^plugin {reason}"):
            read()
