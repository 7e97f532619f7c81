"""The forms in which a sentence states an answer or judges an option, each with an example.

A sentence comes with marks in place of the options that it names (`option_letters`). In the examples, B is the answer.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ragsweep_answers.answering.answer_words import (
    AFTER_NOUN,
    ANSWER,
    ARTICLE,
    BAD,
    BEST,
    BUT,
    CHOOSE,
    FITS,
    GOOD,
    IS,
    IT,
    LABEL,
    LEAVES,
    NOT,
    SAYS,
    SO,
    SURELY,
    THINK,
    WRITER,
    M,
)

JOIN = r"(?:,|/|&|\+|;|\||\b(?:and|or|nor|plus|then|und|oder|noch|y|o|ni|et|ou|e|и|или)\b|和|或|、|と|または)"
SEVERAL = rf"{M}(?:[\s)\]]*{JOIN}+\s*(?:{JOIN}\s*)?(?:(?:either|maybe|possibly|perhaps)\s+)?[(\[]?{M}){{0,9}}"
SURE = rf"\s*{SURELY}{{0,4}}"
WORDS = (  # between a noun and its verb: "the answer (to question 3) in this case is"
    rf"(?:(?!{NOT}|{SAYS}|could\b|might\b|may\b|wrong\b|incorrect\b)"
    rf"(?:[^\W\d_][\w'-]{{0,40}},?\s+|\([^()]{{0,40}}\)\s*|\"[^\"]{{0,200}}\"\s*)){{0,12}}?"
)
LABEL_WORD = (
    r"(?:(?!(?:to|of|each|which|what|determine|find|identify|let's|wrong|incorrect|not|previous|first|second|other"
    r"|another|possible|students?'?s?|user'?s?|if|why|is|are|options|choices)\b)[\w\u0900-\u0dff'-]{1,40}\s+)"
)
QUANTITY_WORD = (  # of what is concluded, but not "the first option to consider is:"
    r"(?:(?!(?:options?|choices?|first|second|third|next|last|other|another|possib\w*|alternative|consider\w*|incorrect"
    r"|wrong|false|least|not|no|only|if)\b)[\w'-]{1,40},?\s+)"
)
SEPARATOR = r"(?:[:=→>]|\s-+>?(?=\s)|-(?=\s)|\.\.\.)"
BRACKETS = r"(?:\s*\([^()]{0,40}\))?"
QUOTES = r"[\"')\]]*"
LEAD = r"^[^\w\ue000-\ue3ff]*"
ANNOUNCED = r"(?:\.\.\.|(?:clear|obvious|simple|as\s+follows)(?=\s*:))"


class Frame(NamedTuple):
    """A form of words that comes before the answer.

    Attributes:
        kind: What the words do: "label", "answer", "best" and "choose" state the answer, "so" concludes it, and "but"
            gives it after a denial.
        example: A text with such words.
        pattern: A regular expression without named groups, except `negated`.
    """

    kind: str
    example: str
    pattern: str


FRAMES = (
    Frame(
        "label",
        "**Final answer (one letter)**: B",
        rf"{LEAD}(?:(?:{SO}|sure|certainly|okay|here(?:'s|\s+is))\W+)?{LABEL_WORD}{{0,6}}?(?:[\u05d0-\u05ea\u3040-\u9fff]{{0,6}}?{ANSWER}{AFTER_NOUN}?|{LABEL}"
        rf"|{BEST}(?:\s+\w+)?)"
        rf"{QUOTES}{BRACKETS}{QUOTES}\s*{SEPARATOR}",
    ),
    Frame("label", '"answer": "B"', rf"[\"']\s*{ANSWER}[\"']\s*:|\[\s*{ANSWER}\s*\]\s*:?"),
    Frame(
        "answer",
        "The answer to this question is therefore B.",
        rf"(?<!/){ANSWER}\s*(?:{WORDS}(?P<negated>no\s+|n')?{IS}{SURE}{ANNOUNCED}?)",
    ),
    Frame(
        "answer",
        "Answer B",
        r"(?<!/)(?:\banswer(?:\s+(?:choice|option|letter))?|\bans|\b\u043e\u0442\u0432\u0435\u0442|\bréponse"
        r"|\brespuesta"
        rf"|\bantwort(?:möglichkeit)?|\bcevap|\byan\u0131t|\bodpowiedź(?:\s+to)?|\bodpověď\s+je|उत्तर|گزینه)\s*(?=[(\[]?{M}|\u043d\u0435\s)",
    ),
    Frame(
        "answer",
        "The underlying cause is B.",
        rf"\b(?:the|this|my|final)\s+{LABEL_WORD}?(?:{LABEL}|statement|claim|organism|cause)\s+{WORDS}{IS}{SURE}",
    ),
    Frame(
        "best",
        "The most appropriate drug for this patient is B.",
        rf"{BEST}\s*(?:{WORDS}|(?:(?![不非没沒])[\u3040-\u9fff]){{1,8}}?){IS}{SURE}",
    ),
    Frame("best", "Daher ist die richtige Antwort B.", rf"\b(?:ist|est|es)\s+{ARTICLE}{BEST}\s*(?={M})"),
    Frame(
        "best",
        "The findings are most consistent with B.",
        r"most\s+(?:consistent|compatible|suggestive|indicative)\s+(?:with|of)",
    ),
    Frame(
        "best",
        "The drug of choice here is B.",
        rf"\b(?:of|treatment|drug|test|method|modality)\s+(?:first\s+)?choice\s+{WORDS}{IS}",
    ),
    Frame(
        "choose",
        "I would go with B.",
        rf"{WRITER}\s*(?:(?:would|will|am|have\s+to|can|should|had\s+to|'m)\s+)*{SURE}{CHOOSE}",
    ),
    Frame(
        "choose",
        "I think it is B.",
        rf"{WRITER}\s*(?:(?:am|would)\s+)?{SURE}{THINK}(?:\s+(?:{IT}|the\s+answer\s+is))?",
    ),
    Frame("choose", "I hesitated, but settled on B.", r"\b(?:settled|decided)\s+(?:on|for)"),
    Frame("choose", "Choose B.", rf"(?:^|[,:;]\s*|\b(?:let's|please)\s+){CHOOSE}|(?:选择|选|選|選択)\s*:?\s*(?={M})"),
    Frame(
        "choose",
        "Ich würde B wählen.",
        rf"\bich\s+(?:würde|werde)\s+(?:mich\s+für\s+)?(?=\W?{M}\W?\s+(?:wählen|nehmen|entscheiden))",
    ),
    Frame(
        "but",
        "Not A, but B.",
        rf"{NOT}\s*(?:(?:es|è|é|jest|là)\s+)?{ARTICLE}?{SEVERAL}[\s,;.-]*(?:{BUT}|es\b)|{M}\s*(?:では|じゃ)なく[,\s]*",
    ),
    Frame("so", "So, B.", rf"(?:{SO}[\s,:.]*){{1,3}}(?:{IT}|\b(?:ist|est|es)\b)?{SURE}"),
    Frame(
        "best",
        "Therefore, the number of carbon atoms in product 3 is: B",
        rf"{SO}[\s,:]*(?:the|its|this|that)\s+{QUANTITY_WORD}{{1,14}}?{IS}\s*(?::|=)(?=\W*[\ue000-\ue1ff]\W*$)",
    ),
    Frame("so", "It's B.", rf"\b{IT}{SURE}|{LEAD}{SURELY}{{1,4}}"),
    Frame("so", "That leaves B.", LEAVES),
    Frame("so", "Everything points to B.", r"\b(?:points?\s+(?:\w+ly\s+)?to|corresponds\s+to|best\s+explained\s+by)"),
    Frame("so", "Guidelines recommend starting with option B.", r"\brecommend\s+(?:starting|beginning)\s+with"),
    Frame("so", "The rate settles it: B.", r"\b(?:settles\s+(?:it|this)|changes\s+my\s+mind|clear|obvious)\s*:"),
    Frame("so", "I would slow the heart, i.e. option B.", rf"\bi\.?e\b,?(?=\s*[(\[]?{M}[)\].]*$)"),
    Frame(
        "so",
        "The patient most likely needs metoprolol.",
        r"(?<!less\s)(?<!least\s)(?<!more\s)\b(?:most\s+)?likely(?:\s+(?:has|needs|requires|due\s+to|represents)\b)?",
    ),
)
KINDS = tuple(dict.fromkeys(frame.kind for frame in FRAMES))
FRAME = "|".join(f"(?P<{kind}>{'|'.join(frame.pattern for frame in FRAMES if frame.kind == kind)})" for kind in KINDS)

# "a drug, metoprolol", "to give metoprolol", "a (B) Metoprolol": words before the text of an option.
BEFORE_TEXT = (
    rf"(?:{ARTICLE}?(?:\w+\s+){{0,3}}\w+,\s*(?=[\ue100-\ue2ff])|to\s+(?=[\ue200-\ue2ff])"
    r"|an?\s+(?:(?:\w+\s+){0,2}(?=[\ue100-\ue1ff])|(?=[\ue200-\ue2ff])))"
)
STATED = re.compile(  # The answer is | not | both | A and B | but C
    rf"(?:{FRAME})\s*(?::|\s-\s)?[\s\"'(\[{{]*(?:answer\s*:\s*)?{BEFORE_TEXT}?{ARTICLE}?"
    rf"(?P<not>{NOT}\s*(?:{ARTICLE}|the\s+answer\s+)?)?(?P<both>\b(?:either|neither|both"
    rf"|between)\s+)?{ARTICLE}?[(\[\"']*"
    rf"(?P<mentions>{SEVERAL})(?:[\s,;]*(?:{BUT}|(?:では|じゃ)なく[,\s]*)\s*{ARTICLE}?(?P<second>{M}))?",
    re.I | re.M,
)

LINK = (  # between an option and the verdict: "B is", "B must be", "B: this is", "B ✓"
    rf"(?:(?:all\s+|both\s+)?(?:{IS}|(?:must|would|should|(?P<perhaps>can|could|may|might))(?:\s+all)?\s+be|looks|sounds|appears)\s*"
    r"(?:all\s+|both\s+|the\s+option\s+that\s+)?"
    r"|\s*[:;=→-]+\s*(?:(?:this|it|that)(?:'s|\s+(?:is|was|would\s+be|option\s+is))\s*)?|が|(?=[\u3040-\u9fff])"
    r"|,?\s*as\s+|\s*<-+\s*|\s*\((?=(?:the\s+)?(?:correct|right|best)(?:\s+\w+)?\))|,?\s*(?=[✓✔✅☑✗✘❌✕✖])|\s+)"
)
AFTER_GOOD = (  # "B is the best answer", but not "B is the best studied drug"
    rf"(?=\s*(?:[.,;:!)|\]\"'-]|$|{M}|です|である|。|because|since|as\b|and\b|but\b|while|too|here|for|in\b|that|given|among"
    r"|of\b|to\b|when|with|at\b|next|answer|choice|option|step))"
)
VERDICT = re.compile(  # B | is | not | correct, and ✓ B
    rf"(?<!{M}\s)(?<!{M},\s)(?<!{M},)(?P<mentions>{SEVERAL})[)\].\"']*\s*{LINK}"
    rf"(?P<not>{NOT}\s*)?{SURE}(?:(?P<good>{GOOD}{AFTER_GOOD}|{FITS})|(?P<bad>{BAD}|(?:no|not)\b(?!\s*{M})))"
    rf"|(?P<mark>[✓✔✅☑❌✗✘✕✖]|\[[xX]\])\s*[-:]?\s*(?P<marked>{M})",
    re.I | re.M,
)
