"""Answers to the small cases, and how they are measured: what tests of the task `answers` share."""

import small

from ragsweep.datasets import PageChunker
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep_answers.answering import Answerer
from ragsweep_answers.cases import CaseColumns, CasesDataset
from ragsweep_answers.measuring.answer_settings import AnswerSettings
from ragsweep_answers.measuring.answers_task import AnswersTask

SAME = {name: name for name in ("id", "specialty", "difficulty", "condition", "option_conditions")}
COLUMNS = CaseColumns(case="clinical_case", answer="correct_answer", relevant="relevant_docs", **SAME)
QUESTIONS = [question for question, *_ in small.CASES]


class Fixed(Answerer):
    """Gives the same answers to the questions, whatever their evidence."""

    recorded, has_confidence = False, True

    def __init__(self, answers, asked=QUESTIONS, *, recorded=False):
        self.answers, self.recorded = dict(zip(asked, answers, strict=False)), recorded

    def answer(self, questions):
        return [self.answers[question.question] for question in questions]


def cases_of(arguments, columns=COLUMNS):
    """The small cases, with their documents, of the arguments of a run of them."""
    values = dict(argument.partition("=")[::2] for argument in arguments)
    return CasesDataset("small", values["dataset.cases"], columns, values["dataset.documents"])


def settings(**changed):
    usual = {"collapse": "after_cutoff", "relevance_level": 1, "resamples": 200, "bins": 10, "confident": 0.8}
    return AnswerSettings(**{**usual, "unsure": 0.3, "controls": [], **changed})


def task(dataset, answerer, **changed):
    given = {"evaluation": settings(), "k": 2, "seed": 0, "store": NO_STORE, **changed}
    return AnswersTask(dataset, PageChunker(), given.pop("retriever", SparseRetriever(NO_STORE)), answerer, **given)


def measured(dataset, answerer, **changed):
    answering = task(dataset, answerer, **changed)
    return answering.measure(answering.load())


def named(measurement):
    """The values of the measures by their names."""
    return {measure.metric.name: measure.value for measure in measurement.measures}
