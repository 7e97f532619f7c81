"""An encoder of one's own, exact and fast; run as a program, it embeds texts into a store while others wait."""

import sys
import time
from dataclasses import dataclass, field

import numpy as np

from ragsweep.models.encoders.encoder import Encoder


@dataclass
class LetterEncoder(Encoder):
    """Embeds a text by how often it has each letter, and remembers what it was asked for."""

    fingerprint: str = "letters"
    seconds: float = 0
    asked: list[str] = field(default_factory=list)

    def encode(self, texts, role):
        self.asked += texts
        if self.seconds:
            print(len(texts), flush=True)
            time.sleep(self.seconds)
        counts = np.array([[text.lower().count(chr(letter)) for letter in range(97, 123)] for text in texts], float)
        counts[~counts.any(axis=1), 0] = 1  # a text without letters
        return (counts / np.linalg.norm(counts, axis=1, keepdims=True).clip(min=1)).astype(np.float32)


def numbered(end):
    """Different texts, with different embeddings."""
    return ["a" * (number % 89) + "b" * (1 + number // 89) for number in range(end)]


def embed_slowly(path, end, seconds):
    """Embed `numbered(end)` into a store, saying how many texts it encodes at a time."""
    from ragsweep.models.encoders.embeddings import embed
    from ragsweep.store.stage_store import Store

    embed(LetterEncoder(seconds=float(seconds)), Store(path), numbered(int(end)), "passage")


if __name__ == "__main__":
    import letters  # the class of a module that is the program has another name

    letters.embed_slowly(*sys.argv[1:])
