"""Makes the reference of settings and of commands, as a hook of mkdocs: `make docs`.

Options and defaults are read from the YAML of the groups, types and sentences from the classes that it names.
"""

from __future__ import annotations

import inspect
import logging
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cache
from importlib import import_module
from pkgutil import resolve_name
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from annotated_types import Ge, GroupedMetadata, Gt, Le, Lt, Predicate
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from ragsweep.app.main import COMMANDS, commands
from ragsweep.config.annotations import REQUIRED, signature_of, target_of
from ragsweep.config.groups import groups
from ragsweep.constraints import Between
from ragsweep.core.plugins import plugins
from ragsweep.core.project import CONF, option_file, options_of

WITHOUT_TARGET = {  # the classes of settings whose YAML names none
    "decision": "ragsweep.sweeps.DecisionSettings",
    "evaluation": "ragsweep.tasks.ranking.ranking_settings.EvaluationSettings",
    "evaluation/answers": "ragsweep_answers.measuring.answer_settings.AnswerSettings",
    "tracking": "ragsweep.config.run_settings.TrackingSettings",
    "config": "ragsweep.tasks.ranking.ranking_task.RankingTask",
    "generate": "ragsweep_generate.question_set.Plan",
}
PRIMARY = {"config": "ragsweep run", "generate": "ragsweep generate"}  # settings that are in no group
EVERY_RUN = ("audit", "decision", "task", "tracking")
SHOWN_WHOLE = ("experiment", "strategy", "hydra/launcher")  # their options set what other groups or Hydra define
ABOUT = {
    "answerer": "who answers the questions",
    "audit": "what is looked for in a dataset, and what stops a run",
    "chunker": "how documents are cut into passages",
    "classifier": "how `retriever=routed` predicts the type of a query",
    "corpus": "documents in a format of your own",
    "dataset": "documents, questions and judgments together",
    "decision": "how a sweep is decided",
    "dynamic_k": "fewer than k passages, where scores fall",
    "encoder": "what embeds texts",
    "evaluation": "what is measured",
    "experiment": "whole sweeps, ready to start",
    "fusion": "how several rankings become one",
    "generator": "who writes questions about your documents",
    "hydra/launcher": "where the runs of a sweep are executed",
    "index": "what searches embeddings",
    "ingest": "what is indexed for a passage besides its own text",
    "language_model": "the model that `ingest`, rewriters, rerankers, answerers and generators ask",
    "query": "how queries are rewritten before the search",
    "questions": "questions and judgments in a format of your own",
    "reasoning": "how a language model comes to its answer",
    "reranker": "how the first passages are ordered again",
    "retriever": "how passages are ranked",
    "returns": "what is returned for what was found",
    "strategy": "combinations of retriever, fusion, query and reranker by name",
    "task": "what a run measures",
    "tracking": "where runs are recorded",
}
FOLDER = "reference/settings"
LARGEST_SAID = 2**31  # a larger bound is one of the computer
DEEPEST_SENTENCE = 1  # dots in the path of a mapping whose values need no sentence, as it has one itself
KEY = re.compile(r"^(?P<indent> *)(?P<key>[\w/]+):")

log = logging.getLogger("mkdocs.hooks.reference_pages")  # a warning fails `mkdocs build --strict`


@dataclass(frozen=True)
class Option:
    """A file of the configuration.

    Attributes:
        group: Its folder; empty for a primary file.
        name: Its name without the ending.
        owner: The plugin that brings it; empty for the kernel.
        text: The file.
    """

    group: str
    name: str
    owner: str
    text: str

    @property
    def content(self) -> dict[str, Any]:
        """What the file sets, without its defaults list."""
        settings = yaml.safe_load(self.text) or {}
        return {key: value for key, value in settings.items() if key not in ("defaults", "hydra")}

    @property
    def head(self) -> str:
        """The comment at the top of the file as Markdown: what is indented is code."""
        parts: list[str] = []
        was_code = None
        for line in self.text.splitlines():
            if not line.startswith("#"):
                break
            if line.startswith("# @package"):
                continue
            text, is_code = line[2:], line.startswith("#   ")
            if is_code != was_code and was_code is not None:
                parts.append("```" if was_code else "")
            if is_code and not was_code:
                parts.append("```sh")
            parts.append(text[2:] if is_code else _with_markup(text))
            was_code = is_code
        return "\n".join([*parts, *(["```"] if was_code else [])])


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the pages of the groups in the navigation."""
    pages = [f"{FOLDER}/index.md", *(f"{FOLDER}/{_page(name)}" for name in [*PRIMARY, *sorted(_groups())])]
    reference = next(item["Reference"] for item in config.nav or [] if "Reference" in item)
    reference.insert(0, {"Settings": pages})
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages."""
    pages = {f"{FOLDER}/index.md": _overview(), "reference/commands.md": _commands()}
    pages |= {f"{FOLDER}/{_page(option.name)}": _primary_page(option) for option in _files() if not option.group}
    pages |= {f"{FOLDER}/{_page(group)}": _group_page(group, options) for group, options in _groups().items()}
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


@cache
def _files() -> tuple[Option, ...]:
    """All files of the kernel's and the plugins' configuration."""
    folders = {"": CONF, **{name: plugin.conf for name, plugin in plugins().items() if plugin.conf}}
    return tuple(
        Option(path.parent.relative_to(folder).as_posix().removeprefix("."), path.stem, owner, path.read_text())
        for owner, folder in folders.items()
        for path in sorted(folder.rglob("*.yaml"))
    )


def _groups() -> dict[str, list[Option]]:
    """The options by group, without those that only make Hydra quiet."""
    groups: dict[str, list[Option]] = {}
    for option in _files():
        if option.group and (not option.group.startswith("hydra") or option.group in SHOWN_WHOLE):
            groups.setdefault(option.group, []).append(option)
    return groups


def _page(name: str) -> str:
    return "indexes.md" if name == "index" else f"{name.replace('/', '_')}.md"  # index.md is the overview


def _overview() -> str:
    rows = ["| group | what it chooses | options | used by |", "|---|---|---|---|"]
    for group, options in sorted(_groups().items()):
        names = ", ".join(f"`{option.name}`" for option in options) if len(options) < 12 else f"{len(options)} options"
        rows.append(f"| [`{group}`]({_page(group)}) | {_about(group)} | {names} | {_used_by(group)} |")
    return "\n".join(
        [
            "# Settings",
            "",
            "`ragsweep run GROUP=OPTION` chooses an option of a group, `GROUP.SETTING=VALUE` sets one of its settings,",
            "and a list of either, after `-m`, is swept. A few settings are in no group:",
            "those of [`ragsweep run`](config.md), such as `k`, and those of [`ragsweep generate`](generate.md).",
            "",
            *rows,
        ]
    )


def _about(group: str) -> str:
    if group not in ABOUT:
        log.warning("the group %s has no sentence in ABOUT", group)
    return ABOUT.get(group, group)


def _group_page(group: str, options: Sequence[Option]) -> str:
    about = _about(group)
    parts = [f"# {group}", "", f"{about[0].upper()}{about[1:]}. Used by {_used_by(group)}.", ""]
    for option in options:
        owner = [f"Plugin [{option.owner}](../../extend.md#plugins).", ""] if option.owner else []
        parts += [f"## {group}={option.name}", "", option.head, "", *owner]
        if group in SHOWN_WHOLE:
            body = [line for line in option.text.splitlines() if not line.startswith("#")]
            parts += ["```yaml", *body, "```", ""]
        else:
            parts += _table(group, option)
    return "\n".join(parts)


def _primary_page(option: Option) -> str:
    command = PRIMARY[option.name]
    title = f"# {command}\n\nThe settings of `{command}` that are in no group.\n"
    return "\n".join([title, *_table("", option)])


def _table(group: str, option: Option) -> list[str]:
    """The settings of an option, a row each."""
    content = option.content
    if group in content and content[group] is None:
        return ["Sets the group to `null`.", ""]
    comments = _comments(option.text)
    if "# @package _global_" in option.text and group in content:
        content = content[group]
        comments = {name.removeprefix(f"{group}."): about for name, about in comments.items()}
    named = WITHOUT_TARGET.get(f"{group}/{option.name}", WITHOUT_TARGET.get(group or option.name, ""))
    rows = [*_rows(group, content, named, comments, place=f"{group}={option.name}")]
    if not rows:
        return ["It has no settings.", ""]
    return ["| setting | type | default | |", "|---|---|---|---|", *rows, ""]


def _rows(
    path: str, node: Mapping[str, Any], named: str, comments: Mapping[str, str], *, place: str, of_values: Any = None
) -> Iterator[str]:
    """A row for each setting of a node, and of the nodes within it.

    Args:
        path: Of the node.
        node: The node.
        named: The class of its settings, if it has no `_target_`.
        comments: By the path within the node.
        place: For warnings.
        of_values: The annotation of each value of a mapping.
    """
    target = target_of(node.get("_target_", named))
    parameters, sentences = signature_of(target).parameters, _sentences(target)
    hints = {name: parameter.hint for name, parameter in parameters.items() if parameter.hint is not None}
    for key, value in node.items():
        if key.startswith("_"):
            continue
        where = f"{path}.{key}" if path else str(key)
        about = comments.get(key, "")
        if not about or about.startswith("as in "):
            about = sentences.get(key, about) if path else _first_line(value)
        inner = isinstance(value, dict) and bool(value)
        if not about and not inner and path.count(".") < DEEPEST_SENTENCE:
            log.warning("%s: %s has no sentence, neither in its YAML nor in the docstring of its class", place, where)
        hint = hints.get(key, of_values)
        default = _default(value.get("_target_")) if inner and "_target_" in value else "" if inner else _default(value)
        yield _row(f"`{where}`", _type(hint), default, about)
        if inner and not value.get("_partial_"):
            within = {name[len(key) + 1 :]: text for name, text in comments.items() if name.startswith(f"{key}.")}
            values = get_args(hint)[1] if get_origin(hint) is Mapping else None
            yield from _rows(where, value, "", within, place=place, of_values=values)
    absent = sentences.keys() - node.keys() - _groups().keys() if path and "." not in path else ()
    for key in [key for key in hints if key in absent]:
        if parameters[key].default is not REQUIRED:
            yield _row(f"`+{path}.{key}`", _type(hints[key]), _default(parameters[key].default), sentences[key])


def _row(setting: str, kind: str, default: str, about: str) -> str:
    cells = [cell.replace("|", r"\|") for cell in (setting, kind, default, _sentence(about))]
    return f"| {' | '.join(cells)} |"


def _comments(text: str) -> dict[str, str]:
    """The comment beside each key of a file, by the path of the key within its group."""
    comments: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        key = KEY.match(line)
        if not key:
            continue
        indent = len(key["indent"])
        above = [outer for outer in above if outer[0] < indent] + [(indent, key["key"])]
        comment = re.search(r"\s#\s+(.*)$", line)
        if comment:
            comments[".".join(name for _, name in above)] = comment[1]
    return comments


def _sentences(target: Any) -> dict[str, str]:
    """What the docstring of a class, and of those that it is made of, says of its attributes or arguments."""
    sentences: dict[str, str] = {}
    for kind in target.__mro__ if inspect.isclass(target) else [target]:
        text = inspect.cleandoc(kind.__doc__ or "")
        section = re.search(r"^(?:Attributes|Args):\n(.*?)(?:^\S|\Z)", text, re.MULTILINE | re.DOTALL)
        entries = re.findall(r"^    (\w[\w, ]*): (.*(?:\n {5,}.*)*)", section[1] if section else "", re.MULTILINE)
        for names, text in entries:
            for name in names.split(", "):
                sentences.setdefault(name, " ".join(text.split()))
    return sentences


def _first_line(node: Any) -> str:
    """What the class that a node names says of itself."""
    return inspect.cleandoc(target_of(node["_target_"]).__doc__).splitlines()[0] if isinstance(node, dict) else ""


def _in_words(limits: Sequence[Any]) -> str:
    """Limits as they follow a noun: `from 0 to 1`."""
    plain = [inner for limit in limits for inner in (limit if isinstance(limit, GroupedMetadata) else [limit])]
    words = {Ge: "of at least {}", Gt: "above {}", Le: "of at most {}", Lt: "below {}"}
    values = {type(limit): astuple(limit)[0] for limit in plain if type(limit) in words}
    if {Ge, Le} <= values.keys():
        return f"from {values[Ge]:.15g} to {values[Le]:.15g}"
    phrases = [words[kind].format(f"{value:.15g}") for kind, value in values.items()]
    phrases += [f"that {limit.func.__name__}".replace("_", " ") for limit in plain if isinstance(limit, Predicate)]
    return " and ".join(phrases)


def _type(hint: Any) -> str:
    """An annotation in words; empty if there is none."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        kind, *limits = inner
        large = [isinstance(limit, Between) and limit.high >= LARGEST_SAID for limit in limits]
        shown = [Between(limit.low) if is_large else limit for limit, is_large in zip(limits, large, strict=True)]
        return f"{_type(kind)} {_in_words(shown)}".strip()
    if origin is Literal:
        return " or ".join(f"`{str(value).lower() if isinstance(value, bool) else value}`" for value in inner)
    if origin in (Union, types.UnionType):
        return " or ".join("`null`" if value is type(None) else _type(value) for value in inner)
    if origin is Callable:
        return "function"
    if origin and issubclass(origin, Mapping):
        return "mapping" if inner[1] is Any else f"mapping to {_type(inner[1])}"
    if origin and issubclass(origin, Sequence):
        return f"list of {_type(inner[0])}"
    plain = {bool: "`true` or `false`", int: "whole number", float: "number", str: "text", Any: "anything"}
    return plain.get(hint) or (f"`{hint.__name__}`" if inspect.isclass(hint) else "")


def _default(value: Any) -> str:
    if value == "???":
        return "required"
    if repr(value) == "<factory>":  # how a signature has the empty mapping of a dataclass
        value = {}
    if isinstance(value, str):
        group = value[2:-1] if value.startswith("${") else ""
        return f"[`{value}`]({_page(group)})" if group in _groups() else f"`{value}`" if value else "`''`"
    text = yaml.safe_dump(list(value) if isinstance(value, tuple) else value, default_flow_style=True, width=1000)
    return f"`{text.removesuffix(chr(10)).removesuffix('...').strip()}`"


def _sentence(text: str) -> str:
    """A comment or docstring as a sentence of the reference."""
    text = _with_markup(re.sub(r"\bNone\b", "null", text))
    first = text.split(" ")[0]
    starts = first.isalpha() and first not in ("null", "true", "false", "page", "document", "dot")
    return text[:1].upper() + text[1:] if starts else text


def _with_markup(text: str) -> str:
    """A comment as Markdown: signs that mean something there mean themselves."""
    return re.sub(r"(?<!`)([<>*\[\]{}])(?!`)", r"\\\1", text) if "`" not in text else text


def _used_by(group: str) -> str:
    """The tasks, or the command, that use a group."""
    if group in EVERY_RUN or group in SHOWN_WHOLE:
        return "every run" if group in EVERY_RUN else "any run"
    users = [f"`task={task}`" for task, groups in _groups_of_tasks().items() if group in groups]
    generate = next((option for option in _files() if not option.group and option.name == "generate"), None)
    if generate and re.search(rf"^  - {group}:", generate.text, re.MULTILINE):
        users.append("`ragsweep generate`")
    if not users:
        log.warning("nothing uses the group %s", group)
    return ", ".join(users)


@cache
def _groups_of_tasks() -> dict[str, set[str]]:
    """The groups that each task uses."""
    return {task: {*_reached("task", task, {*groups()} - {"task"})} for task in options_of("task")}


def _reached(group: str, option: str, unvisited: set[str]) -> Iterator[str]:
    """The groups that an option refers to, in its defaults list or as `${group}`, and those that their options do."""
    file = option_file(group, option)
    text = file.read_text("utf-8") if file else ""
    named = re.findall(r"\$\{(\w+)[.}]|^ *- (?:override )?/?(\w+)(?:@[\w.]+)?: ", text, re.MULTILINE)
    for name in {name for pair in named for name in pair} & unvisited:
        yield name
        for inner in options_of(name):
            yield from _reached(name, inner, unvisited - {name})


def _commands() -> str:
    """What each command says of itself."""
    parts = ["# Commands", "", "`ragsweep COMMAND --help` prints the same, with every option.", ""]
    for name, command in commands().items():
        owner = "" if name in COMMANDS else next(key for key, plugin in plugins().items() if name in plugin.commands)
        by = f" Plugin [{owner}](../extend.md#plugins)." if owner else ""
        parts += [f"## ragsweep {name}", "", f"{command.about[0].upper()}{command.about[1:]}.{by}", ""]
        if name == "run":
            parts += [
                "[Settings](settings/index.md) has all that can be set; `ragsweep run --help` prints it, too.",
                "",
            ]
            continue
        function = resolve_name(command.main)
        speaker = function if name in COMMANDS else import_module(function.__module__)  # a plugin's module has one
        about = inspect.cleandoc(speaker.__doc__ or "").partition("\n\n")[2]
        for block in about.split("\n\n"):
            parts += ["```sh", block, "```", ""] if block.startswith("ragsweep ") else [_with_markup(block), ""]
    return "\n".join(parts)
