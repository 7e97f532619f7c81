"""Make a test set from your own documents: questions, and the spans of text that answer them.

ragsweep generate --count 50 --out my_questions                           # from the bundled manual, without a model
ragsweep generate corpus=pdf corpus.path=my_pdfs generator=llm --count 100 --out my_set   # by language_model

The settings are those of conf/generate.yaml in this package. docs/questions.md says what is checked, and what a test
set cannot promise.
Exit status: 1 where fewer questions than wanted passed the checks, 2 where none did or nothing could be made.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragsweep.app.commands import composed, parser_of
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import command, typed

if TYPE_CHECKING:
    from ragsweep.config.configuration_walk import Walk
    from ragsweep_generate.question_set import Plan

SETTINGS = ("drafts_per_question", "passage_size", "shortest_passage", "seed")  # of the plan, in the configuration
FEWER = 1
CORPUS = re.compile(r"\+*corpus[.=]")
BUNDLED = ("corpus=pdf", "corpus.path=${data:cho_manual/documents}")  # where no corpus is chosen


def main() -> int:
    """Make the test set that the arguments describe."""
    parser = parser_of("generate", __doc__)
    parser.add_argument("overrides", nargs="*", default=[], help="settings, such as corpus=pdf corpus.path=DIR")
    parser.add_argument("--count", type=int, required=True, help="how many questions")
    parser.add_argument("--out", required=True, help="the folder to write, which must not exist")
    parser.add_argument("--types", default="", help="types of questions, such as factual,procedural; default: all")
    parser.add_argument("--unanswerable", type=float, default=0.0, help="share of out-of-scope questions, such as 0.1")
    given = parser.parse_intermixed_args()

    from ragsweep.config.configuration_walk import Walk
    from ragsweep.core.terminal import counted
    from ragsweep_generate.data_sheet import Recipe, cost_of, references_of, share, warning
    from ragsweep_generate.draft_checks import Checker
    from ragsweep_generate.question_set import make, sources_of, spread, types_of
    from ragsweep_generate.searching import CorpusSearch
    from ragsweep_generate.set_folder import QUESTIONS, check_folder, write

    overrides = [*given.overrides, *([] if any(map(CORPUS.match, given.overrides)) else BUNDLED)]
    if named := [override for override in overrides if override.lstrip("+").startswith("dataset")]:
        raise ConfigError(f"{named[0]}: choose documents with corpus=, such as corpus=pdf corpus.path=DIR")
    walk = Walk(composed(overrides, "generate"))
    types = tuple(filter(None, map(str.strip, given.types.split(","))))
    plan = _plan(walk, {"count": given.count, "unanswerable": given.unanswerable}, types)
    corpus, store, generator = walk.build("corpus"), walk.build("store"), walk.build("generator")
    encoder = walk.build("encoder") if "encoder" in walk.config else None
    types_of(generator, plan)
    folder = Path(given.out)
    check_folder(folder)

    documents = corpus.read()
    sources = sources_of(documents, plan.passage_size, plan.shortest_passage)
    chosen = spread(sources, plan.most_drafts, plan.seed)
    outcome = make(generator, chosen, Checker(CorpusSearch(sources, encoder, store)), plan)
    questions, name = typed("questions.path", str(folder / QUESTIONS)), typed("dataset.name", folder.name)
    sweep = (
        f"{command('run', '-m')} {shlex.join(filter(CORPUS.match, overrides))} questions=spans {questions} {name} k=3,5"
    )
    again = command("generate", *sys.argv[1:])
    recipe = Recipe(documents, len(sources), generator, _shown(walk), plan, again, sweep)
    write(folder, recipe, outcome)

    drafts, accepted = len(outcome.drafts), len(outcome.accepted)
    passed = f"{share(accepted, drafts)} of {counted(drafts, 'draft')} passed the checks, {drafts - accepted} skipped"
    print(f"{folder}: {counted(accepted, 'question')}; {passed}; data_sheet.md says more")
    print(f"references: {references_of(outcome)}")
    if cost := cost_of(recipe, outcome):
        print(f"cost: {cost}")
    print(f"Now run a sweep on it:\n  {sweep}")
    if caution := warning(outcome):
        print(f"generate: {caution}", file=sys.stderr)
    if outcome.shortfall:
        print(f"generate: {outcome.shortfall}", file=sys.stderr)
    return FEWER if outcome.shortfall else 0


def _plan(walk: Walk, options: dict[str, Any], types: tuple[str, ...]) -> Plan:
    from ragsweep.config.annotations import as_configured, signature_of
    from ragsweep_generate.question_set import Plan

    given = {f"--{name}": value for name, value in options.items()} | {name: walk.build(name) for name in SETTINGS}
    for name, value in given.items():
        if words := signature_of(Plan).parameters[name.removeprefix("--")].expected(value):
            raise ConfigError(f"{name}: found {as_configured(value)}, expected {words}")
    return Plan(types=types, **{name.removeprefix("--"): value for name, value in given.items()})


def _shown(walk: Walk) -> dict[str, object]:
    """The settings of the generator, its model and the encoder, for the data sheet."""
    used = [name for name in ("generator", "encoder") if name in walk.nodes and walk.nodes[name].value is not None]
    settings = {path: value for name in used for path, value in walk.settings_of(name).items()}
    return {path: "null" if value is None else value for path, value in settings.items() if path not in used}
