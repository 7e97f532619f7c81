"""Passages are cut from the documents, and spread over documents and topics."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Document
from ragsweep.models.encoders.encoder import Encoder
from ragsweep.store.stage_store import NO_STORE
from ragsweep_generate.sources import sources_of, spread


def document(name, *pages):
    return Document.from_pages(name, [(str(page), f"{name}#{page}", text) for page, text in enumerate(pages, 1)])


class TopicEncoder(Encoder):
    """Embeds a text by its first word, and a little by its length."""

    fingerprint = "topics"
    topics = ("fever", "iron", "vaccine", "birth")

    def encode(self, texts, role):
        rows = [np.eye(5)[self.topics.index(text.split()[0])] + len(text) / 1000 * np.eye(5)[4] for text in texts]
        return np.array([row / np.linalg.norm(row) for row in rows])


DOCUMENTS = [
    document("long.txt", *(f"fever is page {page} of a long document" for page in range(30))),
    document("short.txt", "fever is also in a short document", "iron is on its second page"),
    document("other.txt", *(f"{topic} is page {page} here" for topic in ("vaccine", "birth") for page in range(3))),
]


@given(st.lists(st.text(alphabet="ab \n.\u00e9", max_size=300), min_size=1, max_size=4), st.integers(10, 80))
def test_a_passage_is_the_text_between_its_offsets(pages, size):
    made = document("a.txt", *pages)
    try:
        sources = sources_of([made], size, 1)
    except DatasetError:
        assert not any(page.strip() for page in pages)
        return
    for source in sources:
        assert made.text[source.start : source.end] == source.text
        assert len(source.text) <= size
        assert "\f" not in source.text  # it is on one page


def test_short_passages_are_left_out():
    made = document("a.txt", "A title", "One two three four five six.")
    assert [source.page_number for source in sources_of([made], 100, 5)] == ["2"]
    assert len(sources_of([made], 100, 2)) == 2
    with pytest.raises(DatasetError, match=r"no passage of 1 documents has 50 words or more \(shortest_passage\)"):
        sources_of([made], 100, 50)


def test_a_text_that_cannot_be_written_is_refused():
    with pytest.raises(DatasetError, match=r"the text of document 'a\.txt' contains an invalid surrogate"):
        sources_of([document("a.txt", "half of \ud800 letter")], 100, 1)


def test_topics_take_turns():
    sources = sources_of(DOCUMENTS, 200, 1)
    order = spread(sources, 4, 8, encoder=TopicEncoder(), store=NO_STORE, seed=0)
    topics = [source.text.split()[0] for source in order]
    assert sorted(topics[:4]) == sorted(TopicEncoder.topics)
    assert Counter(topics)["iron"] == 1


def test_within_a_topic_documents_take_turns():
    fever = [source for source in sources_of(DOCUMENTS, 200, 1) if source.text.startswith("fever")]
    first = spread(fever, 1, 2, encoder=TopicEncoder(), store=NO_STORE, seed=0)
    assert {source.document for source in first} == {"long.txt", "short.txt"}


def test_without_an_encoder_documents_take_turns():
    order = spread(sources_of(DOCUMENTS, 200, 1), 6, 6, encoder=None, store=NO_STORE, seed=0)
    assert Counter(source.document for source in order) == {"long.txt": 2, "short.txt": 2, "other.txt": 2}


@pytest.mark.parametrize("encoder", [None, TopicEncoder()], ids=["documents", "topics"])
def test_every_passage_comes_once_in_an_order_that_the_seed_decides(encoder):
    sources = sources_of(DOCUMENTS, 200, 1)

    def order(seed):
        return spread(sources, 10, len(sources), encoder=encoder, store=NO_STORE, seed=seed)

    assert sorted(order(0)) == sorted(sources)
    assert order(0) == order(0) != order(1)
