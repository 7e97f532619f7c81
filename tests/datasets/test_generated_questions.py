"""Generated questions are recognised by their columns, and what is said of them names how easy they are."""

import pytest

from ragsweep.datasets import Query
from ragsweep.datasets.formats.generated_questions import caution_of_generated


def made(easy, of=10, **more):
    return [
        Query(str(row), "?", fields=tuple({"easy": str(row < easy), "copied": "0.5", **more}.items()))
        for row in range(of)
    ]


def test_questions_of_people_need_no_caution():
    assert not caution_of_generated([Query("1", "?"), Query("2", "?", fields=(("copied", "0.5"),))])


@pytest.mark.parametrize(("easy", "said"), [(8, False), (9, True)])
def test_it_is_said_where_nearly_all_are_easy_for_bm25(easy, said):
    caution = caution_of_generated(made(easy))
    assert "were generated from the documents" in caution
    assert (f"BM25 finds the passage of {easy}0% of them first" in caution) is said


def test_a_few_among_others_are_counted():
    assert caution_of_generated([*made(0, of=2), Query("3", "?")]).startswith("2 of 3 questions were generated")
