"""What answerers are handed leads neither to judgments nor to right answers, and joins no questions."""

from dataclasses import dataclass

import pytest
from answers.small_answers import Each
from letters import LetterEncoder
from seams import Memory, kept_in, noting, secrets_in

from ragsweep.datasets import PageChunker
from ragsweep.models.language.language_model import LanguageModel
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep_answers.answering import Answer, Answerer, EvidenceAnswerer, LanguageModelAnswerer, ask_apart
from ragsweep_answers.answering.question import AnswererError
from ragsweep_answers.answering.reasoning import ChainOfThought
from ragsweep_answers.measuring.answer_settings import AnswerSettings
from ragsweep_answers.measuring.answers_task import AnswersTask
from ragsweep_answers.measuring.contexts import contexts, questions
from ragsweep_answers.testing import TellingModel


def answers_task(answerer, store=NO_STORE, turn=0):
    settings = AnswerSettings("after_cutoff", 1, 10, 10, 0.8, 0.5, ["none", "judged", "placebo"])
    stages = PageChunker(), SparseRetriever(store), answerer
    return AnswersTask(Memory(True, turn), *stages, settings, 2, 0, store)


@dataclass(frozen=True)
class Telling(LanguageModel):
    """A language model that always says the same."""

    store: object = NO_STORE

    def ask_each(self, items, work, asking):
        return [work(item, TellingModel(lambda prompt: "Answer: B")) for item in items]


SEAMS = [
    *((SparseRetriever, "rank"), (LetterEncoder, "encode"), (PageChunker, "split"), (Telling, "ask_each")),
    *((TellingModel, "complete"), (EvidenceAnswerer, "answer"), (LanguageModelAnswerer, "answer")),
    (ChainOfThought, "answer"),
]


def tasks(store=NO_STORE, turn=0):
    return [
        answers_task(EvidenceAnswerer(LetterEncoder(), NO_STORE), store, turn),  # else keeps what judged pages are like
        answers_task(LanguageModelAnswerer(Telling(store), ChainOfThought()), store, turn),
    ]


def test_nothing_that_a_component_is_handed_leads_to_right_answers():
    with noting(SEAMS) as noted:
        for task in tasks():
            items = task.load()
            task.check(items)
            task.measure(items)
    for seam in SEAMS:
        assert noted[seam], seam
        assert [type(secret) for call in noted[seam] for secret in secrets_in(call, AnswersTask)] == [], seam


def test_what_the_store_keeps_is_the_same_under_other_judgments_types_and_answers(tmp_path):
    kept = []
    for turn in (0, 1):
        store = Store(str(tmp_path / str(turn)))
        for task in tasks(store, turn):
            task.measure(task.load())
        kept.append(kept_in(store))
    assert kept[0] == kept[1] != {}


def overlap(question, evidence):
    """The option with the most words in the evidence."""
    return Answer(max(question.options, key=lambda option: option.text in evidence).letter)


def evidence_of(question):
    return " ".join(passage.text for passage in question.evidence)


def by_own_evidence(question):
    return overlap(question, evidence_of(question))


def plain(tell=by_own_evidence):
    return Each(tell, has_confidence=False)


class PoolsById(Answerer):
    """Joins the evidence of all questions of one id."""

    has_confidence = False

    def answer(self, questions):
        pool = {}
        for question in questions:
            pool.setdefault(question.question_id, []).append(evidence_of(question))
        return [overlap(question, " ".join(pool[question.question_id])) for question in questions]


class KeepsByText(Answerer):
    """Keeps answers by the text of the question, in the object."""

    has_confidence = False

    def __init__(self):
        self.kept = {}

    def answer(self, questions):
        return [self.kept.setdefault(question.question, by_own_evidence(question)) for question in questions]


KEPT = {}


class KeepsByTextInItsModule(KeepsByText):
    """Keeps them outside of any object, where fresh copies do not help."""

    def answer(self, questions):
        self.kept = KEPT
        return super().answer(questions)


def measured(answerer):
    """The values, the further numbers, and the findings."""
    task = answers_task(answerer)
    measurement = task.measure(task.load())
    numbers = {measure.metric.name: measure.value for measure in measurement.measures}
    return measurement.values, numbers, measurement.findings


def test_an_answerer_that_joins_what_it_is_asked_measures_what_a_plain_one_does_or_is_named():
    expected = measured(plain())
    assert measured(PoolsById())[:2] == measured(KeepsByText())[:2] == expected[:2]
    KEPT.clear()
    sentences = [text for text in measured(KeepsByTextInItsModule())[2] if "keeps answers by the text" in text]
    assert len(sentences) == 2  # the judged pages are mostly the retrieved ones
    assert not any("keeps answers" in text for text in expected[2])


def test_neither_ids_nor_order_nor_objects_join_what_an_answerer_is_asked():
    asked, copies = [], []

    class Notes(Each):
        def answer(self, questions):
            asked.append(questions)
            copies.append(self)
            return super().answer(questions)

    measured(original := Notes(by_own_evidence))
    assert len(asked) == 4
    ids = [{question.question_id for question in questions} for questions in asked]
    assert len(set.union(*ids)) == sum(map(len, ids)) == 4 * 16
    assert not set.union(*ids) & {f"q{number}" for number in range(16)}
    assert len({tuple(question.question for question in questions) for questions in asked}) == 4
    assert len({id(answerer) for answerer in (original, *copies)}) == 5


def test_answers_come_back_in_the_order_of_the_questions_and_an_error_names_the_question_as_the_dataset_does():
    items = answers_task(plain()).load()
    asked = questions(items, contexts(items, "none", None, 1, 1))
    answers = ask_apart(plain(lambda question: Answer("A", reasoning=question.question)), asked, "part")
    assert [answer.reasoning for answer in answers] == [question.question for question in asked]
    with pytest.raises(AnswererError, match=r"question 'q\d+': the letter 'Z'"):
        measured(plain(lambda question: Answer("Z")))
