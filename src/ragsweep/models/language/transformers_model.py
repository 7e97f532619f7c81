"""Language models that transformers runs on this machine: any with a chat template, by its name or folder."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

from ragsweep.core.digest import digest, version
from ragsweep.core.errors import EncoderError, ModelError, first_line
from ragsweep.core.hardware import cores, cpu_abilities, fastest_device, machine
from ragsweep.core.limits import ModelName, Text
from ragsweep.models.encoders.model_files import digest_of_model, model_folder, window_of
from ragsweep.models.language.kept_responses import KeptResponses
from ragsweep.models.language.language_model import Completion, Form, LanguageModel, Message, OptionScores, TooLongError
from ragsweep.store.stage_store import NO_STORE, Store

PROMPT_TOKENS_AT_ONCE = 256  # tokens of a prompt that are computed at once

_lock = Lock()  # threads wait while one of them loads the model


@dataclass(frozen=True)
class TransformersModel(LanguageModel):
    """A language model on `transformers.pipeline("text-generation")`, such as Phi-3.5.

    It always takes the most likely token. Each prompt is computed alone. On the CPU it takes one thread, so on one kind
    of CPU the result depends neither on other prompts nor on the number of threads. A response that reaches
    `max_tokens` is used as far as it goes.

    Attributes:
        model: A name on the Hugging Face hub, or a folder: safetensors and a chat template, no code of its own.
        device: `cpu`, `cuda`, `cuda:1`, `mps`; None takes the fastest there is.
        store: Keeps every response for good.
    """

    libraries: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers")

    model: ModelName
    device: Text | None = field(default=None, kw_only=True)
    store: Store = NO_STORE

    def __post_init__(self) -> None:
        if self.device is None:  # what is used is what is logged
            object.__setattr__(self, "device", fastest_device())
        _ = self.folder, self.context

    @cached_property
    def folder(self) -> Path:
        """Where the model's files are; raises `ModelError` where they cannot be had."""
        try:
            return model_folder(self.model, "CausalLM")
        except EncoderError as error:
            raise ModelError(f"language_model.model: {error}") from error

    @property
    def file(self) -> str | None:
        """The GGUF file in the folder that is loaded; None loads safetensors."""
        return None

    @property
    def weights(self) -> str:
        """Digest over the model's files."""
        return digest_of_model(self.folder)

    @cached_property
    def context(self) -> int | None:
        """How many tokens it reads, those of its response included; None if its files do not tell."""
        try:
            return window_of(self.folder)
        except EncoderError as error:
            raise ModelError(f"language_model.model: {error}") from error

    @cached_property
    def fingerprint(self) -> str:
        """Digest over the model's files and over what moves the last bits."""
        libraries = {name: version(name) for name in self.libraries}
        return digest([self.weights, libraries, str(self.device), PROMPT_TOKENS_AT_ONCE])

    @property
    def at_once(self) -> int:
        """How many items it is asked about at a time."""
        return cores() if self.device == "cpu" else 1

    def complete(self, messages: Sequence[Message], max_tokens: int, form: Form | None = None) -> Completion:
        """Continue a chat by the most likely tokens, until the model ends or has written `max_tokens`."""
        key = self._key("complete", messages, max_tokens)
        return KeptResponses.of(self.store, Completion).get(key, lambda: self._complete(messages, max_tokens))

    def option_scores(self, messages: Sequence[Message], continuations: Sequence[str]) -> OptionScores:
        """The log-likelihood of each continuation; a last message of the assistant is what it continues."""
        key = self._key("scores", messages, [*continuations])
        return KeptResponses.of(self.store, OptionScores).get(key, lambda: self._scores(messages, continuations))

    def loaded(self) -> Any:
        """The pipeline of the model (`TextGenerationPipeline`), loaded once per process."""
        with _lock:
            return load(self.folder, self.file, str(self.device))

    def _key(self, kind: str, messages: Sequence[Message], setting: object) -> list[object]:
        return [self.fingerprint, cpu_abilities(), kind, setting, [[*message] for message in messages]]

    def _complete(self, messages: Sequence[Message], max_tokens: int) -> Completion:
        generate = self.loaded()
        started = time.perf_counter()
        prompt, tokens = self._prompt(generate.tokenizer, messages, max_tokens)
        with _one_thread():
            [continued] = generate(prompt, max_new_tokens=max_tokens, return_tensors=True, add_special_tokens=False)
        special = _special(generate.tokenizer)
        written = [token for token in continued["generated_token_ids"][len(tokens) :] if token not in special]
        text = generate.tokenizer.decode(written).strip()
        return Completion(text, len(tokens), len(written), 1000 * (time.perf_counter() - started), (machine(),))

    def _scores(self, messages: Sequence[Message], continuations: Sequence[str]) -> OptionScores:
        generate = self.loaded()
        started = time.perf_counter()
        written = [generate.tokenizer.encode(text, add_special_tokens=False) for text in continuations]
        _, prompt = self._prompt(generate.tokenizer, messages, max(map(len, written)))
        with _one_thread():
            scores = _log_likelihoods(generate.model, prompt, written)
        return OptionScores(scores, len(prompt), 1000 * (time.perf_counter() - started), (machine(),))

    def _prompt(self, tokenizer: Any, messages: Sequence[Message], room: int) -> tuple[str, list[int]]:
        """A chat up to where the model goes on, and its tokens; raises `TooLongError` if less than `room` is left."""
        *before, last = messages
        opening = last.content if last.role == "assistant" else ""
        chat = [message._asdict() for message in (before if opening else messages)]
        try:
            text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True) + opening
        except Exception as error:  # a template may raise whatever it likes
            raise ModelError(f"{self.model}: its chat template refuses the prompt ({first_line(error)})") from error
        tokens: list[int] = tokenizer.encode(text, add_special_tokens=False)
        if self.context is not None and len(tokens) + room > self.context:
            raise TooLongError(f"longer than the {self.context:,} tokens that {self.model} reads")
        return text, tokens


@cache
def load(folder: Path, file: str | None, device: str) -> Any:
    """The pipeline of a model, loaded once per process, without code of its own.

    Args:
        folder: Has the model's files.
        file: The GGUF file in it that has the weights and the tokenizer; None loads safetensors.
        device: Where it runs.

    Raises:
        ModelError: The model cannot be loaded there, or lacks weights or a chat template.
    """
    import transformers
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    options: dict[str, Any] = {"gguf_file": file} if file else {"use_safetensors": True}
    options |= {"local_files_only": True, "trust_remote_code": False}
    place = folder / file if file else folder
    try:
        with redirect_stderr(io.StringIO()):  # a bar of progress that nothing else turns off
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
            loaded: Any = transformers.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True, **options)
            model, loading = loaded
            generate: Any = transformers.pipeline("text-generation", model=model, tokenizer=tokenizer, device=device)
    except Exception as error:  # the libraries of tokenizers and weights raise anything
        raise ModelError(f"{place} cannot be loaded ({first_line(error)})") from error
    if missing := sorted(loading["missing_keys"]):
        raise ModelError(f"language_model.model: the weights in {place} lack {missing[0]}, which would be made up")
    if not tokenizer.chat_template:
        raise ModelError(f"language_model.model: {place} has no chat template, expected a model that can chat")
    own = model.generation_config  # how the model likes to be sampled is left out of it
    ends = tokenizer.eos_token_id if own.eos_token_id is None else own.eos_token_id
    settings: dict[str, Any] = {
        "eos_token_id": _special(tokenizer) if file else ends,  # a GGUF file names one of several ends
        "pad_token_id": tokenizer.eos_token_id if own.pad_token_id is None else own.pad_token_id,
        "do_sample": False,
    }
    greedy = transformers.GenerationConfig(prefill_chunk_size=PROMPT_TOKENS_AT_ONCE, **settings)  # type: ignore[no-untyped-call]
    generate.generation_config = model.generation_config = greedy
    return generate


def _special(tokenizer: Any) -> list[int]:
    """The tokens that are no text."""
    return [number for number, token in tokenizer.added_tokens_decoder.items() if token.special]


def _log_likelihoods(model: Any, prompt: list[int], written: Sequence[list[int]]) -> tuple[float, ...]:
    """The sum of the log probabilities of the tokens of each continuation of a prompt."""
    import torch
    from transformers import DynamicCache

    def logits(tokens: list[int], attention: Any, **options: Any) -> Any:
        """Logits of the token after each one, shape [tokens, vocabulary]; adds the keys and values of these tokens."""
        return model(torch.tensor([tokens], device=model.device), past_key_values=attention, **options).logits[0]

    attention = DynamicCache(config=model.config)
    for start in range(0, len(prompt), PROMPT_TOKENS_AT_ONCE):
        last = logits(prompt[start : start + PROMPT_TOKENS_AT_ONCE], attention, logits_to_keep=1)[-1]
    first = last.log_softmax(-1)
    scores = []
    for tokens in written:
        score = float(first[tokens[0]])
        if tokens[1:]:
            further = logits(tokens[:-1], deepcopy(attention)).log_softmax(-1)
            score += float(further[range(len(tokens) - 1), tokens[1:]].sum())
        scores.append(score)
    return tuple(scores)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute in the calling thread alone: how a library shares work among threads moves the last bits."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_num_threads(threads)
