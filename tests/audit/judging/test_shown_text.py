"""A judge reads the whole unit, in reading order, with the passage that is ranked highest marked."""

import io
import sys

from hypothesis import given
from hypothesis import strategies as st

from ragsweep.datasets import Chunker, Collection, Dataset, Document, Query
from ragsweep_audit.judging.judges import TerminalJudge
from ragsweep_audit.judging.pool import Asked, Pair, Shown, shown_unit

TEXT = "One two three four five six. Seven eight nine. Ten eleven twelve."
SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(2, 30)), min_size=1, max_size=6, unique=True)


class Cutting(Chunker):
    """A chunker that returns these spans."""

    def __init__(self, spans):
        self.spans = spans

    def split(self, text):
        return self.spans


def dataset(spans, *texts, unit="page"):
    pages = [(label, f"a.pdf#{label}", text) for label, text in zip(("i", "ii"), texts, strict=False)]
    collection = Collection("made", unit, (Document.from_pages("a.pdf", pages),), (Query("q", "What?"),), ())
    return Dataset.from_collection(collection, Cutting(spans), may_lack_judgments=True)


@given(SPANS, st.data())
def test_a_unit_is_put_together_from_passages_that_overlap_or_leave_gaps(starts, data):
    spans = sorted((start, min(start + size, len(TEXT))) for start, size in starts)
    made = dataset(spans, TEXT)
    passage = data.draw(st.integers(0, len(spans) - 1))
    shown = shown_unit(made, 0, passage)
    covered = sorted({place for start, end in spans for place in range(start, end)})
    assert shown.match == made.passages[passage].text
    assert "".join("".join(shown[1:]).split()) == "".join("".join(TEXT[place] for place in covered).split())


def test_a_page_is_shown_without_the_other_pages_and_has_its_label():
    made = dataset([(0, 5), (3, 8)], "Iron tea", "Milk oil")
    assert shown_unit(made, 1, 3) == Shown("a.pdf, page ii", "Mil", "k oil", "")


@given(st.integers(1, 200), *[st.text("ab ", max_size=60)] * 3)
def test_a_cut_text_begins_with_the_passage_and_says_how_much_is_missing(most, before, match, after):
    cut = Shown("a", before, match, after).cut(most)
    if most >= len(before + match + after):
        assert cut[1:] == (before, match, after)
    else:
        assert cut.match == match[:most]
        left_out = [int(word) for part in (cut.before, cut.after) for word in part.split() if word.isdigit()]
        assert sum(left_out) == len(before + match + after) - most


def test_the_terminal_shows_what_fits_until_all_is_asked_for(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("a1"))
    pair = Pair("q", "What?", "d", lambda: Shown("a.pdf", "first " * 999, "the match", " last" * 999))
    assert TerminalJudge(1).answer(Asked(1, pair, again=False), "after 0") == 1
    cut, whole = capsys.readouterr().out.split("[a] show all")
    assert "| the match" in cut
    assert "more characters]" in cut
    assert whole.count("first") == whole.count("last") == 999
    assert "more characters]" not in whole
