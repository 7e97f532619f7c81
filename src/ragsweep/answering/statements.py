"""Finds where a text states the answer to a question, such as "The answer is" or "B is correct", in English.

Also says whether the words around a statement deny it, leave it open, report what others say, or take it back. The
rules are strict: a model that hedges has no answer.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

SURELY = (
    r"(?:therefore|thus|then|hence|indeed|still|now|most|also|certainly|clearly|definitely|likely|probably|obviously"
    r"|surely|simply|actually|really|undoubtedly|evidently|ultimately|finally|almost|consequently|accordingly|equally)"
)
SAYS = r"(?:says?|said|thinks?|thought|claims?|claimed|believes?|believed|argues?|argued|assumes?|assumed|guess(?:es)?)"
ANSWER = r"(?<!/)\b(?:answer(?:\s+(?:choice|option|letter))?|(?:correct|best|right|final)\s+(?:option|choice|letter))\b"
IS = rf"\s+(?:is|(?:must|should|will|has\s+to|would(?:\s+{SURELY}){{0,2}})\s+be|(?P<cannot>can(?:not|'t|\s+not)\s+be))"
CERTAINLY = rf"(?:\s+{SURELY}\b)*"
RIGHT = (
    r"(?:(?:correct|right)(?=\s*(?:[.,;:!)]|$|because|since|as|and|but|while|too))"
    r"|the\s+(?:(?!wrong|incorrect|false|worst|least|next|second|other)\w+\s+){0,3}(?:answer|option|choice)\b)"
)
STATEMENT = re.compile(
    "|".join(
        [
            # B is correct, Option C is not the best answer; not "Hepatitis B is the answer"
            r"(?:^|(?<=[.;:,!\n(])|\b(?:option|choice|answer|letter|so|therefore|thus|hence|that)\b)[\s\"'(\[]{0,5}"
            r"(?P<verdict>(?-i:[A-Z]))[)\]\"'.:]{0,2}\s+(?:is|must\s+be|would\s+be|seems)(?P<verdict_not>n't|\s+not)?"
            rf"{CERTAINLY}\s+(?:{RIGHT}|(?P<wrong>wrong|incorrect|false|ruled\s+out|unlikely)\b)",
            # The answer to this question is therefore: B
            rf"{ANSWER}(?:\s+(?!(?:is|not|never|wrong|incorrect|{SAYS})\b)(?:[a-z']{{2,}}|a)\b,?){{0,7}}?"
            rf"{IS}(?P<not>n't|\s+not)?{CERTAINLY}\s*:?",
            # Answer: B, "answer": "B", Answer (A-D): B
            rf"(?P<slot>{ANSWER}(?:\s*\((?![A-Z]\))[^()\n]{{0,40}}\))?[\"')\]]*\s*(?:[:=→>]|\s-+>?\s)"
            r"|^[^\w\n]*(?:the\s+)?(?:final\s+|correct\s+|best\s+)?answer[^\w\n?]*$"
            r"|\\f?box(?:ed)?\s*\{)",
            # Answer B, Answer (B)
            rf"{ANSWER}\s*(?=[(\[])|{ANSWER}\s+(?=(?-i:[A-Z])(?!\w))",
            # I would choose B
            rf"\b(?:I|we|let's)(?:'(?:d|ll|m)|\s+(?:would|will|am|have))?(?:\s+(?:to|{SURELY})\b)*"
            r"\s+(?:choose|chose|select|selected|pick|picked|go\s+with|going\s+with|opt\s+for|answer)\b",
            r"(?<!\#)\#{4}(?!\#)",
            # The most likely diagnosis is B) Malaria
            r"(?P<needs_text>\b(?:most|best|correct|next)\s+(?:(?!answer|option|choice|letter)[\w'-]+\s+){1,6}?is\b)",
            r"(?P<next>^[ \t#>]*(?:question|q)\s*\d*\s*[:.])",  # some models go on with a question of their own
        ]
    ),
    re.I | re.M,
)
WORDS = re.compile(  # every statement has one of them; searching the whole of a long text for statements is slow
    r"answer|option|choice|correct|right|best|final|choos|chose|select|pick|with|opt|most|next|wrong|false|ruled"
    r"|unlikely|box|####|question|q\s*\d*\s*[:.]"
)
BEFORE, AFTER = 80, 150  # characters around such a word in which its statement lies
NEGATIONS = ("not", "cannot", "wrong", "verdict_not")  # groups of the pattern

# What stands before a statement in its clause.
CLAUSE = re.compile(r"[.,;:!?\n()]|\s-+\s|\b(?:so|therefore|thus|hence|and|but|then)\b", re.I)
OPEN = re.compile(
    r"\b(?:if|whether|unless|assuming|suppose|perhaps|maybe|possibly|might|may|could)\b"
    r"|\b(?:previous|first|initial|earlier|second|other|of\s+(?:the|my|your|this|an))\s+$",
    re.I,
)
BY_OTHERS = re.compile(rf"(?P<own>\b(?:I|we|let's)\b(?:'(?:d|ll|m))?(?:\s+\w+){{0,2}}?\s+(?:n't\s+)?)?\b{SAYS}\b", re.I)
DENIED = re.compile(
    r"n't\b|\b(?:not|cannot|never|no(?!\s+doubt)|none|nobody|nothing|(?<!no\s)doubt\w*|false|wrong|incorrect|untrue"
    r"|mistaken|unlikely|impossible|hardly|worst|least)\b",
    re.I,
)

# What follows an answer.
JOINED = re.compile(r"[^\w\n]*(?:[A-Z]\b[^\w\n]*)?(?:(?:and|or)\b[^\w\n]*)?")  # between two answers of one statement
SENTENCE_END = re.compile(r"[.;!?]+(?=\s|$)")
TAKEN_BACK = re.compile(
    r"\W*(?:wait|actually|correction|sorry|oops|hmm+|on\s+second\s+thought|scratch\s+that|or"
    r"|(?:no|wrong|incorrect|false)(?=\W*$|,)"
    r"|not\s+(?:this|that|sure|certain|correct|right)"
    r"|(?:but\s+)?(?:this|that|it|which|they)(?:'s|\s+(?:is|was|are|were|seems))(?:\s+\w+ly)?\s+(?:all\s+|a\s+)?"
    r"(?:wrong|incorrect|false|untrue|mistaken?|not\s+(?:the\s+)?(?:correct|right|true|best|answer)(?:\s+\w+)?)(?=\W*$)"
    r")\b",
    re.I,
)
UNSURE = re.compile(r"\b[Ii](?:'m|\s+\w+)?(?:n't|\s+(?:not|cannot|decline|refuse|unsure|uncertain|unable))\b")
LETTER_AT_END = re.compile(r"\W*(?:\w+\W+){0,6}?(?P<letter>[A-Z])\W*")
COMPARED = re.compile(
    r"\b(?:not|over|than|of|excludes?|denies)\W+(?:(?:the|option|choice|answer)\W+)*(?-i:[A-Z])\W*$", re.I
)
LISTED = re.compile(r"\W*(?P<letter>[A-Z])[.):]\s+(?=\w)")  # a line about one of the options
LONGEST_CORRECTION = 80  # characters


def statements(plain: str) -> Iterator[re.Match[str]]:
    """The places where a text states or denies an answer.

    Args:
        plain: What a model wrote, without emphasis.

    Returns:
        Matches of `STATEMENT`. What follows each may be the answer.
    """
    start = end = 0
    for word in WORDS.finditer(plain.lower()):
        if word.start() - BEFORE > end:
            yield from STATEMENT.finditer(plain, start, end)
            start = word.start() - BEFORE
        end = word.end() + AFTER
    yield from STATEMENT.finditer(plain, start, end)


def is_open(plain: str, found: re.Match[str]) -> bool:
    """Whether a statement is a condition or a guess, is about another answer, or is what somebody else says."""
    clause = _clause_before(plain, found)
    said = BY_OTHERS.search(clause)
    return OPEN.search(clause) is not None or (said is not None and not said["own"])


def is_denied(plain: str, found: re.Match[str]) -> bool:
    """Whether a statement says what is not the answer."""
    return any(found[name] for name in NEGATIONS) or DENIED.search(_clause_before(plain, found)) is not None


def is_taken_back(later: str, letter: str, letters: Container[str]) -> bool:
    """Whether the text after an answer takes it back, as in "Actually, B.", "This is wrong." or "I can't decide".

    Args:
        later: What follows the answer.
        letter: The answer.
        letters: The letters of the options. A short sentence that ends with another one of them is a correction, unless
            it is "Not B." or the like.
    """
    first, _, others = later.partition("\n")
    sentences = SENTENCE_END.split(first)
    for line in others.split("\n"):
        listed = LISTED.match(line)
        if not listed:
            sentences += SENTENCE_END.split(line)
        elif listed["letter"] == letter:
            sentences += SENTENCE_END.split(line[listed.end() :])
    for sentence in sentences:
        if TAKEN_BACK.match(sentence) or UNSURE.search(sentence):
            return True
        last = LETTER_AT_END.fullmatch(sentence) if len(sentence) <= LONGEST_CORRECTION else None
        if last and last["letter"] != letter and last["letter"] in letters and not COMPARED.search(sentence):
            return True
    return False


def _clause_before(plain: str, found: re.Match[str]) -> str:
    return CLAUSE.split(plain[max(0, found.start() - BEFORE) : found.start()])[-1]
