"""Normal forms of Unicode: how names are compared, and what of a text does not matter when its words are compared.

Documents keep their characters, so that offsets into them stay true. Only what is compared is normalised.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from unicodedata import normalize

import regex

# Characters without a picture of their own, which Unicode calls default ignorable: soft hyphens, zero-width spaces and
# joiners, marks of the direction of writing, variation selectors, fillers, tags.
INVISIBLE = regex.compile(r"\p{Default_Ignorable_Code_Point}")
RAISED_OR_LOWERED = ("<super>", "<sub>", "<fraction>")  # kinds of decompositions of Unicode
RAISED_AT_A_DIGIT = re.compile("[0-9][^\\W0-9a-z]|[\u00bc-\u00be\u2150-\u215f\u2189]")
VARIANTS = (*(f"LATIN SMALL LIGATURE {letters}" for letters in ("F", "LONG S T", "ST")), "GREEK ", "MICRO ")
LAST_WITH_VARIANTS = 0xFFFF

# The line that lengthens an Arabic word, and digits of other scripts.
TATWEEL = "\u0640"
TATWEEL_OR_DIGIT = re.compile(rf"{TATWEEL}|[^\D0-9]")


def composed(name: str) -> str:
    """A name as it is compared: in NFC. Ids, file names, page labels and quotes are equal if these are.

    An e with an accent can be one character, or an e and an accent, as in file names of macOS and in many PDF files.
    """
    return name if name.isascii() else normalize("NFC", name)


def same_name(one: str, other: str) -> bool:
    """Whether two names differ at most in how their letters are composed."""
    return one == other or composed(one) == composed(other)


class Spellings:
    """How names are spelled of which each may be written in another normal form.

    Args:
        names: As they are spelled; of names that are the same, the first counts.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names: dict[str, str] = {}
        for name in names:
            self._names.setdefault(composed(name), name)

    def __contains__(self, name: str) -> bool:
        return composed(name) in self._names

    def of(self, name: str) -> str:
        """The known name that is the same; a name that is not known stays."""
        return self._names.get(composed(name), name)


def folded(text: str) -> str:
    r"""A text whose words can be compared: NFKC, case folding, ASCII digits, and no invisible characters or tatweel.

    For ASCII, these are its lower-case letters. Folding a folded text changes nothing. Raised and lowered characters,
    fractions, ligatures of Latin letters and variants of Greek ones stay as they are, as in any BM25 over `\w+`:
    ten to the ninth is not 109, and English benchmarks keep their scores. `without_variants` has no such letters.
    """
    if text.isascii():
        return text.lower()
    text = INVISIBLE.sub("", text)
    if not _variants().search(text):
        return _folded(text)
    pieces = _variants().split(text)  # at the odd places are the variants
    return "".join(piece if place % 2 else _folded(piece) for place, piece in enumerate(pieces))


def without_variants(word: str) -> str:
    """A folded word in NFKC, with ligatures apart and raised digits lowered; as it is if a number would change."""
    return word if word.isascii() or RAISED_AT_A_DIGIT.search(word) else _folded(word)


def _folded(text: str) -> str:
    text = normalize("NFKC", normalize("NFD", text).casefold())
    return normalize("NFKC", TATWEEL_OR_DIGIT.sub(_plain, text).casefold())


def _plain(match: re.Match[str]) -> str:
    return "" if match[0] == TATWEEL else str(unicodedata.decimal(match[0]))


@cache
def _variants() -> re.Pattern[str]:
    return re.compile(f"([{''.join(filter(_is_variant, map(chr, range(LAST_WITH_VARIANTS + 1))))}])")


def _is_variant(character: str) -> bool:
    kind = unicodedata.decomposition(character).partition(" ")[0]
    if kind == "<compat>":
        return unicodedata.name(character).startswith(VARIANTS)
    return kind in RAISED_OR_LOWERED
