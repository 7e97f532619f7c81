"""`results/evaluation.json` of a run: what comparisons and reports need of it, as it is written and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan, nan
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import FailFast, Field

from ragsweep.config.run_settings import MOST_REPEATS
from ragsweep.core.csv_files import TAKEN, TEXT_COLUMNS
from ragsweep.core.json_records import from_record
from ragsweep.core.parsing import MalformedError, read_text
from ragsweep.core.terminal import verb
from ragsweep.retrieval.kinds import Method
from ragsweep.tasks.false_finds import ThresholdWords
from ragsweep.tasks.metric import Guessing, Metric, Unread

LARGEST_RECORD_MB = 100
LARGEST_MEASURED = 1e300  # larger numbers are not measurements

Number = Annotated[float, Field(gt=-LARGEST_MEASURED, lt=LARGEST_MEASURED)]
Numbers = Annotated[tuple[Number, ...], FailFast()]
Scores = Annotated[tuple[Number | None, ...], FailFast()]
Texts = Annotated[tuple[str, ...], FailFast()]


@dataclass(frozen=True, kw_only=True)
class MetricFact(Metric):
    """A metric.

    Attributes:
        aggregate: Whether it is not a mean over items.
        mean: Its value, also that of an aggregate.
        ci_low: Lower bound of its 95 % interval.
        ci_high: Upper bound of its 95 % interval.
        guessing: How the configuration compares with guessing, where one can guess.
        unread: The items that could not be read, where there can be any.
    """

    aggregate: bool = False
    mean: Number = nan
    ci_low: Number = nan
    ci_high: Number = nan
    guessing: Guessing | None = None
    unread: Unread | None = None

    def __post_init__(self) -> None:
        if self.aggregate and isnan(self.mean + self.ci_low + self.ci_high):
            raise MalformedError("an aggregate needs mean, ci_low and ci_high")
        if self.guessing is not None:
            value, *p_values = self.guessing
            if not (abs(value) < LARGEST_MEASURED and 0 <= min(p_values) <= max(p_values) <= 1):
                raise MalformedError("guessing: expected a number, and p-values from 0 to 1")


@dataclass(frozen=True, kw_only=True)
class MeasureFact(Metric):
    """A number besides the metrics.

    Attributes:
        value: The number.
        sample: The values of some items, as of `Measure`; empty if there are none.
        machines: What a time was taken with; empty if unknown, None if that was not noted.
        slowed_by: By which factor load may have lengthened a time; None if that is not known.
    """

    value: Number
    sample: Numbers = ()
    machines: tuple[str, ...] | None = None
    slowed_by: Number | None = None

    @property
    def is_one_time(self) -> bool:
        """Whether it is one time for all queries together, which says nothing about chance."""
        return len({*self.sample}) == 1 or (not self.sample and self.machines is not None)


class Bounds(NamedTuple):
    """Lower and upper bounds of the means in a curve."""

    low: Numbers
    high: Numbers


class UnreadText(NamedTuple):
    """How many texts of one kind are longer than what a model reads of them.

    Attributes:
        model: Its name.
        texts: What they are, such as `queries`.
        cut: How many of them are longer than what it reads.
        out_of: How many there are.
        read: How much it reads of each, beside its prompt and special tokens.
        unit: Of that: tokens, or characters.
    """

    model: str
    texts: str
    cut: Annotated[int, Field(ge=1)]
    out_of: Annotated[int, Field(ge=1)]
    read: int
    unit: str

    @property
    def share(self) -> float:
        """How many of them are longer, 0 to 1."""
        return self.cut / self.out_of

    @property
    def in_words(self) -> str:
        """A sentence without its full stop."""
        longer = f"{self.cut:,} of {self.out_of:,} {self.texts} {verb(self.cut, 'are')} longer"
        return f"{longer} than the {self.read:,} {self.unit} that {self.model} reads"

    @property
    def advice(self) -> str:
        """What to do about it, in one sentence."""
        smaller = "Cut the passages smaller, such as by chunker=recursive chunker.size=null"
        more = "a larger truncate" if self.unit == "characters" else "a model that reads more"
        return f"{'Shorten the queries' if self.texts == 'queries' else smaller}, or choose {more}."


class ReturnedFact(NamedTuple):
    """What a configuration returns at each rank.

    Attributes:
        characters: The mean size of what it may return.
        counted_by: What counts its tokens.
    """

    characters: Annotated[Number, Field(gt=0)]
    counted_by: str


class JudgedFact(NamedTuple):
    """The judged share of what a configuration finds; the rest counts as wrong.

    Attributes:
        share: Of everything that it finds.
        of_wrong: Of what counts as wrong.
    """

    share: Annotated[Number, Field(ge=0, le=1)]
    of_wrong: Annotated[Number, Field(ge=0, le=1)]


@dataclass(frozen=True, kw_only=True)
class FalseFindsFact:
    """What is found for questions that should find nothing. A score is None where nothing is found at any threshold.

    Attributes:
        metric: Name of the share of these questions for which something is found.
        metrics: Names of all metrics that depend on these questions.
        false_finds: Whether something is found, for each of these questions.
        scores: The highest score for each of them.
        answerable: The highest score for each of the other items, in the order of the query table.
        found: The highest score of what is right for each of those.
        words: How the task speaks of a threshold.
    """

    metric: str
    metrics: Texts
    false_finds: Numbers
    scores: Scores
    answerable: Scores
    found: Scores
    words: ThresholdWords = field(default_factory=ThresholdWords)

    def __post_init__(self) -> None:
        if not self.false_finds or len(self.false_finds) != len(self.scores) or len(self.answerable) != len(self.found):
            raise MalformedError("false_finds: expected a score for each question")


@dataclass(frozen=True, kw_only=True)
class RepeatedFact:
    """A metric or measure of a configuration that was measured several times.

    Attributes:
        means: Its value in each repeat.
        question: The variance between questions; None of an aggregate.
        repeat: The variance between repeats; None of an aggregate.
        residual: What else differs when a question is asked again; None of an aggregate.
        asked_once: How many questions, asked once, tell as much; None if no number does.
    """

    means: Numbers
    question: Annotated[Number, Field(ge=0)] | None = None
    repeat: Annotated[Number, Field(ge=0)] | None = None
    residual: Annotated[Number, Field(ge=0)] | None = None
    asked_once: Annotated[Number, Field(ge=0)] | None = None


@dataclass(frozen=True, kw_only=True)
class DatasetFact:
    """The dataset of a run.

    Attributes:
        name: Its name.
        digest: Digest of its questions and correct answers.
        left_out: How many of its questions were left out.
    """

    name: str
    digest: str
    left_out: int = 0


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a finished run recorded about itself.

    Attributes:
        schema: Of the format; a new field does not change it.
        dataset: What was asked.
        decided_by: The metric that decided its sweep.
        metrics: The metrics by name, in display order.
        measures: Further numbers by name, such as costs.
        control: Why the configuration must not be chosen; empty if it may be.
        caution: What must be said first of the configuration; empty if there is nothing.
        cutoff: Name of the setting that is a budget, such as `k`; empty if there is none.
        cutoff_unit: What it counts, where its name does not say so.
        returned: What it returns at each rank; None if that has no size.
        judged: How much of what it finds was judged; None if that is not known.
        unread_texts: The texts of which its models read the beginning alone.
        ends_at: The most that it has for a query, if curves go beyond that and more might be found; else None.
        method: How the configuration works.
        findings: Problems found in the dataset, one sentence each.
        sections: What the task says of the configuration besides its scores: sentences by heading.
        if_swept: What the measurement cannot show of some settings: a sentence by group of settings.
        item_columns: Columns of the query table that are the same for every configuration.
        false_finds: What is found for questions that should find nothing; None if there are none.
        repeats: How often the configuration was measured.
        repeated: What that shows of its metrics and measures, by name; empty if it was measured once.
        varies: Whether another measurement of the configuration could find something else.
        at_k: Means of metrics at the steps 1, 2, ...
        at_k_ci: Bounds of some of these means.
    """

    schema: Literal[1] = 1
    dataset: DatasetFact
    decided_by: str
    metrics: Mapping[str, MetricFact]
    measures: Mapping[str, MeasureFact]
    control: str
    caution: str = ""
    cutoff: str
    cutoff_unit: str = ""
    returned: ReturnedFact | None = None
    judged: JudgedFact | None = None
    unread_texts: tuple[UnreadText, ...] = ()
    ends_at: Annotated[int, Field(ge=1)] | None = None
    method: Method
    findings: Texts = ()
    sections: Mapping[str, Texts]
    if_swept: Mapping[str, str] = field(default_factory=dict)
    item_columns: Texts = ()
    false_finds: FalseFindsFact | None = None
    repeats: Annotated[int, Field(ge=1, le=MOST_REPEATS)] = 1
    repeated: Mapping[str, RepeatedFact] = field(default_factory=dict)
    varies: bool = False
    at_k: Mapping[str, Numbers] = field(default_factory=dict)
    at_k_ci: Mapping[str, Bounds] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, bounds in self.at_k_ci.items():
            if name not in self.at_k or {*map(len, bounds)} != {len(self.at_k[name])}:
                raise MalformedError(f"at_k_ci.{name}: expected as many bounds as at_k.{name} has values")
        if taken := {*TEXT_COLUMNS, *TAKEN, *self.metrics} & self.measures.keys():
            raise MalformedError(f"measures.{min(taken)}: another column has this name")
        if any(abs(value) >= LARGEST_MEASURED for value in self.method.stands_for.values()):
            raise MalformedError("method.stands_for: expected values of settings")

    @cached_property
    def aggregates(self) -> Mapping[str, MetricFact]:
        """Those metrics that are not means over items."""
        return {name: fact for name, fact in self.metrics.items() if fact.aggregate}

    @cached_property
    def guessing(self) -> Mapping[str, Guessing]:
        """How the configuration compares with guessing, by metric, where one can guess."""
        return {name: fact.guessing for name, fact in self.metrics.items() if fact.guessing}

    @cached_property
    def unread(self) -> Mapping[str, Unread]:
        """The items that could not be read, by metric, where there can be any."""
        return {name: fact.unread for name, fact in self.metrics.items() if fact.unread}


def read_facts(path: Path) -> Facts:
    """Read the facts from a file.

    Raises:
        MalformedError: The file is not in the format that `write_measurement` writes.
        OSError: The file cannot be read.
    """
    try:
        facts = from_record(Facts, read_text(path, LARGEST_RECORD_MB))
        for name, about in {**facts.metrics, **facts.measures}.items():
            if about.name != name:
                raise MalformedError(f"{name}: found {about.name!r} as its name")
        return facts
    except MalformedError as error:
        raise MalformedError(f"{path.name}: {error}") from error
