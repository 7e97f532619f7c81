"""A system's results as passages and a ranking, and what is said of them."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError, DatasetError, RetrieverError
from ragsweep.datasets import Collection, Dataset, Document, Judgment, PageChunker, Query, Reference
from ragsweep.datasets.formats.questions.question_table import TableQuestions
from ragsweep.retrieval import NOTHING, ExternalRetriever, ReturnedRetriever, Rewriter, Search, SpellCheck
from ragsweep.retrieval.results import Answers, Matching, Result
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.ranking_false_finds import PASSAGES, asked_unanswerable, not_measured
from ragsweep.tasks.systems.own_passages import returned

TEXTS = [f"Page {number} speaks of matter number {number}, and of nothing else at all." for number in range(1, 31)]
DOCUMENT = Document.from_pages("m.pdf", [(str(at), f"m.pdf#{at}", text) for at, text in enumerate(TEXTS, start=1)])
QUERIES = tuple(Query(str(at), f"What of matter {at}?") for at in range(1, 11))


class System(ExternalRetriever):
    """Answers with the pages that a function gives for each query."""

    def __init__(self, results_of, first_page=1, by=None):
        self.results_of, self.matched, self.asked = results_of, Matching(first_page, by=by), []

    @property
    def matching(self):
        return self.matched

    def answers(self, queries, depth):
        self.asked += queries
        results = [tuple(self.results_of(int(query.split()[-1].rstrip("?")))) for query in queries]
        return Answers(results, np.arange(1.0, len(queries) + 1))


def items(judgments=None, references=()):
    judged = judgments or tuple(Judgment(query.query_id, f"m.pdf#{query.query_id}", 1) for query in QUERIES)
    unit = "passage" if references else "page"
    collection = Collection("small", unit, (DOCUMENT,), QUERIES, () if references else judged, references=references)
    return Dataset.from_collection(collection, PageChunker())


def page(number, **more):
    return Result(source="m.pdf", page=str(number), **more)


def found(system, dataset=None, rewriter=None, k=1):
    dataset = dataset or items()
    answered = returned(system, rewriter, dataset, depth=20, k=k)
    ranking = answered.ranker.rank(Search((), ()), 100)
    units = [
        [answered.items.units[answered.items.passage_units[each]] for each in row if each != NOTHING]
        for row in ranking.passages.tolist()
    ]
    return answered, ranking, units


def test_the_ranking_is_what_came_back_in_its_order():
    _, ranking, units = found(System(lambda at: [page(at), page(at + 1)]))
    assert units == [[f"m.pdf#{at}", f"m.pdf#{at + 1}"] for at in range(1, 11)]
    assert ranking.latency_ms.tolist() == [*range(1, 11)]


class Odd(ExternalRetriever):
    """Answers with what it was given."""

    matching = Matching()

    def __init__(self, answers):
        self.given = answers

    def answers(self, queries, depth):
        return self.given


LATENCY = np.array([1.0])


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (None, "returned NoneType, expected Answers"),
        (Answers([[page(1)]] * 9, LATENCY), "results: found those of 9 queries, expected those of 10"),
        (Answers(None, LATENCY), "results: found NoneType, expected a sequence for each query"),
        (Answers([[page(1)._replace(ids=None)]] * 10, LATENCY), "expected ids as a tuple"),
        (Answers([page(1)] * 10, LATENCY), r"results\[0\]\[0\] \(query 0, rank 1\): found tuple, expected a Result"),
        (
            Answers([[page(1)._replace(ids="a")]] * 10, LATENCY),
            "expected ids as a tuple, and ids, source, page and text",
        ),
        (Answers([[page(1, score="1")]] * 10, LATENCY), "found the score '1', expected a number or None"),
        (Answers([[page(1)]] * 10, np.full(10, -1.0)), "latency_ms: .* numbers of at least 0"),
    ],
)
def test_answers_of_another_form_are_refused_by_the_name_of_the_class(answers, expected):
    with pytest.raises(RetrieverError, match=rf"\.Odd: .*{expected}"):
        found(Odd(answers))


@pytest.mark.parametrize("unknown", [[], (), np.array([])])
def test_a_system_need_not_know_its_latency(unknown):
    assert found(Odd(Answers([[page(1)]] * 10, unknown)))[2] == [["m.pdf#1"]] * 10


def test_only_queries_with_judgments_are_asked():
    system = System(lambda at: [page(at)])
    judged = (Judgment("2", "m.pdf#2", 1), Judgment("5", "m.pdf#9", 1))
    _, ranking, _ = found(system, items(judged))
    assert system.asked == ["What of matter 2?", "What of matter 5?"]
    assert (ranking.passages != NOTHING).any(axis=1).tolist() == [at in (1, 4) for at in range(10)]


@pytest.mark.parametrize("scores", [(None, None, None), (0.1, 0.5, 0.2), (math.nan, 1.0, 0.5)])
def test_the_order_decides_whatever_the_scores_say(scores):
    results = [page(at, score=score) for at, score in zip((3, 1, 2), scores, strict=True)]
    _, ranking, units = found(System(lambda at: results))
    assert units[0] == ["m.pdf#3", "m.pdf#1", "m.pdf#2"]
    assert (np.diff(ranking.scores[0]) < 0).all()


@pytest.mark.parametrize(
    ("odd", "usual", "unordered"),
    [
        ((9, 1, 5), (9, 5, 1), 2),
        ((9, 1, 5), (1, 5, 9), 2),  # distances
        ((1, 5, 9), (9, 5, 1), 2),
        ((5, 5, 5), (9, 5, 1), 0),
        ((None, 1, None), (1, 5, 9), 0),
    ],
)
def test_scores_in_no_order_are_said_with_their_queries(odd, usual, unordered):
    answered, _, _ = found(
        System(lambda at: [page(rank, score=each) for rank, each in enumerate(odd if at < 3 else usual, start=1)])
    )
    said = [line for line in answered.ranker.sentences if "in no order" in line]
    assert [f"{unordered} of 10" in line for line in said] == [True] * bool(unordered)


def test_what_came_back_twice_takes_two_ranks_and_is_said():
    answered, ranking, units = found(System(lambda at: [page(at, text="so"), page(at, text="so"), page(at + 1)]))
    assert units[0] == ["m.pdf#1", "m.pdf#1", "m.pdf#2"]
    assert len({*ranking.passages[0].tolist()}) == 3
    assert "10 results came back twice" in answered.ranker.sentences[0]


def test_a_text_that_stands_on_several_pages_is_the_first_unless_the_result_says_which_and_that_is_said():
    copies = (DOCUMENT, Document.from_pages("n.pdf", [("1", "n.pdf#1", TEXTS[0]), ("2", "n.pdf#2", "And so on.")]))
    judged = (Judgment("1", "n.pdf#1", 1),)
    dataset = Dataset.from_collection(Collection("copies", "page", copies, QUERIES, judged), PageChunker())
    answered, _, units = found(System(lambda _: [Result(text=TEXTS[0])]), dataset)
    assert units[0] == ["m.pdf#1"]
    [said] = answered.ranker.sentences
    assert said.startswith("1 result has a text that stands in several places")
    assert "'m.pdf#1'" in said
    answered, _, units = found(System(lambda _: [Result(source="n.pdf", text=TEXTS[0])]), dataset)
    assert units[0] == ["n.pdf#1"]
    assert not answered.ranker.sentences


@pytest.mark.parametrize(
    "results",
    [
        lambda at: [Result((f"m.pdf#{at}",)), Result((f"m.pdf#{at}",))],
        lambda at: [Result((f"m.pdf#{at}",), text=f"m.pdf#{at}"), Result((f"m.pdf#{at}",), text=f"m.pdf#{at}")],
        lambda at: [
            Result((f"m.pdf#{at}",), text=TEXTS[at - 1][:20]),
            Result((f"m.pdf#{at}",), text=TEXTS[at - 1][20:]),
        ],
    ],
)
def test_several_passages_of_one_page_are_no_repeats(results):
    answered, ranking, units = found(System(results))
    assert units[0] == ["m.pdf#1", "m.pdf#1"]
    assert len({*ranking.passages[0].tolist()}) == 2
    assert answered.ranker.sentences == ()


def test_the_unmatched_are_counted_named_and_take_their_rank():
    answered, _, units = found(System(lambda at: [Result(("strange",)), page(at), page(at + 10)]))
    assert units[0] == ["strange", "m.pdf#1", "m.pdf#11"]
    [said] = answered.ranker.sentences
    assert "10 of 30 results are nothing that the dataset knows ('strange')" in said


def test_where_nothing_is_known_it_is_refused_with_an_example():
    with pytest.raises(DatasetError, match=r"nothing of what came back .* \('x'\); expected .* 'm.pdf#1'"):
        found(System(lambda at: [Result(("x",))]))


def test_too_few_and_empty_results_are_said():
    answered, _, _ = found(System(lambda at: [page(at)] if at > 2 else []), k=5)
    assert "2 of 10 queries got no result." in answered.ranker.sentences
    assert any("at most 1 result for a query, and k is 5" in each for each in answered.ranker.sentences)


class Log(ExternalRetriever):
    """What was answered to the queries of some numbers; the others were never asked."""

    matching = Matching()

    def __init__(self, asked, others=()):
        self.asked, self.others = asked, others

    def answers(self, queries, depth):
        numbers = [int(query.split()[-1].rstrip("?")) for query in queries]
        results = [((page(at, text=TEXTS[at - 1]),) if at % 2 else ()) if at in self.asked else None for at in numbers]
        return Answers(
            results, np.array([at if at in self.asked else np.nan for at in numbers], float), ["Said."], self.others
        )


def test_what_was_never_asked_is_left_out_and_what_got_nothing_scores_nothing():
    answered, ranking, units = found(Log({1, 2, 5}, ["Other?"]))
    assert sorted({*answered.items.qrels.query.tolist()}) == [0, 1, 4]
    assert [units[row] for row in (0, 1, 4)] == [["m.pdf#1"], [], ["m.pdf#5"]]
    assert ranking.latency_ms[[0, 1, 4]].tolist() == [1, 2, 5]
    assert np.isnan(ranking.latency_ms).sum() == 7
    assert answered.items.left_out.ids == ("3", "4", "6", "7", "8", "9", "10")
    said = "\n".join(answered.ranker.sentences)
    assert "7 questions of 10 never asked, so not measured ('What of matter 3?'" in said
    assert "1 question asked without a judgment ('Other?')" in said
    assert "1 of 3 queries got no result." in said
    assert said.startswith("Said.")


def test_the_files_say_what_was_asked_and_what_is_to_be_judged(tmp_path):
    answered, _, _ = found(Log({1, 2, 5}, ["Other?"]))
    files = {name: tmp_path / name for name in answered.ranker.files}
    for name, path in files.items():
        path.write_text("".join(answered.ranker.files[name]))
    assert files["asked.txt"].read_text().split() == ["1", "2", "5"]
    to_judge = TableQuestions(str(files["to_judge.jsonl"])).read((DOCUMENT,))
    assert [each.text for each in to_judge.queries] == ["Other?"]
    assert to_judge.judgments == ()
    again, ranking, _ = found(ReturnedRetriever(str(files["returned.jsonl"])))
    assert [*again.items.qrels.query] == [*answered.items.qrels.query]
    assert ranking.latency_ms[[0, 1, 4]].tolist() == [1, 2, 5]
    assert np.isnan(ranking.latency_ms).sum() == 7
    assert {*found(Log({*range(1, 11)}))[0].ranker.files} == {"returned.jsonl"}


def test_spans_of_queries_that_were_never_asked_are_left_out():
    references = tuple(Reference(query.query_id, "m.pdf", at * 10, at * 10 + 9) for at, query in enumerate(QUERIES))
    answered, _, _ = found(Log({1, 5}), items(references=references))
    assert [each.query_id for each in answered.items.references] == ["1", "5"]
    assert {*answered.items.qrels.query.tolist()} == {0, 4}


def test_where_no_question_was_asked_those_that_were_are_named():
    with pytest.raises(
        DatasetError, match=r"none of its 10 judged questions was asked .*questions that were: 'Other\?'"
    ):
        found(Log(set(), ["Other?"]))


def test_pages_from_0_are_said_and_right_ones_are_not():
    [said] = found(System(lambda at: [page(at - 1), page(at + 9)]))[0].ranker.sentences[-1:]
    assert said.startswith("100% of the queries would be answered better if pages were counted from 0")
    assert "retriever.first_page=0" in said
    assert found(System(lambda at: [page(at), page(at + 1)]))[0].ranker.sentences == ()
    assert found(System(lambda at: [page(at - 1)], first_page=0))[0].ranker.sentences == ()


@pytest.mark.parametrize(("first_page", "right"), [(1, 0), (0, 1)])
def test_pages_counted_from_another_number_are_refused_where_nearly_all_texts_show_it(first_page, right):
    def of(at):
        return [page(at - 1 + right, text=TEXTS[at - 1])]

    with pytest.raises(ConfigError, match=rf"texts of 10 of 10 .* set retriever\.first_page={right}$"):
        found(System(of, first_page))
    assert found(System(of, right))[0].ranker.sentences == ()
    nine = items(tuple(Judgment(query.query_id, f"m.pdf#{query.query_id}", 1) for query in QUERIES[:9]))
    assert found(System(of, first_page), nine)  # too few to be sure


def test_a_page_that_its_document_does_not_have_is_counted_as_unknown_whatever_its_text():
    answered, _, units = found(System(lambda at: [page(0 if at == 1 else at, text=TEXTS[at - 1])]))
    assert units[0] == ["m.pdf#0"]
    [said] = answered.ranker.sentences
    assert said.startswith("1 of 10 results is nothing that the dataset knows ('m.pdf#0')")


def test_a_span_counts_where_the_text_of_a_result_stands():
    start = DOCUMENT.text.index("Page 4")
    span = Reference("1", "m.pdf", start, start + 20)
    part = Result((), "", "", DOCUMENT.text[start : start + 40])
    elsewhere = Result((), "", "", TEXTS[8])
    answered, _, units = found(System(lambda at: [elsewhere, part]), items(references=(span,)))
    relevant = [answered.items.units[unit] for unit in answered.items.qrels.unit[answered.items.qrels.grade > 0]]
    assert relevant == [units[0][1]]


def test_a_rewriter_changes_what_is_asked_unless_it_needs_passages():
    class Shouts(Rewriter):
        def rewrite(self, queries):
            return [query.replace("What", "WHAT") for query in queries]

    system = System(lambda at: [page(at)])
    found(system, rewriter=Shouts())
    assert system.asked[0] == "WHAT of matter 1?"
    with pytest.raises(ConfigError, match="SpellCheck needs passages to search"):
        found(system, rewriter=SpellCheck(NO_STORE))


def test_a_report_says_how_results_were_matched_and_which_are_kept():
    def of(at):
        return [page(at), Result(text=TEXTS[at]), Result(ids=("nowhere",))]

    system = System(of)
    first, *_, last = found(system)[0].about
    assert "30 results for 10 queries; 10 (33%) known by their source and page (retriever.match_by=page)" in first
    assert "coverage" in last
    answers = system.answers
    system.answers = lambda queries, depth: answers(queries, depth)._replace(kept=4)
    assert any("4 of the answers" in each for each in found(system)[0].about)


def test_questions_without_an_answer_are_asked_too_and_only_those_that_were_asked_are_known():
    """Their empty results are none of the empty ones that are a fault."""
    queries = (*QUERIES[:4], *(replace(each, answerable=False) for each in QUERIES[4:7]))
    judged = tuple(Judgment(query.query_id, f"m.pdf#{query.query_id}", 1) for query in queries[:4])
    dataset = Dataset.from_collection(Collection("small", "page", (DOCUMENT,), queries, judged), PageChunker())
    system = System(lambda at: [page(at)] if at != 6 else [])
    answered, _, units = found(system, dataset)
    assert len(system.asked) == 7
    assert [units[row] for row in (4, 5, 6)] == [["m.pdf#5"], [], ["m.pdf#7"]]
    assert not any("no result" in said for said in answered.ranker.sentences)
    assert asked_unanswerable(answered.ranker, answered.items)[0].tolist() == [4, 5, 6]
    partly, _, _ = found(Log({1, 2, 3, 4, 5, 6}), dataset)
    assert asked_unanswerable(partly.ranker, partly.items)[0].tolist() == [4, 5]
    assert "1 question of 7 never asked" in "".join(partly.ranker.sentences)
    never, _, _ = found(Log({1, 2, 3, 4}), dataset)
    assert not len(asked_unanswerable(never.ranker, never.items)[0])
    assert {*not_measured(never.ranker, never.items)} == {each.name for each in PASSAGES.metrics}
    with pytest.raises(DatasetError, match="none of its 4 judged questions was asked"):
        found(Log({5, 6, 7}), dataset)


def test_scores_that_fall_for_some_queries_only_are_not_compared():
    falls, rises = ([page(at, score=score) for at, score in enumerate(scores, start=1)] for scores in ((9, 5), (5, 9)))
    assert {*found(System(lambda at: falls))[1].scores[:, 0].tolist()} == {9}
    assert {*found(System(lambda at: rises if at == 3 else falls))[1].scores[:, 0].tolist()} == {-1}


def numbered(documents=True):
    """Texts with the names 1 to 30, judged one a query."""
    texts = tuple(Document.from_pages(str(at), [("1", str(at), text)]) for at, text in enumerate(TEXTS, start=1))
    judged = tuple(Judgment(query.query_id, query.query_id, 1) for query in QUERIES)
    collection = Collection("numbers", "document", texts if documents else (), QUERIES, judged)
    return Dataset.from_collection(collection, PageChunker())


@pytest.mark.parametrize("documents", [True, False])
def test_ids_and_documents_that_are_not_the_same_are_refused(documents):
    """The number of a row, beside a source that is what is judged."""

    def system(by=None):
        return System(lambda at: [Result((str(at % 7 + 3),), f"/data/{at}", text=TEXTS[at - 1])], by=by)

    with pytest.raises(ConfigError, match=r"set retriever\.match_by=id or page"):
        found(system(), numbered(documents))
    assert found(system("page"), numbered(documents))[2] == [[str(at)] for at in range(1, 11)]
    assert found(system("id"), numbered(documents))[2] == [[str(at % 7 + 3)] for at in range(1, 11)]
    if documents:
        assert found(system("text"), numbered())[2] == [[str(at)] for at in range(1, 11)]
