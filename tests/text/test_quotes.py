"""Quotes are found in a text of another normal form, with offsets that are true in the text itself."""

from unicodedata import normalize

from hypothesis import given
from hypothesis import strategies as st

from ragsweep.text.quotes import places_of, span_of

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
    document = normalize("NFD", "Die Gebühr für Gäste beträgt fünf Euro")
    composed = normalize("NFC", document)
    start = composed.index("Gäste")
    span = span_of("Gäste", document, start, start + len("Gäste"))
    assert span is not None
    assert document[slice(*span)] == normalize("NFD", "Gäste")
    assert span_of("Gäste", document, start + 1, start + 6) is None


def test_offsets_beyond_the_end_are_no_span():
    assert span_of("fee", "Gäste fee", 6, 10) is None
    assert span_of("fee", normalize("NFD", "Gäste fee"), 6, 11) is None


def test_a_quote_that_occurs_twice_has_two_places():
    assert places_of("é", "e\u0301 and é") == [(0, 2), (7, 8)]
    assert places_of("e", "e\u0301") == []  # the letter is another one
