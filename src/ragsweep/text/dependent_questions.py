"""Whether a question can be understood without the text that its writer had in front of them. For English."""

from __future__ import annotations

import re

from ragsweep.core.terminal import shortened
from ragsweep.text.stop_words import EMPTY_WORDS, FUNCTION_WORDS, NEGATIONS
from ragsweep.text.tokens import words

FEW_WORDS = 2  # words with a meaning of their own: with fewer, a question with a pronoun has no subject
OF_PERSONS = 5  # as above, beside "she", "he" or "for patients with": a user says much about a patient without a name

UNNAMED = FUNCTION_WORDS | NEGATIONS | EMPTY_WORDS

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
PRONOUNS = re.compile(
    r"\b(?:(?P<person>he|him|his|she|her|hers)|it|its|they|them|their|this|these|those"
    r"|(?:of|in|for|from|to|with|by|like|about|after|is|was|does|do) that|(?:mentioned|described) in the text)\b",
    re.IGNORECASE,
)
JUDGED = (
    "safe|unsafe|dangerous|harmful|important|necessary|possible|impossible|normal|best|better|good|bad|hard|easy|difficult"
    "|useful|wise|right|wrong|enough|allowed|common|time|takes?|costs?|recommended|recommendable|advised|advisable|required"
    "|needed|permitted|permissible|acceptable|appropriate|reasonable|sensible|beneficial|helpful|feasible|essential"
    "|crucial|vital|preferable|ethical|legal|usual|typical|rare|likely|unlikely|sufficient|worthwhile|known|believed"
    "|indicated|contraindicated|makes? sense|matters?|matter"
)
# "Is it safe to ...": this pronoun stands for what follows.
IMPERSONAL = re.compile(
    rf"it (?:(?:is|was|will be|would be) )?(?:not )?(?:\w+ that|(?:\w+ly )?(?:{JUDGED})"
    r" (?:(?:for|in|of) [^.?!;]{1,100}? )?(?:to|if|when|whether|that|how|why|what|which|who))\b",
    re.IGNORECASE,
)
# "Is it recommended for patients with ...": nothing follows that it could stand for, but it may be told enough.
ABOUT_SOMEBODY = re.compile(rf"it (?:(?:is|was) )?(?:not )?(?:\w+ly )?(?:{JUDGED}) (?:for|in) \w", re.IGNORECASE)


def flaw_of_context(question: str) -> str | None:
    """What in a question cannot be understood without its text; None if the rules find nothing.

    Three things cannot: a phrase that points to the text ("this passage"), a pronoun that stands for nothing that is
    named, and a question without any subject. A pronoun is accepted if a word with a meaning of its own stands before
    it: "How is iron stored before it is given?", but not "When is it given?". Also "she" and "he" are accepted without,
    if enough is told about them.
    """
    if found := POINTERS.search(question):
        return f"{shortened(found[0], 80)!r} points to something that the question does not name"
    asked = words(question)
    named = _named(asked)
    capitals = all(letter.isupper() for letter in question if letter.isalpha())
    for found in PRONOUNS.finditer(question):
        if IMPERSONAL.match(question, found.start()) or (found[0].isupper() and not capitals):  # "the IT department"
            continue
        about_somebody = found["person"] or ABOUT_SOMEBODY.match(question, found.start())
        told = _named(words(question[: found.start()])) or (about_somebody and len(named) >= OF_PERSONS)
        if not told or len(named) < FEW_WORDS:
            return f"{found[0]!r} stands for something that the question does not name"
    if not named and not FUNCTION_WORDS.isdisjoint(asked):  # others are keywords, or in another language
        return "it names no subject"
    return None


def _named(asked: list[str]) -> list[str]:
    """The words with a meaning of their own."""
    return [word for word in asked if word not in UNNAMED]
