"""Reads `.eval`, the log of Inspect AI, with Inspect's own reader."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragsweep.answering.option_letters import option_with_text
from ragsweep.answering.parsing import read_letter
from ragsweep.answering.question import Answer, Question
from ragsweep.answering.rows import samples_of, unknown_case
from ragsweep.core.errors import ConfigError, DatasetError, first_line
from ragsweep.core.parsing import MB
from ragsweep.datasets.cases import LETTERS
from ragsweep.datasets.fields import SHOWN
from ragsweep.retrieval.language_models.language_model import Exchange

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample
    from inspect_ai.scorer import Score

LARGEST_MB = 4000  # of what a log holds, unzipped


@dataclass(frozen=True)
class InspectLog:
    """The samples of a log.

    Attributes:
        path: The file.
        samples: The samples that the scorer has scored, with what it read.
    """

    path: Path
    samples: tuple[tuple[EvalSample, Score], ...]
    has_confidence = False

    @classmethod
    def read(cls, path: Path, name: str | None) -> InspectLog:
        """Read a log.

        Args:
            path: The file.
            name: Of the scorer; None if the log has only one.

        Raises:
            DatasetError: The file cannot be read.
            ConfigError: inspect-ai is not installed, or the scorer is not in the log, or there are several and none is
                chosen.
        """
        try:
            from inspect_ai.log import read_eval_log
        except ImportError as error:
            needs = "a log of Inspect needs inspect-ai: pip install 'ragsweep[inspect]'"
            raise ConfigError(f"answerer.path: {path}: {needs}") from error
        try:
            with path.open("rb") as file:  # which is read up to the sizes that the archive states
                size = sum(entry.file_size for entry in zipfile.ZipFile(file).infolist())
                if size > LARGEST_MB * MB:
                    raise DatasetError(f"{path}: holds {size / MB:,.0f} MB, expected at most {LARGEST_MB:,} MB")
                log = read_eval_log(file, format="eval")
        except (DatasetError, MemoryError):
            raise
        except Exception as error:  # the reader raises anything for a damaged file
            raise DatasetError(f"{path}: cannot be read as a log of Inspect ({first_line(error)})") from error
        by_scorer: dict[str, list[tuple[EvalSample, Score]]] = {}
        for sample in log.samples or ():
            for scorer, score in (sample.scores or {}).items():
                by_scorer.setdefault(scorer, []).append((sample, score))
        if not by_scorer:
            raise DatasetError(f"{path}: contains no scored samples (status: {log.status})")
        return cls(path, samples_of(name, by_scorer, "scorer", path))

    def answers(self, asked: Mapping[str, Question]) -> Iterator[tuple[str, str, Answer | DatasetError]]:
        """The place and the case of each sample, and its answer, or why that does not fit its question or has none.

        A sample that the scorer left out, after an error, is missing.

        Args:
            asked: The questions by their ids.
        """
        for sample, score in self.samples:
            case = str(sample.id)
            where = f"{self.path}, sample {case[:SHOWN]!r}, epoch {sample.epoch}"
            try:
                if case not in asked:
                    raise unknown_case(where, case, asked)
                yield where, case, _answer(sample, score, asked[case], where)
            except DatasetError as error:
                yield where, case, error


def _answer(sample: EvalSample, score: Score, question: Question, where: str) -> Answer:
    usages = sample.model_usage.values()
    tokens_in = sum(
        usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        for usage in usages
    )
    seconds = sample.total_time if sample.working_time is None else sample.working_time
    response = sample.output.completion
    prompt = sample.input if isinstance(sample.input, str) else "\n\n".join(each.text for each in sample.input)
    return Answer(
        _letter(score.answer or "", sample.choices, question, where),
        reasoning=response,
        exchanges=(Exchange(prompt, response),),
        tokens_in=tokens_in if usages else None,
        tokens_out=sum(usage.output_tokens for usage in usages) if usages else None,
        time_ms=None if seconds is None else seconds * 1000,
    )


def _letter(answer: str, choices: Sequence[str] | None, question: Question, where: str) -> str | None:
    """The letter of the option that an answer means, which is another one if the dataset's choices were shuffled."""
    if not choices:
        return read_letter(answer, question.options)
    letters: Sequence[str | None] = question.letters
    if [*choices] != [option.text for option in question.options]:
        letters = [option_with_text(choice, question.options) for choice in choices]
    if sorted(letter or "" for letter in letters) != sorted(question.letters):
        raise DatasetError(f"{where}: its choices are not the options of the case")
    return letters[LETTERS.index(answer)] if answer in (*LETTERS[: len(letters)],) else None
