"""Passages whose text is damaged: wrong encodings, ligatures, letters apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache, partial

from ragsweep.core.terminal import counted, named
from ragsweep_audit.findings.finding import Audited, Finder, Finding, page_name

UNKNOWN = re.compile(r"[\ufffd\ue000-\uf8ff\x00-\x08\x0b\x0e-\x1f]|\(cid:\d+\)")
BULLET = re.compile(r"[\ue000-\uf8ff]")  # a letter of a symbol font that stands alone
LIGATURE = re.compile(r"[\ufb00-\ufb06]")
CONTINUING = {bytes([byte]).decode(name, "ignore") for byte in range(0x80, 0xC0) for name in ("cp1252", "latin-1")}
CONTINUED = f"[{re.escape(''.join(sorted(CONTINUING)))}]"
# UTF-8 that was read as Windows-1252 or Latin-1: a lead byte, and the bytes that continue it.
MISREAD = re.compile(f"[\u00c2-\u00df]{CONTINUED}|[\u00e0-\u00ef]{CONTINUED}{{2}}|[\u00f0-\u00f4]{CONTINUED}{{3}}")
LETTERS = re.compile(r"[^\W\d_]{5,}")
SURELY_APART = 8  # letters; fewer can be an abbreviation whose full stops are gone
APART = re.compile(r"(?<!\S)(?:[^\W\d_] ){4,}[^\W\d_](?!\S)")  # five or more letters, each on its own


def _unknown(text: str) -> int:
    if not UNKNOWN.search(text):
        return 0
    return sum(1 for word in text.split() if UNKNOWN.search(word) and not BULLET.fullmatch(word))


def _misread(text: str) -> int:
    if not MISREAD.search(text):
        return 0
    return sum(1 for word in text.split() if any(map(_was_utf8, MISREAD.findall(word))))


def _was_utf8(letters: str) -> bool:
    """Whether letters are what reading UTF-8 as Windows-1252 or Latin-1 gives."""
    try:
        b"".join(map(_byte, letters)).decode("utf-8")
    except UnicodeError:
        return False
    return True


def _byte(letter: str) -> bytes:
    try:
        return letter.encode("cp1252")
    except UnicodeError:  # Windows-1252 leaves five bytes undefined
        return letter.encode("latin-1")


def _ligatures(text: str) -> int:
    return sum(1 for word in text.split() if LIGATURE.search(word)) if LIGATURE.search(text) else 0


def _apart(text: str, vocabulary: Callable[[], Set[str]]) -> int:
    """The letters that stand apart, where they are many or spell a word of the corpus; "u s s r a" is no damage."""
    runs = [found.split() for found in APART.findall(text)]
    return sum(len(run) for run in runs if len(run) >= SURELY_APART or "".join(run).lower() in vocabulary())


CAUSES: dict[str, Callable[[str], int]] = {  # how many words of a text have the damage
    "characters that the file does not explain": _unknown,
    "a wrong encoding": _misread,
    "ligatures, which no query has": _ligatures,
}
LETTERS_APART = "letters apart"


@dataclass(frozen=True)
class GarbledText(Finder):
    """Pages with a passage in which a share of the words is damaged by one of the causes.

    Attributes:
        share: Least share of the words, from 0 to 1.
    """

    share: float = 0.05

    kind = "garbled_text"
    cost = "Words that are damaged cannot be found, and the encoder reads them as something else."
    advice = "Extract the text with another tool or OCR, or repair its encoding."

    def depends_on(self, audited: Audited) -> Sequence[object]:
        """On the passages."""
        return audited.key

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding that names the pages by cause."""
        dataset = audited.items
        vocabulary = cache(lambda: {word.lower() for text in dataset.texts for word in LETTERS.findall(text)})
        causes: dict[str, Callable[[str], int]] = {**CAUSES, LETTERS_APART: partial(_apart, vocabulary=vocabulary)}
        pages: dict[str, dict[str, None]] = {cause: {} for cause in causes}
        for passage in dataset.passages:
            words = len(passage.text.split())
            for cause, damaged_words in causes.items():
                count = damaged_words(passage.text)
                if count and count >= self.share * words:
                    pages[cause].setdefault(page_name(dataset, passage))
        by_cause = {cause: [*names] for cause, names in pages.items() if names}
        damaged = tuple(dict.fromkeys(page for names in by_cause.values() for page in names))
        if not damaged:
            return
        total = len({(passage.source, passage.page) for passage in dataset.passages})
        shown = "; ".join(f"{cause}: {len(names)}{named(names)}" for cause, names in by_cause.items())
        problem = f"{counted(len(damaged), 'page')} of {total} with damaged text: {shown}."
        yield self.finding(problem, damaged, total, pages=by_cause)
