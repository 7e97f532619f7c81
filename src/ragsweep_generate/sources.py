"""The passages that questions are made from: cut from the documents, and spread over documents and topics."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, islice

import numpy as np
import numpy.typing as npt

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Document, RecursiveChunker
from ragsweep.datasets.readers.fields import flaw_of_text
from ragsweep.models.encoders.embeddings import embed
from ragsweep.models.encoders.encoder import Encoder
from ragsweep.store.stage_store import Store
from ragsweep.text.tokens import count_of_words
from ragsweep_generate.drafts import Source

MOST_TOPICS = 200
MOST_EMBEDDED = 20_000  # passages of which topics are made; of more, a sample is taken

Topics = npt.NDArray[np.int64]


def sources_of(documents: Sequence[Document], size: int, shortest: int) -> list[Source]:
    """The passages of all documents, in their order.

    Args:
        documents: The corpus.
        size: The most characters of a passage. No passage crosses the border of a page.
        shortest: The fewest words; shorter passages, such as titles, are left out.

    Raises:
        DatasetError: A text is not valid, or no passage is long enough.
    """
    chunker = RecursiveChunker(size, 0)
    sources = []
    for document in documents:
        if flaw := flaw_of_text(document.text):
            raise DatasetError(f"corpus: the text of document {document.source!r} {flaw}")
        for page in document.pages:
            text = document.text[page.start : page.end]
            for start, end in chunker.split(text):
                if count_of_words(text[start:end]) >= shortest:
                    places = page.start + start, page.start + end
                    sources.append(Source(document.source, page.page_number, *places, text[start:end]))
    if not sources:
        raise DatasetError(
            f"corpus: no passage of {len(documents)} documents has {shortest} words or more (shortest_passage); "
            "expected documents with text"
        )
    return sources


def spread(
    sources: Sequence[Source], count: int, most: int, *, encoder: Encoder | None, store: Store, seed: int
) -> list[Source]:
    """At most `most` passages, in a random order of which every beginning is spread over topics and documents.

    Topics are clusters of embeddings (k-means); without an encoder, each document is one. They take turns. Within a
    topic, the next passage is one of the document that was used least so far.

    Args:
        sources: The passages.
        count: How many questions are wanted, and so about how many topics are useful.
        most: How many passages are needed.
        encoder: Embeds the passages; None does without topics.
        store: Keeps the embeddings.
        seed: Of the order.
    """
    random = np.random.default_rng(seed)
    order = random.permutation(len(sources)).tolist()
    chosen = order[:MOST_EMBEDDED]
    if encoder is None:
        numbers = {name: number for number, name in enumerate(dict.fromkeys(each.document for each in sources))}
        topics = np.array([numbers[sources[at].document] for at in chosen])
    else:
        embeddings = embed(encoder, store, [sources[at].text for at in chosen], "passage")
        topics = _topics(np.array(embeddings, dtype=np.float64), count, random)
    members: dict[int, list[Source]] = defaultdict(list)
    for at, topic in zip(chosen, topics.tolist(), strict=True):
        members[topic].append(sources[at])
    turns = [members[topic] for topic in random.permutation(sorted(members)).tolist()]
    return list(islice(chain(_by_turns(turns), (sources[at] for at in order[MOST_EMBEDDED:])), most))


def _topics(embeddings: npt.NDArray[np.float64], count: int, random: np.random.Generator) -> Topics:
    """The cluster of each passage, shape [passages]."""
    from scipy.cluster.vq import kmeans2

    number = min(count, MOST_TOPICS, len(np.unique(embeddings, axis=0)))
    if number < 2:
        return np.zeros(len(embeddings), dtype=np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a cluster that became empty: there is one topic less
        topics: Topics = kmeans2(embeddings, number, minit="++", seed=random)[1].astype(np.int64)
    return topics


def _by_turns(turns: Sequence[list[Source]]) -> Iterator[Source]:
    used: Counter[str] = Counter()
    while any(turns):
        for left in turns:
            if left:
                at = min(range(len(left)), key=lambda place: used[left[place].document])
                used[left[at].document] += 1
                yield left.pop(at)
