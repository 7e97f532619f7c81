"""Prepare the current folder for your own PDF files. What is there already stays as it is.

ragsweep init
"""

from __future__ import annotations

import shlex

from ragsweep.app.commands import parser_of
from ragsweep.core.project import project

DOCUMENTS = "documents"
QUESTIONS = """\
[
  {"query": "What are the symptoms of anaemia?", "relevant_docs": ["30"]},
  {"query": "Who may see the records of a patient?", "relevant_docs": ["manual.pdf#9"], "query_type": "rules"}
]
"""
DATASET = """\
# My PDF files and questions about their pages.
#   ragsweep run dataset=mine
defaults:
  - pdf

name: mine  # names the experiment in MLflow
documents: ${project:documents}
queries: ${project:questions.json}
"""
FILES = {"questions.json": QUESTIONS, "conf/dataset/mine.yaml": DATASET}
NEXT = """
Try it on the bundled manual:
  cd {folder}
  ragsweep run -m retriever.alpha=0,0.5,1 k=3,5
  ragsweep ui

For your own PDF files:
  1. Put them into documents/.
  2. Replace the two examples in questions.json by your questions. relevant_docs names the pages that answer a
     question: "30", or "manual.pdf#30" if several files have a page of that number. query_type is optional.
  3. ragsweep audit dataset=mine    # is something wrong with the questions?
  4. ragsweep run -m dataset=mine retriever.alpha=0,0.5,1 k=3,5

conf/ is the place for your own retrievers, datasets and experiments; ragsweep run --help lists everything."""


def main() -> int:
    """Write what is not there yet, and say what to do next."""
    parser_of("init", __doc__).parse_args()
    folder = project()
    documents = folder / DOCUMENTS
    print(f"{'kept:   ' if documents.is_dir() else 'written:'} {DOCUMENTS}/")
    documents.mkdir(exist_ok=True)
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists():
            print(f"kept:    {name}")
        else:
            file.write_text(text, encoding="utf-8")
            print(f"written: {name}")
    print(NEXT.format(folder=shlex.quote(str(folder))))
    return 0
