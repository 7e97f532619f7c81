"""Turns other labels of options into letters: 정답: 3번, 答案:③, الإجابة هي (ب), the third option, Answer: 3.

The options of a question have the letters A, B, C and so on. Models that write another language may count them, or use
letters of its script. A number alone counts only where the options are numbered in what the model was shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ragsweep.datasets.model.cases import Option
from ragsweep_answers.answering.answer_words import AFTER_NOUN, ANSWER, CHOOSE, IS
from ragsweep_answers.answering.raw_text import plain_text

CIRCLED = "".join(map(chr, range(0x2460, 0x2474)))
ABJAD = "أبجدهو"  # the order in which Arabic counts
CYRILLIC = "\u0410\u0412\u0421"  # look like A, B, C, and are typed for them
RUSSIAN = "\0\u0411\0\u0413\u0414"  # those that look like no Latin letter
OTHER_ALPHABETS = (  # the order in which exams count, in Greek, Hebrew, Hindi, Bengali and Thai
    *("\u0391\u0392\u0393\u0394\u0395", "\u05d0\u05d1\u05d2\u05d3\u05d4", "\u0915\u0916\u0917\u0918\u0919"),
    *("\u0995\u0996\u0997\u0998\u0999", "\u0e01\u0e02\u0e04\u0e07\u0e08"),
)
KINDS = (CIRCLED, ABJAD, CYRILLIC, RUSSIAN, *OTHER_ALPHABETS)
THIRD_IN_RUSSIAN = CYRILLIC[1]  # so it may also stand for C
NO_OPTION = "Z"
NUMBERED_OPTION = re.compile(r"\b(?P<noun>option|choice)\s+#?(?P<number>\d)(?![\w%]|[.,/-]\d)", re.I)
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
ORDINAL_OPTION = re.compile(  # but not "the first option to consider", nor "heparin is the second option"
    rf"(?P<before>(?:^|[.:;!?]|{CHOOSE}|\b(?:with|for|not|but)\b)\W{{0,4}}(?=the\b)|{ANSWER}{AFTER_NOUN}?\W{{0,4}}{IS}?\s*)(?:the\s+)?"
    rf"(?P<ordinal>{'|'.join(ORDINALS)}|\d(?=st|nd|rd|th))(?:st|nd|rd|th)?\s+(?:(?:answer\s+)?option|answer\s+choice|alternative|statement)\b"
    r"(?=\W*$|\s*[.,;:!()*\"]|\s+(?:is|because|since|as)\b)",
    re.I | re.M,
)
ENDS = r"(?![\w%]|\s*[.,;/&+-]\s*\d)(?=\W*$|\s*[.,;:!)\]}*\"]|\s+(?:because|since|as)\b)"
ANSWER_NUMBER = re.compile(
    rf"(?P<before>\A\W*|(?:{ANSWER}{AFTER_NOUN}?\W{{0,4}}(?:{IS}\s*:?)?|{CHOOSE})[^\w\n]{{0,6}}(?:number\s+)?)(?P<number>\d{{1,2}}){ENDS}",
    re.I | re.M,
)
LABEL = re.compile(
    rf"(?P<answer>{ANSWER}{AFTER_NOUN}?\W{{0,4}}(?:{IS}\s*:?|[은는])?[^\w\n]{{0,6}})"
    rf"(?:(?P<number>\d{{1,2}})번|(?P<label>(?-i:[{''.join(KINDS).replace(chr(0), '')}]))"
    r"(?![\w\u0900-\u0dff\u0e30-\u0e4e]))",  # nor the signs of vowels
    re.I,
)


def letters_by_number(shown: str, options: Sequence[Option]) -> dict[str, str]:
    """The letters of the options by their numbers in what a model was shown; empty unless each has just a number."""
    found: dict[str, str] = {}
    for option in options:
        label = rf"(?:^|(?<=[\s(\[]))(\w{{1,2}})[.):\]][ \t]*{re.escape(option.text.strip())}(?!\w)"
        labels = {*re.findall(label, shown, re.M)}
        if len(labels) == 1 and (number := labels.pop()).isdecimal():
            found[number] = option.letter
    counts = ({*map(str, range(first, first + len(options)))} for first in (0, 1))
    return found if {*found} in counts else {}


def with_letters(plain: str, options: Sequence[Option], numbers: Mapping[str, str]) -> str:
    """The text with the letter of an option in place of its label, also its number if it has one in `numbers`.

    Labels that options have in their texts stay.
    """
    texts = "\n".join(option.text for option in options)
    kinds = [kind for kind in KINDS if not re.search(rf"(?<!\w)[{kind}](?!\w)", texts)]

    def letter(found: re.Match[str]) -> str:
        places = [kind.index(found["label"]) for kind in kinds if found["label"] and found["label"] in kind]
        places += [int(found["number"]) - 1] if found["number"] and not re.search(r"\d번", texts) else []
        if not places or not 0 <= places[0] < len(options):
            return found[0]
        option = options[places[0]]
        has_text = plain[found.end() :].lstrip(").: ").startswith(plain_text(option.text))
        sure = found["label"] != THIRD_IN_RUSSIAN or has_text
        return f"{found['answer']}({option.letter if sure else NO_OPTION}) "

    by_place = numbers or {str(place): option.letter for place, option in enumerate(options, 1)}

    def of_option(found: re.Match[str]) -> str:
        known = by_place.get(found["number"])
        return f"{found['noun']} {known}" if known else found[0]

    def of_number(found: re.Match[str]) -> str:
        known = numbers.get(found["number"])
        return f"{found['before']}({known}) " if known and not re.search(rf"\b{found['number']}\b", texts) else found[0]

    def of_ordinal(found: re.Match[str]) -> str:
        ordinal = found["ordinal"].lower()
        place = int(ordinal) - 1 if ordinal.isdecimal() else ORDINALS.index(ordinal)
        return f"{found['before']} option {options[place].letter}" if 0 <= place < len(options) else found[0]

    if not re.search(r"\d", texts) and (numbers or "option 0" not in plain.casefold()):
        plain = NUMBERED_OPTION.sub(of_option, plain)
    plain = ORDINAL_OPTION.sub(of_ordinal, plain)
    return LABEL.sub(letter, ANSWER_NUMBER.sub(of_number, plain) if numbers else plain)
