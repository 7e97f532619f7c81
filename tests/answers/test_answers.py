"""The second task: cases are answered from what is retrieved, recorded, resumed, explained and reproduced."""

import itertools
import json
import re
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
import small
from answers import small_answers
from answers.small_answers import Each, fixed, named, settings
from application import succeeded
from scipy.stats import beta
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    confusion_matrix,
    label_ranking_average_precision_score,
    precision_score,
    recall_score,
)
from warm import CHARTS

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Dataset, FixedChunker, PageChunker, pdf_dataset
from ragsweep.retrieval import Encoder, Ingest, OpenAIEncoder, Ranker, Ranking, SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.search import search_of
from ragsweep.testing import TaskContract
from ragsweep_answers.answering import Answer, RecordedAnswerer, answer
from ragsweep_answers.answering.question import AnswererError
from ragsweep_answers.measuring.answers_task import AnswersTask
from ragsweep_answers.measuring.contexts import contexts, questions
from ragsweep_answers.measuring.measures.retrieved import PRECISION, as_units, evidence_quality

SPARSE = SparseRetriever(NO_STORE)
CONTROLS = settings(controls=["none", "judged", "placebo"])
COPIES = 5  # of 8 cases: enough to measure calibration


def read(question):
    """The option whose last word is in the evidence, sure of it; otherwise no answer."""
    text = " ".join(passage.text for passage in question.evidence).lower()
    values = [option.letter for option in question.options if option.text.split()[-1].lower() in text]
    return Answer(values[0], confidence=0.9, reasoning="It says so.") if values else Answer(None)


READER = Each(read)


@dataclass(frozen=True)
class Beside(Ranker):
    """Ranks by words, and has an encoder that it does not ask."""

    encoder: Encoder

    def rank(self, search, depth):
        return SPARSE.rank(search, depth)


class Returns(Each):
    """Returns the same whatever it is asked."""

    def answer(self, questions):
        return self.tell


@pytest.fixture
def with_cases(files, tmp_path):
    """The dataset with other cases."""

    def write(cases):
        (tmp_path / "cases.json").write_text(json.dumps(cases))
        return replace(files, cases=str(tmp_path / "cases.json"))

    return write


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
        stages = {"dataset": files, "chunker": PageChunker(), "retriever": SPARSE, "answerer": READER}
        type(self).settings = {**stages, "evaluation": CONTROLS, "k": 2, "seed": 0}


# Evidence


def test_a_placebo_is_what_was_retrieved_for_another_question_and_not_relevant(dataset):
    ranking = SPARSE.rank(search_of(dataset), 2)
    retrieved, placebos = (contexts(dataset, source, ranking, 2, 1) for source in ("retrieved", "placebo"))
    for row, passages in enumerate(placebos):
        assert passages in [*retrieved[:row], *retrieved[row + 1 :]]
        assert small.CASES[row][2] not in {dataset.units[dataset.passage_units[passage]] for passage in passages}
    passages = np.array([np.roll(np.arange(6), row) for row in range(8)])  # each question retrieves everything:
    everything = Ranking(passages, np.tile(np.arange(6.0)[::-1], (8, 1)))  # that of the one half the dataset away
    assert contexts(dataset, "placebo", everything, 6, 1) == [*passages[4:].tolist(), *passages[:4].tolist()]


def test_evidence_knows_all_pages_of_its_passages(files):
    across = Dataset.from_collection(files.load(), FixedChunker(90, 0, "characters", across_pages=True))
    assert len(across.further_units)
    documents = {document.source: document for document in files.load().documents}
    pages = [
        {page.unit for page in documents[passage.source].pages if page.start < passage.end and page.end > passage.start}
        for passage in across.passages
    ]
    judged = contexts(across, "judged", None, 1, 1)
    for (_, _, relevant, *_), passages in zip(small.CASES, judged, strict=True):
        assert passages == [passage for passage, units in enumerate(pages) if relevant in units]
    assert [question.evidence[0].unit for question in questions(across, judged)] == [case[2] for case in small.CASES]
    placebo = contexts(across, "placebo", SPARSE.rank(search_of(across), 1), 1, 1)
    assert not any(small.CASES[row][2] in pages[passage] for row, given in enumerate(placebo) for passage in given)


class Marked(Ingest):
    """Indexes every passage with words of its own."""

    def index_texts(self, documents, passages):
        return [f"{passage.text} indexed alone: {passage.chunk_id}" for passage in passages]


@pytest.mark.usefixtures("long_work")
def test_an_answerer_is_shown_the_passages_themselves_whatever_is_indexed_and_no_correct_answer(files, dataset):
    texts = set()

    def noted(question):
        texts.update(passage.text for passage in question.evidence)
        return read(question)

    answering = task(files, Each(noted), ingest=Marked())
    items = answering.load()
    answering.measure(items)
    assert all("indexed alone" in text for text in items.indexed_texts)
    assert set() < texts <= {*items.texts}
    changed = tuple(replace(case, correct="ABC"["CAB".index(case.correct)]) for case in dataset.cases)
    asked = [questions(of, contexts(of, "none", None, 1, 1)) for of in (dataset, replace(dataset, cases=changed))]
    assert asked[0] == asked[1]


# What is measured


def test_values_are_those_of_scikit_learn(with_cases):
    letters = ["A", "B", None, "A", "C", "A", "B", "B"] * COPIES
    sure = [0.9, 0.8, None, 1.0, 0.3, 0.0, 0.55, 0.7] * COPIES
    answers = [Answer(letter, confidence) for letter, confidence in zip(letters, sure, strict=True)]
    many = small.cases(COPIES)
    measurement = measured(with_cases(many), fixed(answers))
    correct, written = [case["correct_answer"] for case in many], [letter or "no answer" for letter in letters]
    assert measurement.values["accuracy"] == accuracy_score(correct, written)
    answered = [row for row, letter in enumerate(letters) if letter]
    outcomes = [letters[row] == correct[row] for row in answered]
    of_answers = brier_score_loss(outcomes, [sure[row] for row in answered])
    no_answer_is_1 = (7 * of_answers + 1) / 8
    assert measurement.values["brier"] == pytest.approx(no_answer_is_1, abs=1e-12)
    calibration = measurement.facts["calibration_metrics"]
    assert calibration["answers_with_confidence"] == 7 * COPIES
    assert calibration["brier_with_confidence"] == pytest.approx(of_answers, abs=1e-12)
    expected = confusion_matrix(correct, written, labels=["A", "B", "C", "no answer"])[:3]
    table = measurement.tables["confusion_matrix.csv"].set_index("correct")
    assert table.to_numpy().tolist() == expected.tolist()


def test_what_a_server_says_of_responses_is_counted_and_said(files):
    given = [Answer("A"), *[Answer(None, causes=("cut_off",))] * 3, Answer("B", causes=("empty", "empty"))]
    measurement, usual = (measured(files, fixed([*of, *[Answer("A")] * 8])) for of in (given, []))
    shares = {name: value for name, value in named(measurement).items() if name.startswith("responses/")}
    assert shares == {"responses/cut_off_share": 3 / 8, "responses/empty_share": 1 / 8}
    assert measurement.per_item["causes"].tolist() == ["", *["cut_off"] * 3, "empty", *[""] * 3]
    assert measurement.facts["overall_metrics"]["causes"] == {"cut_off": 3, "empty": 1}
    [sentence] = [sentence for sentence in measurement.sections["Answers"] if "cut off 3 (" in sentence]
    assert "a larger answerer.max_tokens" in sentence
    assert "empty 1 (" in sentence
    assert [*measurement.files["answers.jsonl"]][1].count('"causes": ["cut_off"]') == 1
    assert "causes" not in usual.per_item
    assert not any(name.startswith("responses/") for name in named(usual))


@pytest.mark.extra("openai")
def test_cases_that_the_retriever_does_not_read_are_counted_where_something_is_retrieved(files):
    for evidence, cut in (("retrieved", 8), ("none", 0)):
        retriever = Beside(OpenAIEncoder(model="m", truncate=5))
        measurement = measured(files, READER, evidence=evidence, retriever=retriever)
        texts = measurement.facts.get("unread_texts", [])
        assert sum(unread["cut"] for unread in texts if unread["texts"] == "queries") == cut
        assert any("5 characters" in notice for notice in measurement.notices) is bool(cut)


# Controls


def test_the_controls_answer_the_same_questions_from_other_evidence(files, with_cases):
    measurement = measured(files, READER)
    values = named(measurement)
    assert values["control/none"] == 0
    assert values["control/placebo"] < values["control/retrieved"] == measurement.values["accuracy"]
    assert values["control/judged"] == 4 / 8  # cases 2, 3, 6 and 7, by hand
    assert len(measurement.sections["Answers"]) >= 4
    unjudged = small.cases()
    unjudged[3]["relevant_docs"] = []  # its answer was wrong with the judged page, too
    measurement = measured(with_cases(unjudged), READER)
    assert named(measurement)["control/judged"] == 4 / 7
    [judged] = [sentence for sentence in measurement.sections["Answers"] if "with the judged pages" in sentence]
    assert judged.startswith("7 questions with a judged page: ")


def test_answers_of_a_control_that_could_not_be_read_are_said_and_those_without_confidence_are_not_calibrated(files):
    def cut_off_without_evidence(question):
        return Answer("A") if question.evidence else Answer(None, causes=("cut_off",))

    measurement = measured(files, Each(cut_off_without_evidence, has_confidence=False))
    [sentence] = [sentence for sentence in measurement.findings if "could be read" in sentence]
    assert "'none', 8 of 8 questions" in sentence
    assert "(cut off 8)" in sentence
    assert [score.metric.name for score in measurement.scores] == ["accuracy"]
    unsure = ["Calibration is not measured: no confidence is stated."]
    assert measurement.sections["Confidence of the answers"] == unsure


def test_a_single_case_has_no_placebo(with_cases):
    single = with_cases(small.cases()[:1])
    controls = {name for name in named(measured(single, READER)) if name.startswith("control/")}
    assert controls == {"control/retrieved", "control/none", "control/judged"}
    answering = task(single, READER, evidence="placebo")
    with pytest.raises(DatasetError, match=r"has only one case, so task\.evidence=placebo has no evidence"):
        answering.check(answering.load())


def test_evidence_that_nobody_has_in_use_makes_a_run_a_control_and_settings_that_change_nothing_are_not_used(files):
    sources = ("retrieved", "none", "judged", "placebo")
    controls = {source: bool(measured(files, READER, evidence=source).control) for source in sources}
    assert controls == {"retrieved": False, "none": False, "judged": True, "placebo": True}
    stages = ("ingest", "query", "reranker", "dynamic_k")
    unused = task(files, READER, evidence="judged", evaluation=settings(controls=[])).without_effect
    assert unused == ("confidence_threshold", "retriever", *stages, "k")
    without = task(files, READER, evidence="none").without_effect  # the placebo is retrieved
    assert without == ("confidence_threshold", *stages)


def test_questions_without_documents_are_answered_without_evidence_and_documents_without_cases_are_refused(
    files, tmp_path
):
    closed = replace(files, documents=None)
    answering = task(closed, READER)
    with pytest.raises(DatasetError, match=r"has no documents, so nothing can be retrieved; set dataset\.documents"):
        answering.check(answering.load())
    measurement = measured(closed, READER, evidence="none")
    assert measurement.values["accuracy"] == 0
    assert measurement.findings == ["The dataset has no documents: the questions are answered without evidence."]
    queries = str(small.write_queries(tmp_path / "questions.json"))
    with pytest.raises(DatasetError, match="small: has no multiple-choice cases to answer; choose another dataset"):
        task(pdf_dataset("small", files.documents, queries), READER).load()


# What an answerer returns

NO_ANSWERS = [
    ([Answer("A")] * 7, "returned 7 answers, expected a list of 8 answers"),
    ([Answer("D")] * 8, "question 'case-1': the letter 'D' is not an option (ABC)"),
    ([Answer("A", 1.5)] * 8, "the confidence 1.5 is not within 0 to 1"),
    ([Answer("A", probabilities=(0.5, 0.5))] * 8, "probabilities: found (0.5, 0.5), expected 3 finite numbers"),
    ([Answer("A", probabilities=(0.5, 0.4, 0.2))] * 8, "that add up to 1"),
    ([Answer("A", time_ms=float("nan"))] * 8, "time_ms: found nan"),
    ([Answer(None, causes=("tired",))] * 8, "causes: found 'tired', expected cut_off"),
    (["A"] * 8, "returned str, expected an Answer"),
    ("AAAAAAAA", "returned str, expected a list of 8 answers"),
]


def test_what_is_no_answer_is_refused_by_the_name_of_the_answerer(dataset):
    asked = questions(dataset, contexts(dataset, "none", None, 1, 1))
    for answers, problem in NO_ANSWERS:
        with pytest.raises(AnswererError, match=rf"^{re.escape(__name__)}\.Returns: .*{re.escape(problem)}"):
            answer(Returns(answers), asked)


# The evidence of answers that are recorded, and the facts of all

CORRECT = [case["correct_answer"] for case in small.cases()]
WRONG = ["ABC"["CAB".index(letter)] for letter in CORRECT]
RELEVANT = [page for _, _, page, _, _ in small.CASES]
DENGUE = "- kind: missed critical diagnosis\n  reason: She bleeds.\n  case: [dengue]\n  chosen: [pulse]\n"
REASONING = "Dengue makes the platelets fall; watch for bleeding."


def recorded(retrieved, letters=CORRECT, **fields):
    """Answers of a system that retrieved these units by itself; right ones by default."""
    answers = zip(letters, retrieved, strict=True)
    return fixed([Answer(letter, retrieved=units, **fields) for letter, units in answers], recorded=True)


def test_evidence_was_found_if_a_relevant_unit_is_among_the_passages_that_were_given(dataset):
    other = ["anaemia.pdf#1" if page.startswith("fever") else "fever.pdf#1" for page in RELEVANT]
    ranked = as_units([(wrong, wrong, page) for wrong, page in zip(other, RELEVANT, strict=True)], dataset)
    quality = evidence_quality(ranked, ranked[:, :2], dataset, 2, collapse="before_cutoff", relevance_level=1)
    assert quality.at(PRECISION, 2) == 1 / 2  # of the two first distinct pages
    assert quality.with_relevant.tolist() == [0] * 8  # the answerer got the same wrong page twice
    assert quality.retrieved.tolist() == [2] * 8


def test_all_evidence_of_a_recorded_answer_counts_as_given(files):
    given = []
    for page in RELEVANT:
        first, second, last, *_ = (name for name in dict.fromkeys(RELEVANT) if name != page)
        given.append((first, second, page, last))
    facts = measured(files, recorded(given, WRONG)).facts
    assert facts["retrieval_metrics"]["avg_documents_retrieved"] == 4
    assert facts["retrieval_metrics"]["recall_at_3"] == 1
    assert facts["error_analysis"]["retrieval_failures"] == 0
    assert facts["error_analysis"]["reasoning_failures"] == 8


def test_recorded_answers_that_are_recorded_again_keep_their_evidence(files, tmp_path):
    """Page 3 of fever.pdf has no text that a reasoning could be compared with."""
    given = [("fever.pdf#3", "fever.pdf#3", page) for page in RELEVANT]
    first = measured(files, recorded(given, cited=("fever.pdf#3",), reasoning=REASONING))
    lines = [*first.files["answers.jsonl"]]
    assert [tuple(json.loads(line)["evidence"]) for line in lines] == given
    (tmp_path / "answers.jsonl").write_text("".join(lines))
    again = measured(files, RecordedAnswerer(str(tmp_path / "answers.jsonl")))
    assert named(again) == named(first)
    assert first.facts["reasoning_metrics"]["evidence_utilization"] == 1 / 2
    assert first.details["evidence"] == [f"fever.pdf#3; {page}" for page in RELEVANT]


@pytest.fixture
def table(tmp_path):
    """A file of right answers, the first ones with these fields."""

    def write(*fields):
        rows = [{"id": f"case-{at}", "answer": letter} for at, letter in enumerate(CORRECT, start=1)]
        rows = [{**row, **further} for row, further in zip(rows, [*fields, *[{}] * 8], strict=False)]
        (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return RecordedAnswerer(str(tmp_path / "answers.jsonl"))

    return write


def test_recorded_names_are_the_keys_of_judgments_and_refused_where_they_name_no_unit(files, table):
    """Only one of the two documents has a page 4, and both have a page 1."""
    by_name, by_number = (measured(files, table({"evidence": [key], "cited": key})) for key in ("fever.pdf#4", "4"))
    assert by_number.details == by_name.details
    assert named(by_number) == named(by_name)
    assert by_number.details["evidence"][0] == "fever.pdf#4"
    with pytest.raises(DatasetError, match=r"evidence of case 'case-1': page '1' is in 2 documents"):
        measured(files, table({"evidence": ["1"]}))
    for name, key in itertools.product(("evidence", "cited"), ("9", "fever.pdf#5", "fevers.pdf#2", "fever.pdf")):
        with pytest.raises(DatasetError, match=rf"\A{name} of case 'case-2': .*{key!r}.*\Z"):
            measured(files, table({}, {name: ["fever.pdf#4", key]}))


def test_some_questions_alone_have_their_recorded_answers(files, table):
    """As in a race, whose rounds ask some of the questions."""
    answering = task(files, table({"answer": WRONG[0]}))
    assert answering.measure_some(answering.load(), ["case-1", "case-2", "case-4"]).values["accuracy"] == 2 / 3


def test_a_recorded_reasoning_is_compared_with_the_pages_that_it_was_given(files):
    measurement = measured(files, recorded([("fever.pdf#4", "fever.pdf#4")] * 8, reasoning=REASONING))
    assert named(measurement)["reasoning/coherence"] == named(measurement)["reasoning/evidence_used"] == 1
    assert measurement.facts["safety_metrics"]["checked_for_hallucination"] == 8
    assert "The answers name the pages of their evidence, not its passages" in " ".join(measurement.findings)
    partly_without_text = measured(files, recorded([("fever.pdf#4", "fever.pdf#3")] * 8, reasoning=REASONING))
    assert "reasoning/coherence" not in named(partly_without_text)


def test_the_facts_are_those_of_scikit_learn_and_by_hand(files):
    letters = ["B", "A", "A", "A", None, "A", "B", "A"]  # the third, the fourth and the fifth are wrong
    given = [("fever.pdf#3", page) for page in RELEVANT]
    facts = measured(files, recorded(given, letters, confidence=0.9)).facts
    overall = facts["overall_metrics"]
    assert (overall["total_questions"], overall["correct"], overall["incorrect"]) == (8, 5, 3)
    shares = {name: (share["value"], share["n"]) for name, share in overall["by_specialty"].items()}
    assert shares == {"fever": (3 / 4, 4), "anaemia": (2 / 4, 4)}
    assert [*overall["by_difficulty"]] == ["easy", "hard"]
    assert [result["predicted_answer"] for result in facts["per_question_results"]] == letters
    pages = sorted({*RELEVANT, "fever.pdf#3"})
    relevant, retrieved = ([[page in units for page in pages] for units in rows] for rows in (zip(RELEVANT), given))
    retrieval = facts["retrieval_metrics"]
    assert retrieval["precision_at_3"] * 3 == pytest.approx(2 * precision_score(relevant, retrieved, average="samples"))
    assert retrieval["recall_at_3"] == recall_score(relevant, retrieved, average="samples")
    ranks = [[-units.index(page) if page in units else -9 for page in pages] for units in given]
    assert retrieval["mrr"] == label_ranking_average_precision_score(relevant, ranks)
    assert facts["safety_metrics"]["hallucination_rate"] is None
    assert facts["timing_metrics"] == {}


def test_rates_come_with_the_largest_rate_that_they_do_not_rule_out(files, tmp_path):
    (tmp_path / "rules.yaml").write_text(DENGUE)
    invented = "A randomised trial found labetalol superior."
    answers = [Answer("A", retrieved=("fever.pdf#4",), reasoning=invented if row < 3 else "") for row in range(8)]
    answerer = fixed(answers, recorded=True)
    measurement = measured(files, answerer, evaluation=settings(dangerous={"small": str(tmp_path / "rules.yaml")}))
    safety = measurement.facts["safety_metrics"]
    assert (safety["hallucination_rate"], safety["checked_for_hallucination"]) == (1, 3)
    assert safety["hallucination_rate_at_most"] == 1
    assert (safety["dangerous_errors"], safety["dangerous_error_rate"]) == (1, 1 / 8)
    assert safety["dangerous_error_rate_at_most"] == pytest.approx(beta.ppf(0.95, 2, 7))
    [row] = measurement.tables["dangerous_errors.csv"].to_dict("records")
    texts = {"query_id": "case-3", "answered": "A) the pulse", "correct": "C) the platelets"}
    assert row == {**texts, "kind": "missed critical diagnosis", "reason": "She bleeds."}


# Runs


@pytest.fixture(scope="module")
def sweep(shared_application, cases):
    settings = ["retriever=sparse", "retriever.b=0,0.75", "k=2", "encoder=wordllama"]
    succeeded(shared_application.script_here("run", "-m", *cases, *settings, **CHARTS))
    return shared_application


def test_a_sweep_is_decided_by_accuracy_and_a_run_has_the_files_of_the_reference(sweep):
    [parent], children = sweep.parents(), sweep.children()
    assert len(children) == 2
    best = max(run.data.metrics["accuracy"] for run in children)
    assert parent.data.metrics["best/accuracy"] == best
    report = (sweep.artifacts(parent) / "report.md").read_text()
    assert "## Answers" in report
    assert f"The answers are better than guessing: {f'{best:.2f}'.removeprefix('0')}" in report
    assert "It was chosen among 2 by the same queries" in report
    folder = sweep.artifacts(children[0])
    record = json.loads((folder / "results/evaluation.json").read_text())
    assert record["overall_metrics"]["total_questions"] == len(record["per_question_results"]) == 8
    charts = {path.stem for path in (folder / "charts").iterdir()}
    assert charts >= {"accuracy_by_query_type", "confusion_matrix", "retrieval", "summary"}
    assert "reliability" not in charts  # 8 questions are too few
    assert record["not_measured"].keys() == {"brier", "ece"}
    assert len(pd.read_json(folder / "results/answers.jsonl", lines=True)) == 8


def test_recorded_answers_of_a_run_give_its_numbers_and_runs_are_explained_and_reproduced(sweep, cases):
    first, last = sweep.children()
    path = f"answerer.path={sweep.artifacts(first) / 'results/answers.jsonl'}"
    succeeded(sweep.script_here("run", *cases, "answerer=recorded", path, "k=2"))
    recorded = sweep.runs()[-1]
    answers = ("accuracy", "brier", "ece", "no_answer/", "confidence/", "retrieval/", "reasoning/", "safety/")
    own, again = (
        {name: value for name, value in run.data.metrics.items() if name.startswith(answers)}
        for run in (first, recorded)
    )
    assert {"no_answer/share", "retrieval/mrr", "reasoning/context_relevance"} <= own.keys()
    assert again == pytest.approx(own, abs=1e-12)
    assert not [name for name in recorded.data.params if name.startswith(("retriever", "encoder", "reasoning"))]
    explained = succeeded(sweep.script_here("explain", recorded.info.run_id, "case-3", *cases[2:], path))
    assert "C) the platelets (correct" in explained.stdout
    run = last.info.run_id
    explained = succeeded(sweep.script_here("explain", run, "--item", "case-2", *cases[2:])).stdout
    assert "A) a rapid test (correct" in explained
    assert "fever.pdf#2 (relevant)" in explained
    assert "identical: " in succeeded(sweep.script_here("reproduce", run, "--stored", *cases[2:])).stdout
