"""How a configuration does its work, in words that tables and charts hold side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Method:
    """One way to do it.

    Attributes:
        name: In a few words, such as `hybrid, alpha 0.7`; empty for the name by which a configuration chooses it.
        title: In a sentence, such as `pure sparse retrieval`; empty where no sentence names it.
        advantage: What speaks for it whatever it scores, such as `needs no encoder`.
        is_baseline: Whether others are usually held against it.
        stands_for: Settings that it amounts to, also where it lacks them: sparse retrieval is a hybrid with alpha 0.
        chosen_by: The settings that choose the method, besides those that it stands for.
    """

    name: str = ""
    title: str = ""
    advantage: str = ""
    is_baseline: bool = False
    stands_for: Mapping[str, float] = field(default_factory=dict)
    chosen_by: Sequence[str] = ()
