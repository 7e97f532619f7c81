"""Questions by SmolLM2-135M-Instruct, a small language model that comes as a package and runs on the CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Annotated, ClassVar

from ragsweep.config.run_settings import Seed
from ragsweep.core.limits import Between
from ragsweep.core.progress import advance, progress
from ragsweep.core.terminal import counted
from ragsweep.models.language.smollm2 import CONTEXT, SmolLM2, in_threads
from ragsweep.models.language.smollm2_files import LIBRARIES, check_packages
from ragsweep.store.store import Store
from ragsweep_generate.drafts import Draft, Request
from ragsweep_generate.extractive import NO_SENTENCE
from ragsweep_generate.prompts import PROMPTS, REFUSED, chat_about, question_in
from ragsweep_generate.telling_sentences import chosen_sentence


@dataclass(frozen=True)
class SmolLM2Generator:
    """Asks SmolLM2 for a question that a given sentence answers.

    The model is too small to quote a passage, so the sentence is chosen first, at random, and is the reference. Many of
    its questions are poor, and some are not answered by their sentence, which no check finds.

    Attributes:
        store: Keeps the converted model and, for good, every response.
        max_tokens: Of one response.
        seed: Of the choice of sentences.
    """

    types: ClassVar[tuple[str, ...]] = ("sentence",)
    repeats: ClassVar[int] = 5
    libraries: ClassVar[tuple[str, ...]] = LIBRARIES

    store: Store
    max_tokens: Annotated[int, Between(1, CONTEXT // 2)] = 48
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_packages("generator")

    @property
    def prompts(self) -> Mapping[str, str]:
        """The prompts by their names."""
        return {"sentence": PROMPTS["sentence"]}

    def draft(self, requests: Sequence[Request]) -> list[Draft]:
        """A draft for each request."""
        with progress(f"asking SmolLM2 {counted(len(requests), 'question')}", len(requests)):
            return in_threads(requests, self._draft)

    def _draft(self, request: Request, stop: Event) -> Draft:
        sentence = chosen_sentence(request, self.seed)
        if sentence is None:
            return Draft("", flaw=NO_SENTENCE)
        said = SmolLM2(self.store, self.max_tokens, stop).complete(chat_about(sentence))
        advance(1)
        question = question_in(said.text)
        flaw = "" if question.endswith("?") else "it is no question" if question else REFUSED
        return Draft(question, (sentence,), flaw, said.tokens_in, said.tokens_out)
