"""Passages whose text is damaged: wrong encodings, ligatures, letters apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache

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


def _apart(text: str, vocabulary: Callable[[], Set[str]]) -> int:
    """The letters that stand apart, where they are many or spell a word of the corpus; "u s s r a" is no damage."""
    runs = [run.split() for run in APART.findall(text)]
    return sum(len(run) for run in runs if len(run) >= SURELY_APART or "".join(run).lower() in vocabulary())


CAUSES: dict[str, tuple[re.Pattern[str], Callable[[str], bool]]] = {  # what damaged words have, and which have it
    "characters that the file does not explain": (UNKNOWN, lambda word: not BULLET.fullmatch(word)),
    "a wrong encoding": (MISREAD, lambda word: any(map(_was_utf8, MISREAD.findall(word)))),
    "ligatures, which no query has": (LIGATURE, lambda word: True),
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
        pages: dict[str, dict[str, None]] = {cause: {} for cause in (*CAUSES, LETTERS_APART)}
        for passage in dataset.passages:
            text = passage.text
            words = text.split()
            counts = {
                cause: sum(1 for word in words if pattern.search(word) and is_damaged(word))
                for cause, (pattern, is_damaged) in CAUSES.items()
                if pattern.search(text)
            }
            for cause, count in {**counts, LETTERS_APART: _apart(text, vocabulary)}.items():
                if count and count >= self.share * len(words):
                    pages[cause].setdefault(page_name(dataset, passage))
        by_cause = {cause: [*names] for cause, names in pages.items() if names}
        damaged = tuple(dict.fromkeys(page for names in by_cause.values() for page in names))
        if not damaged:
            return
        total = len({(passage.source, passage.page) for passage in dataset.passages})
        shown = "; ".join(f"{cause}: {len(names)}{named(names)}" for cause, names in by_cause.items())
        problem = f"{counted(len(damaged), 'page')} of {total} with damaged text: {shown}."
        yield self.finding(problem, damaged, total, pages=by_cause)
