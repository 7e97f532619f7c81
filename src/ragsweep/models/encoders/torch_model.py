"""A model that torch runs: where it runs, and where its files are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

from ragsweep.core.hardware import fastest_device
from ragsweep.core.limits import Between, ModelName, Text
from ragsweep.models.encoders.model_files import model_folder, tokenizer_in, window_of
from ragsweep.models.encoders.model_running import (
    GROUP,
    WIDTH,
    by_threads,
    check_device,
    groups_of,
    in_batches,
    longest_first,
    settings_of,
)


@dataclass(frozen=True)
class TorchModel:
    """What components have in common whose model sentence-transformers loads.

    Attributes:
        model: A name on the Hugging Face hub, or a folder.
        device: `cpu`, `cuda`, `cuda:1`, `mps`; None takes the fastest there is.
        batch_size: How much is computed at once on an accelerator.
        model_class: The class of sentence-transformers.
        group: The settings that errors name.
        window_unit: Of `window`.
    """

    model_class: ClassVar[str] = "SentenceTransformer"
    group: ClassVar[str] = "encoder"
    window_unit: ClassVar[str] = "tokens"

    model: ModelName
    device: Text | None = field(default=None, kw_only=True)
    batch_size: Annotated[int, Between(1)] = field(default=32, kw_only=True)

    def __post_init__(self) -> None:
        if self.device is None:  # what is used is what is logged
            object.__setattr__(self, "device", fastest_device())
        elif self._kind not in ("cpu", fastest_device()):  # else torch will say, when the model is loaded
            with settings_of(self.group):
                check_device(str(self.device))

    @property
    def _kind(self) -> str:
        return str(self.device).partition(":")[0]

    @property
    def _in_groups(self) -> bool:
        """Whether small groups are computed by threads, instead of batches."""
        return self._kind == "cpu"

    @property
    def _shapes(self) -> list[int]:
        """Of what is computed at once, which moves the last bits."""
        return [GROUP, WIDTH] if self._in_groups else [self.batch_size]

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect on this device."""
        return ("batch_size",) if self._in_groups else ()

    @cached_property
    def folder(self) -> Path:
        """Where the model's files are; raises an error where they cannot be had."""
        with settings_of(self.group):
            return model_folder(self.model, self.model_class)

    @property
    def tokenizer_file(self) -> Path | None:
        """The model's tokenizer; None if it is not in a file that the library `tokenizers` reads."""
        return tokenizer_in(self.folder)

    @cached_property
    def window(self) -> int | None:
        """How many tokens of a text, or of a pair, are read, with the special ones; None if the files do not tell."""
        return window_of(self.folder)

    def _computed(
        self, model: Any, compute: Callable[..., Any], inputs: Sequence[Any], prompt: str, *, grouped: bool
    ) -> Any:
        """What the model computes for each input: on the CPU by threads, on an accelerator in batches.

        Args:
            model: The loaded model.
            compute: Takes a list of inputs, `batch_size`, and the options of `groups_of`.
            inputs: Texts, or pairs of texts.
            prompt: Precedes each of them; `compute` puts it there.
            grouped: Whether a thread computes several inputs of one width at once, else each alone.
        """
        if not self._in_groups:
            return in_batches(model, partial(compute, batch_size=self.batch_size), inputs)
        if grouped:
            groups, options = groups_of(model, inputs, prompt)
        else:
            groups, options = [[row] for row in longest_first(inputs)], {}
        return by_threads(partial(compute, batch_size=GROUP, **options), inputs, groups)
