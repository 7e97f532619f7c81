"""A system's results as passages and a ranking, and what is said of them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from rankings import dataset_of, paged

from ragsweep.core.errors import ConfigError, DatasetError, RetrieverError
from ragsweep.datasets import Judgment, Query, Reference
from ragsweep.datasets.formats.questions.question_table import TableQuestions
from ragsweep.retrieval import NOTHING, ExternalRetriever, ReturnedRetriever, Rewriter, Search, SpellCheck
from ragsweep.retrieval.results import Answers, Matching, Result
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.ranking_false_finds import PASSAGES, asked_unanswerable, not_measured
from ragsweep.tasks.systems.own_passages import returned

TEXTS = [f"Page {number} speaks of matter number {number}, and of nothing else at all." for number in range(1, 31)]
DOCUMENT = paged("m.pdf", *TEXTS)
QUERIES = tuple(Query(str(at), f"What of matter {at}?") for at in range(1, 11))


class System(ExternalRetriever):
    """Answers with what a function makes of the numbers of the queries."""

    def __init__(self, answers_of, matching=None):
        self.answers_of, self.matched, self.asked = answers_of, matching or Matching(), []

    @property
    def matching(self):
        return self.matched

    def answers(self, queries, depth):
        self.asked += queries
        return self.answers_of([int(query.split()[-1].rstrip("?")) for query in queries])


def answering(results_of, first_page=1, by=None):
    """A system that answers with the results that a function gives for each query."""

    def answers(numbers):
        return Answers([tuple(results_of(at)) for at in numbers], np.arange(1.0, len(numbers) + 1))

    return System(answers, Matching(first_page, by=by))


def log(*asked, other_queries=()):
    """What was answered to the queries of some numbers, nothing to the even ones; the others were never asked."""

    def answers(numbers):
        results = [((page(at, text=TEXTS[at - 1]),) if at % 2 else ()) if at in asked else None for at in numbers]
        times = [at if at in asked else np.nan for at in numbers]
        return Answers(results, np.array(times, float), ["Said."], other_queries)

    return System(answers)


def items(judged=range(1, 11), references=()):
    """The dataset, with judgments of these queries or with references."""
    judgments = [] if references else [Judgment(str(at), f"m.pdf#{at}", 1) for at in judged]
    return dataset_of([DOCUMENT], QUERIES, judgments, "passage" if references else "page", references=references)


def page(number, **more):
    return Result(source="m.pdf", page=str(number), **more)


def answered_by(system, dataset=None, rewriter=None, k=1):
    """What a system returned, its ranking, and the units in that."""
    answered = returned(system, rewriter, dataset or items(), depth=20, k=k)
    ranking = answered.ranker.rank(Search((), ()), 100)
    units = [
        [answered.items.units[answered.items.passage_units[passage]] for passage in row if passage != NOTHING]
        for row in ranking.passages.tolist()
    ]
    return answered, ranking, units


def sentences_of(system, dataset=None, k=1):
    return answered_by(system, dataset, k=k)[0].ranker.sentences


def test_the_ranking_is_what_came_back_in_its_order_to_the_queries_with_judgments():
    _, ranking, units = answered_by(answering(lambda at: [page(at), page(at + 1)]))
    assert units == [[f"m.pdf#{at}", f"m.pdf#{at + 1}"] for at in range(1, 11)]
    assert ranking.latency_ms.tolist() == [*range(1, 11)]
    system = answering(lambda at: [page(at)])
    _, ranking, _ = answered_by(system, items([2, 5]))
    assert system.asked == ["What of matter 2?", "What of matter 5?"]
    assert (ranking.passages != NOTHING).any(axis=1).tolist() == [at in (1, 4) for at in range(10)]


LATENCY = np.array([1.0])
ODD = [
    (None, "returned NoneType"),
    (Answers([[page(1)]] * 9, LATENCY), "results: found those of 9 queries"),
    (Answers(None, LATENCY), "results: found NoneType"),
    (Answers([page(1)] * 10, LATENCY), r"results\[0\]\[0\] \(query 0, rank 1\): found tuple"),
    (Answers([[page(1)._replace(ids="a")]] * 10, LATENCY), "expected ids as a tuple"),
    (Answers([[page(1, score="1")]] * 10, LATENCY), "found the score '1'"),
    (Answers([[page(1)]] * 10, np.full(10, -1.0)), "latency_ms: .* at least 0"),
]


def test_answers_of_another_form_are_refused_by_the_name_of_the_class():
    for answers, expected in ODD:
        with pytest.raises(RetrieverError, match=rf"\.System: .*{expected}"):
            answered_by(System(lambda numbers, answers=answers: answers))
    for unknown in ([], (), np.array([])):  # a system need not know its latency
        answers = Answers([[page(1)]] * 10, unknown)
        assert answered_by(System(lambda numbers, answers=answers: answers))[2] == [["m.pdf#1"]] * 10


def test_the_order_decides_whatever_the_scores_say_and_scores_in_no_order_are_said():
    for scores in ((None, None, None), (0.1, 0.5, 0.2), (math.nan, 1.0, 0.5)):
        results = [page(at, score=score) for at, score in zip((3, 1, 2), scores, strict=True)]
        _, ranking, units = answered_by(answering(lambda at, results=results: results))
        assert units[0] == ["m.pdf#3", "m.pdf#1", "m.pdf#2"]
        assert (np.diff(ranking.scores[0]) < 0).all()
    for odd, usual, unordered, first in SCORES:
        given = [odd] * 2 + [usual] * 8
        answered, ranking, _ = answered_by(
            answering(lambda at, given=given: [page(rank, score=score) for rank, score in enumerate(given[at - 1], 1)])
        )
        sentences = [line for line in answered.ranker.sentences if "in no order" in line]
        assert [f"{unordered} of 10" in line for line in sentences] == [True] * bool(unordered), odd
        assert {*ranking.scores[:, 0].tolist()} == first, odd


SCORES = [  # of two queries and of the other eight; queries in no order, and the first scores of all
    ((9, 1, 5), (9, 5, 1), 2, {-1}),
    ((9, 1, 5), (1, 5, 9), 2, {-1}),  # distances
    ((1, 5, 9), (9, 5, 1), 2, {-1}),  # that fall for some queries only are not compared
    ((5, 5, 5), (9, 5, 1), 0, {5, 9}),
    ((9, 5), (9, 5), 0, {9}),
    ((None, 1, None), (1, 5, 9), 0, {-1}),
]


def test_what_came_back_twice_takes_two_ranks_and_is_said_but_of_passages_of_one_page():
    for results, repeats in (
        (lambda at: [page(at, text="so"), page(at, text="so")], "10 results came back twice"),
        (lambda at: [Result((f"m.pdf#{at}",))] * 2, ""),
        (lambda at: [Result((f"m.pdf#{at}",), text=f"m.pdf#{at}")] * 2, ""),
        (lambda at: [Result((f"m.pdf#{at}",), text=text) for text in (TEXTS[at - 1][:20], TEXTS[at - 1][20:])], ""),
    ):
        answered, ranking, units = answered_by(answering(results))
        assert units[0] == ["m.pdf#1", "m.pdf#1"]
        assert len({*ranking.passages[0].tolist()}) == 2
        assert len(answered.ranker.sentences) == bool(repeats)
        assert repeats in "".join(answered.ranker.sentences)


def test_a_text_that_stands_on_several_pages_is_the_first_unless_the_result_says_which_and_that_is_said():
    copies = (DOCUMENT, paged("n.pdf", TEXTS[0], "And so on."))
    dataset = dataset_of(copies, QUERIES, {("1", "n.pdf#1"): 1})
    answered, _, units = answered_by(answering(lambda _: [Result(text=TEXTS[0])]), dataset)
    assert units[0] == ["m.pdf#1"]
    [sentence] = answered.ranker.sentences
    assert sentence.startswith("1 result has a text that stands in several places")
    assert "'m.pdf#1'" in sentence
    answered, _, units = answered_by(answering(lambda _: [Result(source="n.pdf", text=TEXTS[0])]), dataset)
    assert (units[0], answered.ranker.sentences) == (["n.pdf#1"], ())


def test_the_unmatched_are_counted_named_and_take_their_rank():
    answered, _, units = answered_by(answering(lambda at: [Result(("strange",)), page(at), page(at + 10)]))
    assert units[0] == ["strange", "m.pdf#1", "m.pdf#11"]
    [sentence] = answered.ranker.sentences
    assert "10 of 30 results are nothing that the dataset knows ('strange')" in sentence
    with pytest.raises(DatasetError, match=r"nothing of what came back .* \('x'\); expected .* 'm.pdf#1'"):
        answered_by(answering(lambda at: [Result(("x",))]))
    # so is a page that its document does not have, whatever its text
    answered, _, units = answered_by(answering(lambda at: [page(0 if at == 1 else at, text=TEXTS[at - 1])]))
    assert units[0] == ["m.pdf#0"]
    [sentence] = answered.ranker.sentences
    assert sentence.startswith("1 of 10 results is nothing that the dataset knows ('m.pdf#0')")


def test_what_was_never_asked_is_left_out_and_what_got_nothing_scores_nothing_also_when_read_from_its_files(tmp_path):
    answered, ranking, units = answered_by(log(1, 2, 5, other_queries=["Other?"]))
    assert [units[row] for row in (0, 1, 4)] == [["m.pdf#1"], [], ["m.pdf#5"]]
    assert answered.items.left_out.ids == ("3", "4", "6", "7", "8", "9", "10")
    first, *sentences = answered.ranker.sentences
    assert first == "Said."
    expected = ("7 questions of 10 never asked", "1 question asked without a judgment ('Other?')", "1 of 3 queries")
    assert all(any(part in sentence for sentence in sentences) for part in expected)
    files = {name: tmp_path / name for name in answered.ranker.files}
    for name, path in files.items():
        path.write_text("".join(answered.ranker.files[name]))
    assert files["asked.txt"].read_text().split() == ["1", "2", "5"]
    to_judge = TableQuestions(str(files["to_judge.jsonl"])).read((DOCUMENT,))
    assert ([query.text for query in to_judge.queries], to_judge.judgments) == (["Other?"], ())
    again, reread, _ = answered_by(ReturnedRetriever(str(files["returned.jsonl"])))
    for of_items, times in ((answered.items, ranking.latency_ms), (again.items, reread.latency_ms)):
        assert [*of_items.qrels.query] == [0, 1, 4]
        assert times[[0, 1, 4]].tolist() == [1, 2, 5]
        assert np.isnan(times).sum() == 7
    assert {*answered_by(log(*range(1, 11)))[0].ranker.files} == {"returned.jsonl"}
    with pytest.raises(DatasetError, match=r"none of its 10 judged questions was asked .*: 'Other\?'"):
        answered_by(log(other_queries=["Other?"]))


def test_spans_are_those_of_queries_that_were_asked_and_count_where_the_text_of_a_result_stands():
    references = tuple(Reference(query.query_id, "m.pdf", at * 10, at * 10 + 9) for at, query in enumerate(QUERIES))
    answered, _, _ = answered_by(log(1, 5), items(references=references))
    assert [reference.query_id for reference in answered.items.references] == ["1", "5"]
    assert {*answered.items.qrels.query.tolist()} == {0, 4}
    start = DOCUMENT.text.index("Page 4")
    span, part = Reference("1", "m.pdf", start, start + 20), Result(text=DOCUMENT.text[start : start + 40])
    answered, _, units = answered_by(answering(lambda at: [Result(text=TEXTS[8]), part]), items(references=(span,)))
    relevant = [answered.items.units[unit] for unit in answered.items.qrels.unit[answered.items.qrels.grade > 0]]
    assert relevant == [units[0][1]]


def test_pages_counted_from_another_number_are_said_or_refused_where_nearly_all_texts_show_it():
    *_, sentence = sentences_of(answering(lambda at: [page(at - 1), page(at + 9)]))
    assert sentence.startswith("100% of the queries")
    assert "retriever.first_page=0" in sentence
    assert sentences_of(answering(lambda at: [page(at), page(at + 1)])) == ()
    assert sentences_of(answering(lambda at: [page(at - 1)], first_page=0)) == ()
    for first_page, right in ((1, 0), (0, 1)):

        def results_of(at, right=right):
            return [page(at - 1 + right, text=TEXTS[at - 1])]

        with pytest.raises(ConfigError, match=rf"texts of 10 of 10 .* set retriever\.first_page={right}$"):
            answered_by(answering(results_of, first_page))
        assert sentences_of(answering(results_of, right)) == ()
        assert answered_by(answering(results_of, first_page), items(range(1, 10)))  # nine are too few to be sure


def test_a_rewriter_changes_what_is_asked_unless_it_needs_passages():
    class Shouts(Rewriter):
        def rewrite(self, queries):
            return [query.replace("What", "WHAT") for query in queries]

    system = answering(lambda at: [page(at)])
    answered_by(system, rewriter=Shouts())
    assert system.asked[0] == "WHAT of matter 1?"
    with pytest.raises(ConfigError, match="SpellCheck needs passages to search"):
        answered_by(system, rewriter=SpellCheck(NO_STORE))


def test_a_report_says_how_results_were_matched_which_are_kept_and_that_some_are_few_or_empty():
    system = answering(lambda at: [page(at), Result(text=TEXTS[at]), Result(ids=("nowhere",))])
    first, *_, last = answered_by(system)[0].about
    assert "30 results for 10 queries; 10 (33%) known by their source and page (retriever.match_by=page)" in first
    assert "coverage" in last
    answers = system.answers
    system.answers = lambda queries, depth: answers(queries, depth)._replace(kept=4)
    assert any("4 of the answers" in sentence for sentence in answered_by(system)[0].about)
    sentences = sentences_of(answering(lambda at: [page(at)] if at > 2 else []), k=5)
    assert "2 of 10 queries got no result." in sentences
    assert any("at most 1 result for a query, and k is 5" in sentence for sentence in sentences)


def test_questions_without_an_answer_are_asked_too_and_only_those_that_were_asked_are_known():
    """Their empty results are none of the empty ones that are a fault."""
    queries = (*QUERIES[:4], *(replace(query, answerable=False) for query in QUERIES[4:7]))
    dataset = dataset_of([DOCUMENT], queries, {(str(at), f"m.pdf#{at}"): 1 for at in range(1, 5)})
    system = answering(lambda at: [page(at)] if at != 6 else [])
    answered, _, units = answered_by(system, dataset)
    assert len(system.asked) == 7
    assert [units[row] for row in (4, 5, 6)] == [["m.pdf#5"], [], ["m.pdf#7"]]
    assert not any("no result" in sentence for sentence in answered.ranker.sentences)
    partly, _, _ = answered_by(log(1, 2, 3, 4, 5, 6), dataset)
    never, _, _ = answered_by(log(1, 2, 3, 4), dataset)
    for system_answers, rows in ((answered, [4, 5, 6]), (partly, [4, 5]), (never, [])):
        assert asked_unanswerable(system_answers.ranker, system_answers.items)[0].tolist() == rows
    assert "1 question of 7 never asked" in "".join(partly.ranker.sentences)
    assert {*not_measured(never.ranker, never.items)} == {metric.name for metric in PASSAGES.metrics}
    with pytest.raises(DatasetError, match="none of its 4 judged questions was asked"):
        answered_by(log(5, 6, 7), dataset)
