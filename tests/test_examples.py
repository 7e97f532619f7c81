"""The example notebooks print what is stored in them."""

import json
import os

import pytest
from application import PROJECT
from warm import Process

BETWEEN_CELLS = "\n---- next cell ----\n"
NOTEBOOKS = sorted((PROJECT / "examples").glob("*.ipynb"))


@pytest.mark.usefixtures("processes")
@pytest.mark.release
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_stored_in_it(path, tmp_path):
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    separated = f"\nprint(end={BETWEEN_CELLS!r})\n".join("".join(cell["source"]) for cell in cells)
    (tmp_path / "notebook.py").write_text(separated)
    process = Process(tmp_path / "notebook.py", [], tmp_path, {**os.environ})
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    for printed, cell in zip(stdout.split(BETWEEN_CELLS), cells, strict=True):
        stored = "".join(text for output in cell["outputs"] for text in output["text"])
        assert without_latency(printed) == without_latency(stored)


def without_latency(printed: str) -> list[str]:
    """The lines without those that say when and beside what load latency was measured."""
    return [line for line in printed.split("\n") if not line.startswith("Latency")]
