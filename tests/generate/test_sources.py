"""Passages are cut from the documents, and spread over documents; a generator is handed nothing else."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seams import Memory, noting, secrets_in

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Document
from ragsweep.datasets.model.collection import Collection
from ragsweep.store.stage_store import NO_STORE
from ragsweep_generate.draft_checks import Checker
from ragsweep_generate.extractive import ExtractiveGenerator
from ragsweep_generate.making import Plan, make, sources_of, spread
from ragsweep_generate.searching import CorpusSearch
from ragsweep_generate.testing import SOURCE_TEXTS, GeneratorContract


def document(name, *pages):
    return Document.from_pages(name, [(str(page), f"{name}#{page}", text) for page, text in enumerate(pages, 1)])


DOCUMENTS = [
    document("long.txt", *(f"fever is page {page} of a long document" for page in range(30))),
    document("short.txt", "fever is also in a short document", "iron is on its second page"),
    document("other.txt", *(f"{topic} is page {page} here" for topic in ("vaccine", "birth") for page in range(3))),
]


@given(st.lists(st.text(alphabet="ab \n.\u00e9", max_size=300), min_size=1, max_size=4), st.integers(10, 80))
def test_a_passage_is_the_text_between_its_offsets(pages, size):
    paged = document("a.txt", *pages)
    try:
        sources = sources_of([paged], size, 1)
    except DatasetError:
        assert not any(page.strip() for page in pages)
        return
    for source in sources:
        assert paged.text[source.start : source.end] == source.text
        assert len(source.text) <= size
        assert "\f" not in source.text  # it is on one page


def test_short_passages_are_left_out_and_a_text_that_cannot_be_written_is_refused():
    paged = document("a.txt", "A title", "One two three four five six.")
    assert [source.page_number for source in sources_of([paged], 100, 5)] == ["2"]
    assert len(sources_of([paged], 100, 2)) == 2
    with pytest.raises(DatasetError, match=r"no passage of 1 documents has 50 words or more \(shortest_passage\)"):
        sources_of([paged], 100, 50)
    with pytest.raises(DatasetError, match=r"the text of document 'a\.txt' contains an invalid surrogate"):
        sources_of([document("a.txt", "half of \ud800 letter")], 100, 1)


def test_documents_take_turns_and_every_passage_comes_once_in_an_order_that_the_seed_decides():
    sources = sources_of(DOCUMENTS, 200, 1)
    eight = [source.document for source in spread(sources, 8, seed=0)]
    assert Counter(eight[:6]) == {"long.txt": 2, "short.txt": 2, "other.txt": 2}
    assert {*eight[6:]} == {"long.txt", "other.txt"}  # the short one is used up
    orders = [spread(sources, len(sources), seed) for seed in (0, 0, 1)]
    assert sorted(orders[0]) == sorted(sources)
    assert orders[0] == orders[1] != orders[2]


def test_nothing_that_a_generator_is_handed_leads_to_judgments():
    with noting([(ExtractiveGenerator, "draft")]) as noted:
        attack = Document.from_pages("told.md", [("1", "told.md#1", " ".join(SOURCE_TEXTS))])
        sources = sources_of((*Memory(cases=True).load().documents, attack), 2000, 3)
        checker = Checker(CorpusSearch(sources, None, NO_STORE))
        make(ExtractiveGenerator(), sources, checker, Plan(2, 0, (), 5, 2000, 3, 0))
    [calls] = noted.values()
    assert calls
    assert [type(secret) for call in calls for secret in secrets_in(call, Collection)] == []


class TestExtractive(GeneratorContract):
    component = ExtractiveGenerator
