"""The data sheet of a test set: how it was made, what was checked, and what it cannot promise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from ragsweep.core.digest import digest
from ragsweep.core.terminal import counted, one_line, verb
from ragsweep.datasets import Document
from ragsweep.datasets.formats.generated_questions import EASY_SHARE
from ragsweep.datasets.model.collection import digest_of_documents
from ragsweep.store.code import kind_of
from ragsweep_generate.draft_checks import CHECKS
from ragsweep_generate.drafts import UNANSWERABLE, Generator, HasPrompts
from ragsweep_generate.making import Outcome, Plan

WEAKNESSES = """\
- Every question was made while looking at its answer. People ask without knowing the text: their words differ more
  from it, and their questions are vaguer, longer and sometimes not answered at all. Scores on this set are usually
  higher than scores on their questions. Compare configurations with it; do not quote its scores as those of your
  users.
- The order of configurations on this set can differ from the order on real questions. If you have real questions,
  even 30, check the winner on them.
- One passage was shown at a time, so no question needs two passages or two documents.
- That a reference is in the document is checked. That it answers the question, and answers it fully, is not: read a
  sample before you rely on the set.
- Whether another passage answers the question as well is judged by shared words. A passage that says the same in
  other words is missed, and then counts as irrelevant although it is not.
- Whether a question can be understood alone is judged by rules for English.
- Easy questions (BM25 finds the passage first) are marked and kept. Dropping them would be unfair to BM25, and would
  make other retrievers look better than they are."""
OUT_OF_SCOPE = """\
- That no document answers an out-of-scope question is judged by shared words, too. Such questions have no
  references. A sweep leaves them out of its metrics, and says how many there are."""


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

    @property
    def prompts(self) -> Mapping[str, str]:
        """The prompts by their names; none for a generator without a model."""
        return self.generator.prompts if isinstance(self.generator, HasPrompts) else {}


def cost_of(recipe: Recipe, outcome: Outcome) -> str:
    """The tokens of all drafts, as a sentence; empty for a generator without a model."""
    if not recipe.prompts:
        return ""
    if outcome.tokens_in is None or outcome.tokens_out is None:
        return "The model does not say how many tokens there were."
    line = f"{outcome.tokens_in:,} tokens in and {outcome.tokens_out:,} out, for {counted(outcome.drafts, 'draft')}"
    return f"{line}."


def data_sheet(recipe: Recipe, outcome: Outcome) -> str:
    """The data sheet as Markdown."""
    return "\n".join(_lines(recipe, outcome)) + "\n"


def _lines(recipe: Recipe, outcome: Outcome) -> Iterator[str]:
    plan, accepted = recipe.plan, outcome.accepted
    yield "# Data sheet of a generated test set"
    yield ""
    yield f"{counted(len(accepted), 'question')}, made with ragsweep {version('ragsweep')}."
    if outcome.shortfall:
        yield f"Fewer than wanted: {outcome.shortfall}."
    if caution := warning(outcome):
        yield f"**Caution: {caution}.**"
    yield from (
        "",
        "Run a sweep on it:",
        "",
        *_code(recipe.sweep),
        "",
        "## How it was made",
        "",
        *_code(recipe.command),
    )
    yield from ("", *_facts(recipe, outcome), "", "## What was checked", "", *_checks(outcome), "", *_about(outcome))
    yield from ("", "## What it cannot promise", "", WEAKNESSES)
    if plan.out_of_scope:
        yield OUT_OF_SCOPE
    if recipe.prompts:
        yield from ("", "## Prompts")
        for name, text in recipe.prompts.items():
            yield from ("", f"`{name}`:", "", *_code(text))


def _facts(recipe: Recipe, outcome: Outcome) -> Iterator[str]:
    plan = recipe.plan
    sizes = f"at most {plan.passage_size:,} characters and at least {plan.shortest_passage} words"
    yield f"- corpus: {counted(len(recipe.documents), 'document')}, digest `{digest_of_documents(recipe.documents)}`"
    yield f"- passages: {recipe.sources:,}, of {sizes}"
    yield f"- generator: `{kind_of(recipe.generator)}`"
    yield from (f"- {name}: `{one_line(str(value))}`" for name, value in recipe.settings.items())
    yield f"- seed: {plan.seed}"
    if recipe.prompts:
        yield f"- prompts: digest `{digest(dict(recipe.prompts))}`, below"
    if cost := cost_of(recipe, outcome):
        yield f"- cost: {cost}"
    yield "- files: `questions.jsonl`, the questions; `rejected.jsonl`, the drafts that failed a check, with the reason"


def _checks(outcome: Outcome) -> Iterator[str]:
    """A table of the checks in their order: how many drafts reached each, and how many passed."""
    all_passed = share(len(outcome.accepted), outcome.drafts)
    made = f"{counted(outcome.drafts, 'draft')} {verb(outcome.drafts, 'were')} made"
    yield f"{made}, and {all_passed} of them passed all checks."
    yield from ("", "| check | what it accepts | reached | passed | share |", "|---|---|---|---|---|")
    failed, reached = outcome.failed(), outcome.drafts
    for check, what in CHECKS.items():
        passed = reached - failed[check]
        yield f"| {check} | {what} | {reached} | {passed} | {share(passed, reached)} |"
        reached = passed


def _about(outcome: Outcome) -> Iterator[str]:
    """What the questions are like."""
    types = Counter(each.request.query_type for each in outcome.accepted)
    yield "- types: " + ", ".join(f"{name} {number}" for name, number in sorted(types.items()))
    answerable = [each for each in outcome.accepted if each.request.query_type != UNANSWERABLE]
    if answerable:
        easy = sum(each.is_easy for each in answerable)
        copied = sum(each.copied or 0.0 for each in answerable) / len(answerable)
        yield f"- easy: {share(easy, len(answerable))} of the answerable questions; BM25 finds their passage first"
        yield f"- copied: {copied:.0%} of the words of content of a question are in its references, on average"
        yield f"- documents: the questions are about {len({each.request.source.document for each in answerable})}"


def warning(outcome: Outcome) -> str:
    """What a sweep on this set would get wrong; empty if BM25 does not find nearly all passages."""
    answerable = [each for each in outcome.accepted if each.request.query_type != UNANSWERABLE]
    easy = sum(each.is_easy for each in answerable)
    if easy < EASY_SHARE * len(answerable) or not answerable:
        return ""
    return (
        f"BM25 finds the passage of {share(easy, len(answerable))} of the questions first, so a sweep on them prefers "
        "word matching whatever your users ask: do not choose between sparse and dense retrieval with them"
    )


def share(part: int, of: int) -> str:
    """A share in percent; a dash of nothing."""
    return f"{part / of:.0%}" if of else "-"


def _code(text: str) -> list[str]:
    return ["```", *text.splitlines(), "```"]
