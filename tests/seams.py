"""What components are handed by a run: a dataset whose secrets are known, and a walk that finds them."""

import gc
from contextlib import contextmanager
from dataclasses import dataclass
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType

import numpy as np
import pytest

from ragsweep.core.timing import NOTE
from ragsweep.datasets.model.cases import Case, Option
from ragsweep.datasets.model.collection import Collection, Document, Judgment, Query, Reference
from ragsweep.datasets.model.dataset import Dataset, Qrels
from ragsweep.datasets.model.dataset_format import DatasetFormat

TOPICS = ("iron", "fever", "malaria", "worms", "zinc", "dengue", "oxygen", "vaccine")
TYPES = ("type of odd ones", "type of even ones")
GRADE = 73_911  # of every judgment: a number that is nowhere else


@dataclass(frozen=True)
class Memory(DatasetFormat):
    """A dataset of documents of one page, and two questions about each, with types, fields and right answers.

    Attributes:
        cases: Whether it has right answers.
        turn: Of each judgment, type and right answer to that of another query; the rest stays.
    """

    cases: bool = False
    turn: int = 0

    def load(self):
        texts = {topic: f"All that is known of {topic}. Give {topic}." for topic in TOPICS}
        documents = tuple(
            Document.from_pages(f"{topic}.md", [("1", f"{topic}.md#1", text)]) for topic, text in texts.items()
        )
        queries = tuple(
            Query(f"q{number}", f"{start} {topic}?", TYPES[(number + self.turn) % 2], (("answered by", f"{topic}.md"),))
            for number, (start, topic) in enumerate(
                (start, topic) for topic in TOPICS for start in ("What is known of", "Who needs")
            )
        )
        judgments = tuple(
            Judgment(query.query_id, f"{TOPICS[(row // 2 + self.turn) % len(TOPICS)]}.md#1", GRADE)
            for row, query in enumerate(queries)
        )
        options = tuple(Option(letter, text) for letter, text in zip("ABCD", TOPICS, strict=False))
        cases = tuple(
            Case(query.query_id, "", query.text, options, "ABCD"[(row + self.turn) % 4])
            for row, query in enumerate(queries)
        )
        return Collection("memory", "page", documents, queries, judgments, cases=cases if self.cases else ())


def reached(arguments):
    """Everything that arguments lead to, as the garbage collector sees it; of a function what it holds."""
    values, waiting = {}, [arguments]
    while waiting:
        thing = waiting.pop()
        if id(thing) in values:
            continue
        values[id(thing)] = thing
        if isinstance(thing, FunctionType):
            waiting += [*(cell.cell_contents for cell in thing.__closure__ or ()), thing.__defaults__]
            waiting += [thing.__kwdefaults__, thing.__dict__]
        elif isinstance(thing, np.ndarray):
            waiting += [thing.base, thing.tolist() if thing.dtype == object else None]
        elif not isinstance(thing, type | ModuleType | BuiltinFunctionType | FrameType | str | bytes | int | float):
            waiting += gc.get_referents(thing)
    return [*values.values()]


SECRET = (Dataset, Collection, Qrels, Judgment, Reference, Query, Case, Memory)


def secrets_in(arguments, task):
    """What nobody is to see: objects that hold judgments, such as this task, grades, types and fields of queries."""
    return [value for value in reached(arguments) if is_secret(value) or isinstance(value, task)]


def is_secret(thing):
    if isinstance(thing, str):
        return thing in {*TYPES, "answered by"}
    if isinstance(thing, np.ndarray):
        return thing.dtype.kind in "iuf" and bool((thing == GRADE).any())
    return isinstance(thing, SECRET) or (isinstance(thing, int | np.integer) and thing == GRADE)


@contextmanager
def noting(seams):
    """The arguments of every call of these methods of classes, by class and method."""
    noted = {}
    with pytest.MonkeyPatch.context() as patch:
        for kind, method in seams:
            patch.setattr(kind, method, _noting(getattr(kind, method), noted.setdefault((kind, method), [])))
        yield noted


def _noting(method, calls):
    """The method, which notes its arguments."""

    def noted(self, *arguments, **named):
        calls.append((arguments, named))
        return method(self, *arguments, **named)

    return noted


def kept_in(store):
    """What a store keeps, without times. The audit keeps there what every run prints."""
    entries = {(entry.stage, entry.path.name): entry.arrays for entry in store.entries() if entry.stage != "audit"}
    return {key: {name: timeless(name, array) for name, array in of.items()} for key, of in entries.items()}


def timeless(name, array):
    """A value of an array that does not depend on times."""
    if name == NOTE:  # how busy the machine was is in it
        return name
    return array.shape if "ms" in name else array.tolist()
