"""Our answerers and datasets of cases pass the conformance suites."""

from typing import ClassVar

import pytest
import small
from letters import LetterEncoder

from ragsweep.testing import (
    DatasetContract,
)
from ragsweep_answers.answering import EvidenceAnswerer
from ragsweep_answers.cases import CaseColumns, CasesDataset
from ragsweep_answers.testing import AnswererContract


class TestCases(DatasetContract):
    component = CasesDataset
    settings: ClassVar = {"columns": CaseColumns(options=["a", "b"], relevant="page")}

    @pytest.fixture(autouse=True)
    def dataset(self, tmp_path):
        small.write_pdf(tmp_path / "a.pdf", ["Fever is hot."])
        (tmp_path / "cases.csv").write_text("question,a,b,answer,page\nWhat is hot?,Fever,Ice,A,1\n")
        files = {"cases": str(tmp_path / "cases.csv"), "documents": str(tmp_path / "a.pdf")}
        type(self).settings = {**TestCases.settings, "name": "small", **files}


class TestCasesWithoutDocuments(TestCases):
    @pytest.fixture(autouse=True)
    def without(self, dataset):
        type(self).settings = {**type(self).settings, "documents": None}


class TestEvidence(AnswererContract):
    component = EvidenceAnswerer
    settings: ClassVar = {"encoder": LetterEncoder()}
