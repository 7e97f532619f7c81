"""Answers to the small cases, and how they are measured: what tests of the task `answers` share."""

from dataclasses import dataclass

import small

from ragsweep.datasets import PageChunker
from ragsweep.datasets.model.cases import Option
from ragsweep.models.language.language_model import Exchange, Message
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep_answers.answering import Answer, Answerer
from ragsweep_answers.answering.json_answer import AnswerFields
from ragsweep_answers.answering.question import Question, Reasoning
from ragsweep_answers.cases import CaseColumns, CasesDataset
from ragsweep_answers.measuring.answer_settings import AnswerSettings
from ragsweep_answers.measuring.answers_task import AnswersTask

SAME = {name: name for name in ("id", "specialty", "difficulty", "condition", "option_conditions")}
COLUMNS = CaseColumns(case="clinical_case", answer="correct_answer", relevant="relevant_docs", **SAME)
QUESTIONS = [question for question, *_ in small.CASES]


class Each(Answerer):
    """Answers each question as a function does."""

    recorded, has_confidence = False, True

    def __init__(self, tell, *, recorded=False, has_confidence=True):
        self.tell, self.recorded, self.has_confidence = tell, recorded, has_confidence

    def answer(self, questions):
        return [self.tell(question) for question in questions]


def fixed(answers, asked=QUESTIONS, **about):
    """The same answers to the questions, whatever their evidence."""
    answer_to = dict(zip(asked, answers, strict=False))
    return Each(lambda question: answer_to[question.question], **about)


@dataclass(frozen=True)
class OnePrompt(Reasoning):
    """The smallest reasoning method: asks one thing, and believes what is in the JSON, or a text of a single letter."""

    asks: str = ""

    def answer(self, question, model):
        prompt = f"{self.asks}{question.question}"
        messages = [Message("system", "Answer."), Message("user", prompt)]
        completion = model.complete(messages, as_json=model.structured)
        letter, confidence = completion.text, None
        if model.structured:
            try:
                fields = AnswerFields.model_validate_json(completion.text)
                letter, confidence = fields.answer, fields.confidence
            except ValueError:
                letter = ""
        costs = {name: getattr(completion, name) for name in ("tokens_in", "tokens_out", "time_ms")}
        of_option = letter if letter in {*question.letters} else None
        return Answer(of_option, confidence, exchanges=(Exchange(prompt, completion.text),), **costs)


def questions(number):
    """Questions for it."""
    options = (Option("A", "yes"), Option("B", "no"))
    return [Question(f"q{at}", "", f"Is this question {at}?", options) for at in range(number)]


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
