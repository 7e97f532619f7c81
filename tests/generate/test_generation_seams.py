"""What a generator is handed leads to no questions and no judgments that a dataset already has."""

from seams import Memory, noting, secrets_in

from ragsweep.datasets.model.collection import Collection, Document
from ragsweep.store.stage_store import NO_STORE
from ragsweep_generate.draft_checks import Checker
from ragsweep_generate.extractive import ExtractiveGenerator
from ragsweep_generate.making import Plan, make, sources_of
from ragsweep_generate.searching import CorpusSearch
from ragsweep_generate.testing import SOURCE_TEXTS


def test_nothing_that_a_generator_is_handed_leads_to_judgments():
    with noting([(ExtractiveGenerator, "draft")]) as noted:
        told = Document.from_pages("told.md", [("1", "told.md#1", " ".join(SOURCE_TEXTS))])
        sources = sources_of((*Memory(cases=True).load().documents, told), 2000, 3)
        checker = Checker(CorpusSearch(sources, None, NO_STORE))
        make(ExtractiveGenerator(), sources, checker, Plan(2, 0, (), 5, 2000, 3, 0))
    [calls] = noted.values()
    assert calls
    assert [type(each) for call in calls for each in secrets_in(call, Collection)] == []
