"""Passages whose text is damaged: wrong encodings, ligatures, letters apart, columns read across."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from functools import cache, partial

from ragsweep.core.terminal import counted, named
from ragsweep.datasets.model.dataset import Dataset
from ragsweep_audit.findings.finding import Finding, page_name

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
BROKEN = re.compile(r"\b([a-z]+)-[ ]+([a-z]+)")  # a hyphen of a line end that stands within a line
UNBROKEN = re.compile(r"\b[a-z]+\b(?!-)")
AND_OR = ("and", "or", "to", "und", "oder", "bis")  # short- and long-term
FEWEST_BROKEN = 3  # in a passage
MOST_WORDS = 50  # for each of them


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


def _apart(text: str, known: Callable[[], Set[str]]) -> int:
    """The letters that stand apart, where they are many or spell a word of the corpus; "u s s r a" is no damage."""
    runs = [found.split() for found in APART.findall(text)]
    return sum(len(run) for run in runs if len(run) >= SURELY_APART or "".join(run).lower() in known())


CAUSES: dict[str, Callable[[str], int]] = {  # how many words of a text have the damage
    "characters that the file does not explain": _unknown,
    "a wrong encoding": _misread,
    "ligatures, which no query has": _ligatures,
}
LETTERS_APART = "letters apart"
ACROSS = "columns read across"


def read_across(texts: Sequence[str]) -> list[int]:
    """The texts, by position, that look like two columns whose lines were joined.

    Hyphens of the left column then stand within lines: "in the regis- ten on the chart". A hyphen counts once
    for each part before it that is no word of the corpus, neither alone nor with the part that follows.
    """
    likely = {row: found for row, text in enumerate(texts) if len(found := BROKEN.findall(text)) >= FEWEST_BROKEN}
    if not likely:
        return []
    words = {word for text in texts for word in UNBROKEN.findall(text.lower())}
    broken = {
        row: len({a for a, b in found if b not in AND_OR and words.isdisjoint((a, a + b))})
        for row, found in likely.items()
    }
    return [
        row for row, count in broken.items() if count >= FEWEST_BROKEN and count * MOST_WORDS >= len(texts[row].split())
    ]


def garbled_text(dataset: Dataset, share: float) -> Iterator[Finding]:
    """A finding about pages with a passage in which a share of the words is damaged by one of the causes.

    Args:
        dataset: The dataset.
        share: Least share of the words, from 0 to 1.
    """
    known = cache(lambda: {word.lower() for text in dataset.texts for word in LETTERS.findall(text)})
    causes_of_words: dict[str, Callable[[str], int]] = {**CAUSES, LETTERS_APART: partial(_apart, known=known)}
    pages: dict[str, dict[str, None]] = {cause: {} for cause in (*causes_of_words, ACROSS)}
    for passage in dataset.passages:
        words = len(passage.text.split())
        for cause, damaged in causes_of_words.items():
            found = damaged(passage.text)
            if found and found >= share * words:
                pages[cause].setdefault(page_name(dataset, passage))
    for row in read_across(dataset.texts):
        pages[ACROSS].setdefault(page_name(dataset, dataset.passages[row]))
    damaged_pages = list(dict.fromkeys(page for found in pages.values() for page in found))
    if not damaged_pages:
        return
    causes = [f"{cause}: {len(found)}{named([*found])}" for cause, found in pages.items() if found]
    total = len({(passage.source, passage.page) for passage in dataset.passages})
    yield Finding(
        kind="garbled_text",
        problem=f"{counted(len(damaged_pages), 'page')} of {total} with damaged text: {'; '.join(causes)}.",
        cost="Words that are damaged cannot be found, and the encoder reads them as something else.",
        advice="Extract the text with another tool or OCR, or repair its encoding.",
        count=len(damaged_pages),
        out_of=total,
        examples=tuple(damaged_pages),
        details={"pages": {cause: [*found] for cause, found in pages.items() if found}},
    )
