"""The settings of the group `evaluation` for answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

from ragsweep.config.run_settings import Resamples
from ragsweep.core.digest import digest, digest_file
from ragsweep.core.limits import Between, Text
from ragsweep.tasks.ranking.judging import Collapse
from ragsweep_answers.measuring.contexts import Source
from ragsweep_answers.measuring.proxies.confusions import SIMILAR_CONDITIONS, Groups, read_groups
from ragsweep_answers.measuring.proxies.safety import DANGEROUS_ERRORS, Rule, read_rules

BUNDLED = "bundled"  # stands for our file

Probability = Annotated[float, Between(0, 1)]


@dataclass(frozen=True)
class AnswerSettings:
    """How answers are measured.

    Attributes:
        collapse: Whether a cutoff of the retrieval metrics counts passages or distinct units; see `judge`.
        relevance_level: The lowest grade that counts as relevant.
        resamples: Number of bootstrap resamples.
        bins: Bins of the calibration error and of the reliability diagram.
        confident: Wrong answers with at least this confidence are listed.
        unsure: How far from a guess to certainty a confidence must be, from 0 to 1; with less, a wrong answer counts as
            an error of low confidence.
        controls: Other evidence that the same questions are answered from.
        dangerous: YAML file with the rules for dangerous errors, by the name of the dataset that they were written for;
            `bundled` is the file of the bundled cases. Other datasets have no rules.
        similar: YAML file with the groups of similar conditions; None takes ours.
    """

    collapse: Collapse
    relevance_level: Annotated[int, Between(1, 2**31)]
    resamples: Resamples
    bins: Annotated[int, Between(2, 100)]
    confident: Probability
    unsure: Probability
    controls: Sequence[Source]
    dangerous: Mapping[str, Text] | None = None
    similar: Text | None = None

    def __post_init__(self) -> None:
        """Read both files, so that a bad one is found before anything is measured."""
        for path in self._dangerous.values():
            read_rules(path)
        read_groups(self._similar)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the files' content, which changes the results."""
        rules = {name: digest_file(path) for name, path in self._dangerous.items()}
        return digest([rules, digest_file(self._similar)])

    def rules_for(self, dataset: str) -> tuple[Rule, ...] | None:
        """When a wrong answer is dangerous; None if no rules are named for this dataset."""
        path = self._dangerous.get(dataset)
        return None if path is None else read_rules(path)

    @cached_property
    def groups(self) -> Groups:
        """Conditions that are similar to each other."""
        return read_groups(self._similar)

    @property
    def _dangerous(self) -> dict[str, Path]:
        files = self.dangerous or {}
        return {name: DANGEROUS_ERRORS if path == BUNDLED else Path(path) for name, path in files.items()}

    @property
    def _similar(self) -> Path:
        return Path(self.similar) if self.similar else SIMILAR_CONDITIONS
