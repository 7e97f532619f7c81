r"""Reads the answer from what a model wrote.

This is part of the measurement: a parser that takes the first letter that it finds, or falls back to A, can move a
benchmark by several points. Text from which no single answer can be read has none, and where in doubt, it has none.

1. A statement of the answer counts, such as "The answer is B" or `\boxed{B}`. The last one wins, since models correct
   themselves; it is gone if it is denied or taken back later.
2. A verdict, such as "B is correct", counts if there is one for one option only.
3. Without a statement, the first or the last sentence may be the answer: nothing but an option.
4. A letter that begins a list or a discussion of options is never the answer.

A letter that is also the text of another option, such as a blood group, could mean either: it counts only with the text
of its option, as in "A) B".
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from ragsweep.datasets.model.cases import Option
from ragsweep_answers.answering.answer_words import ANSWER, ARTICLE, LT, M
from ragsweep_answers.answering.foreign_labels import letters_by_number, with_letters
from ragsweep_answers.answering.json_answer import answer_in_json
from ragsweep_answers.answering.marked_sentences import QUESTION, Sentence, lines_with_marks, sentences_with_marks
from ragsweep_answers.answering.option_letters import Letters, bare_letter, has_two_meanings
from ragsweep_answers.answering.raw_text import CITED, plain_text, spoken
from ragsweep_answers.answering.stated_confidence import read_confidence
from ragsweep_answers.answering.statements import (
    Claim,
    calls_wrong,
    claims,
    is_closed,
    praises_it,
    recommended,
    takes_back,
)

__all__ = ["read_confidence", "read_letter"]

RESTATEMENT = re.compile(rf"\W*{ARTICLE}?(?:(?!final|actual|real)\w+\s+)?{ANSWER}\s", re.I)  # The long answer is ...
FEW_SENTENCES = 3
SHORT = 50  # characters
LISTED_ITEM = re.compile(r"[-\u2022+]\s")  # - A. Aspirin: an antiplatelet drug
DESCRIBED = re.compile(r",\s+(?:is|was|has|acts|works|can)\b", re.I)  # B, metoprolol, | is a beta blocker
OPEN_END = re.compile(r"\b(?:best|better|most\s+\w+)$", re.I)  # B is best | avoided here
DANGLING = re.compile(r"[\s)\]*]*(?:,|/|&|\b(?:and|or|und|oder|et|ou|y|o))\s*$", re.I)  # The answer is B or
WITH_CONFIDENCE = re.compile(  # B: 90%; below half, it may be the first line of a list of chances
    r"^(\W{0,3}[A-Z]\)?)(?:[ \t]*+[:;|,-][ \t]*+|[ \t]++)"
    r"\(?(?:(?:[5-9]\d(?:\.\d+)?|100)\s*%|0?\.[5-9]\d*|1\.0+)\)?[ \t]*$",
    re.M,
)
EXPLAINED = re.compile(rf"\s*(?:[,;:]|-\s)(?!.*(?:{M}|\b(?:wait|or|I|you)\b))", re.S)  # No, it does not.
NO_ANSWER = re.compile(  # Yes, | I can help. No, | yes
    r"[\s,;!./-]*(?:(?:yes|no|maybe|wait)(?=\W*$|,)|let\s+me\b|here(?:'s|\s+(?:is|are))\b|of\s+course\b|please\b|happy\b|you\b"
    r"|I\s*(?:can|'ll|'d|will|would\s+(?:be|love|like)|(?:'m|\s?am)\s+(?:happy|here|ready|able|glad)|understand)\b)",
    re.I,
)
LISTS = re.compile(
    r"\b(?:options?|choices?|each|following|consider\w*|evaluat\w*|analy\w*|look|differential|possibilit\w*)\b|:\s*$",
    re.I,
)
LEADING = re.compile(rf"[^\w\ue000-\ue3ff]*(?P<mark>{M})")
BARE = re.compile(rf"[^\w\ue000-\ue3ff]*(?P<mark>{M})(?P<tail>.*)", re.S)


def read_letter(text: str, options: Sequence[Option], shown: str = "") -> str | None:
    """The letter of the option that a text gives as the answer.

    Args:
        text: What a model wrote, raw or already without its thoughts.
        options: The answers to choose from.
        shown: The question or the prompt as the model saw it: options that are numbered there may be named by number.

    Returns:
        The letter. None if the text states no answer, several answers, or one that is not an option.
    """
    said = spoken(text)
    bare = bare_letter(said)
    if any(bare == option.letter for option in options):  # most files of answers have only letters
        return None if has_two_meanings(bare, options) else bare
    if exact := [option.letter for option in options if option.text.strip() == text.strip()]:
        return exact[0]
    letters = Letters(options)
    numbers = letters_by_number(shown, options)
    plain = CITED.sub("", plain_text(answer_in_json(said, numbered=bool(numbers))))
    if not any(re.search(r"\d", option.text) for option in options):
        plain = WITH_CONFIDENCE.sub(r"\1", plain)
    if whole := letters.is_whole(plain):
        return whole
    lines = lines_with_marks(with_letters(plain, options, numbers), letters)
    stated = _stated(lines, letters)
    return stated if stated in (*letters.known,) else None


def _stated(lines: Sequence[str], letters: Letters) -> str | None:
    """The letter that the lines give as the answer; "" if they give several, or one that is no option."""
    reading = _Reading(letters)
    sentences = list(sentences_with_marks(lines))
    for number, sentence in enumerate(sentences):
        if sentence.text == QUESTION:
            if reading.has_answer or (number and _bare(sentences[0].text, letters)):
                sentences = sentences[:number]
                break
            reading = _Reading(letters)
            continue
        reading.read(sentence, number, is_last=number == len(sentences) - 1)
    return reading.answer(_alone(sentences, lines, letters, reading.denied), sentences)


class _Reading:
    """What has been stated so far.

    Attributes:
        firm: What statements of the answer leave; None before the first.
        passing: The same of words that are also said in passing.
        denied: The letters that are called wrong.
    """

    def __init__(self, letters: Letters) -> None:
        self.letters = letters
        self.firm: set[str] | None = None
        self.passing: set[str] | None = None
        self.denied: set[str] = set()
        self.taken_back = False
        self._line = -1
        self._lead = ""  # the option that begins the line
        self._last: Claim | None = None  # of the sentence before, if it was an answer
        self._restates = False  # whether that sentence begins as in "The answer is"

    @property
    def has_answer(self) -> bool:
        return bool(self.firm or self.passing)

    def read(self, sentence: Sentence, number: int, *, is_last: bool) -> None:
        """Read a sentence. The text may be cut off in it if it is the last one."""
        if sentence.line != self._line:
            leading = LEADING.match(sentence.text)
            self._lead = leading["mark"] if leading else ""
        found = list(claims(sentence.text))
        if self._lead and praises_it(sentence.text):  # B. Metoprolol slows the heart. This is the best option.
            found = [Claim(self._lead, "right", 2, len(sentence.text))]
        if is_last:
            found = [claim for claim in found if not self._is_cut_off(sentence.text, claim, number)]
        positive = [claim for claim in found if claim.says != "wrong"]
        bare = BARE.fullmatch(sentence.text)
        if takes_back(sentence.text) and not LEADING.match(sentence.text):
            self.firm, self.passing, self.taken_back = self.firm and {""}, self.passing and {""}, True
        elif not found and bare and self._last and self._last.mark and is_closed(bare["tail"]):
            follows = sentence.is_line or sentence.line == self._line
            if follows and self.letters.letter(bare["mark"]) != self.letters.letter(self._last.mark):
                self._answer(Claim("", "answer", self._last.strength, 0))
        restates = RESTATEMENT.match(sentence.text) is not None
        for claim in found:
            last = self._last
            alike = claim.kind == "label" or (restates and self._restates and last and last.mark)
            differs = (
                last and last.kind == claim.kind and self.letters.letter(last.mark) != self.letters.letter(claim.mark)
            )
            self._take(claim._replace(mark="") if alike and differs else claim)
        self._line, self._restates = sentence.line, restates
        self._last = positive[-1] if positive and positive[-1].says == "answer" else None

    def answer(self, alone: set[str], sentences: Sequence[Sentence]) -> str | None:
        found = self.firm
        if found is None and (self.passing or alone) and not (self.taken_back and not self.passing):
            found = ((self.passing or set()) | alone) - self.denied
        if found is None and len(sentences) <= FEW_SENTENCES and not alone:
            given = {mark for sentence in sentences if (mark := recommended(sentence.text))}
            found = {self.letters.letter(mark) for mark in given} - self.denied
        return found.pop() if found is not None and len(found) == 1 else None

    def _take(self, claim: Claim) -> None:
        letter = self.letters.letter(claim.mark)
        if claim.says == "wrong":
            self.denied.add(letter)
            self.firm = self.firm and self.firm - {letter}
            self.passing = self.passing and self.passing - {letter}
        elif claim.says == "answer":
            self.denied.discard(letter)
            self._answer(claim)
        elif claim.strength == 2:  # verdicts on several options are no correction
            self.firm = (self.firm or set()) - {""} | {letter}
        else:
            self.passing = (self.passing or set()) - {""} | {letter}

    def _answer(self, claim: Claim) -> None:
        letter = self.letters.letter(claim.mark)
        if claim.strength == 2:
            self.firm = {letter}
        else:
            self.passing = {letter}

    def _is_cut_off(self, sentence: str, claim: Claim, number: int) -> bool:
        """Whether the text ends where it could go on with another option, or with words that change the meaning."""
        if DANGLING.match(sentence[claim.end :]):
            return True
        if sentence[claim.end :].strip() or not claim.mark or claim.kind == "label":
            return False
        if claim.kind == "so":  # "which leaves B", and then "or C"
            return number >= FEW_SENTENCES or len(sentence) > SHORT
        return number > 0 and (OPEN_END.search(sentence) is not None or self.letters.may_go_on(claim.mark))


def _bare(sentence: str, letters: Letters, *, may_be_longer: bool = False) -> str | None:
    """The mark of a sentence that has nothing but an option, and perhaps a reason."""
    found = BARE.fullmatch(sentence)
    if not found:
        return None
    mark, tail = found["mark"], found["tail"]
    if re.match(r"[\s:]+not\b", tail) or (LISTED_ITEM.match(sentence) and re.search(r"\w", tail)):
        return None
    if letters.is_plain_word(mark) and NO_ANSWER.match(tail):
        return None
    longer = LT <= mark < "\ue200" and len(tail.split()) <= 4 and ":" not in tail
    explained = letters.is_plain_word(mark) and EXPLAINED.match(tail)
    closed = is_closed(tail) and not DESCRIBED.match(tail)
    return mark if closed or explained or (longer and may_be_longer) else None


def _goes_on(first: Sentence, second: Sentence) -> bool:
    """Whether a sentence explains the option that stands alone before it."""
    return not calls_wrong(second.text) and (
        first.is_line
        or re.match(r"(?:[A-Z][a-z']+:?|However,|Overall,|Although,)\s|[^\x00-\u024f\ue000-\uf8ff]", second.text)
        is not None
    )


def _may_end(last: Sentence, sentences: Sequence[Sentence], mark: str, letters: Letters) -> bool:
    """Whether a text may end with nothing but this option. A long one could also be cut off there, within a word."""
    if len(sentences) <= FEW_SENTENCES and (last.is_line or mark < LT):
        sentence = re.search(r"\w\w[.!?]\s*$|^\W*not\b", sentences[-2].text, re.I)  # "A." could be an initial
        return last.is_line or (
            sentence is not None
            and letters.letter(mark) not in "AI"
            and sum(len(each.text) for each in sentences) <= SHORT
        )
    named = {letters.letter(each) for sentence in sentences[:-1] for each in re.findall(M, sentence.text)}
    ended = last.text.rstrip()[-1] in ".)]!"
    return last.is_line and mark < "\ue200" and (mark >= LT or ended or letters.letter(mark) in named)


def _names_others(sentences: Sequence[Sentence], letters: Letters) -> bool:
    """Whether a text that begins with an option goes on with others, and so discusses them."""
    named = {letters.letter(mark) for sentence in sentences for mark in re.findall(M, sentence.text)}
    return len(sentences) > FEW_SENTENCES or len(named) > 1


def _alone(sentences: Sequence[Sentence], lines: Sequence[str], letters: Letters, denied: Set[str]) -> set[str]:
    """The letters of the first and the last sentence that are nothing but an option, and begin no list."""
    found = set()
    for sentence in {sentences[0], sentences[-1]} if sentences else ():
        is_first = sentence is sentences[0]
        mark = _bare(sentence.text, letters, may_be_longer=is_first and not _names_others(sentences, letters))
        if is_first and len(sentences) > 1 and not _goes_on(sentence, sentences[1]):
            continue
        if not mark or (not is_first and not _may_end(sentence, sentences, mark, letters)):
            continue
        line = sentence.line
        near = [lines[each] for each in (line - 1, line + 1) if 0 <= each < len(lines)]
        leading = [letters.letter(each["mark"]) for each in map(LEADING.match, near) if each]
        listed = not is_first and line > 0 and LISTS.search(lines[line - 1])
        others = {*leading} - {letters.letter(mark)} - (denied if is_first else set())  # B\nA is wrong, since ...
        above = [LEADING.match(each) for each in lines[max(0, line - len(letters.known)) : line]]
        quoted = [letters.letter(each["mark"]) for each in above if each] == [*letters.known]  # the question
        if (not listed and not others) or (quoted and not is_first):
            found.add(letters.letter(mark))
    return found
