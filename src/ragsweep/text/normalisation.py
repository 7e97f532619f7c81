"""Normal forms of Unicode: how names are compared, and what of a text does not matter when its words are compared.

Documents keep their characters, so that offsets into them stay true. Only what is compared is normalised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from unicodedata import normalize

# Characters without a picture of their own, which Unicode calls default ignorable: soft hyphens, zero-width spaces and
# joiners, marks of the direction of writing, variation selectors, fillers, tags.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# NFKC makes plain letters and digits of these: "Prozac\u2122" would become "Prozactm", and 10\u2079 the number 109.
JOINING = re.compile("[\u2120\u2122]|(?<=[0-9])(?=[\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2089\u2150-\u215f\u2189])")


def composed(name: str) -> str:
    """A name as it is compared: in NFC. Ids, file names, page labels and quotes are equal if these are.

    The letter \u00e9 can be one character, or an e and an accent, as in the file names of macOS and in many PDF files.
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
        self._known: dict[str, str] = {}
        for name in names:
            self._known.setdefault(composed(name), name)

    def __contains__(self, name: str) -> bool:
        return composed(name) in self._known

    def of(self, name: str) -> str:
        """The known name that is the same; a name that is not known stays."""
        return self._known.get(composed(name), name)


def folded(text: str) -> str:
    """A text whose words can be compared: NFKC, case folding, and no invisible characters.

    For ASCII, these are its lower-case letters. Folding a folded text changes nothing.
    """
    if text.isascii():
        return text.lower()
    text = JOINING.sub(" ", INVISIBLE.sub("", text))
    return normalize("NFKC", normalize("NFKC", normalize("NFD", text).casefold()).casefold())
