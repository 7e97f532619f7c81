"""What a single query costs, and that nothing is timed where that is not wanted."""

from ragsweep.core.digest import DigestedTexts, digest_texts
from ragsweep.core.timing import timed, without_timing


def test_nothing_is_called_where_nothing_is_timed():
    calls = []
    with without_timing():
        assert timed(calls.append, 3).tolist() == []
    assert calls == []
    assert len(timed(calls.append, 3)) == 3
    assert calls == [0, 0, 1, 2]  # one to warm up


def test_the_digest_of_texts_is_the_same_when_it_is_remembered():
    texts = ("ab", "c")
    assert digest_texts(DigestedTexts(texts)) == digest_texts(texts) != digest_texts(("a", "bc"))
