"""A model that torch runs: where it runs, how it is loaded, and how it computes the same bits in any company."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np

from ragsweep.core.errors import EncoderError, first_line
from ragsweep.core.hardware import fastest_device
from ragsweep.core.limits import Between, ModelName, Text
from ragsweep.core.progress import advance
from ragsweep.models.encoders.encoder import TextModel
from ragsweep.models.encoders.model_files import model_folder, naming, tokenizer_in, window_of

LIBRARIES = ("torch", "transformers", "tokenizers", "sentence-transformers")
GROUP = 4  # texts that a thread of the CPU computes at once
WIDTH = 16  # tokens, of which it pads texts to a multiple

Input = TypeVar("Input")  # a text, or a pair of texts


@dataclass(frozen=True)
class TorchModel(TextModel):
    """Base of components whose model sentence-transformers loads.

    Attributes:
        model: A name on the Hugging Face hub, or a folder.
        device: `cpu`, `cuda`, `cuda:1`, `mps`; None takes the fastest there is.
        batch_size: How much is computed at once on an accelerator.
        model_class: The class of sentence-transformers.
        group: The settings that errors name.
    """

    model_class: ClassVar[str] = "SentenceTransformer"
    group: ClassVar[str] = "encoder"

    model: ModelName = field()  # without a default
    device: Text | None = field(default=None, kw_only=True)
    batch_size: Annotated[int, Between(1)] = field(default=32, kw_only=True)

    def __post_init__(self) -> None:
        if self.device is None:  # what is used is what is logged
            object.__setattr__(self, "device", fastest_device())
        elif self._kind not in ("cpu", fastest_device()):  # else torch will say, when the model is loaded
            check_device(str(self.device), self.group)

    @property
    def _kind(self) -> str:
        return str(self.device).partition(":")[0]

    @property
    def _in_groups(self) -> bool:
        """Whether small groups are computed by threads, instead of batches."""
        return self._kind == "cpu"

    @property
    def _shapes(self) -> list[int]:
        """The shapes that are computed at once; they change the last bits."""
        return [GROUP, WIDTH] if self._in_groups else [self.batch_size]

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect on this device."""
        return ("batch_size",) if self._in_groups else ()

    @cached_property
    def folder(self) -> Path:
        """Where the model's files are; raises an error where they cannot be had."""
        with naming(f"{self.group}.model"):
            return model_folder(self.model, self.model_class)

    @property
    def tokenizer_file(self) -> Path | None:
        """The model's tokenizer; None if it is not in a file that the library `tokenizers` reads."""
        return tokenizer_in(self.folder)

    @cached_property
    def window(self) -> int | None:
        """How many tokens of a text, or of a pair, are read, with the special ones; None if the files do not tell."""
        with naming(f"{self.group}.model"):
            return window_of(self.folder)

    def _computed(
        self, model: Any, compute: Callable[..., Any], inputs: Sequence[Any], prompt: str, *, grouped: bool
    ) -> Any:
        """Compute all inputs with the model: on the CPU in threads, on an accelerator in batches.

        Args:
            model: The loaded model.
            compute: Takes a list of inputs, `batch_size`, and the options of `_groups_of`.
            inputs: Texts, or pairs of texts.
            prompt: Precedes each of them; `compute` puts it there.
            grouped: Whether a thread computes several inputs of one width at once, else each alone.
        """
        if not self._in_groups:
            return compute(list(inputs), batch_size=self.batch_size)
        if grouped:
            groups, options = _groups_of(model, inputs, prompt)
        else:  # longest first: threads that get a short text last are done at about the same time
            groups, options = [[row] for row in sorted(range(len(inputs)), key=lambda row: -len(inputs[row]))], {}
        return _by_threads(partial(compute, batch_size=GROUP, **options), inputs, groups)


def check_device(device: str, group: str) -> None:
    """Raise `EncoderError` where torch cannot use a device."""
    import torch

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, ValueError) as error:
        refused = f"{group}.device: found {device!r}, which cannot be used here ({first_line(error)})"
        raise EncoderError(f"{refused}; the CPU can: {group}.device=cpu") from error


@cache
def loaded(
    kind: str,
    folder: Path,
    device: str,
    group: str,
    *,
    unused: str = "",
    backend: str = "torch",
    prepared: Callable[[Any], Any] | None = None,
) -> Any:
    """Load a model, from safetensors alone and without code of its own, once per process.

    Args:
        kind: The class of sentence-transformers, such as `CrossEncoder`.
        folder: Has the model's files.
        device: Where it runs.
        group: The settings that errors name.
        unused: Part of the names of weights that the model does not use; empty if it uses all.
        backend: What runs it.
        prepared: Gives what is returned, of what was loaded; None returns that.

    Raises:
        EncoderError: It cannot be loaded there, lacks weights, or has another model's tokenizer.
    """
    import sentence_transformers
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    if device != "cpu":
        check_device(device, group)
    with naming(f"{group}.{'model' if backend == 'torch' else 'backend'}"):
        try:
            with _made_up_weights() as made_up:
                model = getattr(sentence_transformers, kind)(
                    str(folder),
                    device=device,
                    local_files_only=True,
                    trust_remote_code=False,
                    backend=backend,
                    model_kwargs={"use_safetensors": True} if backend == "torch" else None,
                )
        except Exception as error:  # the libraries of tokenizers and weights raise anything
            raise EncoderError(f"{folder} cannot be loaded ({first_line(error)})") from error
        if missing := [name for name in made_up if not unused or unused not in name]:
            raise EncoderError(f"the weights in {folder} lack {missing[0]}, which would be made up")
        expected = getattr(getattr(model[0], "config", None), "vocab_size", None)
        if isinstance(expected, int) and len(model.tokenizer) < expected / 2:
            tokens = f"{len(model.tokenizer)} tokens and the weights {expected}"
            raise EncoderError(f"the tokenizer in {folder} has {tokens}; it is damaged or not complete")
    return prepared(model) if prepared else model


def _groups_of(model: Any, inputs: Sequence[Any], prompt: str) -> tuple[list[list[int]], dict[str, Any]]:
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


def _by_threads(compute: Callable[[list[Input]], Any], inputs: Sequence[Input], groups: list[list[int]]) -> list[Any]:
    """Compute groups of inputs, each in one thread, as many at a time as torch would take threads."""
    import torch

    computed: list[Any] = [None] * len(inputs)

    def compute_group(group: list[int]) -> int:
        for row, value in zip(group, compute([inputs[row] for row in group]), strict=True):
            computed[row] = value
        return len(set(group))

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        # one before the others: the first call sets up the tokenizer, which threads must not do at once
        advance(compute_group(groups[-1]))
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            for done in pool.map(compute_group, groups[:-1]):
                advance(done)
    finally:
        torch.set_num_threads(threads)
    return computed


@contextmanager
def _made_up_weights() -> Iterator[list[str]]:
    """The names of weights that transformers makes up at random since the files lack them, instead of its report."""
    names: list[str] = []

    def collect(record: logging.LogRecord) -> bool:
        text = record.getMessage()
        names.extend(re.findall(r"^([^|\n]+?) *\|[^|\n]*MISSING", text, re.M))
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
