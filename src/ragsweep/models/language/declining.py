"""Tells a text that declines to answer, as public models word it, from one that speaks of declining."""

from __future__ import annotations

import re
from functools import cache

LEAD = (  # I understand your concern, but; as an AI model,
    r"(?:(?:I (?:understand|appreciate|apologi[sz]e|regret|aim|want|wish|would like|strive)|"
    r"thank(?:s| you)|(?:my )?apologies|as (?:an?|much)|unfortunately|regrettably|given|due to|sorry|"
    r"I(?:'m| am)(?: \w+)? (?:sorry|afraid)|"
    r"I(?:'m| am)(?: \w+,)?(?: not| just| only)? an? (?:\w+ ){0,2}(?:AI|model|assistant|doctor|physician|professional)|"
    r"for (?:safety|ethical|legal|privacy) reasons)\b"
    r"(?:[^.!?;:\n]{0,120}?(?:,|\b(?:but|and|so|that)\b))?\s+(?:(?:but|and|so|that|I'm afraid)\s+)*){0,2}"
)
CANNOT = r"(?:can(?:no|')?t|can not|could not|won't|will not|do not|don't)"
UNABLE = (
    rf"(?:I )?(?:{CANNOT}(?: (?:and|or) {CANNOT})?(?: be able to)?|(?:do not|don't) have the ability to|"
    r"(?:I(?:'m| am) |am )?(?:unable to|not (?:able|allowed|permitted|qualified|authori[sz]ed|"
    r"programmed|designed|equipped|going) to)|"
    r"(?:I would|I'd) (?:rather not|prefer not to)|don't think I should)(?: in good conscience| directly)?"
)
TASK = r"(?:request|question|prompt|task|topic|conversation|matter|information)s?\b"
REFERENCE = (  # this; this medical question; your request
    rf"(?:you\b(?! (?:sleep|to)\b)|(?:that|this|these|it)(?:\W*$|[.,!]| one\b| (?:\w+ )?{TASK})|your (?:\w+ )?{TASK}|"
    rf"(?:\w+ )?(?:medical|legal|health) questions?\b)"
)
ADVICE = (
    r"(?:you )?(?:with )?(?:(?:an?|any|such|specific|personal|direct|definitive|that|this|your) ){0,2}"
    r"(?:(?:medical|legal|health|clinical) (?:advice|guidance|information|recommendations?|"
    r"diagnos[ei]s|conditions?|opinions?)|"
    r"(?:advice|diagnos[ei]s|guidance|instructions|assistance|content|information)(?! to\b))\b"
)
ANSWER = (
    r"(?:(?:assist|help|comply|fulfil+|answer|engag|participat|process|respond|discuss|support|shar|do)(?:e|ing)?"
    rf"(?: (?:with|in|to|on))? {REFERENCE}|"
    rf"engag(?:e|ing) in (?:\w+ )?(?:discussion|conversation)s?\b|"
    rf"(?:giv|offer|provid|generat|creat|writ|diagnos|interpret)(?:e|ing)? {ADVICE})"
)
AGAINST = r"(?:goes against|violates|conflicts with|(?:seems|appears) to be in violation of)"
GOES_ON = re.compile(r"[;:]|^[^.!]*\?")  # I cannot give a diagnosis without a biopsy; take one


def declines(text: str) -> bool:
    """Whether a text begins by declining, in English with straight apostrophes, and does not go on."""
    return _declining().match(text) is not None and not GOES_ON.search(text)


@cache
def _declining() -> re.Pattern[str]:
    """Compiled when it is needed: that takes 30 ms."""
    return re.compile(
        rf"{LEAD}(?:{UNABLE} {ANSWER}|"
        r"I(?:'m declining| am declining|(?:'ll have to|'m going to have to| (?:must|have to|need to|"
        r"will have to|am going to have to))?(?: respectfully| politely)? (?:decline|refuse))"
        rf"(?:\W*$|[.,!]| to {ANSWER}|"
        rf"(?: to answer)\W*$| {REFERENCE})|"
        rf"I(?: do not feel| don't feel|'m not| am not) comfortable (?:with )?{ANSWER}|"
        r"(?:that|this)(?:'s not| is not| isn't) something (?:that )?I(?: can|'m able to|"
        r" am able to) (?:help|assist|answer|do)|"
        rf"(?:this|that|your) {TASK} {AGAINST} (?:my|our|content|safety)\b|"
        rf"(?:this|that) {AGAINST} (?:my (?:\w+ )?|our (?:content |safety |usage )?)"
        r"(?:guidelines|polic(?:y|ies)|programming)\b|"
        r"my (?:guidelines|programming) (?:prevent|prohibit) me from\b|"
        r"(?:it(?: would not be| wouldn't be| is not| isn't|'s not) (?:appropriate|ethical)|"
        r"it(?: would be| is|'s) (?:unethical|inappropriate|irresponsible)|"
        r"I (?:do not|don't) think it(?: would be| is|'s) (?:appropriate|ethical)) "
        rf"for me to {ANSWER})",
        re.IGNORECASE,
    )
