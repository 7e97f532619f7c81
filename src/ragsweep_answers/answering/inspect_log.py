"""Reads `.eval`, the log of Inspect AI, with Inspect's own reader."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ragsweep.core.errors import ConfigError, DatasetError, first_line
from ragsweep.core.parsing import MB
from ragsweep.datasets.model.cases import LETTERS
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS
from ragsweep.models.language.language_model import Exchange
from ragsweep.models.language.response import count
from ragsweep.text.normalisation import composed
from ragsweep_answers.answering.answer_parsing import read_letter
from ragsweep_answers.answering.option_letters import option_with_text
from ragsweep_answers.answering.question import Answer, Question
from ragsweep_answers.answering.rows import samples_of, unknown_case

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

LARGEST_LOG_MB = 4000  # of what a log holds, unzipped; its samples are read one at a time
LARGEST_ENTRY_MB = 50  # of a sample, or of the summaries of all
LARGEST_TEXTS_MB = 200  # of all prompts and responses, which are kept
UNREAD_FIELDS = {"events", "messages", "store", "attachments", "metadata"}  # of a sample, which may be large
READ_BYTES = 1 << 20  # at a time


class Sample(NamedTuple):
    """What counts of a sample.

    Attributes:
        case: Its id.
        epoch: Which time the case was asked, from 1.
        choices: The options as they were shown; None if it has none.
        answers: What each scorer read, by its name.
        prompt: What was asked.
        response: What the model wrote.
        tokens_in: Tokens of all prompts; None if not known.
        tokens_out: Tokens of all responses; None if not known.
        time_ms: How long it took; None if not known.
    """

    case: str
    epoch: int
    choices: tuple[str, ...] | None
    answers: Mapping[str, str]
    prompt: str
    response: str
    tokens_in: int | None
    tokens_out: int | None
    time_ms: float | None


class Unreadable(NamedTuple):
    """A sample that cannot be read."""

    case: str
    epoch: int
    reason: str

    def error(self, path: Path) -> DatasetError:
        """The error about it in this log."""
        return DatasetError(f"{_place(path, self.case, self.epoch)}: cannot be read ({self.reason})")


@dataclass(frozen=True)
class InspectLog:
    """The samples of a log.

    Attributes:
        path: The file.
        samples: The samples that the scorer has scored, with what it read.
        unreadable: The samples that cannot be read.
    """

    path: Path
    samples: tuple[tuple[Sample, str], ...]
    unreadable: tuple[Unreadable, ...]
    has_confidence = False

    @classmethod
    def read(cls, path: Path, name: str | None) -> InspectLog:
        """Read a log, a sample at a time, in memory that does not grow with what is not kept of the samples.

        Args:
            path: The file.
            name: Of the scorer; None if the log has only one.

        Raises:
            DatasetError: The file cannot be read, or is too large.
            ConfigError: inspect-ai is not installed, or the scorer is not in the log, or there are several and none is
                chosen.
        """
        try:
            from inspect_ai.log import read_eval_log
        except ImportError as error:
            needs = "a log of Inspect needs inspect-ai: pip install 'ragsweep[inspect]'"
            raise ConfigError(f"answerer.path: {path}: {needs}") from error
        by_scorer: dict[str, list[tuple[Sample, str]]] = {}
        unreadable: list[Unreadable] = []
        try:
            _check_sizes(path)
            status = read_eval_log(str(path), header_only=True, format="eval").status
            for sample in _samples(path):
                if isinstance(sample, Unreadable):
                    unreadable.append(sample)
                    continue
                for scorer, answer in sample.answers.items():
                    by_scorer.setdefault(scorer, []).append((sample, answer))
        except (DatasetError, MemoryError):
            raise
        except Exception as error:  # the reader raises anything for a damaged file
            raise DatasetError(f"{path}: cannot be read as a log of Inspect ({first_line(error)})") from error
        if not by_scorer and unreadable:
            raise unreadable[0].error(path)
        if not by_scorer:
            raise DatasetError(f"{path}: contains no scored samples (status: {status})")
        return cls(path, samples_of(name, by_scorer, "scorer", path), tuple(unreadable))

    def answers(self, asked: Mapping[str, Question]) -> Iterator[tuple[str, str, Answer | DatasetError]]:
        """The place and the case of each sample, and its answer, or why that does not fit its question or has none.

        A sample that the scorer left out, after an error, is missing.

        Args:
            asked: The questions by their ids, which are in NFC.
        """
        for each in self.unreadable:
            where = _place(self.path, each.case, each.epoch)
            error = each.error(self.path) if each.case in asked else unknown_case(where, each.case, asked)
            yield where, each.case, error
        for sample, read in self.samples:
            case = sample.case
            where = _place(self.path, case, sample.epoch)
            try:
                if case not in asked:
                    raise unknown_case(where, case, asked)
                yield where, case, _answer(sample, read, asked[case], where)
            except DatasetError as error:
                yield where, case, error


def _check_sizes(path: Path) -> None:
    """Unzip every entry once, without keeping it: an archive may state smaller sizes than its entries have.

    Raises:
        DatasetError: An entry, or all of them, are too large.
        BadZipFile: An entry is not of the size, or not of the content, that the archive states.
    """
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        size = sum(entry.file_size for entry in entries)
        if size > LARGEST_LOG_MB * MB:
            raise DatasetError(f"{path}: holds {size / MB:,.0f} MB, expected at most {LARGEST_LOG_MB:,} MB")
        for entry in entries:
            if entry.file_size > LARGEST_ENTRY_MB * MB:
                found = f"{entry.filename[:SHOWN_CHARACTERS]!r} holds {entry.file_size / MB:,.0f} MB"
                raise DatasetError(f"{path}: {found}, expected at most {LARGEST_ENTRY_MB} MB in a sample")
            with archive.open(entry) as content:
                while content.read(READ_BYTES):
                    pass


def _place(path: Path, case: str, epoch: int) -> str:
    return f"{path}, sample {case[:SHOWN_CHARACTERS]!r}, epoch {epoch}"


def _samples(path: Path) -> Iterator[Sample | Unreadable]:
    """The samples of a log, one at a time."""
    from inspect_ai.log import read_eval_log_sample, read_eval_log_sample_summaries

    kept = 0
    summaries = read_eval_log_sample_summaries(str(path), format="eval")
    for each in sorted(summaries, key=lambda each: (each.epoch, str(each.id))):
        try:
            read = read_eval_log_sample(
                str(path), each.id, each.epoch, format="eval", exclude_fields=UNREAD_FIELDS, resolve_attachments=False
            )
            sample = _sample(read)
        except MemoryError:
            raise
        except Exception as error:  # the reader raises anything for a damaged sample
            yield Unreadable(composed(str(each.id)), each.epoch, first_line(error))
            continue
        kept += len(sample.prompt) + len(sample.response)
        if kept > LARGEST_TEXTS_MB * MB:
            raise DatasetError(f"{path}: its prompts and responses have more than {LARGEST_TEXTS_MB} MB")
        yield sample


def _sample(sample: EvalSample) -> Sample:
    usages = sample.model_usage.values()
    tokens_in = sum(
        usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        for usage in usages
    )
    seconds = sample.total_time if sample.working_time is None else sample.working_time
    prompt = sample.input if isinstance(sample.input, str) else "\n\n".join(each.text for each in sample.input)
    return Sample(
        composed(str(sample.id)),
        sample.epoch,
        tuple(sample.choices) if sample.choices else None,
        {scorer: score.answer or "" for scorer, score in (sample.scores or {}).items()},
        prompt,
        sample.output.completion,
        count(tokens_in) if usages else None,
        count(sum(usage.output_tokens for usage in usages)) if usages else None,
        seconds * 1000 if seconds is not None and 0 <= seconds < math.inf else None,
    )


def _answer(sample: Sample, read: str, question: Question, where: str) -> Answer:
    return Answer(
        _letter(read, sample, question, where),
        reasoning=sample.response,
        exchanges=(Exchange(sample.prompt, sample.response),),
        tokens_in=sample.tokens_in,
        tokens_out=sample.tokens_out,
        time_ms=sample.time_ms,
    )


def _letter(answer: str, sample: Sample, question: Question, where: str) -> str | None:
    """The letter of the option that an answer means, which is another one if the dataset's choices were shuffled."""
    choices = sample.choices
    if not choices:
        return read_letter(answer, question.options, sample.prompt)
    letters: Sequence[str | None] = question.letters
    if [*choices] != [option.text for option in question.options]:
        letters = [option_with_text(choice, question.options) for choice in choices]
    if sorted(letter or "" for letter in letters) != sorted(question.letters):
        raise DatasetError(f"{where}: its choices are not the options of the case")
    return letters[LETTERS.index(answer)] if answer in (*LETTERS[: len(letters)],) else None
