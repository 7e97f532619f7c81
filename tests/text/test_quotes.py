"""Quotes are found in a text of another normal form, with offsets that are true in the text itself."""

from unicodedata import normalize

from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.fuzz import ratio

from ragsweep.text.quotes import find_quote, letters_of, places_of, span_of

LETTERS = st.lists(
    st.sampled_from(["e", "é", "e\u0301", "한", "각", "कि", "q\u0307\u0323", "க\u0bcb", "ñ", " "]), max_size=12
).map("".join)
FORMS = st.sampled_from(["NFC", "NFD"])


@given(LETTERS, LETTERS.filter(str.strip), LETTERS, FORMS, FORMS)
def test_what_is_found_is_what_is_quoted(before, quote, after, form, other):
    text = normalize(form, before) + normalize(form, quote) + normalize(form, after)
    places = places_of(normalize(other, quote), text)
    assert places
    assert all(normalize("NFC", text[start:end]) == normalize("NFC", quote) for start, end in places)


def test_offsets_of_the_composed_text_are_turned_into_those_of_the_document():
    assert places_of("é", "e\u0301 and é") == [(0, 2), (7, 8)]
    assert places_of("e", "e\u0301") == []  # the letter is another one
    document = normalize("NFD", "Die Gebühr für Gäste beträgt fünf Euro")
    composed = normalize("NFC", document)
    start = composed.index("Gäste")
    span = span_of("Gäste", document, start, start + len("Gäste"))
    assert span is not None
    assert document[slice(*span)] == normalize("NFD", "Gäste")
    assert span_of("Gäste", document, start + 1, start + 6) is None
    assert span_of("fee", "Gäste fee", 6, 10) is None  # beyond the end
    assert span_of("fee", normalize("NFD", "Gäste fee"), 6, 11) is None


TEXT = (
    "Anaemia is com-\nmon. Give one \ufb01lm-coated  tablet\na day, after meals. Refer at 7 g/dl. "
    "Iron tablets are free."
)


def quoted(quote, least=0.9, text=TEXT):
    span = find_quote(quote, text, least)
    return span and text[slice(*span)]


QUOTES = {
    "Refer at 7 g/dl.": "Refer at 7 g/dl.",  # as it is written
    "Anaemia is common.": "Anaemia is com-\nmon",  # a hyphen at a line end
    "give one film-coated tablet a day": "Give one \ufb01lm-coated  tablet\na day",  # a ligature, spaces, case
    "Give two film-coated tablets a day": None,  # 4 of 26 letters are others
    "Irontablets are freee": "Iron tablets are free",  # one letter too many
    "Give her water": None,
    "...": None,
}


def test_a_quote_is_found_as_written_or_by_its_letters_or_where_these_are_as_alike_as_is_asked():
    assert {quote: quoted(quote) for quote in QUOTES} == QUOTES
    quote = "Return at 7 g/dl. Iron tablets are cheap."
    assert quoted(quote, 0.95) is None
    assert quoted(quote, 0.6)


def test_another_number_or_a_negation_is_another_text():
    for quote in ("Refer at 8 g/dl. Iron tablets are free.", "Iron tablets are not free.", "Refer at 17 g/dl"):
        assert quoted(quote, 0.6) is None
        assert quoted(quote, 0.6, text=f"{TEXT} 0.8 g/dl") is None
    assert quoted("Give 15 mg daily", text="Give 1.5 mg daily.") is None  # the same letters


def test_of_places_that_are_equally_alike_the_first_is_taken():
    text = "Iron is free. " + "The dosx is 10 mg daily for adults over 60. " * 50
    assert find_quote("The dose is 10 mg daily for adults over 60.", text, 0.9) == (14, 56)
    assert find_quote("Give  IRON", "Give iron. Give water. Give iron.", 0.9) == (0, 9)


WORDS = st.lists(st.sampled_from("iron tablet fever give daily water anaemia refer clinic dose".split()), min_size=30)


@given(WORDS, st.data())
def test_a_quote_is_lost_where_a_slow_loop_over_all_stretches_finds_nothing_as_alike(words, data):
    text = "".join(words)
    start = data.draw(st.integers(0, len(text) - 60))
    quote = list(text[start : start + 60])
    for place in data.draw(st.lists(st.integers(0, 59), max_size=12, unique=True)):
        quote[place] = "x"
    sought = "".join(quote)
    most = max(ratio(sought, text[at : at + 60]) for at in range(len(text) - 59))
    span = find_quote(sought, text, 0.9)
    assert bool(span) == (most >= 90)
    assert not span or ratio(sought, text[slice(*span)]) >= 90


@given(st.text())
def test_each_letter_knows_its_character(text):
    """As `str.isalnum` and Unicode's compatibility forms have it, one character after the other."""
    letters = letters_of(text)
    expected = []
    for place, character in enumerate(text):
        folded = normalize("NFKD", normalize("NFKD", character).casefold())
        expected += [(letter, place) for letter in folded if letter.isalnum()]
    assert [*zip(letters.text, letters.places, strict=True)] == expected
