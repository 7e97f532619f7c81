"""Takes from the raw output of a model what it says: without its thoughts, the tokens of its template and markup.

Responses of servers are cleaned where they are received; texts that another system recorded arrive raw.
"""

from __future__ import annotations

import re
import unicodedata

from ragsweep.models.language.reasoning_marks import split
from ragsweep.text.normalisation import TYPED

LONGEST_READ = 50_000  # characters at the end of a text

HEADERS = re.compile(
    r"\s*(?:<\|?(?:start_header_id|im_start|start_of_turn|start|assistant|model|begin_of_text|begin_of_solution|bos)\|?>"
    r"|<s>|\[/INST\]|(?:assistant|model)(?=\s*(?:<|\n))|(?:#+\s)?(?:[Aa]ssistant|AI)\s?:|<\|(?:end_header_id|message)\|>|\s)*"
)
TURN_END = re.compile(r"<[|\uff5c][^<>|\uff5c\n]{1,40}[|\uff5c]>|</s>|<(?:eos|end_of_turn|eot|pad)>|\[/?INST\]", re.I)

CUT_OFF = re.compile(r"[(\[{\"'<]{1,5}[A-Za-z]?\s{0,9}$")  # an opened bracket
CITED = re.compile(  # (B) [1], and C.¹
    r"(?<=[\w.)*\"'])[ \t]?(?:\[\d{1,3}(?:\s*[,;-]\s*\d{1,3})*\])+(?=\W*(?:$|\n|[A-Z]))"
    r"|(?<=[A-Z.)])[\u00b9\u00b2\u00b3\u2070-\u2079]+"
)
STRUCK = re.compile(r"~~[^~\n]{1,500}~~")
TABLE_RULE = re.compile(r"^[ \t]*+(?:\|[ \t]*+)?:?-{2,}+:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+$", re.M)
TABLE_ROW = re.compile(r"^[ \t]*+\|(?P<cells>[^\n]*)\|[ \t]*+$", re.M)
ANSWER_TAG = re.compile(r"<(?:(?:final|correct|my|best)[_-]?)?(?:answer|ans|choice|option|response|letter)\s*>", re.I)
CONFIDENCE_TAG = re.compile(r"<(?:confidence|probability)(?:[_-]?(?:score|level))?\s*>", re.I)
TAG = re.compile(r"</?[A-Za-z][\w-]{0,30}\s*/?>")
BOXED = re.compile(r"\\f?box(?:ed)?\s*\{")
LATEX_TEXT = re.compile(r"\\(?:text(?:bf|it|rm|sf)?|mathrm|mathbf|mathsf|bf|rm)\s*(?:\{([^{}]*)\}|(?=[ (]))")
LATEX_AND_MARKS = re.compile(r"[*`$\u200b-\u200d\u2060\ue000-\ue3ff\ufeff]|~~|\\[()\[\],;!]|\\(?=%)")
SIMPLER = str.maketrans(
    {**TYPED, "\u2011": "-", "\u0130": "I", "\u3010": "[", "\u3011": "]"}  # a dash, dotted I, brackets
    | {"\u3002": ". ", "\u3001": ", ", "\u061f": "?", "\u060c": ","}
    | {"\u00ab": '"', "\u00bb": '"', "\u300c": '"', "\u300d": '"'}
    | {"\u21d2": "\u2192", "\u27f6": "\u2192", "\u2794": "\u2192"}
    | {code + 0xFEE0: code for code in range(0x21, 0x7F)}  # full width; NFKC would also make 105 of an exponent
)


def spoken(text: str) -> str:
    """What a model says, without its thoughts and the tokens of its template. Empty if it only thought."""
    text = split(text).text
    start = HEADERS.match(text)
    text = text[start.end() if start else 0 :]
    end = TURN_END.search(text)
    text = text[: end.start()] if end else text
    last = text.rfind("\n", 0, len(text.rstrip())) + 1
    if text.count("**", last) % 2:  # cut off within "**(D) Immerse ...**"
        text = text[: text.rindex("**")]
    text = CUT_OFF.sub("", text)
    return text if len(text) <= LONGEST_READ else f"...\n{text[-LONGEST_READ:]}"


def plain_text(text: str) -> str:
    """The text without emphasis, LaTeX and tags; what a box or a tag calls the answer becomes a line "Answer: ..."."""
    text = STRUCK.sub("", unicodedata.normalize("NFC", text).replace("\u2014", " - ").translate(SIMPLER))
    text = TABLE_ROW.sub(_line_of_row, TABLE_RULE.sub("", text)) if "|" in text else text
    text = BOXED.sub("\nAnswer: {", LATEX_TEXT.sub(r"\1", text))
    text = TAG.sub("\n", CONFIDENCE_TAG.sub("\nConfidence: ", ANSWER_TAG.sub("\nAnswer: ", text)))
    return LATEX_AND_MARKS.sub("", text).replace("_", " ")


def _line_of_row(row: re.Match[str]) -> str:
    """A row of a Markdown table as a line: "| B | Metoprolol | Yes |" becomes "B: Metoprolol: Yes"."""
    return ": ".join(filter(None, map(str.strip, row["cells"].split("|"))))
