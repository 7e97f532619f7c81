"""The data sheet of a test set: how it was made, what was checked, and what it cannot promise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from ragsweep.core.digest import digest
from ragsweep.core.terminal import counted, one_line, verb
from ragsweep.datasets import Document
from ragsweep.datasets.formats.generated_questions import EASY_SHARE
from ragsweep.datasets.model.collection import digest_of_documents
from ragsweep.store.code import kind_of
from ragsweep_generate.draft_checks import CHECKS
from ragsweep_generate.drafts import Generator
from ragsweep_generate.question_set import Outcome, Plan

TEMPLATE = Path(__file__).with_suffix(".md")


@dataclass(frozen=True)
class Recipe:
    """What a test set was made from and how.

    Attributes:
        documents: The corpus.
        sources: How many passages could be used.
        generator: Made the drafts.
        settings: Its settings and those of the encoder, by their names.
        plan: What was wanted.
        command: The command, as it was typed.
        sweep: The command of a sweep on the test set.
    """

    documents: Sequence[Document]
    sources: int
    generator: Generator
    settings: Mapping[str, object]
    plan: Plan
    command: str
    sweep: str


def cost_of(recipe: Recipe, outcome: Outcome) -> str:
    """The tokens of all drafts, as a sentence; empty for a generator without a model."""
    if not recipe.generator.prompts:
        return ""
    if outcome.tokens is None:
        return "The model does not say how many tokens there were."
    given, made = outcome.tokens
    return f"{given:,} tokens in and {made:,} out, for {counted(len(outcome.drafts), 'draft')}."


def data_sheet(recipe: Recipe, outcome: Outcome) -> str:
    """The data sheet as Markdown."""
    prompts, answerable = recipe.generator.prompts, outcome.answerable
    types = Counter(question.request.query_type for question in outcome.accepted)
    copied = sum(question.copied or 0.0 for question in answerable) / max(len(answerable), 1)
    template = Environment(undefined=StrictUndefined, keep_trailing_newline=True).from_string(
        TEMPLATE.read_text("utf-8")
    )
    return template.render(
        recipe=recipe,
        plan=recipe.plan,
        outcome=outcome,
        version=version("ragsweep"),
        questions=counted(len(outcome.accepted), "question"),
        shortfall=outcome.shortfall,
        caution=warning(outcome),
        documents=counted(len(recipe.documents), "document"),
        digest_of_corpus=digest_of_documents(recipe.documents),
        generator=kind_of(recipe.generator),
        settings={name: one_line(str(value)) for name, value in recipe.settings.items()},
        prompts=prompts,
        digest_of_prompts=digest(dict(prompts)),
        cost=cost_of(recipe, outcome),
        drafts=f"{counted(len(outcome.drafts), 'draft')} {verb(len(outcome.drafts), 'were')}",
        passed=share(len(outcome.accepted), len(outcome.drafts)),
        checks=[*_checks(outcome)],
        references=references_of(outcome),
        types=", ".join(f"{name} {number}" for name, number in sorted(types.items())),
        easy=share(outcome.easy, len(answerable)) if answerable else "",
        copied=f"{copied:.0%}",
        asked_about=len({question.request.source.document for question in answerable}),
    )


def references_of(outcome: Outcome) -> str:
    """The counts of the references of all drafts, and the share that is valid."""
    generated, valid = outcome.references
    return f"{generated} generated, {valid} valid ({share(valid, generated)}), {generated - valid} removed"


def _checks(outcome: Outcome) -> Iterator[tuple[object, ...]]:
    """The checks in their order: how many drafts reached each, and how many passed."""
    failed, reached = outcome.failed(), len(outcome.drafts)
    for check, accepted in CHECKS.items():
        passed = reached - failed[check]
        yield check, accepted, reached, passed, share(passed, reached)
        reached = passed


def warning(outcome: Outcome) -> str:
    """What a sweep on this set would get wrong; empty if BM25 does not find nearly all passages."""
    number = len(outcome.answerable)
    if not number or outcome.easy < EASY_SHARE * number:
        return ""
    return (
        f"BM25 finds the passage of {share(outcome.easy, number)} of the questions first, so a sweep on them prefers "
        "word matching whatever your users ask: do not choose between sparse and dense retrieval with them"
    )


def share(part: int, of: int) -> str:
    """A share in percent; a dash of nothing."""
    return f"{part / of:.0%}" if of else "-"
