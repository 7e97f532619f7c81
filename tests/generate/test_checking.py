"""Passages of documents, what becomes of drafts, where their references are, and which sentences are asked for."""

# ruff: noqa: RUF001

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st
from letters import LetterEncoder
from rank_bm25 import BM25Okapi
from seams import Memory, noting, secrets_in

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Document
from ragsweep.datasets.model.collection import Collection
from ragsweep.store.stage_store import NO_STORE
from ragsweep.text.stop_words import LUCENE_STOP_WORDS
from ragsweep_generate.draft_checks import SHORTEST_REFERENCE, Checker, flaw_of_form, locate
from ragsweep_generate.drafts import UNANSWERABLE, Draft, Generator, GeneratorError, Request, Source
from ragsweep_generate.extractive import ExtractiveGenerator, telling
from ragsweep_generate.question_set import Plan, make, sources_of, spread
from ragsweep_generate.searching import CorpusSearch
from ragsweep_generate.testing import SOURCE_TEXTS, GeneratorContract

TEXTS = (
    "Paracetamol lowers fever. A child of ten kilograms needs 150 mg of paracetamol every six hours.",
    "Iron tablets are taken daily with lemon water. Tea and milk stop the body from taking up iron.",
    "Measles vaccine is given at nine months, and again at sixteen months, under the skin of the right arm.",
    "Zinc shortens diarrhoea. It is given for fourteen days, dissolved in breast milk or clean water.",
    "For fever, a child who weighs ten kilograms needs paracetamol: 150 mg, every six hours, as described before.",
)
SOURCES = [Source("m.txt", str(page), 200 * page, 200 * page + len(text), text) for page, text in enumerate(TEXTS)]
PLAN = Plan(4, 0, (), 5, 2000, 5, 0)
ZINC = Draft("For how long is zinc given?", ("It is given for fourteen days",))


def checker(encoder=None, sources=SOURCES):
    return Checker(CorpusSearch(sources, encoder, NO_STORE))


def outcome(draft, source=SOURCES[3], query_type="factual", by=None):
    [result] = (by or checker()).check([Request(source, query_type)], [draft])
    return result


def failed(draft, **settings):
    return outcome(draft, **settings).check


# Passages


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


# Drafts

FAULTS = [  # a question, its references, its type, and the check that it fails
    (ZINC.question, ZINC.references, "factual", ""),
    ("", (), "factual", "response"),
    ("zinc?", ZINC.references, "factual", "form"),
    ("For how long is it given in the passage?", ZINC.references, "factual", "context"),
    (ZINC.question, (), "factual", "reference"),
    (ZINC.question, ("It is given for forty days and nights",), "factual", "reference"),
    ("Who won the football match yesterday?", ZINC.references, "factual", "subject"),
    ("What does a course of zinc cost in Norway?", (), UNANSWERABLE, ""),
    ("Does zinc shorten diarrhoea with clean water?", (), UNANSWERABLE, "elsewhere"),
    (ZINC.question, ZINC.references, UNANSWERABLE, "reference"),
    ("Who won the football match yesterday?", (), UNANSWERABLE, "subject"),
]


def test_a_draft_fails_the_check_of_its_fault():
    for question, references, query_type, check in FAULTS:
        draft = Draft(question, references, "" if question else "the model refused")
        assert failed(draft, query_type=query_type) == check, question
    assert "forty days" in outcome(Draft(ZINC.question, ("It is given for forty days and nights",))).reason
    flaws = {"  ": "it is empty", "What is it?": "fewer than 2 words of content", "why " * 100: "more than 300"}
    flaws |= {"What is \ud800 iron tea?": "surrogate"}
    assert [question for question, flaw in flaws.items() if flaw not in flaw_of_form(question)] == []
    assert flaw_of_form("图书馆几点开门？") is None


DISSOLVED = "Should zinc be dissolved in clean water for diarrhoea?"
COPIES = [  # an accepted question, the next one, and the check that it fails
    (ZINC.question, "For how long is Zinc given", "copy"),
    (ZINC.question, "Which water dissolves zinc for diarrhoea?", ""),
    ("Is zinc given for 14 days in diarrhoea?", "Is zinc given for 15 days in diarrhoea?", ""),
    ("Is zinc given for 14 days in diarrhoea?", "Is zinc given for 14 days in diarrhoea", "copy"),
    (DISSOLVED, "Should zinc be dissolved in clean water for diarrhoea", "copy"),
    (DISSOLVED, "Should zinc not be dissolved in clean water for diarrhoea?", ""),
    (DISSOLVED, "Shouldn't zinc be dissolved in clean water for diarrhoea?", ""),
    (DISSOLVED, "Should water be dissolved in clean zinc for diarrhoea?", ""),
]


def test_a_near_copy_is_refused_and_another_number_negation_or_order_is_none():
    for earlier, question, check in COPIES:
        by = checker()
        assert failed(replace(ZINC, question=earlier), by=by) == ""
        assert failed(replace(ZINC, question=question), by=by) == check, question


class Alike(LetterEncoder):
    """All texts are alike to it, and yet not equal."""

    def encode(self, texts, role):
        embeddings = super().encode(texts, role) * 0.01 + 1
        return embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)


def test_near_copies_in_other_words_and_questions_that_another_passage_answers_are_refused():
    other = Draft("How many days does one dissolve zinc?", ZINC.references)
    negated = Draft("For how long is zinc not dissolved?", ZINC.references)
    for encoder, expected in ((None, ""), (Alike(), "copy")):
        by = checker(encoder)
        assert [failed(draft, by=by) for draft in (ZINC, other, negated)] == ["", expected, ""]
    draft = Draft("How much paracetamol does a child of ten kilograms need?", (TEXTS[0].split(". ")[1],))
    refused = outcome(draft, source=SOURCES[0])
    assert (refused.check, refused.reason) == ("elsewhere", "m.txt, page 4 may answer it")
    assert failed(draft, source=SOURCES[0], by=checker(sources=SOURCES[:4])) == ""


def test_the_rank_of_bm25_is_that_of_the_library_and_a_question_is_easy_if_its_passage_is_first():
    """By rank_bm25, with the same words."""
    stem = Stemmer.Stemmer("english").stemWords

    def tokens(text):
        return stem([word for word in re.findall(r"\w+", text.lower()) if word not in LUCENE_STOP_WORDS])

    library = BM25Okapi([tokens(text) for text in TEXTS], k1=1.5, b=0.75, epsilon=0.25)
    questions = [ZINC.question, "Which water is clean for milk and tea?", "Who needs six hours of sleep?"]
    search = CorpusSearch(SOURCES, None, NO_STORE)
    for origin in range(len(SOURCES)):
        for question, hits in zip(questions, search.find(questions, [SOURCES[origin]] * 3), strict=True):
            scores = library.get_scores(tokens(question))
            better = int((scores > scores[origin]).sum() + (scores[:origin] == scores[origin]).sum())
            assert hits.rank == (better + 1 if scores[origin] else None)
    easy = outcome(ZINC)
    hard = outcome(Draft("How many days do lemon tablets and diarrhoea take?", ZINC.references))
    assert (easy.rank, easy.is_easy) == (1, True)
    assert (hard.rank, hard.is_easy) == (2, False)
    assert easy.copied == pytest.approx(1 / 3)  # "given", not "long" and "zinc"


# References

PASSAGE = (
    "Gestational diabetes. Dissolve 75 g glucose in 300 ml water.\nShe drinks it within 5\u201310 minutes, "
    "and does not walk home. “Below 120” she continues; at 120 or above the doctor adds\nmetformin or insulin"
)
PLACES = {  # a reference, and the text of the passage that it is
    "Dissolve 75 g glucose": "Dissolve 75 g glucose",
    '"Dissolve 75 g glucose"': "Dissolve 75 g glucose",
    "in 300 ml water. She drinks it": "in 300 ml water.\nShe drinks it",
    "DISSOLVE 75 G  glucose": "Dissolve 75 g glucose",
    "within 5-10 minutes": "within 5\u201310 minutes",
    '"Below 120" she continues': "Below 120” she continues",
    "Disolve 75 g glucose in 300 ml of water.": "Dissolve 75 g glucose in 300 ml water.",  # a typing error
    "at 120 or above the doctors add metformin or insulin": "at 120 or above the doctor adds\nmetformin or insulin",
    "Dissolve 57 g glucose in 300 ml water.": None,  # another number
    "She drinks it within 5\u201310 minutes, and does walk home.": None,  # no negation
    "Give her insulin before the test and again after it.": None,
    "glucose": None,  # too short
    "": None,
    f"{PASSAGE} And more.": None,
}


def located(reference):
    span = locate(reference, PASSAGE)
    return span and PASSAGE[slice(*span)]


def test_a_reference_is_mapped_to_the_text_of_the_passage_that_says_it():
    assert {reference: located(reference) for reference in PLACES} == PLACES
    for sentence in ("二甲双胍的剂量为257毫克。", "七日以内に作成します。", "วัดความดัน"):  # long enough without spaces
        assert locate(sentence, f"序。{sentence}終。") == (2, 2 + len(sentence))
    text = "İstanbul İİİİ. Give the child zinc for fourteen days."  # its letters grow in lower case
    assert text[slice(*locate("Give the chld zinc for fourteen days", text))].startswith("Give the child zinc")


@given(st.data())
def test_every_part_of_a_passage_is_found_whatever_its_white_space(data):
    words = list(re.finditer(r"\S+", PASSAGE))
    first = data.draw(st.integers(0, len(words) - SHORTEST_REFERENCE))
    last = data.draw(st.integers(first + SHORTEST_REFERENCE, len(words)))
    spaces = data.draw(
        st.lists(st.sampled_from([" ", "\n", "\t ", "  "]), min_size=last - first, max_size=last - first)
    )
    part = "".join(word[0] + space for word, space in zip(words[first:last], spaces, strict=True))
    assert re.findall(r"\w+", located(part)) == re.findall(r"\w+", part)


@given(st.text(max_size=80), st.text(max_size=120))
def test_a_span_is_within_the_text_whatever_both_are(reference, text):
    span = locate(reference, text)
    if span:
        start, end = span
        assert 0 <= start < end <= len(text)
        assert text[start:end].strip() == text[start:end]


def test_a_reference_that_is_not_in_the_passage_removes_itself_alone():
    accepted = outcome(replace(ZINC, references=(*ZINC.references, "Zinc is a metal of the earth")))
    [(start, end)] = accepted.references
    assert TEXTS[3][start - 600 : end - 600] == "It is given for fourteen days"
    assert accepted.removed == 1
    assert outcome(Draft("Which water is clean for zinc?", ("A lake in the north of Norway",))).removed == 1


# Making a test set


class Scripted(Generator):
    """Returns what a function makes of each request."""

    types = ("factual", UNANSWERABLE)

    def __init__(self, tell):
        self.tell, self.asked = tell, 0

    def draft(self, requests):
        self.asked += len(requests)
        return [self.tell(request) for request in requests]


def sentence(request):
    return ExtractiveGenerator().draft([request._replace(query_type="sentence")])[0]


def many(number):
    """Passages that have no word in common but a few."""
    random = np.random.default_rng(0)

    def word():
        return "".join(random.choice([*"bcdfglmnprst"]) + random.choice([*"aeiou"]) for _ in range(4))

    texts = [f"The {word()} {word()} opens the {word()} {word()} beside {word()} {word()}." for _ in range(number)]
    return [Source("m.txt", str(at), 1000 * at, 1000 * at + len(text), text) for at, text in enumerate(texts)]


def made(generator, sources=300, **changed):
    sources = many(sources)
    return make(generator, sources, checker(sources=sources), replace(PLAN, **changed))


def types_in(outcome):
    return [question.request.query_type for question in outcome.accepted]


def usable(is_usable):
    """A generator of which the drafts with such a number have a question."""
    numbers = iter(range(10**6))
    no_question = Draft("", flaw="it is not in the form that was asked for")
    return Scripted(lambda request: sentence(request) if is_usable(next(numbers)) else no_question)


def test_a_model_is_not_asked_for_ever_and_what_passed_is_kept_if_it_fails_later():
    never, at_first = usable(lambda number: False), usable(lambda number: number < 3)
    with pytest.raises(GeneratorError, match=r"no draft of 40 .* 40 failed 'response' .* such as: it is not"):
        made(never, count=100)
    assert never.asked == 40
    outcome = made(at_first, count=10)
    assert len(outcome.accepted) == 3
    assert outcome.shortfall.startswith("7 of 10 questions are missing: ")
    assert at_first.asked <= 60
    for limit in (1, 2):
        a_fifth = usable(lambda number: number % 5 == 0)
        outcome = made(a_fifth, count=60, drafts_per_question=limit)
        assert a_fifth.asked == 60 * limit
        assert "no more drafts may be asked for (drafts_per_question)" in outcome.shortfall


def test_out_of_scope_questions_are_a_share_of_all_and_each_kind_that_is_missing_is_said():
    def tell(request):
        if request.query_type == UNANSWERABLE:
            return Draft(f"Who sells {request.source.text.split()[1]} beyond the north of Norway in winter?")
        return sentence(request)

    outcome = made(Scripted(tell), count=20, unanswerable=0.2)
    assert (len(outcome.accepted), types_in(outcome).count(UNANSWERABLE)) == (20, 4)
    assert all(not question.references for question in outcome.accepted if question.is_out_of_scope)
    unable = Scripted(lambda request: Draft("", flaw="no") if request.query_type == UNANSWERABLE else sentence(request))
    outcome = made(unable, 20, count=50, unanswerable=0.1)
    assert len(outcome.accepted) == 20
    used_up = "are missing: the passages are used up"
    assert outcome.shortfall == f"25 of 45 questions {used_up}; 5 of 5 out-of-scope questions {used_up}"


def test_a_generator_that_returns_something_else_is_named():
    class Wrong(Scripted):
        def draft(self, requests):
            return self.tell

    wrong = {"NoneType": None, "0 drafts": [], "returned str, expected a Draft": ["a?"] * 4}
    for problem, drafts in wrong.items():
        with pytest.raises(GeneratorError, match=rf"test_checking\..*Wrong: .*{problem}"):
            made(Wrong(drafts))


# Sentences of the documents


def test_the_types_take_turns_and_a_passage_is_used_for_each():
    types = types_in(made(ExtractiveGenerator(), 12, count=20))
    assert abs(types.count("keywords") - types.count("sentence")) <= 2
    assert {*types_in(made(ExtractiveGenerator(), 12, count=12, types=("keywords",)))} == {"keywords"}


def test_words_is_the_length_of_a_query_of_keywords_and_the_seed_decides_which_sentence_and_which_words():
    request = Request(SOURCES[2], "keywords")
    lengths = [len(ExtractiveGenerator(words).draft([request])[0].question.split()) for words in (3, 5, 40)]
    assert lengths[:2] == [3, 5]
    assert lengths[2] > 5
    requests = [Request(source, query_type) for source in SOURCES for query_type in ExtractiveGenerator.types]
    drafts = [ExtractiveGenerator(seed=seed).draft(requests) for seed in (0, 0, 1)]
    assert drafts[0] == drafts[1] != drafts[2]


def test_sentences_are_asked_for_also_without_spaces_and_headings_only_where_there_is_nothing_else():
    heading = "Care of small newborn babies at home"
    prose = "Feed a small baby every two hours with breast milk."
    chinese = "图书馆周一至周五上午九点开门，周末不开放。", "借书证丢失后请到服务台补办。"
    pages = {f"{heading}\n{prose}": [prose], heading: [heading], f"{''.join(chinese)}是。": [*chinese]}
    assert {page: [page[start:end] for start, end in telling(page)] for page in pages} == pages
