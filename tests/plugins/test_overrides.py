"""What commands do alike with overrides, and groups that nothing uses in a configuration."""

import sys

import pytest

from ragsweep.app.commands import composed
from ragsweep.app.main import main
from ragsweep.config.configuration_walk import Walk
from ragsweep.config.groups import unused_groups
from ragsweep.core.errors import ConfigError
from ragsweep.models.language.smollm2 import SmolLM2Model

COMMANDS = {  # the arguments of a command, a group and a setting of it, and a setting that is interpolated
    "audit": ([], "dataset", "name", "dataset.name"),
    "convert": (["--to", "beir", "--out", "new"], "dataset", "name", "dataset.name"),
    "generate": (["--count", "5", "--out", "new"], "corpus", "path", "seed"),  # takes documents alone
}
BAD = {
    "{group}=nosuch": ": expected one of ",
    "{group}.nosuch=1": "{group}.nosuch: no such setting",
    "{group}.{setting}='a": ": cannot be read as name=value; quote special characters",
    "{group}.{setting}=a,b": ": several values are a sweep",
    "{value}=${{nosuch}}": "nosuch: no value",
}


@pytest.mark.usefixtures("long_work")
def test_bad_overrides_get_one_line_and_status_2(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGSWEEP_PROJECT", str(tmp_path))
    for command, (arguments, group, setting, value) in COMMANDS.items():
        for template, problem in BAD.items():
            override = template.format(group=group, setting=setting, value=value)
            message = problem.format(group=group) if problem[0] != ":" else f"{override}{problem}"
            monkeypatch.setattr(sys, "argv", ["ragsweep", command, override, *arguments])
            with pytest.raises(SystemExit) as end:
                main()
            out, err = capsys.readouterr()
            assert (end.value.code, out) == (2, ""), (command, override)
            [line] = err.splitlines()
            assert message in line, command
    assert [*tmp_path.iterdir()] == []


GROUPS = ["encoder", "fusion", "index", "language_model", "reasoning"]
UNUSED = {
    (): {"language_model"},
    ("retriever=sparse",): {"encoder", "fusion", "index", "language_model"},
    ("query=hyde",): set(),
    ("retriever=sparse", "reranker=encoder"): {"encoder", "fusion", "index", "language_model"},  # it has its own
    ("retriever=sparse", "query=hyde"): {"encoder", "fusion", "index"},
    ("task=answers",): {"language_model", "reasoning"},
    ("task=answers", "answerer=llm"): set(),
}


@pytest.mark.usefixtures("long_work")
def test_a_group_is_used_where_the_task_takes_it_or_something_that_is_used_refers_to_it(monkeypatch):
    monkeypatch.setattr(SmolLM2Model, "__post_init__", lambda self: None)  # looks for its package
    unused = {}
    for overrides in UNUSED:
        walk = Walk(composed([*overrides]))
        walk.build("task")
        unused[overrides] = unused_groups([f"{group}.model" for group in GROUPS], walk.config, walk.mentioned)
    assert unused == UNUSED


@pytest.mark.usefixtures("long_work")
def test_a_group_that_is_not_there_is_refused_by_its_name():
    for override in ("answerer=llm", "classifier=logistic", "questions.path=x"):
        group = override.partition("=")[0].partition(".")[0]
        with pytest.raises(ConfigError, match=f"^{group}[:.]"):
            composed([override])


def test_no_run_is_named_by_a_group_without_effect_and_no_sweep_varies_one(application):
    """Its runs would be the same under other names."""

    def dry(*given):
        return application.script_here("run", *application.arguments(*given, "+dry_run=true"))

    run = dry("retriever=sparse", "encoder=wordllama")
    assert run.stdout == "would run: retriever=sparse\n"
    assert run.stderr.startswith("encoder: no effect")
    swept = dry("-m", "retriever=sparse", "encoder=wordllama,minilm")
    assert (swept.returncode, swept.stdout) == (2, "")
    assert "encoder: sweeping it changes nothing" in swept.stderr
    used = dry("-m", "retriever=sparse,dense", "encoder=wordllama,minilm")
    assert "nothing that is measured uses" not in used.stderr
