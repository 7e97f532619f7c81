"""The evidence that questions are answered from: what was retrieved, what is relevant, or that of another question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from functools import cache
from typing import Literal

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import verb
from ragsweep.datasets import Dataset
from ragsweep.datasets.model.collection import Document, readable
from ragsweep.datasets.model.pages import Pages
from ragsweep.datasets.readers.fields import listed
from ragsweep.models.encoders.token_counts import token_counts
from ragsweep.retrieval import NOTHING, Ranking
from ragsweep.store.stage_store import Store
from ragsweep.tasks.ranking.coverage import about_left_out, unanswerable
from ragsweep.tasks.ranking.units import units_of_ranking
from ragsweep.text.normalisation import composed
from ragsweep_answers.answering import Answer, Evidence, Question

Source = Literal["retrieved", "none", "judged", "placebo"]
Contexts = Sequence[Sequence[int]]  # the passages of each question, best first


# Why a configuration that uses such evidence cannot be shipped.
CONTROLS: dict[Source, str] = {
    "judged": "a control: nobody knows the relevant pages of a new question",
    "placebo": "a control: the evidence is that of another question",
}
NEED_RANKING = ("retrieved", "placebo")  # sources


def with_answer(items: Dataset) -> tuple[Dataset, Indices]:
    """The dataset with those cases alone that have an answer, and their positions."""
    without = unanswerable(items)
    rows = np.setdiff1d(np.arange(len(items.cases)), without)
    if not len(without):
        return items, rows
    return replace(items.with_queries(rows), digest=items.digest, left_out=items.left_out), rows  # none is left out


def context_tokens(dataset: Dataset, asked: Iterable[Question], tokenizer: str, store: Store) -> dict[str, list[int]]:
    """Tokens of the evidence of each question, as a column of the cases; none if they are not known."""
    if (counts := token_counts(dataset.texts, tokenizer, store)) is None:
        return {}
    tokens = dict(zip(map(readable, dataset.texts), counts.tolist(), strict=True))
    return {"context/tokens": [sum(tokens[passage.text] for passage in question.evidence) for question in asked]}


def lacks_source(dataset: Dataset, source: Source, relevance_level: int) -> str:
    """Why a dataset has no evidence of this kind; empty if it has."""
    if source != "none" and not dataset.passages:
        advice = "set dataset.documents, or task.evidence=none to answer without evidence"
        return f"has no documents, so nothing can be retrieved; {advice}"
    relevant = dataset.qrels.unit[dataset.qrels.grade >= relevance_level]
    if source == "judged" and not np.isin(dataset.found_units, relevant).any():
        return "no case names a relevant page with text, so task.evidence=judged has no evidence"
    if source == "placebo" and len(dataset.cases) < 2:
        return "has only one case, so task.evidence=placebo has no evidence"
    return ""


def contexts(dataset: Dataset, source: Source, ranking: Ranking | None, k: int, relevance_level: int) -> Contexts:
    """The passages that each question is answered from, best first.

    Args:
        dataset: Passages, cases and judgments.
        source: `retrieved`: the first k passages of the ranking. `none`: no passages. `judged`: all passages of the
            relevant units, in the order of the corpus; it shows how good the answers are with the right pages.
            A case without relevant units gets none. `placebo`: the first k passages that were retrieved for another
            question, none of them of a unit that is relevant to this one, if there is such a question; it shows what
            evidence adds by being there.
        ranking: The ranking of the passages for all cases; only `retrieved` and `placebo` need it.
        k: Passages of a question.
        relevance_level: Lowest grade that counts as relevant.
    """
    cases = len(dataset.cases)
    if source == "none":
        return [[] for _ in range(cases)]
    relevant = relevant_units(dataset, relevance_level)
    if source == "judged":
        of_unit = _passages_of_units(dataset)
        return [sorted(passage for unit in units for passage in of_unit.get(unit, ())) for units in relevant]
    assert ranking is not None
    retrieved = [row[row != NOTHING].tolist() for row in ranking.passages[:, :k]]
    if source == "retrieved":
        return retrieved
    units_retrieved = [dataset.units_of(passages) for passages in retrieved]
    return [retrieved[row] for row in _placebos(units_retrieved, relevant)]


def questions(dataset: Dataset, contexts: Contexts) -> list[Question]:
    """The cases as questions with their evidence, without the correct answers.

    A passage of several pages is named by the one that it stands for; see `units_of_ranking`.
    """
    ranked = np.full((len(contexts), max(map(len, contexts), default=0)), NOTHING, dtype=np.int64)
    for row, passages in enumerate(contexts):
        ranked[row, : len(passages)] = passages
    units = units_of_ranking(ranked, dataset)
    return [
        Question(
            case.query_id,
            case.case,
            case.question,
            case.options,
            tuple(
                Evidence(dataset.units[unit], readable(dataset.texts[passage]))
                for unit, passage in zip(units_of_case.tolist(), passages, strict=False)
            ),
        )
        for case, passages, units_of_case in zip(dataset.cases, contexts, units, strict=True)
    ]


def with_known_units(dataset: Dataset, asked: Sequence[Question], answers: Sequence[Answer]) -> list[Answer]:
    """Recorded answers, with the units that they name. Names are the keys that judgments have, such as `6` for page 6.

    Raises:
        DatasetError: A name is of no unit of the dataset, or of several. Without documents, any name is of a unit.
    """
    units = {composed(unit): unit for unit in dataset.units}
    pages = cache(lambda: Pages(_documents(dataset), dataset.unit))

    def spelt(names: Sequence[str], field: str, question: Question) -> tuple[str, ...]:
        where = f"{field} of case {question.question_id!r}"
        unknown = [name for name in names if composed(name) not in units]
        if unknown and dataset.passages and dataset.unit == "passage":
            problem = f"{listed(unknown[:1])} is no passage of the dataset"
            raise DatasetError(f"{where}: {problem}, which has {listed(dataset.units)}")
        return tuple(units.get(composed(name)) or pages().unit(name, where) for name in names)

    return [
        replace(
            given,
            cited=spelt(given.cited, "cited", question),
            retrieved=given.retrieved and spelt(given.retrieved, "evidence", question),
        )
        for question, given in zip(asked, answers, strict=True)
    ]


def _documents(dataset: Dataset) -> list[Document]:
    """The documents of a dataset: their pages, each with its unit, without their texts."""
    units, unit_of = {unit: place for place, unit in enumerate(dataset.units)}, dict[tuple[str, str], str]()
    for passage, unit in zip(dataset.passages, dataset.passage_units.tolist(), strict=True):
        unit_of.setdefault((passage.source, passage.page_number), dataset.units[unit])
    for row, unit in dataset.further_units.tolist():
        source, name = dataset.passages[row].source, dataset.units[unit]
        unit_of.setdefault((source, name.removeprefix(f"{source}#")), name)
    for name in dataset.empty_pages:
        source, _, number = name.rpartition("#")
        unit_of.setdefault((source, number), next((unit for unit in (name, number, source) if unit in units), name))
    pages: dict[str, list[tuple[str, str, str]]] = {}
    for (source, number), name in sorted(unit_of.items(), key=lambda page: units.get(page[1], -1)):
        pages.setdefault(source, []).append((number, name, ""))
    return [Document.from_pages(*document) for document in pages.items()]


def with_own_evidence(dataset: Dataset, questions: Sequence[Question], answers: Sequence[Answer]) -> Sequence[Question]:
    """The questions, with the pages that the answering system retrieved by itself as their evidence.

    Its passages are not known, only their units. So each unit is one passage here, with its whole text; if one of them
    is not in the dataset, the question has no evidence.
    """
    passages = _passages_of_units(dataset) if any(answer.retrieved is not None for answer in answers) else {}
    texts = {
        dataset.units[unit]: "\n".join(readable(dataset.texts[passage]) for passage in of_unit)
        for unit, of_unit in passages.items()
    }

    def evidence(units: Sequence[str]) -> tuple[Evidence, ...]:
        is_known = all(unit in texts for unit in units)
        return tuple(Evidence(unit, texts[unit]) for unit in dict.fromkeys(units)) if is_known else ()

    return [
        question if answer.retrieved is None else replace(question, evidence=evidence(answer.retrieved))
        for question, answer in zip(questions, answers, strict=True)
    ]


def relevant_units(dataset: Dataset, relevance_level: int) -> list[frozenset[int]]:
    """The relevant units of each case, as positions in `dataset.units`."""
    units: list[set[int]] = [set() for _ in dataset.cases]
    qrels = dataset.qrels
    relevant = qrels.grade >= relevance_level
    for case, unit in zip(qrels.query[relevant].tolist(), qrels.unit[relevant].tolist(), strict=True):
        units[case].add(unit)
    return [frozenset(of_case) for of_case in units]


def _passages_of_units(dataset: Dataset) -> dict[int, list[int]]:
    passages: dict[int, list[int]] = {}
    for passage, unit in sorted(dataset.passages_with_units.tolist()):
        passages.setdefault(unit, []).append(passage)
    return passages


def _placebos(retrieved: Sequence[Set[int]], relevant: Sequence[Set[int]]) -> Iterator[int]:
    """For each question the next one, in the order of the dataset, whose passages are of no unit relevant to it.

    Starts half the dataset away, since neighbours are often about the same page. If there is no such question, it is
    the one half the dataset away.

    Args:
        retrieved: The units of the passages that were retrieved for each question, at least two questions.
        relevant: The units that are relevant to each question.
    """
    cases = len(retrieved)
    steps = (*range(cases // 2, cases), *range(1, cases // 2))
    for row, units in enumerate(relevant):
        unrelated = ((row + step) % cases for step in steps if units.isdisjoint(retrieved[(row + step) % cases]))
        yield next(unrelated, (row + cases // 2) % cases)


def about_evidence(dataset: Dataset, *, retrieved: bool) -> list[str]:
    """What is unusual about the dataset and the evidence, one sentence each.

    Args:
        dataset: The dataset.
        retrieved: Whether the answering system retrieved its evidence by itself.
    """
    left_out = about_left_out(dataset, len(dataset.cases))
    sentences = [" ".join(left_out)] if left_out else []
    if not dataset.passages:
        return [*sentences, "The dataset has no documents: the questions are answered without evidence."]
    if not (judged := len({*dataset.qrels.query.tolist()})):
        sentences.append("No case names relevant pages, so the evidence is not judged.")
    elif left := len(dataset.cases) - judged:
        cases = f"{left} of {len(dataset.cases)} cases {verb(left, 'name')}"
        sentences.append(f"{cases} no relevant pages; their evidence is not judged.")
    if retrieved:
        sentences.append(
            "The answers name the pages of their evidence, not its passages: a reasoning is compared with whole "
            "pages, and is not compared if one of them has no text in the dataset."
        )
    return sentences
