"""The audit says for how many queries nothing is found."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Query
from ragsweep.retrieval import (
    Ranker,
    Ranking,
    Search,
    SparseRetriever,
    ranked,
)
from ragsweep.store.stage_store import NO_STORE
from ragsweep_audit.dataset_audit import audit
from ragsweep_audit.findings.finding import Audited

SPARSE = SparseRetriever(NO_STORE)
TEXTS = ("iron tablets", "iron and tea", "rest", "sleep")  # iron is in exactly half of them
FOUND, UNKNOWN, WEIGHTLESS, WORDLESS = "tea", "Eisen", "iron", "?!"


@dataclass(frozen=True)
class Everything(Ranker):
    """Ranks the whole corpus for every query."""

    def rank(self, search: Search, depth: int) -> Ranking:
        rows = np.tile(np.arange(len(search.passages)), (len(search.queries), 1))
        return ranked(rows, -rows.astype(float), depth)


def items_of(*queries):
    documents = tuple(Document.from_pages(text, [("1", text, text)]) for text in TEXTS)
    asked = tuple(Query(f"q{number}", text) for number, text in enumerate(queries))
    judgments = tuple(Judgment(query.query_id, TEXTS[0], 1) for query in asked)
    return Dataset.from_collection(Collection("small", "document", documents, asked, judgments), PageChunker())


@pytest.mark.parametrize(
    ("retriever", "count"), [(SPARSE, 2), (replace(SPARSE, backend="bm25s"), 1), (Everything(), 0), (None, 0)]
)
def test_the_audit_has_a_finding(retriever, count):
    items = items_of(UNKNOWN, WEIGHTLESS, FOUND, "tablets")
    found = audit(Audited(items, retriever=retriever)).findings
    silent = [each for each in found if each.kind == "nothing_found"]
    assert sum(each.count for each in silent) == count
    assert {each.out_of for each in silent} <= {4}
