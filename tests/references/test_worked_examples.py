"""The worked examples of the references on ranking metrics, by the public function that measures any ranking.

They are the guide to evaluating retrieval (alpha, K, six metrics), the lesson on retrieval metrics, and the framework
for answers (average precision). Where one contradicts its own definition, the right value stands here with the reason.
"""

import math

import pytest
from application import PROJECT

import ragsweep

FIRST_AND_THIRD = [34, 78, 35, 102, 45]
SECOND_BEST_LAST = [78, 102, 34, 35, 45]
NOTHING_RELEVANT = [78, 102, 45, 88, 91]
FIRST_OF_SIX = ["a", "b", "c", "d", "e"]  # a and c are relevant, and f and g, which were not retrieved


def measured(ranking, relevant, k=5, **settings):
    """The metrics of one query; `relevant` are ids, or grades by id."""
    return ragsweep.evaluate({"q": ranking}, {"q": relevant}, k=k, resamples=1, **settings).means


EXAMPLES = [  # its name, the ranking, what is relevant, k, and the values
    ("two pages", FIRST_AND_THIRD, [34, 35], 5, {"precision": 0.4, "recall": 1, "f1": 4 / 7}),
    ("first is relevant", FIRST_AND_THIRD, [34, 35], 5, {"mrr": 1, "hit_rate": 1, "map": 5 / 6}),
    ("three pages", FIRST_AND_THIRD, [34, 35, 89], 5, {"precision": 0.4, "recall": 2 / 3, "f1": 0.5}),
    ("first at rank 3", SECOND_BEST_LAST, [34, 35], 5, {"mrr": 1 / 3, "hit_rate": 1}),
    ("nothing found", NOTHING_RELEVANT, [34, 35], 5, {"mrr": 0, "hit_rate": 0, "ndcg": 0, "f1": 0}),
    # The trace of the guide says .9519 for this ranking, against its own formula: 1.5 / 1.631.
    ("discounted", FIRST_AND_THIRD, [34, 35], 5, {"ndcg": 0.919721}),
    ("scenario A: relevant at the top", ["r", 1, 2, 3, 4], ["r"], 5, {"precision": 0.2, "ndcg": 1}),
    ("scenario B: at the end", [1, 2, 3, 4, "r"], ["r"], 5, {"precision": 0.2, "ndcg": 0.386853}),
    ("lesson, 3 documents", FIRST_OF_SIX, [*"acfg"], 3, {"precision": 2 / 3, "recall": 0.5}),
    ("lesson, 5 documents", FIRST_OF_SIX, [*"acfg"], 5, {"precision": 0.4, "recall": 0.5}),
    ("lesson, reciprocal rank", [*"bdace"], [*"ac"], 5, {"mrr": 1 / 3}),
    ("lesson, success", [*"bda"], [*"ac"], 3, {"hit_rate": 1}),
    ("lesson, grades 2 0 1 0", [*"abcd"], {"a": 2, "c": 1}, 4, {"ndcg": 0.950234}),
    ("lesson, best order", [*"acbd"], {"a": 2, "c": 1}, 4, {"ndcg": 1}),
    # The framework's formula for average precision: the sum of the precision at each hit, over all relevant ones.
    ("average precision", [*"xayb"], [*"abc"], 4, {"map": (1 / 2 + 2 / 4) / 3}),
    # trec_eval's values.
    ("one of five, at the top", [*range(1, 6)], [1, 11, 12, 13, 14], 5, {"ndcg": 0.339160}),
    ("all of more than k can hold", [*range(5)], [*range(20)], 5, {"map": 0.25}),
]


def test_a_worked_example_has_its_value():
    for name, ranking, relevant, k, expected in EXAMPLES:
        means = measured(ranking, relevant, k)
        assert {metric: means[metric] for metric in expected} == pytest.approx(expected, abs=1e-6), name


def test_graded_judgments_in_the_worst_order_and_an_ideal_order_of_all_relevant_documents():
    for k, gain, expected in ((3, "linear", 0.342499), (3, "exponential", 0.226869), (5, "linear", 0.613827)):
        means = measured([*"dcba"], {"a": 3, "b": 2, "c": 1, "d": 0}, k, gain=gain)
        assert means["ndcg"] == pytest.approx(expected, abs=1e-6)
    # The lesson sorts the grades that were retrieved, so that 1 of 4 relevant ones at the top is perfect.
    assert measured(["a", "x", "y", "z"], [*"abcd"], 4)["ndcg"] == pytest.approx(0.390380, abs=1e-6)


def test_the_lessons_usage_example_is_measured_as_it_is_written():
    test_queries = [
        {
            "question": "What's the return policy?",
            "retrieved": ["Doc_A", "Doc_B", "Doc_C", "Doc_D", "Doc_E"],
            "relevant": {"Doc_A", "Doc_C"},
        },
        {
            "question": "How to reset password?",
            "retrieved": ["Doc_X", "Doc_Y", "Doc_Z", "Doc_W", "Doc_V"],
            "relevant": {"Doc_Y", "Doc_W"},
        },
    ]
    result = ragsweep.evaluate(test_queries, k=5, resamples=1)
    expected = {"precision": 0.4, "recall": 1, "mrr": 0.75, "ndcg": 0.785, "hit_rate": 1}
    assert {name: result.means[name] for name in expected} == pytest.approx(expected, abs=5e-4)
    assert result.query_ids == ("What's the return policy?", "How to reset password?")
    unnamed = [{name: row[name] for name in ("retrieved", "relevant")} for row in test_queries]
    assert ragsweep.evaluate(unnamed, k=5, resamples=1).means == result.means


def test_a_page_matches_itself_alone_and_its_passages_earn_credit_once():
    rates = {"34": 1, 34: 1, " 34": 1, "340": 0, "134": 0, "3": 0}
    assert {page: measured([page], ["34"], 1)["hit_rate"] for page in rates} == rates
    # The guide's code adds every passage: five of one of two relevant pages have an NDCG of 1.81 there.
    means = measured([34, 34, 34, 34, 34], [34, 35])
    once = 1 / (1 + 1 / math.log2(3))
    assert (means["precision"], means["recall"], means["ndcg"]) == pytest.approx((0.2, 0.5, once))


def test_what_is_not_computed_or_differs_is_named_with_the_reason_on_one_page():
    page = (PROJECT / "docs/metrics.md").read_text()
    assert [
        name for name in ("semantic accuracy", "overall score", "translation", "notebook") if name not in page
    ] == []
