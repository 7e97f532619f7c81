"""Finds the letters and the texts of options in what a model wrote.

A text is read in two steps. Here, each mention of an option, such as "(B) Metoprolol", "option B" or "metoprolol",
becomes one character of a private range, so that the patterns of `statements` are about words, not about options.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import NamedTuple

from ragsweep.datasets.model.cases import Option
from ragsweep_answers.answering.answer_words import LT, OTHER, L, T
from ragsweep_answers.answering.letters_in_prose import LETTER, PROSE, is_among_words_of_answers, is_labelled
from ragsweep_answers.answering.option_texts import (
    PLAIN_WORDS,
    TOKEN,
    extra_words,
    folded,
    inverted,
    may_be_longer_text,
    tokens_of,
)
from ragsweep_answers.answering.raw_text import SIMPLER, plain_text

BARE = re.compile(r"[\s\"'(\[{*`<]*([A-Za-z])[\s\"')\]}*`>.:,;!]*")

SEPARATOR = re.compile(r"[\s:,;-]*(?P<dot>\.)?[\s:,-]*\(?")
ENDS = re.compile(r"[)\"'\]}\s]*(?:$|[.;!?,<|(]|-\s)")
PHRASE = re.compile(r"(?:[.:)\-]|\s-)*\s*(?P<phrase>(?:[^\W\d_][\w'-]{0,40}[ ,/]*){1,4})(?=$|[.;!?<(])")
LONGEST_OPTION = 1000  # characters
ASIDE = re.compile(r"\s*\([^()]{1,60}\)")
LEAST_WORD_SIMILARITY = 0.75  # similarity of two words that are taken for one, misspelt
PLAIN_BEFORE = re.compile(
    r"(?:^|[.!?:;\"'({\[]|\b(?:is|be|answer|say|statement|so|therefore|thus|hence|doubt"
    r"|probably|likely|definitely|clearly|(?:is|be|'s)\s+an?(?:\s+(?:clear|definite|strong))?),?|'s)\s*$",
    re.I,
)
PLAIN_AFTER = re.compile(r"\s*(?:$|[.,;:!()\"'}\]<]|-\s|because\b|since\b|as\b)", re.I)

NO_BEFORE = re.compile(r"\b(?:no|without|non-?)\s*$", re.I)  # no increase
PART_AFTER = re.compile(
    r"(?P<joint>[-/](?=\w)|\s+plus\s+)|\s+(?:overdose|toxicity|poisoning|intoxication|allergy|hypersensitivity|deficiency"
    r"|withdrawal|resistance|alternatives?|substitutes?|antagonists?|inhibitors?|agonists?|blockers?|receptors?)\b",
    re.I,
)


def bare_letter(text: str) -> str | None:
    """The letter, in upper case, if a text is nothing else, besides brackets and punctuation."""
    found = BARE.fullmatch(text.translate(SIMPLER))
    return found[1].upper() if found else None


def has_two_meanings(letter: str | None, options: Sequence[Option]) -> bool:
    """Whether a letter is also the text of another option, such as a vitamin or a blood group."""
    return any(option.letter != letter and bare_letter(option.text) == letter for option in options)


class Mention(NamedTuple):
    """A place where an option is named."""

    start: int
    end: int
    mark: str
    is_vague: bool = False  # whether words around it may make it the text of another option


class Letters:
    """Finds the options of one question.

    Attributes:
        known: The letters.
        texts: Letter by the tokens of the option's text. Texts that several options share are left out, and so are
            those that are a letter themselves, such as blood groups.
    """

    def __init__(self, options: Sequence[Option]) -> None:
        self.known = "".join(option.letter for option in options)
        self._ambiguous = {letter for letter in self.known if has_two_meanings(letter, options)}
        self._own = {option.letter: tokens_of(plain_text(option.text)) for option in options}
        shared = Counter(self._own.values())
        single = {(letter.casefold(),) for letter in self.known}
        self.texts = {
            words: letter for letter, words in self._own.items() if words and shared[words] == 1 and words not in single
        }
        self._inverted, self._extra_words = inverted(self.texts), extra_words(self.texts)
        self._beginnings = {option.letter: " ".join(self._own[option.letter]) for option in options}

    def letter(self, mark: str) -> str:
        """The letter of a mention; "" if it names none."""
        return "" if not mark or mark >= OTHER else self.known[ord(mark) % 0x100]

    def is_plain_word(self, mark: str) -> bool:
        """Whether a mention is an option such as "no", by its text."""
        return mark >= T and bool(PLAIN_WORDS.intersection(self._own.get(self.letter(mark), ())))

    def is_whole(self, plain: str) -> str | None:
        """The letter of the option whose text this is."""
        return self.texts.get(tokens_of(plain))

    def may_go_on(self, mark: str) -> bool:
        """Whether another option's text begins with this mention, so that a text that ends here may be cut off."""
        letter = self.letter(mark)
        begins = letter.casefold() if mark < LT else self._beginnings.get(letter, "")
        others = [text for other, text in self._beginnings.items() if other != letter]
        return any(text.startswith(begins) and text != begins for text in others)

    def marked(self, line: str) -> str:
        """A line with a mark in place of each mention of an option."""
        parts, end = [], 0
        for found in self._mentions(line):
            parts += [line[end : found.start], found.mark]
            end = found.end
        return "".join([*parts, line[end:]])

    def _mark(self, first: str, letter: str) -> str:
        return chr(ord(first) + self.known.index(letter)) if letter in self.known else OTHER

    def _mentions(self, line: str) -> Iterator[Mention]:
        texts = {each.start: each for each in self._texts(line)}
        end = 0
        for start, found in sorted(
            [(each.start, each) for each in texts.values()] + [(each.start(), each) for each in LETTER.finditer(line)],
            key=lambda each: (each[0], isinstance(each[1], Mention)),
        ):
            if start < end:
                continue
            mention = found if isinstance(found, Mention) else self._lettered(line, found, texts)
            if mention and isinstance(found, Mention):
                mention = self._with_letter_behind(line, mention)
            if mention:
                yield mention
                end = mention.end

    def _texts(self, line: str) -> Iterator[Mention]:
        """The texts of options in a line. The longest one at each place counts."""
        tokens = list(TOKEN.finditer(line))
        words = [folded(token) for token in tokens]
        first: dict[str, list[tuple[str, ...]]] = {}
        for text in sorted([*self.texts, *self._inverted], key=len, reverse=True):
            first.setdefault(text[0], []).append(text)
        position = 0
        while position < len(words):
            for text in first.get(words[position], ()):
                start, end = tokens[position].start(), tokens[min(position + len(text), len(tokens)) - 1].end()
                if tuple(words[position : position + len(text)]) != text or (
                    text[0] in PLAIN_WORDS
                    and len(text) == 1
                    and not (PLAIN_BEFORE.search(line[max(0, start - 12) : start]) and PLAIN_AFTER.match(line, end))
                ):
                    continue
                is_divided = re.search(r"[.!?;:]", line[start:end])  # pneumonia. Aspiration is unlikely
                if text in self._inverted and is_divided:
                    continue
                letter = self.texts.get(text) or self._inverted[text]
                is_other = NO_BEFORE.search(line[max(0, start - 12) : start]) or self._is_part(line, end)
                is_vague = not is_other and may_be_longer_text(line, start, end, self._extra_words[letter])
                yield Mention(start, end, OTHER if is_other or is_vague else self._mark(T, letter), is_vague)
                position += len(text) - 1
                break
            position += 1

    def _is_part(self, line: str, end: int) -> bool:
        """Whether the text of an option is a part of a name: aspirin-induced asthma, amoxicillin/clavulanate."""
        found = PART_AFTER.match(line, end)
        if not found:
            return False
        rest = tokens_of(line[found.end() : found.end() + LONGEST_OPTION]) if found["joint"] else ()
        return not any(rest[: len(text)] == text for text in self.texts)

    def _with_letter_behind(self, line: str, text: Mention) -> Mention:
        """The text of an option with its letter: Malaria (A)."""
        found = LETTER.match(line, SEPARATOR_BEHIND.match(line, text.end).end())  # type: ignore[union-attr]
        if not found or not (found["open"].startswith(("(", "[")) or found["noun"]):
            return text
        letter, own = found["letter"].upper(), self.letter(text.mark)
        return Mention(text.start, found.end(), self._mark(LT, own) if letter == own else OTHER)

    def _lettered(self, line: str, found: re.Match[str], texts: dict[int, Mention]) -> Mention | None:
        """A letter, with the text of its option if that follows; None if the letter is part of something else."""
        letter, start, end = found["letter"].upper(), found.start(), found.end()
        before = line[max(0, found.start("letter") - 40) : found.start("open")]
        enclosed = bool(found["noun"]) or (found["open"].strip("'\"") and found["close"])
        separator = SEPARATOR.match(line, end)
        assert separator
        behind = texts.get(separator.end())
        behind = None if behind and behind.is_vague else behind
        if (
            not enclosed
            and not found["letter"].isupper()
            and not is_labelled(line, found, before, has_text_behind=behind is not None)
        ):
            return None
        discussed = found["noun"] and ":" in separator[0]  # Option A: Aspirin. It inhibits platelets.
        if behind and letter in self.known and not discussed:
            if self.letter(behind.mark) == letter:
                return Mention(start, behind.end + bool(re.match(r"\)", line[behind.end :])), self._mark(LT, letter))
            if separator[0].strip(" ") != "," and (not separator["dot"] or ENDS.match(line, behind.end)):
                return Mention(start, behind.end, OTHER)
        if letter in self.known and (own_end := self._own_text_at(letter, line, separator.end())):
            return Mention(start, own_end, self._mark(LT, letter))
        if not enclosed and not is_among_words_of_answers(line, found, before):
            return None
        if letter not in self.known:
            is_letter = found["letter"].isupper() and (enclosed or letter not in "AI")
            return Mention(start, end, OTHER) if is_letter and found.start("letter") not in texts else None
        return (
            self._with_phrase(line, found, letter) if not discussed else Mention(start, end, self._letter_mark(letter))
        )

    def _letter_mark(self, letter: str) -> str:
        return OTHER if letter in self._ambiguous else self._mark(L, letter)

    def _with_phrase(self, line: str, found: re.Match[str], letter: str) -> Mention:
        """A letter with the few words behind it: the option's text, misspelt or shorter, or something else."""
        start, end = found.start(), found.end()
        leads = found["close"] or line[end : end + 1] in (".", ":") or line[end : end + 2] == " -"
        phrase = PHRASE.match(line, end) if leads else None
        if phrase and re.search(r"\w{3}", phrase["phrase"]) and not PROSE.search(phrase["phrase"]):
            aside = ASIDE.match(line, phrase.end())
            if self._is_like(letter, phrase["phrase"] + (aside[0] if aside else "")):
                return Mention(start, phrase.end("phrase"), self._mark(LT, letter))
            return Mention(start, phrase.end("phrase"), OTHER)
        return Mention(start, end, self._letter_mark(letter))

    def _own_text_at(self, letter: str, line: str, start: int) -> int | None:
        """Where a line that has only the option's text after its letter, or the beginning of it, ends."""
        rest, own = line[start : start + LONGEST_OPTION], self._own[letter]
        words = tuple(folded(token) for token in islice(TOKEN.finditer(rest), len(own) + 1))
        if (
            words
            and (
                words == own
                or (words[:-1] == own and not re.search(r"\w", words[-1]))  # and a tick mark
                or (
                    (len(words) > 1 or words[0] in PLAIN_WORDS)
                    and words[:-1] == own[: len(words) - 1]
                    and len(words) <= len(own)
                    and own[len(words) - 1].startswith(words[-1])
                )
            )
        ):
            return start + len(rest.rstrip(" .;,!?)\"']"))
        return None

    def _is_like(self, letter: str, phrase: str) -> bool:
        """Whether a word of a phrase is a word of the option's text, perhaps misspelt."""
        own = [word for word in self._own[letter] if len(word) > 2 or not word.isalpha()]
        return not re.search(r"(?<!')\b[A-Za-z]\b", phrase) and any(
            word == other
            or (len(word) > 3 and SequenceMatcher(None, word[:30], other[:30]).ratio() >= LEAST_WORD_SIMILARITY)
            for word in tokens_of(phrase)
            for other in own
        )


SEPARATOR_BEHIND = re.compile(r"[\s,-]*\(?(?=(?:option|choice|answer)\b)|[\s,-]*")
