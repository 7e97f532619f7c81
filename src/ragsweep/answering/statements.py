"""Finds where a sentence states, denies or takes back an answer.

A sentence comes with marks in place of the options that it names (`option_letters`). It can state an answer in four
ways: it says what the answer is ("The most likely diagnosis is B"), that an option is right ("B is correct"), what the
writer chooses ("I would go with B"), or what follows ("So, B."). The words before and after decide whether the
statement is denied, left open, another's, or shared by several options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ragsweep.answering.answer_words import (
    ANSWER,
    ARTICLE,
    BAD,
    BEST,
    BUT,
    CHOOSE,
    DENIED,
    FITS,
    GIVE,
    GOOD,
    IS,
    IT,
    LABEL,
    LEAVES,
    LETTERED,
    LT,
    NOT,
    OPEN,
    OTHER,
    REASON,
    SAYS,
    SO,
    SURELY,
    THINK,
    WRITER,
    L,
    M,
    T,
)

LONGEST_TAIL = 400  # characters after a statement that may leave it open

JOIN = r"(?:,|/|&|\+|;|\||\b(?:and|or|nor|und|oder|noch|y|o|ni|et|ou|и|или)\b|和|或|、|と|または)"
SEVERAL = rf"{M}(?:[\s)\]]*{JOIN}+\s*(?:{JOIN}\s*)?(?:(?:either|maybe|possibly|perhaps)\s+)?[(\[]?{M}){{0,9}}"
WORDS = (
    rf"(?:(?!{NOT}|{SAYS}|could\b|might\b|may\b|wrong\b|incorrect\b)"
    rf"(?:[^\W\d_][\w'-]{{0,40}},?\s+|\([^()]{{0,40}}\)\s*)){{0,8}}?"
)
LABEL_WORD = (
    r"(?:(?!(?:to|of|each|which|what|determine|find|identify|let's|wrong|incorrect|not|previous|first|second|other|another"
    r"|possible|student|if|why|is|are|options|choices)\b)[\w'-]{1,40}\s+)"
)
SEP = r"(?:[:=→>]|\s-+>?(?=\s)|\.\.\.)"
LEAD = r"^[^\w\ue000-\ue3ff]*"

FRAME = "|".join(
    [
        # Answer: B, **The most likely diagnosis**: B, Final answer -> B
        rf"(?P<label>{LEAD}(?:{SO}\W+)?{LABEL_WORD}{{0,6}}?(?:[\u3040-\u9fff]{{0,6}}?{ANSWER}|{LABEL}|{BEST}(?:\s+\w+)?)[\"')\]]*(?:\s*\([^()]{{0,40}}\))?"
        rf"[\"')\]]*\s*{SEP})",
        rf"(?P<field>[\"']\s*{ANSWER}[\"']\s*:|\[\s*{ANSWER}\s*\]\s*:?)",
        # The answer to this question is B, Answer B
        rf"(?P<answer>(?<!/){ANSWER}\s*(?:{WORDS}(?P<negated>no\s+|n')?{IS}\s*{SURELY}{{0,4}}(?:\.\.\.|(?:clear|obvious|simple|as\s+follows)(?=\s*:))?)"
        rf"|(?<!/)(?:\banswer(?:\s+(?:choice|option|letter))?|\bans|\bответ|\bréponse|\brespuesta|\bantwort)\s*(?=[(\[]?{M}|не\s)"  # noqa: RUF001
        rf"|\b(?:the|this|my|final)\s+{LABEL_WORD}?(?:{LABEL}|statement|claim|organism|cause)\s+{WORDS}{IS}\s*{SURELY}{{0,4}})",
        # The most likely diagnosis in this patient is B
        rf"(?P<best>{BEST}\s*(?:{WORDS}|[\u3040-\u9fff]{{1,8}}?){IS}\s*{SURELY}{{0,4}}|most\s+(?:consistent|compatible|suggestive|indicative)\s+(?:with|of)"
        rf"|\b(?:of|treatment|drug|test|method|modality)\s+(?:first\s+)?choice\s+{WORDS}{IS})",
        # I would go with B, I think it is B, choose B
        rf"(?P<choose>{WRITER}\s*(?:(?:would|will|am|have\s+to|can|should|had\s+to|'m)\s+)*{SURELY}{{0,4}}{CHOOSE}"
        rf"|{WRITER}\s*(?:am\s+)?{SURELY}{{0,4}}{THINK}(?:\s+(?:{IT}|the\s+answer\s+is))?|(?:^|[,:;]\s*|\b(?:let's|please)\s+){CHOOSE}"
        rf"|(?:选择|选|選|選択)\s*(?={M}))",
        # So B, it's B, that leaves B, most likely B
        rf"(?P<so>(?:{SO}[\s,:.]*){{1,3}}(?:{IT}|\b(?:ist|est|es)\b)?\s*{SURELY}{{0,4}}|\b{IT}\s*{SURELY}{{0,4}}|{LEAVES}"
        r"|\b(?:points?\s+(?:\w+ly\s+)?to|corresponds\s+to|best\s+explained\s+by)"
        rf"|{LEAD}{SURELY}{{1,4}}|(?<!less\s)(?<!least\s)(?<!more\s)\b(?:most\s+)?likely)",
        rf"(?P<but>{NOT}\s*{SEVERAL}[\s,;.-]*{BUT}|{M}\s*(?:では|じゃ)なく[,\s]*)",
    ]
)
STATED = re.compile(
    rf"(?:{FRAME})\s*(?::|\s-\s)?[\s\"'(\[{{]*(?:answer\s*:\s*)?(?:{ARTICLE}?(?:\w+\s+){{0,3}}\w+,\s*(?=[\ue100-\ue2ff])|to\s+(?=[\ue200-\ue2ff])|an?\s+(?:(?:\w+\s+){{0,2}}(?=[\ue100-\ue1ff])|(?=[\ue200-\ue2ff])))?{ARTICLE}?"
    rf"(?P<not>{NOT}\s*(?:{ARTICLE}|the\s+answer\s+)?)?(?P<both>\b(?:either|neither|both|between)\s+)?{ARTICLE}?[(\[\"']*"
    rf"(?P<mentions>{SEVERAL})(?P<instead>[\s,;]*(?:{BUT}|(?:では|じゃ)なく[,\s]*)\s*{ARTICLE}?(?P<second>{M}))?",
    re.I | re.M,
)
VERDICT = re.compile(
    rf"(?<!{M}\s)(?<!{M},\s)(?<!{M},)(?P<mentions>{SEVERAL})[)\].\"']*\s*"
    rf"(?:(?:all\s+|both\s+)?(?:{IS}|(?:must|would|should|can|could|may)(?:\s+all)?\s+be|looks|sounds|appears)\s*"
    rf"(?:all\s+|both\s+|the\s+option\s+that\s+)?"
    rf"|\s*[:;=→-]+\s*(?:(?:this|it|that)(?:'s|\s+(?:is|was|would\s+be|option\s+is))\s*)?|が|(?=[\u3040-\u9fff])|,?\s*as\s+|,?\s*(?=[✓✔✅☑✗✘❌✕✖])|\s+)"
    rf"(?P<not>{NOT}\s*)?{SURELY}{{0,4}}(?:(?P<good>{GOOD}|{FITS})(?=\s*(?:[.,;:!)|\]\"'-]|$|{M}|です|である|。|because|since|as\b|and\b|but\b"
    rf"|while|too|here|for|in\b|that|given|among|of\b|to\b|when|with|at\b|next|answer|choice|option|step))|(?P<bad>{BAD}|(?:no|not)\b(?!\s*{M})))"
    rf"|(?P<mark>[✓✔✅☑❌✗✘✕✖]|\[[xX]\])\s*[-:]?\s*(?P<marked>{M})",
    re.I | re.M,
)

CLAUSE = re.compile(rf"[.,;:!?()]|\s-+\s|\b(?:so|therefore|thus|hence|and|but|then)\b|{M}", re.I)
LEFT_OPEN = re.compile(
    rf"{OPEN}|\b(?:previous|first|initial|earlier|second|other|of\s+(?:the|my|your|this|an))\s+$", re.I
)
DENIES = re.compile(DENIED, re.I)
BY_OTHERS = re.compile(rf"(?P<own>{WRITER}\s*(?:\w+\s+){{0,2}})?{SAYS}", re.I)
REASONED = re.compile(rf"[\s,(:;-]*(?:{REASON})", re.I)
CALLED_BAD = re.compile(
    rf"[\s,)\]\"']*(?:(?:but\s+)?(?:which|it|this|that)\s+)?(?:{IS}\s*|can\s+be\s+|\(\s*)?(?:{BAD}(?!\s*{M})|ではな|n't\b)"
    rf"|\s*{IS}\s*(?:not|no)\b",
    re.I,
)
DOUBT = re.compile(
    rf"{M}|n't\b|\b(?:not|cannot|no|never|nor|none|wrong|incorrect|false|mistaken?|maybe|perhaps|possibly|might|may|could"
    r"|or|also|either|if|unless|unsure|uncertain|unlikely|doubt\w*|hardly|oder|ou|или)\b"
    r"|(?<!\w)\?|[✗✘❌✕✖]",
    re.I,
)
ASIDE = re.compile(r",?\s+(?:because|since|while|whereas|although|though|weil|porque|car|因为)\b", re.I)
IN_BRACKETS = re.compile(r"\s\((?!or\b|and\b|maybe\b|possibly\b|\d)[^()]*\)")
CONDITION = re.compile(
    r"\W*(?:but\s+)?(?:if|unless|suppose|assuming|wenn|si|если)\s+(?!I\b|we\b|forced|only|you\s+had|asked)", re.I
)
RECOMMENDED = re.compile(rf"{GIVE}\s+(?:an?\s+|the\s+)?(?:\w+\s+){{0,2}}?(?P<mark>[\ue100-\ue2ff])", re.I)
CLOSED = re.compile(
    r"[\s)\]\"'}]*(?:$|[.,;!|<]|\([^()]{0,80}\)\s*(?:$|[.,;:!])|-\s|です|である|だ|입니다|,)|\s+(?:for\s+sure|here|then|overall|it\s+is)\b",
    re.I,
)
TAKEN_BACK = re.compile(
    r"\W*(?:(?:but\s+)?wait|actually|correction|sorry|oops|hmm+|on\s+second\s+thought|scratch\s+that|let\s+me\s+re\w+|or"
    r"|(?:no|wrong|incorrect|false)(?=\W*$|,)"
    r"|not\s+(?:this|that|sure|certain|correct|right)"
    r"|(?:but\s+|however,?\s+)?(?:this|that|it|which|they)(?:'s|\s+(?:is|was|are|were|seems))(?:\s+\w+ly)?\s+(?:all\s+|a\s+)?"
    r"(?:wrong|incorrect|false|untrue|mistaken?|not\s+(?:the\s+)?(?:correct|right|true|best|answer|accurate)(?:\s+\w+)?)"
    r"(?=\W*$)"
    r"|(?:that|this|it)\s+(?:can't|cannot)\s+be\s+right)\b",
    re.I,
)
UNSURE = re.compile(
    r"\b[Ii](?:'m|\s+am|\s+do|\s+can)?(?:n't|\s+not|not)\s+(?:really\s+|quite\s+)?(?:sure|certain|know|decide|choose|pick"
    r"|tell|say|determine|answer)\b|\bI\s+(?:cannot|can't|decline|refuse|(?:am\s+)?(?:unsure|uncertain|unable\s+to\s+"
    r"(?:decide|answer|determine)))\b"
)


class Claim(NamedTuple):
    """What a sentence says of one option.

    Attributes:
        mark: Of the option; "" if the sentence gives several, or something else, as the answer.
        says: "answer" where an option is given as the answer, "right" or "wrong" where it is judged.
        strength: 2 for a statement of the answer, 1 for words that are also said in passing.
        end: Where the words end.
        kind: "label" where the answer stands behind a label, such as "Answer:"; "so" where it is a conclusion.
    """

    mark: str
    says: str
    strength: int
    end: int
    kind: str = ""


def claims(sentence: str) -> Iterator[Claim]:
    """What a sentence with marks says of the options, in order."""
    position = 0
    stated, verdict = STATED.search(sentence), VERDICT.search(sentence)
    while True:
        if stated and stated.start() < position:
            stated = STATED.search(sentence, position)
        if verdict and verdict.start() < position:
            verdict = VERDICT.search(sentence, position)
        if not stated and not verdict:
            return
        if stated and (not verdict or stated.start() <= verdict.start() or stated.start("mentions") <= verdict.start()):
            found = list(_of_statement(sentence, stated, position))
            yield from found
            position = stated.end() if found else stated.start("mentions")
        else:
            assert verdict
            yield from _of_verdict(sentence, verdict, position)
            position = verdict.end()


def takes_back(sentence: str) -> bool:
    """Whether a sentence takes back what was said before it, as in "This is wrong." or "I can't decide"."""
    return TAKEN_BACK.match(sentence) is not None or UNSURE.search(sentence) is not None


def calls_wrong(sentence: str) -> bool:
    """Whether a sentence begins by calling wrong what was said before it."""
    return CALLED_BAD.match(sentence) is not None


def recommended(sentence: str) -> str | None:
    """The mark of the only option that a sentence says to give or to do, as in "Give amoxicillin."."""
    found = RECOMMENDED.search(sentence)
    named = re.findall(M, sentence)
    if not found or len(named) != 1 or DENIES.search(sentence) or LEFT_OPEN.search(sentence):
        return None
    return found["mark"] if re.match(r"\W*$|[,.;]", sentence[found.end() :]) else None


def is_closed(tail: str) -> bool:
    """Whether nothing but a reason follows a mention in its sentence."""
    return REASONED.match(tail) is not None or (CLOSED.match(tail) is not None and not DOUBT.search(tail))


def _of_statement(sentence: str, found: re.Match[str], begin: int) -> Iterator[Claim]:
    before = CLAUSE.split(sentence[max(begin, found.start() - 80) : found.start()])[-1]
    named = list(dict.fromkeys(re.findall(M, found["mentions"])))
    end = found.end()
    tail = sentence[end : end + LONGEST_TAIL]
    if len(named) == 1 and named[0] < OTHER:  # its letter or text again
        option = ord(named[0]) % 0x100
        tail = re.sub("|".join(chr(ord(first) + option) for first in (L, LT, T)), "", tail)
    called_bad = CALLED_BAD.match(tail) is not None
    tail = ASIDE.split(IN_BRACKETS.sub("", tail))[0]
    said = BY_OTHERS.search(before)
    condition = CONDITION.match(sentence)
    if (
        LEFT_OPEN.search(before)
        or (said and not said["own"])
        or re.match(r"[)\]\"'\s]*\?", tail)
        or (condition and condition.end() <= found.start())
    ):
        return
    if found["second"]:  # not A but C
        named, denied = [found["second"]], DENIES.search(before) is not None
    else:
        denied = (
            bool(found["not"] or found["negated"])
            or DENIES.search(before) is not None
            or (found["both"] or "").startswith("neither")
        )
    if denied or called_bad:
        yield from (Claim(mark, "wrong", 2, end) for mark in named)
        return
    firm = bool(found["label"] or found["field"] or found["answer"] or found["choose"] or found["but"])
    kind = next((name for name in ("label", "so") if found[name]), "")
    lettered = len(named) == 1 and re.match(LETTERED, named[0]) is not None
    if found["so"] and not (is_closed(tail) and len(named) == 1):
        return
    if not (REASONED.match(tail) or not DOUBT.search(tail)) or len(named) > 1 or found["both"]:
        yield Claim("", "answer", 2 if firm else 1, end, kind)
        return
    strength = 2 if firm or lettered else 1
    yield Claim(named[0], "answer", strength, end, kind)


def _of_verdict(sentence: str, found: re.Match[str], begin: int) -> Iterator[Claim]:
    if found["mark"]:
        says = "wrong" if found["mark"] in "❌✗✘✕✖" else "right"
        yield Claim(found["marked"], says, 2, found.end())
        return
    before = CLAUSE.split(sentence[max(begin, found.start() - 80) : found.start()])[-1]
    named = list(dict.fromkeys(re.findall(M, found["mentions"])))
    tail = sentence[found.end() : found.end() + LONGEST_TAIL]
    said = BY_OTHERS.search(before)
    if LEFT_OPEN.search(before) or (said and not said["own"]) or re.match(r"\s*\?", tail):
        return
    denied = bool(found["bad"]) != bool(found["not"]) or DENIES.search(before) is not None
    if denied:
        yield from (Claim(mark, "wrong", 2, found.end()) for mark in named)
    elif found["good"]:
        strength = 2 if all(re.match(LETTERED, mark) for mark in named) else 1
        for mark in named:
            shared = re.match(r"\s*,?\s*but\s+so\b", tail) is not None
            yield Claim("" if shared else mark, "right", strength, found.end())
