"""The second task: cases are answered from what is retrieved, recorded, resumed, explained and reproduced."""

import json
import re
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
import small
from answers import small_answers
from answers.small_answers import Fixed, cases_of, named, settings
from application import assert_refused
from sklearn.metrics import accuracy_score, brier_score_loss, confusion_matrix
from warm import CHARTS

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Dataset, FixedChunker, PageChunker
from ragsweep.datasets.model.cases import Option
from ragsweep.retrieval import Encoder, Ingest, OpenAIEncoder, Ranker, Ranking, SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep.testing import TaskContract
from ragsweep_answers.answering import Answer, Answerer, Question, answer
from ragsweep_answers.answering.question import AnswererError
from ragsweep_answers.measuring.answers_task import AnswersTask
from ragsweep_answers.measuring.contexts import contexts, questions

SPARSE = SparseRetriever(NO_STORE)
CONTROLS = settings(controls=["none", "judged", "placebo"])


class Reader(Answerer):
    """Chooses the option whose last word is in the evidence, sure of it; otherwise it does not answer."""

    def answer(self, questions):
        return [self._answer(question) for question in questions]

    def _answer(self, question: Question) -> Answer:
        text = " ".join(passage.text for passage in question.evidence).lower()
        values = [option.letter for option in question.options if option.text.split()[-1].lower() in text]
        return Answer(values[0], confidence=0.9, reasoning="It says so.") if values else Answer(None)


@dataclass(frozen=True)
class Beside(Ranker):
    """Ranks by words, and has an encoder that it does not ask."""

    encoder: Encoder

    def rank(self, search, depth):
        return SPARSE.rank(search, depth)


class Returns(Answerer):
    """Returns the same whatever it is asked."""

    def __init__(self, answers):
        self.answers = answers

    def answer(self, questions):
        return self.answers


@pytest.fixture(scope="module")
def arguments(tmp_path_factory):
    return small.case_arguments(tmp_path_factory.mktemp("cases"))


@pytest.fixture(scope="module")
def files(arguments):
    return cases_of(arguments)


COPIES = 5  # of 8 cases: enough to measure calibration


@pytest.fixture(scope="module")
def many(files, tmp_path_factory):
    """The cases several times."""
    path = tmp_path_factory.mktemp("many") / "cases.json"
    path.write_text(json.dumps(small.cases(COPIES)))
    return replace(files, cases=str(path))


@pytest.fixture(scope="module")
def dataset(files):
    return Dataset.from_collection(files.load(), PageChunker())


def task(files, answerer, **changed):
    return small_answers.task(files, answerer, **{"evaluation": CONTROLS, **changed})


def measured(files, answerer, **changed):
    return small_answers.measured(files, answerer, **{"evaluation": CONTROLS, **changed})


@pytest.mark.usefixtures("drawing")
class TestAnswersTask(TaskContract):
    component = AnswersTask

    @pytest.fixture(autouse=True)
    def given(self, files):
        type(self).settings = {
            "dataset": files,
            "chunker": PageChunker(),
            "retriever": SparseRetriever(NO_STORE),
            "answerer": Reader(),
            "evaluation": CONTROLS,
            "k": 2,
            "seed": 0,
        }


def test_the_judged_pages_are_all_passages_of_the_relevant_pages(dataset):
    for row, passages in enumerate(contexts(dataset, "judged", None, 1, 1)):
        units = {dataset.units[dataset.passage_units[passage]] for passage in passages}
        assert units == {small.CASES[row][2]}


def test_a_placebo_is_what_was_retrieved_for_another_question_and_not_relevant(dataset):
    ranking = SparseRetriever(NO_STORE).rank(search_of(dataset), 2)
    own, others = contexts(dataset, "retrieved", ranking, 2, 1), contexts(dataset, "placebo", ranking, 2, 1)
    for row, passages in enumerate(others):
        assert passages in [*own[:row], *own[row + 1 :]]
        assert small.CASES[row][2] not in {dataset.units[dataset.passage_units[passage]] for passage in passages}


def test_evidence_knows_all_pages_of_its_passages(files):
    across = Dataset.from_collection(files.load(), FixedChunker(90, 0, "characters", across_pages=True))
    assert len(across.further_units)
    documents = {each.source: each for each in files.load().documents}
    pages = [
        {page.unit for page in documents[each.source].pages if page.start < each.end and page.end > each.start}
        for each in across.passages
    ]
    judged = contexts(across, "judged", None, 1, 1)
    for (_, _, relevant, *_), passages in zip(small.CASES, judged, strict=True):
        assert passages == [passage for passage, its in enumerate(pages) if relevant in its]
    assert [each.evidence[0].unit for each in questions(across, judged)] == [case[2] for case in small.CASES]
    placebo = contexts(across, "placebo", SparseRetriever(NO_STORE).rank(search_of(across), 1), 1, 1)
    assert not any(small.CASES[row][2] in pages[passage] for row, its in enumerate(placebo) for passage in its)


def test_a_question_does_not_contain_its_correct_answer(dataset):
    asked = questions(dataset, contexts(dataset, "none", None, 1, 1))
    changed = tuple(replace(case, correct="ABC"["CAB".index(case.correct)]) for case in dataset.cases)
    assert questions(replace(dataset, cases=changed), contexts(dataset, "none", None, 1, 1)) == asked


def test_values_are_those_of_scikit_learn(many):
    letters = ["A", "B", None, "A", "C", "A", "B", "B"] * COPIES
    sure = [0.9, 0.8, None, 1.0, 0.3, 0.0, 0.55, 0.7] * COPIES
    found = measured(many, Fixed([Answer(letter, each) for letter, each in zip(letters, sure, strict=True)]))
    correct = [case["correct_answer"] for case in small.cases(COPIES)]
    assert found.values["accuracy"] == accuracy_score(correct, [letter or "none" for letter in letters])
    answered = [row for row, letter in enumerate(letters) if letter]
    outcomes = [letters[row] == correct[row] for row in answered]
    of_answers = brier_score_loss(outcomes, [sure[row] for row in answered])
    assert found.values["brier"] == pytest.approx((7 * of_answers + 1) / 8, abs=1e-12)  # no answer is an error of 1
    calibration = found.facts["calibration_metrics"]
    assert calibration["answers_with_confidence"] == 7 * COPIES
    assert calibration["brier_with_confidence"] == pytest.approx(of_answers, abs=1e-12)
    table = found.tables["confusion_matrix.csv"].set_index("correct")
    expected = confusion_matrix(
        correct, [letter or "no answer" for letter in letters], labels=["A", "B", "C", "no answer"]
    )
    assert table.to_numpy().tolist() == expected[:3].tolist()


def test_no_answer_counts_as_wrong_and_is_said(files):
    correct = [case["correct_answer"] for case in small.cases()]
    found = measured(files, Fixed([Answer(None), Answer(None), *map(Answer, correct[2:])]))
    values = named(found)
    assert found.values["accuracy"] == 6 / 8
    assert values["no_answer/share"] == 2 / 8
    assert values["no_answer/accuracy_as_first"] == 7 / 8  # of the two, A is correct in the second
    assert values["no_answer/accuracy_as_chance"] == pytest.approx((6 + 2 / 3) / 8)
    assert "2 of 8 questions have no answer that could be read" in " ".join(found.sections["Answers"])
    assert found.facts["error_analysis"]["by_type"]["no answer"] == 2


@pytest.mark.extra("openai")
@pytest.mark.parametrize(("evidence", "cut"), [("retrieved", 8), ("none", 0)])
def test_cases_that_the_retriever_does_not_read_are_counted_where_something_is_retrieved(files, evidence, cut):
    made = replace(task(files, Reader(), evidence=evidence), retriever=Beside(OpenAIEncoder(model="m", truncate=5)))
    found = made.measure(made.load())
    assert sum(each["cut"] for each in found.facts.get("unread_texts", []) if each["texts"] == "queries") == cut
    assert any("5 characters" in notice for notice in found.notices) is bool(cut)


def test_answers_of_a_control_that_could_not_be_read_are_said(files):
    class CutOffWithoutEvidence(Answerer):
        def answer(self, questions):
            return [Answer("A") if each.evidence else Answer(None, causes=("cut_off",)) for each in questions]

    found = measured(files, CutOffWithoutEvidence())
    said = [each for each in found.findings if "could be read" in each]
    assert len(said) == 1
    assert "'none', 8 of 8 questions" in said[0]
    assert "(cut off 8)" in said[0]


def test_what_a_server_says_of_responses_is_counted_and_said(files):
    given = [Answer("A"), *[Answer(None, causes=("cut_off",))] * 3, Answer("B", causes=("empty", "empty"))]
    found = measured(files, Fixed([*given, *[Answer("A")] * 3]))
    values = {each.metric.name: each.value for each in found.measures if each.metric.name.startswith("responses/")}
    assert values == {"responses/cut_off_share": 3 / 8, "responses/empty_share": 1 / 8}
    assert found.per_item["causes"].tolist() == ["", *["cut_off"] * 3, "empty", *[""] * 3]
    assert found.facts["overall_metrics"]["causes"] == {"cut_off": 3, "empty": 1}
    [said] = [each for each in found.sections["Answers"] if "cut off 3 (" in each]
    assert "a larger answerer.max_tokens" in said
    assert "empty 1 (" in said
    assert [*found.files["answers.jsonl"]][1].count('"causes": ["cut_off"]') == 1
    usual = measured(files, Fixed([Answer("A")] * 8))
    assert "causes" not in usual.per_item
    assert not any(each.metric.name.startswith("responses/") for each in usual.measures)


def test_a_cause_that_does_not_exist_is_refused():
    question = Question("q", "", "Which?", (Option("A", "a"), Option("B", "b")))
    with pytest.raises(AnswererError, match="causes: found 'tired', expected cut_off"):
        answer(Returns([Answer(None, causes=("tired",))]), [question])


def test_the_controls_answer_the_same_questions_from_other_evidence(files):
    found = measured(files, Reader())
    values = named(found)
    assert values["control/none"] == 0
    assert values["control/placebo"] < values["control/retrieved"] == found.values["accuracy"]
    assert values["control/judged"] == 4 / 8  # cases 2, 3, 6 and 7, by hand
    assert len(found.sections["Answers"]) >= 4


def test_answers_from_the_judged_pages_are_compared_where_there_are_any(files, tmp_path):
    cases = small.cases()
    cases[3]["relevant_docs"] = []  # its answer was wrong with the judged page, too
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    found = measured(replace(files, cases=str(tmp_path / "cases.json")), Reader())
    values = named(found)
    assert values["control/judged"] == 4 / 7
    [judged] = [each for each in found.sections["Answers"] if "with the judged pages" in each]
    assert judged.startswith("7 questions with a judged page: ")


def test_a_single_case_has_no_placebo(files, tmp_path):
    (tmp_path / "cases.json").write_text(json.dumps(small.cases()[:1]))
    single = replace(files, cases=str(tmp_path / "cases.json"))
    values = {each.metric.name for each in measured(single, Reader()).measures}
    assert {name for name in values if name.startswith("control/")} == {
        "control/retrieved",
        "control/none",
        "control/judged",
    }
    made = task(single, Reader(), evidence="placebo")
    with pytest.raises(DatasetError, match=r"has only one case, so task\.evidence=placebo has no evidence"):
        made.check(made.load())


def test_the_placebo_is_the_question_half_the_dataset_away_if_none_is_unrelated(dataset):
    passages = np.array([np.roll(np.arange(6), row) for row in range(8)])  # each question retrieves everything
    ranking = Ranking(passages, np.tile(np.arange(6.0)[::-1], (8, 1)))
    assert contexts(dataset, "placebo", ranking, 6, 1) == [*passages[4:].tolist(), *passages[:4].tolist()]


def test_an_answerer_without_confidence_is_not_calibrated(files):
    answerer = Fixed([Answer("A")] * 8)
    answerer.has_confidence = False
    found = measured(files, answerer)
    assert [score.metric.name for score in found.scores] == ["accuracy"]
    assert found.sections["Confidence of the answers"] == ["Calibration is not measured: no confidence is stated."]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([Answer("A")] * 7, "returned 7 answers, expected a list of 8 answers"),
        ([Answer("D")] * 8, "question 'case-1': the letter 'D' is not an option (ABC)"),
        ([Answer("A", 1.5)] * 8, "the confidence 1.5 is not within 0 to 1"),
        ([Answer("A", probabilities=(0.5, 0.5))] * 8, "probabilities: found (0.5, 0.5), expected 3 finite numbers"),
        ([Answer("A", probabilities=(0.5, 0.4, 0.2))] * 8, "that add up to 1"),
        ([Answer("A", time_ms=float("nan"))] * 8, "time_ms: found nan"),
        (["A"] * 8, "returned str, expected an Answer"),
        ("AAAAAAAA", "returned str, expected a list of 8 answers"),
    ],
)
def test_what_is_no_answer_is_refused_by_the_name_of_the_answerer(dataset, answers, expected):
    asked = questions(dataset, contexts(dataset, "none", None, 1, 1))
    with pytest.raises(AnswererError, match=re.escape(expected)) as refused:
        answer(Returns(answers), asked)
    assert str(refused.value).startswith(f"{__name__}.Returns: ")


def test_questions_without_documents_are_answered_without_evidence(files):
    closed = replace(files, documents=None)
    made = task(closed, Reader())
    items = made.load()
    with pytest.raises(
        DatasetError, match=r"has no documents, so nothing can be retrieved; set dataset\.documents, or"
    ):
        made.check(items)
    found = measured(closed, Reader(), evidence="none")
    assert found.values["accuracy"] == 0
    assert found.findings == ["The dataset has no documents: the questions are answered without evidence."]


@pytest.mark.parametrize(
    ("source", "control"), [("retrieved", False), ("none", False), ("judged", True), ("placebo", True)]
)
def test_evidence_that_nobody_has_in_use_makes_a_run_a_control(files, source, control):
    assert bool(measured(files, Reader(), evidence=source).control) == control


def test_settings_that_change_nothing_are_not_among_those_used(files):
    controls = settings(controls=[])
    stages = ("ingest", "query", "reranker", "dynamic_k")
    unused = task(files, Reader(), evidence="judged", evaluation=controls).without_effect
    assert unused == ("confidence_threshold", "retriever", *stages, "k")
    without = task(files, Reader(), evidence="none").without_effect  # the placebo is retrieved
    assert without == ("confidence_threshold", *stages)


class Marked(Ingest):
    """Indexes every passage with words of its own."""

    def index_texts(self, documents, passages):
        return [f"{each.text} indexed alone: {each.chunk_id}" for each in passages]


@pytest.mark.usefixtures("long_work")
def test_an_answerer_reads_the_passages_themselves_whatever_is_indexed(files):
    read = []

    class Notes(Reader):
        def answer(self, questions):
            read.extend(passage.text for question in questions for passage in question.evidence)
            return super().answer(questions)

    made = task(files, Notes(), ingest=Marked())
    items = made.load()
    made.measure(items)
    assert all("indexed alone" in text for text in items.indexed_texts)
    assert read
    assert {*read} <= {*items.texts}


def search_of(dataset):
    from ragsweep.retrieval import Search

    return Search(dataset.texts, tuple(query.text for query in dataset.queries))


@pytest.fixture(scope="module")
def sweep(shared_application, arguments):
    process = shared_application.run(*arguments, "-m", "retriever=sparse", "retriever.b=0,0.75", "k=2", **CHARTS)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_a_sweep_is_decided_by_accuracy(sweep, shared_application):
    [parent] = shared_application.parents()
    children = shared_application.children()
    assert len(children) == 2
    best = max(run.data.metrics["accuracy"] for run in children)
    assert parent.data.metrics["best/accuracy"] == best
    report = (shared_application.artifacts(parent) / "report.md").read_text()
    assert "## Answers" in report
    assert f"The answers are better than guessing: {f'{best:.2f}'.removeprefix('0')}" in report
    assert "It was chosen among 2 by the same queries" in report


def test_a_run_has_the_files_of_the_reference(sweep, shared_application):
    folder = shared_application.artifacts(shared_application.children()[0])
    found = json.loads((folder / "results/evaluation.json").read_text())
    assert found["overall_metrics"]["total_questions"] == len(found["per_question_results"]) == 8
    charts = {path.stem for path in (folder / "charts").iterdir()}
    assert charts >= {"accuracy_by_query_type", "confusion_matrix", "retrieval", "summary"}
    assert "reliability" not in charts  # 8 questions are too few
    why = "8 of 8 answers have a confidence, and calibration needs 30"
    assert found["not_measured"] == {"brier": why, "ece": why}
    assert len(pd.read_json(folder / "results/answers.jsonl", lines=True)) == 8


def test_recorded_answers_of_a_run_give_its_numbers(sweep, shared_application, arguments):
    first = shared_application.children()[0]
    path = shared_application.artifacts(first) / "results/answers.jsonl"
    process = shared_application.run(*arguments, "answerer=recorded", f"answerer.path={path}", "k=2")
    assert process.returncode == 0, process.stderr
    recorded = shared_application.runs()[-1]
    answers = ("accuracy", "brier", "ece", "no_answer/", "confidence/", "retrieval/", "reasoning/", "safety/")
    expected = {name: value for name, value in first.data.metrics.items() if name.startswith(answers)}
    assert {"no_answer/share", "retrieval/mrr", "reasoning/context_relevance"} <= expected.keys()
    found = {name: value for name, value in recorded.data.metrics.items() if name.startswith(answers)}
    assert found == pytest.approx(expected, abs=1e-12)
    assert not [name for name in recorded.data.params if name.startswith(("retriever", "encoder", "reasoning"))]
    places = [*arguments[2:], f"answerer.path={path}"]
    process = shared_application.script_here("explain", recorded.info.run_id, "case-3", *places)
    assert process.returncode == 0, process.stderr
    assert "C) the platelets (correct" in process.stdout


def test_a_case_is_explained(sweep, shared_application, arguments):
    run = shared_application.children()[-1]
    process = shared_application.script_here("explain", run.info.run_id, "--item", "case-2", *arguments[2:])
    assert process.returncode == 0, process.stderr
    assert "A) a rapid test (correct" in process.stdout
    assert "fever.pdf#2 (relevant)" in process.stdout


def test_a_run_of_answers_is_reproduced(sweep, shared_application, arguments):
    run = shared_application.children()[0]
    process = shared_application.script("reproduce", run.info.run_id, "--stored", *arguments[2:])
    assert process.returncode == 0, process.stderr
    assert "identical: " in process.stdout


def test_a_dataset_without_cases_is_refused(application, tmp_path):
    process = application.run(*small.arguments(tmp_path / "small"), "task=answers")
    assert_refused(process, application, "small: has no multiple-choice cases to answer; choose another dataset")
