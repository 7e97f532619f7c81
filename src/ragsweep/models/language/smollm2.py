"""SmolLM2-135M-Instruct, a small language model that comes as a package and runs on the CPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Any, ClassVar

from ragsweep.core.digest import version
from ragsweep.core.hardware import cores, cpu_abilities, machine
from ragsweep.core.progress import advance, progress
from ragsweep.core.terminal import counted
from ragsweep.core.timing import machines_in
from ragsweep.models.language.kept import KeptResponses
from ragsweep.models.language.language_model import (
    Asking,
    Completion,
    Item,
    Message,
    OptionScores,
    Result,
    Stopped,
    TooLongError,
    Work,
)
from ragsweep.models.language.smollm2_files import LIBRARIES, SHA256, check_packages, load
from ragsweep.store.stage_store import NO_STORE, Store

CONTEXT = 8192  # tokens of a prompt and its response, as the model was trained
PROMPT_TOKENS_AT_ONCE = 256  # tokens of a prompt that are computed at once


class SmolLM2:
    """The language model, for the prompts of one question.

    Prompts of one question often begin alike. What the last prompt and this one have in common is computed once. A
    prompt is computed in blocks of fixed places, so that the result does not depend on what was computed before.
    """

    structured = False  # a `LanguageModel` that implements `ScoresOptions`

    def __init__(self, store: Store, max_tokens: int, stop: Event, kept: KeptResponses | None = None) -> None:
        self._store, self._max_tokens, self._stop = store, max_tokens, stop
        self._kept = kept or KeptResponses.of(store)
        self._read: list[int] = []  # the tokens of the last prompt
        self._cache: Any = None  # the keys and values of its attention

    def complete(self, messages: Sequence[Message], *, as_json: bool = False) -> Completion:
        """Continue a chat by the most likely tokens, until the model ends or has written `max_tokens`."""
        key = self._key("complete", messages, self._max_tokens)
        kept = self._kept.get(key, lambda: self._timed(lambda: self._complete(messages)))
        return Completion(**{**kept, "machines": machines_in(kept.get("machines"))})

    def option_scores(self, messages: Sequence[Message], continuations: Sequence[str]) -> OptionScores:
        """The log-likelihood of each continuation; a last message of the assistant is what it continues."""
        key = self._key("scores", messages, [*continuations])
        kept = self._kept.get(key, lambda: self._timed(lambda: self._scores(messages, continuations)))
        machines = machines_in(kept.get("machines"))
        return OptionScores(tuple(kept["log_likelihoods"]), kept["tokens_in"], kept["time_ms"], machines)

    def _timed(self, compute: Callable[[], Completion | OptionScores]) -> dict[str, Any]:
        """What is computed, as it is kept, with the machine."""
        return {**compute()._asdict(), "machines": [machine()]}

    def _key(self, what: str, messages: Sequence[Message], setting: object) -> list[object]:
        versions = {name: version(name) for name in LIBRARIES}
        computing = [SHA256, versions, cpu_abilities(), PROMPT_TOKENS_AT_ONCE]
        return [*computing, what, setting, [[*message] for message in messages]]

    def _complete(self, messages: Sequence[Message]) -> Completion:
        model, tokenizer = load(self._store)
        started = time.perf_counter()
        prompt = self._tokens(messages, self._max_tokens)
        ends = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
        written: list[int] = []
        with _one_thread() as torch:
            logits = self._logits(prompt)
            while (token := int(logits.argmax())) not in ends:
                written.append(token)
                if len(written) == self._max_tokens:
                    break
                if self._stop.is_set():
                    raise Stopped
                logits = model(torch.tensor([[token]]), past_key_values=self._cache).logits[0, -1]
        text = tokenizer.backend_tokenizer.decode(written).strip()
        return Completion(text, len(prompt), len(written), 1000 * (time.perf_counter() - started))

    def _scores(self, messages: Sequence[Message], continuations: Sequence[str]) -> OptionScores:
        if self._stop.is_set():
            raise Stopped
        model, tokenizer = load(self._store)
        started = time.perf_counter()
        tokens = [tokenizer.backend_tokenizer.encode(each, add_special_tokens=False).ids for each in continuations]
        prompt = self._tokens(messages, max(map(len, tokens)))
        with _one_thread() as torch:
            first = self._logits(prompt).log_softmax(-1)
            scores = []
            for each in tokens:
                score = float(first[each[0]])
                if each[1:]:
                    logits = model(torch.tensor([each[:-1]]), past_key_values=self._cache).logits[0]
                    self._cache.crop(1 - len(each))
                    score += float(logits.log_softmax(-1)[range(len(each) - 1), each[1:]].sum())
                scores.append(score)
        return OptionScores(tuple(scores), len(prompt), 1000 * (time.perf_counter() - started))

    def _tokens(self, messages: Sequence[Message], room: int) -> list[int]:
        """The tokens of a chat, up to where the model goes on; raises `TooLongError` if less than `room` is left."""
        _, tokenizer = load(self._store)
        *before, last = messages
        opening = last.content if last.role == "assistant" else ""
        chat = [message._asdict() for message in (before if opening else messages)]
        text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True) + opening
        tokens: list[int] = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
        if len(tokens) + room > CONTEXT:
            raise TooLongError(f"longer than the {CONTEXT:,} tokens that SmolLM2 reads")
        return tokens

    def _logits(self, prompt: list[int]) -> Any:
        """The logits of the token after a prompt, shape [vocabulary]."""
        import torch
        from transformers import DynamicCache

        model, _ = load(self._store)
        if self._cache is None:
            self._cache = DynamicCache(config=model.config)
        same = next((at for at, pair in enumerate(zip(self._read, prompt, strict=False)) if pair[0] != pair[1]), None)
        same = min(len(self._read), len(prompt)) if same is None else same
        # Whole blocks, and at least one token is left.
        same = min(same, len(prompt) - 1) // PROMPT_TOKENS_AT_ONCE * PROMPT_TOKENS_AT_ONCE
        self._cache.crop(same - self._cache.get_seq_length())
        self._read = prompt
        for start in range(same, len(prompt), PROMPT_TOKENS_AT_ONCE):
            block = torch.tensor([prompt[start : start + PROMPT_TOKENS_AT_ONCE]])
            logits = model(block, past_key_values=self._cache, logits_to_keep=1).logits[0, -1]
        return logits


@dataclass(frozen=True)
class SmolLM2Model:
    """SmolLM2-135M-Instruct (https://arxiv.org/abs/2502.02737, weights of 4 bits, computed in 32 bits).

    It always takes the most likely token. Each prompt is computed alone and in one thread, so on one kind of CPU the
    result depends neither on other prompts nor on the number of threads.

    Attributes:
        store: Keeps the converted model and, for good, every response.
    """

    libraries: ClassVar[tuple[str, ...]] = LIBRARIES
    structured: ClassVar[bool] = False
    context: ClassVar[int] = CONTEXT
    usual_tokens: ClassVar[int] = 128

    store: Store = NO_STORE

    def __post_init__(self) -> None:
        check_packages()

    def ask_each(self, items: Sequence[Item], work: Work[Item, Result], asking: Asking) -> list[Result]:
        """What `work` returns for each item, in the same order; each is computed in one thread, on all cores."""
        stop, kept = Event(), KeptResponses.of(self.store)

        def ask(item: Item) -> Result:
            result = work(item, SmolLM2(self.store, asking.max_tokens, stop, kept))
            advance(1)
            return result

        shown = progress(f"asking SmolLM2 {counted(len(items), asking.item)}", len(items))
        with shown, ThreadPoolExecutor(cores()) as pool:
            try:
                return list(pool.map(ask, items))
            finally:
                stop.set()  # after an error or Ctrl-C, else the pool waits for what is being computed


@contextmanager
def _one_thread() -> Iterator[Any]:
    """Compute in the calling thread alone: how a library shares work among threads moves the last bits."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            yield torch
    finally:
        torch.set_num_threads(threads)
