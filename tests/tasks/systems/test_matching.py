"""What a result of a system is, among what is judged."""

import random
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rankings import dataset_of, paged, unpaged

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval.results import Matching, Result
from ragsweep.tasks.systems.document_texts import DocumentTexts, Spot
from ragsweep.tasks.systems.matching import Places

PAGES = (
    "Give zinc for ten days to every child who has diarrhoea, also where the stools are loose for one day only.",
    "A child who cannot drink is referred at once. Keep the child warm on the way, and give the first dose before.",
    "Iron is given for three months after the birth. Take it with food that has vitamin C, and never with tea.",
)
OTHER = "Fever in the first two months of life is a danger sign, whatever the cause may be, and is referred at once."


def judged(documents, *units, unit="page"):
    return dataset_of(documents, {"1": "?"}, {("1", name): 1 for name in units}, unit)


BOTH = judged([paged("manual.pdf", *PAGES), paged("café.pdf", OTHER)], "manual.pdf#2")
WITHOUT_DOCUMENTS = judged([], "manual.pdf#2", "manual.pdf#3")
NUMBERS = judged([], "2", "3")  # pages of any document
WHOLE = judged([unpaged("manual.pdf", "\n".join(PAGES)), unpaged("café.pdf", OTHER)], "manual.pdf", unit="document")


def units(result, dataset=BOTH, first_page=1, by=None):
    """What a result is that comes alone."""
    return Places(dataset, Matching(first_page, by=by), [result]).of(result).units


SECOND, THIRD = ("manual.pdf#2",), ("manual.pdf#3",)
RESULTS = [  # a result, the dataset, and what it is among what is judged
    (Result(("manual.pdf#2",)), BOTH, SECOND),
    (Result(("7f3a", "manual.pdf#2")), BOTH, SECOND),
    (Result(("7f3a",), "manual.pdf", "2"), BOTH, SECOND),
    (Result((), "/data/2024/manual.pdf", "2.0"), BOTH, SECOND),
    (Result((), "C:\\docs\\manual.pdf", "2"), BOTH, SECOND),
    (Result((), "file:///data/manual.pdf", " 2"), BOTH, SECOND),
    (Result(("x",), "manual.pdf", "", PAGES[1]), BOTH, SECOND),
    (Result((), "", "", "   ".join(PAGES[1].split())), BOTH, SECOND),
    (Result((), "", "", PAGES[1][10:70]), BOTH, SECOND),
    (Result((), "", "", PAGES[1].replace("Keep", "Keeep").replace("warm", "wann")), BOTH, SECOND),
    (Result((), "nosuch.pdf", "9", PAGES[1]), BOTH, SECOND),
    (Result((), "", "", f"{PAGES[0][-40:]}\n\n{PAGES[1][:40]}"), BOTH, ("manual.pdf#1", "manual.pdf#2")),
    (Result((), unicodedata.normalize("NFD", "café.pdf"), "1"), BOTH, ("café.pdf#1",)),
    # What nothing names
    (Result(("7f3a",)), BOTH, ()),
    (Result((), "manual.pdf"), BOTH, ()),
    (Result((), "manual.pdf", "12"), BOTH, ()),
    (Result((), "other.pdf", "2"), BOTH, ()),
    (Result((), "", "2"), BOTH, ()),
    (Result(("3",), text="3"), BOTH, ()),  # of two documents
    (Result((), "manual.pdf", "", "three"), BOTH, ()),  # a word can stand on any page
    (Result((), "", "", "Give"), BOTH, ()),
    (Result((), "", "", "A recipe for bread: flour, water, salt, yeast, and a warm place for the night."), BOTH, ()),
    # Without documents, the judgments say what there is; a number alone is a page of the only document
    (Result((), "/x/manual.pdf", "3"), WITHOUT_DOCUMENTS, THIRD),
    (Result((), "", "3"), WITHOUT_DOCUMENTS, THIRD),
    (Result(("3",), text="3"), WITHOUT_DOCUMENTS, THIRD),
    (Result(("3",)), WITHOUT_DOCUMENTS, THIRD),
    (Result(("3",)), NUMBERS, ("3",)),
    (Result(("3",), text="A text with the number of a row in a database."), WITHOUT_DOCUMENTS, ()),
    (Result((), "manual.pdf", "1"), WITHOUT_DOCUMENTS, ()),
    (Result(("manual.pdf#2",)), WITHOUT_DOCUMENTS, SECOND),
    # Documents that are judged as a whole
    (Result((), "/x/manual.pdf", "9"), WHOLE, ("manual.pdf",)),
    (Result(("café.pdf",)), WHOLE, ("café.pdf",)),
    (Result((), "", "", PAGES[2]), WHOLE, ("manual.pdf",)),
]


def test_a_result_is_found_by_its_id_or_source_and_page_or_text():
    matched = [(result, units(result, dataset)) for result, dataset, _ in RESULTS]
    assert matched == [(result, expected) for result, _, expected in RESULTS]
    # pages are counted from 0 where the setting says so
    assert units(Result((), "manual.pdf", "1"), first_page=0) == SECOND
    assert units(Result((), "manual.pdf", "0"), first_page=0) == ("manual.pdf#1",)


def test_a_path_is_that_of_the_document_in_its_folder():
    names = ("README.md", "hr/README.md", "it/README.md", "hr/Größe.md")
    dataset = judged([paged(name, f"{name} {PAGES[0]}") for name in names], "README.md#1")
    sources = {
        "hr/README.md": "hr/README.md",
        "./hr/README.md": "hr/README.md",
        "/srv/handbook/hr/README.md": "hr/README.md",
        "C:\\handbook\\hr\\README.md": "hr/README.md",
        "https://docs.example.com/handbook%2Fhr%2FREADME.md": "hr/README.md",
        "s3://bucket/it/README.md": "it/README.md",
        "s3://bucket/README.md": "README.md",
        "hr/Gr%C3%B6%C3%9Fe.md": "hr/Größe.md",
    }
    places = Places(dataset, Matching(by="page"))
    units_of = {source: places.of(Result(source=source, page="1")).units for source in sources}
    assert units_of == {source: (f"{name}#1",) for source, name in sources.items()}


def test_ids_and_pages_or_documents_that_are_not_the_same_are_refused_unless_one_of_them_is_chosen():
    """As a number is that of a row in a database, and of a page or of a document."""
    of_rows = [unpaged(number, text) for number, text in zip("23", PAGES[:2], strict=True)]
    documents = [judged(given, "2", "3", unit="document") for given in (of_rows, [])]
    row, problem = Result(("3",), "/a/2"), r"not the same \(such as '3' and '2'\): set retriever\.match_by=id or page"
    for dataset, result in ((NUMBERS, Result(("3",), "manual.pdf", "2")), *((one, row) for one in documents)):
        with pytest.raises(ConfigError, match=problem):
            units(result, dataset)
        assert units(result, dataset, by="page") == ("2",)
        assert units(result, dataset, by="id") == ("3",)
    assert units(Result(("3",), "/a/2", text=PAGES[0]), documents[0], by="text") == ("2",)


def test_all_results_are_matched_by_the_first_of_id_page_and_text_by_which_any_is_known():
    by_id, by_page, by_text = Result(("manual.pdf#1",)), Result((), "manual.pdf", "2"), Result(text=PAGES[2])
    for results, by in (([by_text, by_page, by_id], "id"), ([by_text, by_page], "page"), ([by_text], "text")):
        places = Places(BOTH, Matching(), results)
        assert places.by == by
        assert [bool(places.of(result).units) for result in results] == [False] * (len(results) - 1) + [True]
    assert Places(BOTH, Matching(by="text"), [by_id]).by == "text"
    # a text that stands twice is that of the first page
    places = Places(judged([paged("m", PAGES[0], PAGES[1], PAGES[0])], "m#3"), Matching())
    assert places.of(Result((), "", "", PAGES[0])).units == ("m#1",)
    assert places.of(Result((), "m", "", PAGES[0])).other_places == 1


@given(st.integers(0, 2**32), st.integers(24, 90))
def test_any_part_of_a_document_is_found_where_it_stands(seed, length):
    draw = random.Random(seed)
    text = "\f".join(PAGES)
    start = draw.randrange(0, len(text) - length)
    part = text[start : start + length]
    spots = [*DocumentTexts(BOTH).spots(part, 1.0)]
    inside = len(part) - len(part.lstrip())
    assert Spot("manual.pdf", start + inside, start + len(part.rstrip())) in spots
    assert all(" ".join(text[spot.start : spot.end].split()) == " ".join(part.split()) for spot in spots)


WORDS = ("zinc", "iron", "day-one", "Tea", "naïve", "3.5", "—", "水を飲む")
SPACES = (" ", "  ", "\n", "\t ", " \n\n")


@given(st.integers(0, 2**32))
def test_a_text_is_found_in_every_document_that_has_it(seed):
    """The oracle looks for the words in order, with any white space between them, from every character on."""
    draw = random.Random(seed)

    def some(number):
        return "".join(f"{draw.choice(WORDS)}{draw.choice(SPACES)}" for _ in range(number)).strip()

    texts = {f"{name}.pdf": [some(draw.randint(1, 12)) for _ in range(3)] for name in "abcdef"}
    dataset = judged([paged(name, *pages) for name, pages in texts.items()], "a.pdf#1")
    joined = {name: "\f".join(pages) for name, pages in texts.items()}
    whole = draw.choice([*joined.values()])
    start = draw.randrange(0, max(1, len(whole) - 24))
    part = whole[start : start + draw.randint(20, 40)]
    pieces = r"\s+".join(map(re.escape, part.split()))
    expected = {
        Spot(name, match.start(1), match.end(1))
        for name, text in joined.items()
        for match in re.finditer(f"(?=({pieces}))", text)
    }
    spots = DocumentTexts(dataset).spots(part, 1.0)
    assert len(" ".join(part.split())) < 20 or {*spots} == expected


def test_a_text_is_found_on_the_right_pages_with_other_characters_in_or_around_it():
    draw = random.Random(1)
    words = [f"word{number}" for number in range(300)]
    pages = {name: [" ".join(draw.choices(words, k=60)) for _ in range(4)] for name in "abcdefgh"}
    places = Places(judged([paged(name, *texts) for name, texts in pages.items()], "a#1"), Matching())
    for name, texts in pages.items():
        over = f"{texts[1][-150:]} {texts[2][:150]}".replace("word1", "wrd1")
        assert places.of(Result(text=over)).units == (f"{name}#2", f"{name}#3")
        assert places.of(Result(text=texts[3].replace("word2", "w0rd2"))).units == (f"{name}#4",)
    assert places.of(Result(text=" ".join(draw.choices(words, k=60)))).units == ()
    texts = [" ".join(f"{word}{page}{at}" for at, word in enumerate(PAGES[page % 3].split() * 3)) for page in range(4)]
    places = Places(judged([paged("m", *texts)], "m#1"), Matching())
    for before, after in (("[manual.pdf, page 2]\n", ""), ("", " ..."), ("> ", " (manual.pdf, p. 2)")):
        place = places.of(Result(text=f"{before}{texts[1]}{after}"))
        assert (place.units, place.end - place.start) == (("m#2",), len(texts[1]))
