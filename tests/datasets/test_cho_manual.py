"""The bundled manual and its questions have the documented properties."""

import re
from collections import Counter
from itertools import combinations

import pytest
import Stemmer
from application import PROJECT

from ragsweep.datasets import pdf_dataset
from ragsweep.text.stop_words import LUCENE_STOP_WORDS
from ragsweep.text.tokens import words

STEM = Stemmer.Stemmer("english").stemWord
CODE_DOSE_OR_ABBREVIATION = re.compile(r"\b[A-Z]{2,}|\b[A-Z]-\d|\d (?:mg|mcg|g|ml|IU)\b")


@pytest.fixture(scope="module")
def relevant(manual):
    """Indices of the pages that answer each question."""
    pages = {page.unit: page.page for page in manual.documents[0].pages}
    pages_of = {query.query_id: [] for query in manual.queries}
    for judgment in manual.judgments:
        pages_of[judgment.query_id].append(pages[judgment.unit])
    return pages_of


def test_the_manual_and_its_questions_have_the_documented_numbers(manual, manual_pages, relevant):
    assert len(manual.documents[0].pages) >= 120
    assert manual_pages.empty_pages == ()
    assert len(manual.queries) == len({query.text.lower() for query in manual.queries}) == 133
    types = Counter(query.query_type for query in manual.queries)
    assert types.keys() == {"factual", "procedural", "diagnostic", "conceptual"}
    assert min(types.values()) >= 25
    pages = Counter(map(len, relevant.values()))
    assert {*pages} <= {1, 2, 3, 4}
    assert pages.total() - pages[1] >= 35
    assert sum(bool(CODE_DOSE_OR_ABBREVIATION.search(query.text)) for query in manual.queries) >= 20


@pytest.mark.usefixtures("long_work")
def test_no_two_pages_share_a_third_of_their_word_5_grams(manual_pages):
    of_pages = [words(text) for text in manual_pages.texts]
    grams = [set(zip(*(page[n:] for n in range(5)), strict=False)) for page in of_pages]
    assert all(len(one & other) <= min(len(one), len(other)) / 3 for one, other in combinations(grams, 2))


def content_words(text):
    return {STEM(word) for word in words(text) if word not in LUCENE_STOP_WORDS}


@pytest.mark.usefixtures("drawing")
def test_the_pdf_is_what_its_sources_give_and_30_questions_share_no_word_with_the_headings_of_their_pages(
    manual, relevant, tmp_path
):
    import build_manual

    pages = build_manual.manual_pages()
    build_manual.build(pages, tmp_path / "cho_training_manual.pdf")
    queries = PROJECT / "data" / "cho_manual" / "test_queries.json"
    assert pdf_dataset("rebuilt", str(tmp_path), str(queries)).load().documents == manual.documents
    headings = [content_words(page.heading) for page in pages]
    of_query = {key: set().union(*(headings[page] for page in places)) for key, places in relevant.items()}
    strangers = [query for query in manual.queries if content_words(query.text).isdisjoint(of_query[query.query_id])]
    assert len(strangers) >= 30
