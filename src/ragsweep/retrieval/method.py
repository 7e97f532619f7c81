"""How a configuration works, in words for tables and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from ragsweep.core.capability import Capability, offered_with


@dataclass(frozen=True)
class Method:
    """One way of doing the work.

    Attributes:
        name: In a few words, such as `hybrid, alpha 0.7`; empty for the name by which a configuration chooses it.
        title: In a sentence, such as `pure sparse retrieval`; empty where no sentence names it.
        advantage: An advantage apart from its scores, such as `needs no encoder`.
        is_baseline: Whether others are usually compared with it.
        stands_for: Settings of another method that give the same ranking: sparse retrieval is a hybrid with alpha 0.
        chosen_by: The settings that choose the method, besides those that it stands for.
        vary: What to vary next if this method is the best, as a request, such as `sweep the encoder`.
        tag: How a system calls itself in a TREC file of its rankings; empty for other methods.
    """

    name: str = ""
    title: str = ""
    advantage: str = ""
    is_baseline: bool = False
    stands_for: Mapping[str, int | float] = field(default_factory=dict)
    chosen_by: Sequence[str] = ()
    vary: str = ""
    tag: str = ""


@offered_with("rank", "learn_from_judgments")
@runtime_checkable
class HasMethod(Capability, Protocol):
    """A ranker with words for what it does."""

    method: Method  # the words


def method_of(ranker: object) -> Method:
    """What a ranker says of its method; nothing of one that says nothing."""
    return ranker.method if isinstance(ranker, HasMethod) else Method()
