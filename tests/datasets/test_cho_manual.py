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
def build_manual(drawing):
    import build_manual

    return build_manual


@pytest.fixture(scope="module")
def relevant(manual):
    """Indices of the pages that answer each question."""
    pages = {page.unit: page.page for page in manual.documents[0].pages}
    found = {query.query_id: [] for query in manual.queries}
    for judgment in manual.judgments:
        found[judgment.query_id].append(pages[judgment.unit])
    return found


def content_words(text):
    return {STEM(word) for word in words(text) if word not in LUCENE_STOP_WORDS}


def test_the_manual_has_at_least_120_pages(manual):
    assert len(manual.documents[0].pages) >= 120


def test_every_page_has_text(manual_pages):
    assert manual_pages.empty_pages == ()


@pytest.mark.usefixtures("long_work")
def test_no_two_pages_share_a_third_of_their_word_5_grams(manual_pages):
    of_pages = [words(text) for text in manual_pages.texts]
    grams = [set(zip(*(page[n:] for n in range(5)), strict=False)) for page in of_pages]
    assert all(len(one & other) <= min(len(one), len(other)) / 3 for one, other in combinations(grams, 2))


def test_the_pdf_is_what_its_sources_give(build_manual, manual, tmp_path):
    build_manual.build(build_manual.manual_pages(), tmp_path / "cho_training_manual.pdf")
    queries = PROJECT / "data" / "cho_manual" / "test_queries.json"
    assert pdf_dataset("rebuilt", str(tmp_path), str(queries)).load().documents == manual.documents


def test_there_are_133_questions(manual):
    assert len(manual.queries) == 133


def test_no_question_is_asked_twice(manual):
    assert len({query.text.lower() for query in manual.queries}) == 133


def test_each_type_has_at_least_25_questions(manual):
    types = Counter(query.query_type for query in manual.queries)
    assert types.keys() == {"factual", "procedural", "diagnostic", "conceptual"}
    assert min(types.values()) >= 25


def test_one_to_four_pages_answer_a_question(relevant):
    assert all(1 <= len(pages) <= 4 for pages in relevant.values())


def test_at_least_35_questions_need_several_pages(relevant):
    assert sum(len(pages) >= 2 for pages in relevant.values()) >= 35


def test_at_least_30_questions_share_no_content_word_with_the_headings_of_their_pages(build_manual, manual, relevant):
    headings = [content_words(page.heading) for page in build_manual.manual_pages()]
    strangers = [
        query
        for query in manual.queries
        if content_words(query.text).isdisjoint(set().union(*(headings[page] for page in relevant[query.query_id])))
    ]
    assert len(strangers) >= 30


def test_at_least_20_questions_hold_an_exact_code_dose_or_abbreviation(manual):
    assert sum(bool(CODE_DOSE_OR_ABBREVIATION.search(query.text)) for query in manual.queries) >= 20
