"""What the subcommands do alike."""

import sys

import pytest

from ragsweep.app.main import main

COMMANDS = {
    "audit": [],
    "convert": ["--to", "beir", "--out", "new"],
    "generate": ["--count", "5", "--out", "new"],
}
BAD = {
    "dataset=nosuch": "dataset=nosuch: expected one of ",
    "dataset.nosuch=1": "dataset.nosuch: no such setting",
    "dataset.name='a": "dataset.name='a: cannot be read as name=value; quote special characters",
    "dataset.name=a,b": "dataset.name=a,b: several values are a sweep",
    "dataset.name=${nosuch}": "nosuch: no value",
}
BAD_DOCUMENTS = {  # of a command that takes documents alone
    "corpus=nosuch": "corpus=nosuch: expected one of ",
    "corpus.nosuch=1": "corpus.nosuch: no such setting",
    "corpus.path='a": "corpus.path='a: cannot be read as name=value; quote special characters",
    "corpus.path=a,b": "corpus.path=a,b: several values are a sweep",
    "seed=${nosuch}": "nosuch: no value",
}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a subcommand in a new folder: its status, and what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGSWEEP_PROJECT", str(tmp_path))

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["ragsweep", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, *capsys.readouterr()

    return command


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("command", COMMANDS)
def test_bad_overrides_get_one_line_and_status_2(tmp_path, run, command):
    for override, message in (BAD_DOCUMENTS if command == "generate" else BAD).items():
        status, out, err = run(command, override, *COMMANDS[command])
        assert (status, out) == (2, "")
        [line] = err.splitlines()
        assert message in line
    assert [*tmp_path.iterdir()] == []
