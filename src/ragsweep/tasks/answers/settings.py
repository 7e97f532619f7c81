"""The settings of the group `evaluation` for answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

from ragsweep.core.constraints import Between, Group, Text
from ragsweep.core.digest import digest, digest_file
from ragsweep.core.run_settings import Resamples
from ragsweep.tasks.answers.contexts import Source
from ragsweep.tasks.answers.proxies.confusions import SIMILAR_CONDITIONS, Groups, read_groups
from ragsweep.tasks.answers.proxies.safety import DANGEROUS_ERRORS, Rule, read_rules
from ragsweep.tasks.ranking.judging import Collapse

Probability = Annotated[float, Between(0, 1)]


@dataclass(frozen=True)
class AnswerSettings(Group):
    """How answers are measured.

    Attributes:
        collapse: Whether a cutoff of the retrieval metrics counts passages or distinct units; see `judge`.
        relevance_level: The lowest grade that counts as relevant.
        resamples: Number of bootstrap resamples.
        bins: Bins of the calibration error and of the reliability diagram.
        confident: Wrong answers with at least this confidence are listed.
        unsure: Wrong answers with less confidence than this count as errors of low confidence.
        controls: Other evidence that the same questions are answered from.
        dangerous: YAML file with the rules for dangerous errors; None takes ours.
        similar: YAML file with the groups of similar conditions; None takes ours.
    """

    collapse: Collapse
    relevance_level: Annotated[int, Between(1, 2**31)]
    resamples: Resamples
    bins: Annotated[int, Between(2, 100)]
    confident: Probability
    unsure: Probability
    controls: Sequence[Source]
    dangerous: Text | None = None
    similar: Text | None = None

    def __post_init__(self) -> None:
        """Read both files, so that a bad one is found before anything is measured."""
        read_rules(self._dangerous)
        read_groups(self._similar)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the two files' content, which changes the results."""
        return digest([digest_file(self._dangerous), digest_file(self._similar)])

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """When a wrong answer is dangerous."""
        return read_rules(self._dangerous)

    @cached_property
    def groups(self) -> Groups:
        """Conditions that are similar to each other."""
        return read_groups(self._similar)

    @property
    def _dangerous(self) -> Path:
        return Path(self.dangerous) if self.dangerous else DANGEROUS_ERRORS

    @property
    def _similar(self) -> Path:
        return Path(self.similar) if self.similar else SIMILAR_CONDITIONS
