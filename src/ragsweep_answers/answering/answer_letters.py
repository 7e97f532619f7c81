r"""Reads the letter of an answer from what a model wrote. Only the forms that docs/answers.md lists count.

They are: the whole text or its last line is an option; `Answer: X` at the start of a line; `\boxed{X}`;
`<answer>X</answer>`; a field `answer` of JSON; "the answer is X" at the end of the last sentence; or a pattern of the
user's. X is an option: its letter, its exact text, or both. The last form counts, unless it is denied or taken back.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Sequence

import regex

from ragsweep.core.errors import ConfigError
from ragsweep.datasets.model.cases import Option
from ragsweep.models.language.response import without_thoughts
from ragsweep_answers.answering.json_answer import read_json_object

LONGEST_READ, LONGEST_SEARCH = 50_000, 1.0  # characters at the end of a text; seconds of a pattern of the user's

LETTER = re.compile(r"""[\s"'(\[#>]*(?:option\s+)?([a-z])[\s"')\].:,;!]*""", re.I)
LETTERED = re.compile(r"""["'(\[#> ]*(?:option )?([a-z])(?:[)\]]?[.:,]? +|[)\]])(?:[:-] )?(.*?)\)?""", re.I)
TURN = re.compile(r"<[|\uff5c][^<>|\uff5c\n]{1,40}[|\uff5c]>|</?s>|<(?:start|end)_of_turn>|<eos>|\[/?INST\]")
NEXT_QUESTION = re.compile(r"^[ \t#>*]{0,9}(?:question|q|human|user|instruction)[ \t\d]{0,9}[:.]", re.I | re.M)
MARKUP = re.compile(r"\\(?:text\w*|math\w+)\s*\{([^{}]*)\}|[*`$\u200b\ufeff]|__|\\[()\[\],]")
ENCLOSED = re.compile(r"\\boxed\s*\{([^{}\n]{0,1000})\}|<answer>([^<]{0,1000})</answer>", re.I)
FIELD = re.compile(r'"answer"\s*:\s*"(?P<value>(?:[^"\\\n]|\\.){0,1000})"')
ANSWER = r"(?:\b(?:the|my)\s+)?\b(?:(?:final|correct|best|right)\s+)?answer"
LABEL = re.compile(rf"^[^\w\n]{{0,9}}(?:{ANSWER}\s{{0,3}}:[ \t]*)+(?P<value>\S.*)$", re.I | re.M)
ANSWER_IS = re.compile(rf"{ANSWER}\s+is\s*:?\s+", re.I)
OPENS = re.compile(r"\W{0,9}(?:(?:so|and|thus|hence|then|therefore)\W{1,9}){0,5}", re.I)  # Not A, | so | the answer
DOUBT = re.compile(r"\b(?:if|unless|whether|perhaps|maybe|might|could|doubt|says?|said|claims?|examples?)\b", re.I)
LISTED = re.compile(r"^[^\w\n]{0,5}([A-Z])\s*[).:\u2013\u2014-]", re.M)
LISTS = re.compile(r"\b(?:options|choices|each|following|consider|evaluat|analy|look|differential|possibilit)", re.I)
IN_PASSING = re.compile(  # counts only where it is another letter than that of the last form
    r"\b(?:[Aa]nswer|[Oo]ption|[Cc]hoice)\b[^.\n]{0,20}?\b(?:is|be)\b\W{0,3}([A-Z])\b"
    r"|\b([A-Z])\)?\s+is\s+(?:the\s+)?(?:best|better|correct|right|most)\b"
)
CORRECTED = re.compile(IN_PASSING.pattern + r"|\b(?:[Ff]inal|[Rr]evised|change\s+my)\b[^.\n]{0,20}?\b([A-Z])\b")
WORD = re.compile(r"(?!and\b)\b[^\W\d_]{3,}")
TAKEN_BACK = re.compile(
    r"(?:^|[.!?:]\s|\n)\W{0,9}(?:but\s+|oh\W+|hmm+\W+)?(?:wait|actually|correction|sorry|or|no(?=\W*$|\s?[,.;!\n]))\b"
    r"|\b(?:this|that|it|which)(?:'s|\s+(?:is|was|seems|can|must))\s*(?:\w+\s+)?(?:not|n't|wrong|incorrect|false)\b"
    r"|\bI(?:'m|\s+am)\s+(?:not\s+(?:\w+\s+)?(?:sure|certain)|unsure|uncertain)\b|\bcannot\s+be\s+determined\b",
    re.I,
)


def option_of(value: str, options: Sequence[Option]) -> str | None:
    """The letter of the option that a value is: a letter, the exact text of an option, or both.

    None if it is no option or, as a letter that is also the text of another option, may be several.
    """
    value, folded = value.strip(), _folded(value)
    texts = {option.letter: _folded(option.text) for option in options}
    letters = {option.letter for option in options if option.text.strip() == value}
    letters = letters or {letter for letter, text in texts.items() if text == folded}
    if bare := LETTER.fullmatch(value):
        letters |= {letter for letter, text in texts.items() if bare[1].casefold() in (letter.casefold(), text)}
    if not letters and (lettered := LETTERED.fullmatch(folded)):
        letters = {
            letter for letter, text in texts.items() if (letter, text) == (lettered[1].upper(), _folded(lettered[2]))
        }
    return letters.pop() if len(letters) == 1 else None


def read_letter(text: str, options: Sequence[Option]) -> str | None:
    """The letter of the option that a text gives as its answer; None if it gives none, or several."""
    reply = spoken(text)
    if (letter := option_of(reply, options)) is not None:
        return letter
    if (record := read_json_object(reply)) is not None:
        given = {option_of(value, options) for value in record.values() if isinstance(value, str)} - {None}
        return given.pop() if given == {option_of(str(record.get("answer") or ""), options)} else None
    plain = ENCLOSED.sub(lambda form: f"\nAnswer: {form[1] or form[2]}\n", plain_text(reply)).rstrip()
    fields, labels = ([*form.finditer(plain)] for form in (FIELD, LABEL))
    stated = [(*form.span(), option_of(form["value"], options)) for form in (*fields, *labels)]
    if not (stated := sorted([*stated, *_at_the_end(plain, options)], key=lambda form: form[:2])):
        return None
    start, end, letter = stated[-1]
    beside = [other for _, before, other in stated if other != letter and not WORD.search(plain[before:start])]
    line = reply.rpartition("\n")[2]
    is_cut_off = end == len(plain) and (line.count("**") % 2 or line.count("(") > line.count(")"))
    if letter is None or beside or is_cut_off or len({form["value"] for form in fields}) > 1:
        return None
    rest = plain[end:]
    denied = rf"(?:\bnot|n't)\s+(?:be\s+)?\(?{letter}\b|\b{letter}\)?\s+is(?:n't|\s+(?:not|wrong|incorrect|unlikely))\b"
    return None if TAKEN_BACK.search(rest) or re.search(denied, rest) or _is_other(letter, rest, CORRECTED) else letter


def pattern_of(pattern: str) -> regex.Pattern[str]:
    """A pattern of the user's, compiled. Raises `ConfigError` unless it is a regular expression with one group."""
    expected = r"expected a regular expression with one group, such as 'Final: ([A-E])'"
    try:
        compiled = regex.compile(pattern)
    except regex.error as error:
        raise ConfigError(f"answerer.pattern: found {pattern!r} ({error}); {expected}") from error
    if compiled.groups != 1:
        raise ConfigError(f"answerer.pattern: found {pattern!r} with {compiled.groups} groups; {expected}")
    return compiled


def matched_letter(text: str, options: Sequence[Option], pattern: regex.Pattern[str]) -> str | None:
    """The option in the group of the last match of a pattern, behind the thoughts of a model; None if there is none."""
    try:
        last = deque(pattern.finditer(without_thoughts(text)[-LONGEST_READ:], timeout=LONGEST_SEARCH), maxlen=1)
    except TimeoutError as error:
        problem = f"takes more than {LONGEST_SEARCH:g} s for one text of {len(text):,} characters"
        raise ConfigError(f"answerer.pattern: {problem}; write it without a repetition within another") from error
    return option_of(last[0][1] or "", options) if last else None


def spoken(text: str) -> str:
    """What a model says first, without its thoughts, the tokens of its template, and the next question that it asks."""
    turns = (turn.strip() for turn in TURN.split(without_thoughts(text)))
    reply = next((turn for turn in turns if turn not in ("", "assistant", "model")), "")[-LONGEST_READ:]
    question = NEXT_QUESTION.search(reply)
    return reply[: question.start()].strip() or reply if question else reply


def plain_text(text: str) -> str:
    """A text without emphasis and LaTeX."""
    return MARKUP.sub(lambda markup: markup[1] or "", unicodedata.normalize("NFC", text).replace("\u2019", "'"))


def _folded(text: str) -> str:
    return " ".join(plain_text(text).casefold().split()).removesuffix(".").strip("\"' ")


def _at_the_end(plain: str, options: Sequence[Option]) -> list[tuple[int, int, str | None]]:
    """What the last line states: it is an option outside of a list, or its last sentence says what the answer is."""
    before, _, line = plain.rpartition("\n")
    above, end, letter = before.rstrip().rpartition("\n")[2], len(plain), option_of(line, options)
    listed = LISTS.search(above) or option_of(above, options) or {*LISTED.findall(before)} - {letter}
    if letter and not listed:
        return [] if _is_other(letter, before) else [(end - len(line), end, letter)]
    if not (forms := [*ANSWER_IS.finditer(line)]):
        return []
    sentence, value = re.split(r"[.!?]\s", line[: forms[-1].start()])[-1], line[forms[-1].end() :]
    is_closed = value.endswith((".", ")", "]", "!")) or (sentence == plain[: forms[-1].start()] and value != "a")
    if not OPENS.fullmatch(re.split(r"[,;:]\s", sentence)[-1]) or DOUBT.search(sentence) or not is_closed:
        return []
    letter, start = option_of(value, options), end - len(value)
    return [(start, end, None if letter and _is_other(letter, plain[:start]) else letter)]


def _is_other(letter: str, text: str, form: re.Pattern[str] = IN_PASSING) -> bool:
    """Whether a text says that the answer is another letter."""
    return any({*letters} - {"", letter} for letters in form.findall(text))
