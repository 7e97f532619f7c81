"""Whether a question points to the text that its writer had in front of them. For English."""

from __future__ import annotations

import re

from ragsweep.core.terminal import shortened

NOUNS_OF_TEXTS = "(?:passage|paragraph|excerpt|article|author|sentence|snippet)s?"
PARTS = "(?:passage|paragraph|excerpt|article|author|sentence|snippet|text|document|section|page|figure|table)s?"
SPEAKS = (
    "says?|states?|mentions?|describes?|recommends?|suggests?|explains?|gives?|lists?|is|are|does|do|to|about|on|for"
)
LAST = r"(?=\s*$|\s*[^\w\s])"

# What only the writer has. "Mentioned in the text" is none: a question with a subject is the same without it.
POINTERS = re.compile(
    r"\b(?:"
    rf"(?:this|that|these|those|(?:the )?above(?:[- ]mentioned)?|the (?:given|following|provided|present)) {PARTS}\b"
    rf"|(?:the {NOUNS_OF_TEXTS}|(?<!mentioned in )(?<!described in )the text)(?:{LAST}|\s+(?:{SPEAKS})\b)"
    r"|according to (?:it|them|this|the (?:text|document|section|page|table|figure))\b"
    r"|(?:in|from|of|by) (?:the above|the following|the given) \w+"
    r"|(?:mentioned|described|listed|shown|stated|discussed) (?:above|below|here|earlier)\b"
    rf"|(?:given|provided) (?:above|below|here){LAST}"  # not "given below the age of two"
    rf"|as (?:above|mentioned|described){LAST})",
    re.IGNORECASE,
)


def flaw_of_context(question: str) -> str | None:
    """What in a question points to its text, such as "this passage" or "mentioned above"; None if nothing does.

    A pronoun that stands for nothing, as in "How is it treated?", is not found.
    """
    if pointer := POINTERS.search(question):
        return f"{shortened(pointer[0], 80)!r} points to something that the question does not name"
    return None
