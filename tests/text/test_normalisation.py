"""Normal forms of names and words."""

# ruff: noqa: RUF001  # letters that look alike are the point

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from ragsweep.text.normalisation import Spellings, folded, same_name, without_variants

ANY = st.text(st.characters(exclude_categories=["Cs"]))


@given(ANY)
def test_names_are_the_same_in_every_canonical_form(name):
    assert same_name(unicodedata.normalize("NFD", name), unicodedata.normalize("NFC", name))


@given(ANY)
def test_folding_a_folded_text_changes_nothing(text):
    assert folded(folded(text)) == folded(text)


@given(ANY)
def test_composed_and_decomposed_letters_fold_to_the_same(text):
    assert folded(unicodedata.normalize("NFD", text)) == folded(unicodedata.normalize("NFC", text))


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_is_folded_to_its_lower_case_letters(text):
    assert folded(text) == text.lower()


FOLDED = [
    ("Ａｎｃ　１２３", "anc 123"),  # full width
    ("ｱｽﾋﾟﾘﾝ", "アスピリン"),  # half width
    ("Wirt\u00adschaft", "wirtschaft"),  # soft hyphen
    ("\ufeffiron\u200b\u2060", "iron"),
    ("می\u200cخواهم", "میخواهم"),
    ("STRASSE", "straße"),
    ("ΟΔΟΣ", "οδος"),
    ("5㎎", "5mg"),
    ("المستشفـــى", "المستشفى"),  # lengthened
    ("م\u0640\u064eن", "م\u064eن"),
    ("مﹷن", "م\u064eن"),  # a mark on a lengthening line, in one character
    ("\u0665\u0660\u0660 \u096b\u0966\u0966 \u0e55\u0e50\u0e50", "500 500 500"),  # Arabic, Hindi, Thai
    ("ﻣﺮﺣﺒﺎ", "مرحبا"),  # presentation forms, as PDF files have them
]
VARIANTS = {"ﬁnding": "finding", "h₂o": "h2o", "µg": "μg", "10⁹": "10⁹", "2½": "2½", "x²": "x2", "iron": "iron"}


def test_what_does_not_matter_is_folded():
    assert [folded(one) for one, _ in FOLDED] == [folded(other) for _, other in FOLDED]


def test_variants_of_letters_are_kept_until_their_plain_form_is_asked_for():
    assert list(map(folded, VARIANTS)) == [*VARIANTS]
    assert list(map(without_variants, VARIANTS)) == [*VARIANTS.values()]


def test_a_name_is_spelled_as_it_is_known():
    names = Spellings(["Gebu\u0308hr.pdf", "b"])
    assert "Gebühr.pdf" in names
    assert [names.of("Gebühr.pdf"), names.of("b"), names.of("ç")] == ["Gebu\u0308hr.pdf", "b", "ç"]
