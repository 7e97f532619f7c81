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

from ragsweep_answers.answering.answer_frames import KINDS, STATED, VERDICT
from ragsweep_answers.answering.answer_words import (
    BAD,
    DENIED,
    ELSEWHERE,
    EXCEPT,
    GIVE,
    GOOD,
    INSISTS,
    IS,
    LETTERED,
    LT,
    NOT,
    OPEN,
    OTHER,
    REASON,
    SAYS,
    SURELY,
    WRITER,
    L,
    M,
    T,
)

LONGEST_TAIL = 400  # characters after a statement that may leave it open

CLAUSE = re.compile(rf"[.,;:!?()]|\s-+\s|\b(?:so|therefore|thus|hence|and|but|then)\b|{M}", re.I)
LEFT_OPEN = re.compile(
    rf"{OPEN}|\b(?:previous|first|initial|earlier|second|other|of\s+(?:the|my|your|this|an))\s+$", re.I
)
DENIES = re.compile(DENIED, re.I)
BY_OTHERS = re.compile(rf"(?P<own>{WRITER}\s*(?:\w+\s+){{0,2}})?{SAYS}", re.I)
OTHERS_DO = re.compile(r"\b(?:students?|people|many|others|they|who)\s+(?:(?!the\b|my\b|this\b)\w+\s+){0,2}$", re.I)
REASONED = re.compile(rf"[\s,(:;-]*(?:{REASON})", re.I)
CALLED_BAD = re.compile(
    rf"[\s,)\]\"']*(?:(?:but\s+)?(?:which|it|this|that)\s+)?(?:{IS}\s*|can\s+be\s+|\(\s*)?(?:{BAD}(?!\s*{M})|(?:では|じゃ)(?:な|あり)|[이가은는]?\s*아[니닙]|değil|नहीं|نیست|n't\b)"
    rf"|\s*{IS}\s*(?:not|no)\b",
    re.I,
)
ALL_THE_SAME = re.compile(rf",?\s*but\s+(?:(?:it|that)\s*)?(?:{IS}\s*)?(?:{NOT}\b|{BAD})", re.I)
DOUBT = re.compile(
    rf"{M}|n't\b|\b(?:not|cannot|no|never|nor|none|wrong|incorrect|false|mistaken?|maybe|perhaps|possibly|might|may"
    rf"|could"
    r"|or|also|either|if|unless|unsure|uncertain|unlikely|doubt\w*|hardly|oder|ou|или)\b"
    r"|(?<!\w)\?|[\u3040-\uffef]\?|[✗✘❌✕✖]",
    re.I,
)
ASIDE = re.compile(r",?\s+(?:because|since|while|whereas|although|though|weil|porque|car|因为)\b", re.I)
IN_BRACKETS = re.compile(
    r"\s[(\[](?!or\b|and\b|maybe\b|possibly\b|\d)[^()\[\]]*[)\]]|^[)\]]*\s*[:.-]\s*\"[^\"]{1,400}(?:\"|$)"
)
CONDITION = re.compile(
    r"(?:^\W*|[:;]\s+)(?:but\s+)?(?:if|unless|suppose|assuming|wenn|si|если)\s+(?!I\b|we\b|forced|only|you\s+had"
    r"|asked)",
    re.I,
)
COMPARES = re.compile(  # B rather than | C is right; all except | C are right
    rf"(?:\b(?:rather\s+than|instead\s+of|as\s+opposed\s+to|over|than|unlike|all\s+but)|{EXCEPT})\s*[(\[]?$", re.I
)
OF_ANOTHER = re.compile(ELSEWHERE, re.I)
PAST = re.compile(r"\b(?:was|war|était|era|fue|foi)\b", re.I)
CHANGED = re.compile(r"[^.;]{0,40}\b(?:but|until|before|aber|bis|mais|jusqu\w*|pero|hasta|mas|até|ma|fino)\b", re.I)
AT_FIRST = re.compile(r"[^.;\ue000-\ue3ff]{0,20}\b(?:at\s+first|initially|zunächst|d'abord|al\s+principio)\b", re.I)
SHARED = re.compile(  # C | for pneumonia, A for an infarct
    rf"\s*(?P<case>for|in|if|when|bei|für|pour|chez|para|en|em|per)\b[^\ue000-\ue3ff]{{1,80}}{M}[)\].:]*\s+(?P=case)\b",
    re.I,
)
ASKED = re.compile(r"[)\]\"'\s]*(?:吗|嗎|ですか|でしょうか|인가요|입니까|m[i\u0131])?\s*\?", re.I)
RECOMMENDED = re.compile(rf"{GIVE}\s+(?:an?\s+|the\s+)?(?:\w+\s+){{0,2}}?(?P<mark>[\ue100-\ue2ff])", re.I)
CLOSED = re.compile(
    r"[\s)\]\"'}]*(?:$|[.,;!|<]|\([^()]{0,80}\)\s*(?:$|[.,;:!])"
    r"|-\s|です|である|だ|입니다|,)|\s+(?:for\s+sure|here|then|overall|it\s+is)\b",
    re.I,
)
TAKEN_BACK = re.compile(
    r"\W*(?:(?:but\s+)?wait|actually|correction|sorry|oops|hmm+|on\s+second\s+thought|scratch\s+that|let\s+me\s+re\w+"
    r"|or"
    r"|(?:no|wrong|incorrect|false)(?=[^\w\ue000-\ue3ff]*$|,)"
    r"|not\s+(?:this|that|sure|certain|correct|right)"
    r"|(?:but\s+|however,?\s+)?(?:this|that|it|which|they)(?:'s|\s+(?:is|was|are|were"
    r"|seems))(?:\s+\w+ly)?\s+(?:all\s+|a\s+)?"
    r"(?:wrong|incorrect|false|untrue|mistaken?|not\s+(?:the\s+)?(?:correct|right|true|best|answer"
    r"|accurate)(?:\s+\w+)?)"
    r"(?=\W*$|,?\s+(?:because|since|as|based\s+on|given|due)\b)"
    r"|(?:that|this|it)\s+(?:can't|cannot)\s+be\s+right)\b",
    re.I,
)
PRAISED = re.compile(
    rf"\W*(?:so\s+|therefore,?\s+|thus,?\s+)?(?:this|that|it|which)\s+(?:(?:option|choice"
    rf"|answer)\s+)?{IS}\s*{SURELY}{{0,3}}"
    rf"(?:the\s+)?(?!true\b|right\b|yes\b){GOOD}(?:\s+(?:option|choice|answer))?\W*$",
    re.I,
)
KEEPS = (  # after "I can't": a disclaimer, or that nothing speaks against the answer
    r"\s+(?:disagree|argue\s+with|find\s+(?:any\s+)?fault|(?:think\s+of|imagine|find)\s+(?:a\s+better|another)"
    r"|(?:provide|give|offer)\s+(?:\w+\s+){0,2}advice|replace\s+(?:a|an|your|the)\s+(?:\w+\s+)?"
    r"(?:doctor|physician|clinician|professional)|(?:find|see)\s+(?:any\s+)?(?:support|evidence|reasons?)\s+for\s+"
    r"(?:any\s+of\s+)?the\s+other)\b"
)
UNSURE = re.compile(
    r"\b[Ii](?:'m|\s+am|\s+do|\s+can)?(?:n't|\s+not|not)\s+(?:really\s+|quite\s+)?(?:sure|certain|know|decide|choose"
    r"|pick"
    rf"|tell|say|determine|answer)\b|\bI\s+(?:(?:cannot|can't)(?!{INSISTS}|{KEEPS})|decline|refuse"
    r"|(?:am\s+)?(?:unsure|uncertain|unable\s+to\s+"
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


def praises_it(sentence: str) -> bool:
    """Whether a sentence calls right what was said before it, as in "This is the best option."."""
    return PRAISED.match(sentence) is not None


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
    if SHARED.match(tail):
        return False
    return REASONED.match(tail) is not None or (CLOSED.match(tail) is not None and not DOUBT.search(tail))


def _is_conditional(sentence: str, found: re.Match[str]) -> bool:
    """Whether a sentence is of another case: "If there were an infection, C would be right", "C was right, but ..."."""
    condition = CONDITION.search(sentence)
    changed = PAST.search(found[0]) and CHANGED.match(sentence, found.end())
    return (
        bool(condition and condition.end() <= found.start())
        or bool(changed or AT_FIRST.match(sentence, found.end()))
        or OF_ANOTHER.match(sentence[: found.start("mentions")]) is not None
    )


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
    if LEFT_OPEN.search(before) or (said and not said["own"]) or ASKED.match(tail) or _is_conditional(sentence, found):
        return
    if found[0].lower().startswith("answer") and OTHERS_DO.search(before):  # Students often answer B
        return
    if found["second"] and not (found["not"] or found["negated"]):  # C, but A is a close second; A, but C is better
        yield Claim("", "answer", 2, end)
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
    kind = next(name for name in KINDS if found[name])
    firm = kind not in ("best", "so")
    lettered = len(named) == 1 and re.match(LETTERED, named[0]) is not None
    if found["so"] and not (is_closed(tail) and len(named) == 1):
        return
    if not (REASONED.match(tail) or not DOUBT.search(tail)) or len(named) > 1 or found["both"] or SHARED.match(tail):
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
    if LEFT_OPEN.search(before) or (said and not said["own"]) or ASKED.match(tail) or _is_conditional(sentence, found):
        return
    if COMPARES.search(before):
        return
    denied = bool(found["bad"]) != bool(found["not"]) or DENIES.search(before) is not None
    if denied or ALL_THE_SAME.match(tail):  # B looks right but is wrong
        yield from (Claim(mark, "wrong", 2, found.end()) for mark in named)
    elif found["good"] and not found["perhaps"]:
        strength = 2 if all(re.match(LETTERED, mark) for mark in named) else 1
        for mark in named:
            shared = re.match(r"\s*,?\s*but\s+so\b", tail) is not None
            yield Claim("" if shared else mark, "right", strength, found.end())
