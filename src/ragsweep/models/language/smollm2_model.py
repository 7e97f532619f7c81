"""SmolLM2 for rewriters and rerankers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Annotated, ClassVar

from ragsweep.core.limits import Between
from ragsweep.core.progress import advance, progress
from ragsweep.core.terminal import counted
from ragsweep.models.language.language_model import Item, LanguageModel, Result
from ragsweep.models.language.smollm2 import CONTEXT, SmolLM2, in_threads
from ragsweep.models.language.smollm2_files import LIBRARIES, check_packages
from ragsweep.store.store import NO_STORE, Store


@dataclass(frozen=True)
class SmolLM2Model:
    """SmolLM2-135M-Instruct (https://arxiv.org/abs/2502.02737, weights of 4 bits, computed in 32 bits).

    It always takes the most likely token. Each prompt is computed alone and in one thread, so on one kind of CPU the
    result depends neither on other prompts nor on the number of threads.

    Attributes:
        store: Keeps the converted model and, for good, every response.
        max_tokens: Of one response.
    """

    libraries: ClassVar[tuple[str, ...]] = LIBRARIES

    store: Store = NO_STORE
    max_tokens: Annotated[int, Between(1, CONTEXT // 2)] = 128

    def __post_init__(self) -> None:
        check_packages("language_model")

    def ask_each(self, items: Sequence[Item], work: Callable[[Item, LanguageModel], Result]) -> list[Result]:
        """What `work` returns for each item, in the same order; each is computed in one thread, on all cores."""

        def ask(item: Item, stop: Event) -> Result:
            result = work(item, SmolLM2(self.store, self.max_tokens, stop))
            advance(1)
            return result

        with progress(f"asking SmolLM2 {counted(len(items), 'question')}", len(items)):
            return in_threads(items, ask)
