"""What a result of a system is, among what is judged."""

import random
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Query
from ragsweep.retrieval.results import Matching, Result
from ragsweep.tasks.systems.document_texts import DocumentTexts, Spot
from ragsweep.tasks.systems.matching import Places

PAGES = (
    "Give zinc for ten days to every child who has diarrhoea, also where the stools are loose for one day only.",
    "A child who cannot drink is referred at once. Keep the child warm on the way, and give the first dose before.",
    "Iron is given for three months after the birth. Take it with food that has vitamin C, and never with tea.",
)
OTHER = ("Fever in the first two months of life is a danger sign, whatever the cause may be, and is referred at once.",)


def dataset(unit="page", documents=True, judged=("manual.pdf#2",)):
    def document(name, texts):
        names = {"page": "{0}#{1}", "document": "{0}"}[unit]
        pages = [(str(at), names.format(name, at), text) for at, text in enumerate(texts, start=1)]
        return Document.from_pages(name, pages)

    collection = Collection(
        "small",
        unit,
        (document("manual.pdf", PAGES), document("café.pdf", OTHER)) if documents else (),
        (Query("1", "When is a child referred?"),),
        tuple(Judgment("1", each, 1) for each in judged),
    )
    return Dataset.from_collection(collection, PageChunker())


def units(result, first_page=1, by=None, **of_dataset):
    """What a result is that comes alone."""
    return Places(dataset(**of_dataset), Matching(first_page, by=by), [result]).of(result).units


@pytest.mark.parametrize(
    "result",
    [
        Result(("manual.pdf#2",)),
        Result(("7f3a", "manual.pdf#2")),
        Result(("7f3a",), "manual.pdf", "2"),
        Result((), "/data/2024/manual.pdf", "2.0"),
        Result((), "C:\\docs\\manual.pdf", "2"),
        Result((), "file:///data/manual.pdf", " 2"),
        Result(("x",), "manual.pdf", "", PAGES[1]),
        Result((), "", "", "   ".join(PAGES[1].split())),
        Result((), "", "", PAGES[1][10:70]),
        Result((), "", "", PAGES[1].replace("Keep", "Keeep").replace("warm", "wann")),
        Result((), "nosuch.pdf", "9", PAGES[1]),
    ],
)
def test_a_page_is_found_by_its_id_or_source_and_page_or_text(result):
    assert units(result) == ("manual.pdf#2",)


@pytest.mark.parametrize(
    "result",
    [
        Result(("7f3a",)),
        Result((), "manual.pdf"),
        Result((), "manual.pdf", "12"),
        Result((), "other.pdf", "2"),
        Result((), "", "2"),
        Result((), "", "", "Give"),
        Result((), "", "", "A recipe for bread: flour, water, salt, yeast, and a warm place for the night."),
    ],
)
def test_what_nothing_names_is_nothing(result):
    assert units(result) == ()


def test_pages_are_counted_from_0_where_the_setting_says_so():
    assert units(Result((), "manual.pdf", "1"), first_page=0) == ("manual.pdf#2",)
    assert units(Result((), "manual.pdf", "0"), first_page=0) == ("manual.pdf#1",)


def test_a_number_alone_is_a_page_of_the_only_document_and_no_text():
    given = {"documents": False, "judged": ("manual.pdf#2", "manual.pdf#3")}
    assert units(Result(("3",), text="3"), **given) == ("manual.pdf#3",)
    assert units(Result(("3",)), **given) == ("manual.pdf#3",)
    assert units(Result(("3",), text="A text with the number of a row in a database."), **given) == ()
    assert units(Result(("3",), text="3")) == ()  # of two documents
    assert units(Result((), "manual.pdf", "", "three")) == ()  # a word can stand on any page


@pytest.mark.parametrize(
    "source",
    [
        "hr/README.md",
        "./hr/README.md",
        "/srv/handbook/hr/README.md",
        "C:\\handbook\\hr\\README.md",
        "https://docs.example.com/handbook%2Fhr%2FREADME.md",
    ],
)
def test_a_path_is_that_of_the_document_in_its_folder(source):
    names = ("README.md", "hr/README.md", "it/README.md", "hr/Größe.md")
    documents = tuple(Document.from_pages(name, [("1", f"{name}#1", f"{name} {PAGES[0]}")]) for name in names)
    judged = (Judgment("1", "README.md#1", 1),)
    collection = Collection("folders", "page", documents, (Query("1", "?"),), judged)
    places = Places(Dataset.from_collection(collection, PageChunker()), Matching(by="page"))
    assert places.of(Result(source=source, page="1")).units == ("hr/README.md#1",)
    assert places.of(Result(source="s3://bucket/it/README.md", page="1")).units == ("it/README.md#1",)
    assert places.of(Result(source="s3://bucket/README.md", page="1")).units == ("README.md#1",)
    assert places.of(Result(source="hr/Gr%C3%B6%C3%9Fe.md", page="1")).units == ("hr/Größe.md#1",)


def test_ids_and_pages_that_are_not_the_same_are_refused_unless_one_of_them_is_chosen():
    """As a number is that of a row in a database, and of a page."""
    given = {"documents": False, "judged": ("2", "3")}  # pages of any document
    row = Result(("3",), "manual.pdf", "2")
    with pytest.raises(ConfigError, match=r"not the same \(such as '3' and '2'\): set retriever\.match_by=id or page"):
        units(row, **given)
    assert units(row, by="page", **given) == ("2",)
    assert units(row, by="id", **given) == ("3",)
    assert units(Result(("3",)), **given) == ("3",)


def test_all_results_are_matched_by_the_first_of_id_page_and_text_by_which_any_is_known():
    by_id, by_page, by_text = Result(("manual.pdf#1",)), Result((), "manual.pdf", "2"), Result(text=PAGES[2])
    for results, by in (([by_text, by_page, by_id], "id"), ([by_text, by_page], "page"), ([by_text], "text")):
        places = Places(dataset(), Matching(), results)
        assert places.by == by
        assert [bool(places.of(each).units) for each in results] == [False] * (len(results) - 1) + [True]
    assert Places(dataset(), Matching(by="text"), [by_id]).by == "text"


def test_names_are_compared_in_any_normal_form():
    assert units(Result((), unicodedata.normalize("NFD", "café.pdf"), "1")) == ("café.pdf#1",)


def test_without_documents_the_judgments_say_what_there_is():
    given = {"documents": False, "judged": ("manual.pdf#2", "manual.pdf#3")}
    assert units(Result((), "/x/manual.pdf", "3"), **given) == ("manual.pdf#3",)
    assert units(Result((), "", "3"), **given) == ("manual.pdf#3",)  # of the only document
    assert units(Result((), "manual.pdf", "1"), **given) == ()
    assert units(Result(("manual.pdf#2",)), **given) == ("manual.pdf#2",)


def test_a_document_is_found_by_its_name_or_its_text():
    given = {"unit": "document", "judged": ("manual.pdf",)}
    assert units(Result((), "/x/manual.pdf", "9"), **given) == ("manual.pdf",)
    assert units(Result(("café.pdf",)), **given) == ("café.pdf",)
    assert units(Result((), "", "", PAGES[2]), **given) == ("manual.pdf",)


def test_a_text_that_stands_twice_is_that_of_the_first_page():
    twice = Document.from_pages("m", [("1", "m#1", PAGES[0]), ("2", "m#2", PAGES[1]), ("3", "m#3", PAGES[0])])
    collection = Collection("twice", "page", (twice,), (Query("1", "?"),), (Judgment("1", "m#3", 1),))
    places = Places(Dataset.from_collection(collection, PageChunker()), Matching())
    assert places.of(Result((), "", "", PAGES[0])).units == ("m#1",)
    assert places.of(Result((), "m", "", PAGES[0])).other_places == 1


def test_a_text_over_several_pages_counts_for_each():
    assert units(Result((), "", "", f"{PAGES[0][-40:]}\n\n{PAGES[1][:40]}")) == ("manual.pdf#1", "manual.pdf#2")


@given(st.integers(0, 2**32), st.integers(24, 90))
def test_any_part_of_a_document_is_found_where_it_stands(seed, length):
    draw = random.Random(seed)
    text = "\f".join(PAGES)
    start = draw.randrange(0, len(text) - length)
    part = text[start : start + length]
    spots = [*DocumentTexts(dataset()).spots(part, 1.0)]
    inside = len(part) - len(part.lstrip())
    expected = Spot("manual.pdf", start + inside, start + len(part.rstrip()))
    assert expected in spots
    assert all(" ".join(text[each.start : each.end].split()) == " ".join(part.split()) for each in spots)


WORDS = ("zinc", "iron", "day-one", "Tea", "naïve", "3.5", "—", "水を飲む")
SPACES = (" ", "  ", "\n", "\t ", " \n\n")


@given(st.integers(0, 2**32))
def test_a_text_is_found_in_every_document_that_has_it(seed):
    """The oracle looks for the words in order, with any white space between them, from every character on."""
    draw = random.Random(seed)

    def some(number):
        return "".join(f"{draw.choice(WORDS)}{draw.choice(SPACES)}" for _ in range(number)).strip()

    texts = {f"{name}.pdf": [some(draw.randint(1, 12)) for _ in range(3)] for name in "abcdef"}
    documents = [
        Document.from_pages(name, [(str(at), f"{name}#{at}", text) for at, text in enumerate(pages)])
        for name, pages in texts.items()
    ]
    collection = Collection("some", "page", (*documents,), (Query("1", "?"),), (Judgment("1", "a.pdf#1", 1),))
    joined = {name: "\f".join(pages) for name, pages in texts.items()}
    whole = draw.choice([*joined.values()])
    start = draw.randrange(0, max(1, len(whole) - 24))
    part = whole[start : start + draw.randint(20, 40)]
    pieces = r"\s+".join(map(re.escape, part.split()))
    expected = {
        Spot(name, found.start(1), found.end(1))
        for name, text in joined.items()
        for found in re.finditer(f"(?=({pieces}))", text)
    }
    found = DocumentTexts(Dataset.from_collection(collection, PageChunker())).spots(part, 1.0)
    assert len(" ".join(part.split())) < 20 or {*found} == expected


def test_a_text_with_other_characters_is_found_on_the_right_pages_of_many():
    draw = random.Random(1)
    words = [f"word{number}" for number in range(300)]
    pages = {name: [" ".join(draw.choices(words, k=60)) for _ in range(4)] for name in "abcdefgh"}
    documents = [
        Document.from_pages(name, [(str(at), f"{name}#{at}", text) for at, text in enumerate(texts)])
        for name, texts in pages.items()
    ]
    collection = Collection("many", "page", (*documents,), (Query("1", "?"),), (Judgment("1", "a#1", 1),))
    places = Places(Dataset.from_collection(collection, PageChunker()), Matching())
    for name, texts in pages.items():
        over = f"{texts[1][-150:]} {texts[2][:150]}".replace("word1", "wrd1")
        assert places.of(Result(text=over)).units == (f"{name}#1", f"{name}#2")
        assert places.of(Result(text=texts[3].replace("word2", "w0rd2"))).units == (f"{name}#3",)
    assert places.of(Result(text=" ".join(draw.choices(words, k=60)))).units == ()


@pytest.mark.parametrize("around", [("[manual.pdf, page 2]\n", ""), ("", " ..."), ("> ", " (manual.pdf, p. 2)")])
def test_what_a_service_puts_around_a_text_is_not_of_the_pages_before_and_after(around):
    texts = [" ".join(f"{word}{page}{at}" for at, word in enumerate(PAGES[page % 3].split() * 3)) for page in range(4)]
    pages = [(str(at), f"m#{at}", text) for at, text in enumerate(texts, start=1)]
    collection = Collection(
        "m", "page", (Document.from_pages("m", pages),), (Query("1", "?"),), (Judgment("1", "m#1", 1),)
    )
    places = Places(Dataset.from_collection(collection, PageChunker()), Matching())
    before, after = around
    place = places.of(Result(text=f"{before}{texts[1]}{after}"))
    assert place.units == ("m#2",)
    assert place.end - place.start == len(texts[1])
