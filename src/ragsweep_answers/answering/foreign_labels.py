"""Turns labels of other scripts that stand behind a word for "answer" into letters: 정답: 3번, 答案:③, الإجابة هي (ب).

The options of a question have the letters A, B, C and so on. Models that write another language may count them, or use
letters of its script.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragsweep.datasets.model.cases import Option
from ragsweep_answers.answering.answer_words import AFTER_NOUN, ANSWER, IS
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
LABEL = re.compile(
    rf"(?P<answer>{ANSWER}{AFTER_NOUN}?\W{{0,4}}(?:{IS}\s*:?|[은는])?[^\w\n]{{0,6}})"
    rf"(?:(?P<number>\d{{1,2}})번|(?P<label>(?-i:[{''.join(KINDS).replace(chr(0), '')}]))"
    r"(?![\w\u0900-\u0dff\u0e30-\u0e4e]))",  # nor the signs of vowels
    re.I,
)


def with_letters(plain: str, options: Sequence[Option]) -> str:
    """The text with the letter of an option in place of its label. Labels that options have in their texts stay."""
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

    if not re.search(r"\d", texts) and "option 0" not in plain.casefold():
        plain = NUMBERED_OPTION.sub(lambda found: _lettered(found, options), plain)
    return LABEL.sub(letter, plain)


def _lettered(found: re.Match[str], options: Sequence[Option]) -> str:
    """Option 2 as option B."""
    place = int(found["number"]) - 1
    return f"{found['noun']} {options[place].letter}" if 0 <= place < len(options) else found[0]
