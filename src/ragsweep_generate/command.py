"""Make a test set from your own documents: questions, and the spans of text that answer them.

ragsweep generate --count 50 --out my_questions                           # from the bundled manual, without a model
ragsweep generate corpus=pdf corpus.path=my_pdfs generator=llm --count 100 --out my_set   # by language_model

The settings are those of conf/generate.yaml in this package. docs/generate.md says what is checked, and what a test
set cannot promise.
Exit status: 1 where fewer questions than wanted passed the checks, 2 where none did or nothing could be made.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragsweep.app.commands import composed, parser_of
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.project import command
from ragsweep.core.quoting import typed

if TYPE_CHECKING:
    from ragsweep.config.walk import Walk
    from ragsweep.datasets import Corpus
    from ragsweep_generate.making import Plan

SETTINGS = ("drafts_per_question", "passage_size", "shortest_passage", "seed")  # of the plan, in the configuration
FEWER = 1


def main() -> int:
    """Make the test set that the arguments describe."""
    parser = parser_of("generate", __doc__)
    parser.add_argument("overrides", nargs="*", default=[], help="settings, such as corpus=pdf corpus.path=DIR")
    parser.add_argument("--count", type=int, required=True, help="how many questions")
    parser.add_argument("--out", required=True, help="the folder to write, which must not exist")
    parser.add_argument("--types", default="", help="types of questions, such as factual,procedural; default: all")
    parser.add_argument("--unanswerable", type=float, default=0.0, help="share of out-of-scope questions, such as 0.1")
    given = parser.parse_intermixed_args()

    from ragsweep.core.terminal import counted
    from ragsweep_generate.data_sheet import Recipe, cost_of, share, warning
    from ragsweep_generate.draft_checks import Checker
    from ragsweep_generate.folder import QUESTIONS, check_folder, write
    from ragsweep_generate.making import make, types_of
    from ragsweep_generate.searching import CorpusSearch
    from ragsweep_generate.sources import sources_of, spread

    walk = _walk(given.overrides)
    types = tuple(filter(None, map(str.strip, given.types.split(","))))
    plan = _plan(walk, {"count": given.count, "unanswerable": given.unanswerable}, types)
    corpus, corpus_settings = _corpus(walk, given.overrides)
    store, generator = walk.build("store"), walk.build("generator")
    encoder = walk.build("encoder") if "encoder" in walk.config else None
    types_of(generator, plan)
    folder = Path(given.out)
    check_folder(folder)

    documents = corpus.read()
    sources = sources_of(documents, plan.passage_size, plan.shortest_passage)
    chosen = spread(sources, plan.count, plan.most_drafts, encoder=encoder, store=store, seed=plan.seed)
    outcome = make(generator, chosen, Checker(CorpusSearch(sources, encoder, store)), plan)
    questions, name = typed("questions.path", str(folder / QUESTIONS)), typed("dataset.name", folder.name)
    sweep = f"{command('run', '-m')} {corpus_settings} questions=spans {questions} {name} k=3,5"
    again = command("generate", *sys.argv[1:])
    recipe = Recipe(documents, len(sources), generator, _shown(walk), plan, again, sweep)
    write(folder, recipe, outcome)

    passed = f"{share(len(outcome.accepted), outcome.drafts)} of {counted(outcome.drafts, 'draft')} passed the checks"
    print(f"{folder}: {counted(len(outcome.accepted), 'question')}; {passed}; data_sheet.md says more")
    if cost := cost_of(recipe, outcome):
        print(f"cost: {cost}")
    print(f"Now run a sweep on it:\n  {sweep}")
    if caution := warning(outcome):
        print(f"generate: {caution}", file=sys.stderr)
    if outcome.shortfall:
        print(f"generate: {outcome.shortfall}", file=sys.stderr)
    return FEWER if outcome.shortfall else 0


def _walk(overrides: Sequence[str]) -> Walk:
    """The configuration that the overrides choose."""
    from ragsweep.config.walk import Walk

    return Walk(composed(overrides, "generate"))


def _plan(walk: Walk, options: dict[str, Any], types: tuple[str, ...]) -> Plan:
    from ragsweep.config.annotations import as_configured, signature_of
    from ragsweep_generate.making import Plan

    given = {f"--{name}": value for name, value in options.items()} | {name: walk.build(name) for name in SETTINGS}
    for name, value in given.items():
        if words := signature_of(Plan).parameters[name.removeprefix("--")].expected(value):
            raise ConfigError(f"{name}: found {as_configured(value)}, expected {words}")
    return Plan(types=types, **{name.removeprefix("--"): value for name, value in given.items()})


def _corpus(walk: Walk, overrides: Sequence[str]) -> tuple[Corpus, str]:
    """The documents, and the settings that choose them in a sweep."""
    if walk.config.get("corpus") is not None:
        chosen = [each for each in overrides if re.match(r"\+*corpus[.=]", each)]
        return walk.build("corpus"), shlex.join(chosen)
    from ragsweep.store.code import kind_of

    dataset = walk.build("dataset")
    corpus = dataset.documents_alone()
    example = "choose documents with corpus=pdf corpus.path=DIR, for example"
    if corpus is None:
        raise DatasetError(f"corpus: nothing is chosen; {example}")
    settings = _settings_of(corpus)
    if settings is None:
        found = f"are read by {kind_of(corpus)}, which no option of corpus reads"
        raise DatasetError(f"corpus: the dataset's documents {found}; {example}")
    return corpus, settings


def _settings_of(corpus: Corpus) -> str | None:
    """The shortest settings that choose a corpus; None if no option of the group makes one of its class."""
    from dataclasses import fields, is_dataclass

    from omegaconf import OmegaConf

    from ragsweep.config.annotations import target_of
    from ragsweep.core.project import CONF

    if not is_dataclass(corpus):
        return None
    values = {each.name: getattr(corpus, each.name) for each in fields(corpus) if each.name != "store"}
    values = {name: [*value] if isinstance(value, tuple) else value for name, value in values.items()}  # as in YAML
    found: list[list[str]] = []
    for file in sorted((CONF / "corpus").glob("*.yaml")):
        option: Any = OmegaConf.to_container(OmegaConf.load(file), resolve=False)
        if target_of(option["_target_"]) is type(corpus):
            changed = [name for name, value in values.items() if value != option[name]]
            found.append([f"corpus={file.stem}", *(_typed(f"corpus.{name}", values[name]) for name in changed)])
    return " ".join(min(found, key=len, default=[])) or None


def _typed(name: str, value: Any) -> str:
    """A setting as it is typed, with a path below the current folder as a relative one."""
    if value is None:
        return f"{name}=null"
    return typed(name, str(value).removeprefix(f"{Path.cwd()}{os.sep}") if not isinstance(value, list) else value)


def _shown(walk: Walk) -> dict[str, object]:
    """The settings of the generator, its model and the encoder, for the data sheet."""
    used = [name for name in ("generator", "encoder") if name in walk.nodes and walk.nodes[name].value is not None]
    settings = {path: value for name in used for path, value in walk.settings_of(name).items()}
    return {path: "null" if value is None else value for path, value in settings.items() if path not in used}
