"""Runs models of sentence-transformers, and refuses devices that do not work and weights that are made up."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ragsweep.core.errors import ConfigError, EncoderError, first_line
from ragsweep.core.progress import advance

LIBRARIES = ("torch", "transformers", "tokenizers", "sentence-transformers")
GROUP = 4  # texts that a thread of the CPU computes at once
WIDTH = 16  # tokens, of which it pads texts to a multiple
EXAMPLES = ("word", "A sentence of a few words.", "A text of many words, as a passage has them. " * 9)
LEAST_COSINE = 0.99  # between embeddings in bf16 and in fp32

Input = TypeVar("Input")  # a text, or a pair of texts


def in_batches(model: Any, compute: Callable[[list[Input]], Any], inputs: Sequence[Input]) -> Any:
    """Compute all inputs in one call, which makes batches of its own; the last module tells when one is done."""
    counting = model[-1].register_forward_hook(lambda *call: advance(len(call[-1]["attention_mask"])))
    try:
        return compute(list(inputs))
    finally:
        counting.remove()


def longest_first(texts: Sequence[str]) -> list[int]:
    """Rows of the texts, longest first: threads that get a short text last are done at about the same time."""
    return sorted(range(len(texts)), key=lambda row: -len(texts[row]))


def groups_of(model: Any, inputs: Sequence[Any], prompt: str) -> tuple[list[list[int]], dict[str, Any]]:
    """Rows of inputs that share a width, `GROUP` at a time, and the options with which the model pads them to it.

    A group that is not full repeats a row: all that enters the computation of an input is the input.
    """
    multiple = WIDTH if (model.max_seq_length or 0) % WIDTH == 0 else 1  # a model may have no position beyond its last
    options = {"prompt": prompt, "processing_kwargs": {"text": {"pad_to_multiple_of": multiple}}}
    tokens = model.preprocess(list(inputs), **options)["attention_mask"].sum(dim=1).numpy()
    widths = -(-tokens // multiple)
    groups = []
    for width in np.unique(widths)[::-1]:
        rows = np.flatnonzero(widths == width).tolist()
        for start in range(0, len(rows), GROUP):
            group = rows[start : start + GROUP]
            groups.append(group + group[-1:] * (GROUP - len(group)))
    return groups, options


def by_threads(compute: Callable[[list[Input]], Any], inputs: Sequence[Input], groups: list[list[int]]) -> list[Any]:
    """Compute groups of inputs, each in one thread, as many at a time as torch would take threads."""
    import torch

    computed: list[Any] = [None] * len(inputs)

    def keep(group: list[int], found: Sequence[Any]) -> None:
        for row, value in zip(group, found, strict=True):
            computed[row] = value
        advance(len(set(group)))

    def of_group(group: list[int]) -> Any:
        return compute([inputs[row] for row in group])

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        # one before the others: the first call sets up the tokenizer, which threads must not do at once
        keep(groups[-1], of_group(groups[-1]))
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            for group, found in zip(groups, pool.map(of_group, groups[:-1]), strict=False):
                keep(group, found)
    finally:
        torch.set_num_threads(threads)
    return computed


def in_bf16(model: Any) -> None:
    """Run the transformer of a `SentenceTransformer` in bf16; what it returns, and its other modules, stay in fp32.

    Raises:
        EncoderError: The model cannot be run so, or gives other embeddings.
    """
    import torch

    transformer = model[0]
    try:
        if type(transformer).__name__ != "Transformer":
            raise TypeError(f"its first module is a {type(transformer).__name__}, not a Transformer")
        expected = model.encode(list(EXAMPLES), batch_size=1, normalize_embeddings=True)
        transformer.to(torch.bfloat16)
        transformer.register_forward_hook(
            lambda _module, _inputs, features: features | {"token_embeddings": features["token_embeddings"].float()}
        )
        found = model.encode(list(EXAMPLES), batch_size=1, normalize_embeddings=True)
    except Exception as error:  # models raise exceptions of any type
        raise EncoderError(f"encoder.precision: bf16 cannot run this model ({first_line(error)}); fp32 can") from error
    cosine = float((expected * found).sum(axis=1).min())
    if cosine < LEAST_COSINE:
        raise EncoderError(f"encoder.precision: bf16 computes this model wrongly (cosine {cosine:.3f}); fp32 can")


def loaded(kind: str, folder: Path, device: str, but: str = "", backend: str = "torch") -> Any:
    """Load a model, from safetensors alone and without code of its own.

    Args:
        kind: The class of sentence-transformers, such as `CrossEncoder`.
        folder: Has the model's files.
        device: Where it runs.
        but: As in `made_up_weights`.
        backend: What runs it.

    Raises:
        EncoderError: It cannot be loaded there, lacks weights, or has another model's tokenizer.
    """
    import sentence_transformers
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    if device != "cpu":
        check_device(device)
    try:
        with made_up_weights(but) as made_up:
            model = getattr(sentence_transformers, kind)(
                str(folder),
                device=device,
                local_files_only=True,
                trust_remote_code=False,
                backend=backend,
                model_kwargs={"use_safetensors": True} if backend == "torch" else None,
            )
    except Exception as error:  # the libraries of tokenizers and weights raise anything
        setting = "model" if backend == "torch" else "backend"
        raise EncoderError(f"encoder.{setting}: {folder} cannot be loaded ({first_line(error)})") from error
    if made_up:
        raise EncoderError(f"encoder.model: the weights in {folder} lack {made_up[0]}, which would be made up")
    check_tokenizer(model, folder)
    return model


@contextmanager
def settings_of(component: str) -> Iterator[None]:
    """Name the settings of a component in errors of models, which otherwise name those of an encoder."""
    try:
        yield
    except EncoderError as error:
        if component == "encoder":
            raise
        raise ConfigError(re.sub(r"\bencoder\.(?=model\b|device\b)", f"{component}.", str(error))) from error


@contextmanager
def made_up_weights(but: str) -> Iterator[list[str]]:
    """The names of weights that transformers makes up at random since the files lack them, instead of its report.

    Args:
        but: Part of the names that do not count, because the model does not use them; empty if it uses all.
    """
    names: list[str] = []
    unused = re.compile(re.escape(but) or "$^")

    def collect(record: logging.LogRecord) -> bool:
        text = record.getMessage()
        made_up = re.findall(r"^([^|\n]+?) *\|[^|\n]*MISSING", text, re.M)
        names.extend(name for name in made_up if not unused.search(name))
        return "LOAD REPORT" not in text

    library, logger = logging.getLogger("transformers"), logging.getLogger("transformers.modeling_utils")
    level = library.level
    library.setLevel(min(level, logging.WARNING))  # TRANSFORMERS_VERBOSITY can have silenced it
    logger.addFilter(collect)
    try:
        yield names
    finally:
        logger.removeFilter(collect)
        library.setLevel(level)


def check_tokenizer(model: Any, folder: Path) -> None:
    """Raise `EncoderError` where most of the tokens that the weights have are unknown to the tokenizer."""
    expected = getattr(getattr(model[0], "config", None), "vocab_size", None)
    if isinstance(expected, int) and len(model.tokenizer) < expected / 2:
        found = f"{len(model.tokenizer)} tokens and the weights {expected}"
        raise EncoderError(f"encoder.model: the tokenizer in {folder} has {found}; it is damaged or not complete")


def check_device(device: str) -> None:
    """Raise `EncoderError` where torch cannot use a device."""
    import torch

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, ValueError) as error:
        reason = first_line(error)
        raise EncoderError(
            f"encoder.device: found {device!r}, which cannot be used here ({reason}); the CPU can: encoder.device=cpu"
        ) from error
