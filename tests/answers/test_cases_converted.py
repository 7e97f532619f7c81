"""Cases in the layout of BEIR."""

import pytest
from application import PROJECT
from conversions import converted, metrics

from ragsweep.datasets import RecursiveChunker
from ragsweep_answers.cases import CaseColumns, CasesDataset

PAGES = ("Iron tablets, daily.", "", "Birth plan; worms.")


@pytest.mark.usefixtures("long_work")
def test_the_bundled_cases_give_the_same_numbers_as_questions(tmp_path):
    data, own = PROJECT / "data", {"id": "id", "relevant": "relevant_docs", "answer": "correct_answer"}
    columns = CaseColumns(**own, case="clinical_case", specialty="specialty")
    cases = CasesDataset("cases", str(data / "clinical_cases/cases.json"), columns, str(data / "cho_manual/documents"))
    collection = cases.load()
    lost, again = converted(tmp_path, collection)
    assert f"the options and answers of {len(collection.cases)} multiple-choice cases" in lost
    assert metrics(again, RecursiveChunker()) == metrics(collection, RecursiveChunker())
