"""Letters that count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragsweep.constraints import Text


@dataclass(frozen=True)
class Alphabet:
    """The letters that texts are compared by."""

    letters: Text

    def counts(self, texts: tuple[str, ...]) -> npt.NDArray[np.float64]:
        """How often each text has each letter, shape [texts, letters]."""
        return np.array([[text.lower().count(letter) for letter in self.letters] for text in texts], dtype=float)
