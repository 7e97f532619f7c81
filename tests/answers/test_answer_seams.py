"""What answerers are handed leads neither to judgments nor to right answers, and joins no questions."""

from dataclasses import dataclass

import pytest
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
        return [work(each, TellingModel(lambda prompt: "Answer: B")) for each in items]


SEAMS = [
    (SparseRetriever, "rank"),
    (LetterEncoder, "encode"),
    (PageChunker, "split"),
    (Telling, "ask_each"),
    (TellingModel, "complete"),
    (EvidenceAnswerer, "answer"),
    (LanguageModelAnswerer, "answer"),
    (ChainOfThought, "answer"),
]


def tasks(store=NO_STORE, turn=0):
    return [
        answers_task(EvidenceAnswerer(LetterEncoder(), NO_STORE), store, turn),  # else keeps what judged pages are like
        answers_task(LanguageModelAnswerer(Telling(store), ChainOfThought()), store, turn),
    ]


@pytest.fixture(scope="module")
def handed():
    """What each seam was handed in these runs."""
    with noting(SEAMS) as noted:
        for made in tasks():
            items = made.load()
            made.check(items)
            made.measure(items)
    return noted


@pytest.mark.parametrize("seam", SEAMS, ids=lambda seam: f"{seam[0].__name__}.{seam[1]}")
def test_nothing_that_a_component_is_handed_leads_to_right_answers(handed, seam):
    assert handed[seam]
    assert [type(each) for call in handed[seam] for each in secrets_in(call, AnswersTask)] == []


def test_what_the_store_keeps_is_the_same_under_other_judgments_types_and_answers(tmp_path):
    kept = []
    for turn in (0, 1):
        store = Store(str(tmp_path / str(turn)))
        for made in tasks(store, turn):
            made.measure(made.load())
        kept.append(kept_in(store))
    assert kept[0] == kept[1] != {}


def overlap(question, evidence):
    """The option with the most words in the evidence."""
    return max(question.options, key=lambda option: option.text in evidence).letter


class PoolsById(Answerer):
    """Joins the evidence of all questions of one id."""

    has_confidence = False

    def answer(self, questions):
        pool = {}
        for each in questions:
            pool.setdefault(self.key(each), []).extend(passage.text for passage in each.evidence)
        return [Answer(overlap(each, " ".join(pool[self.key(each)]))) for each in questions]

    def key(self, question):
        return question.question_id


class KeepsByText(PoolsById):
    """Keeps answers by the text of the question, in the object."""

    def __init__(self):
        self.kept = {}

    def answer(self, questions):
        for each in questions:
            text = " ".join(passage.text for passage in each.evidence)
            self.kept.setdefault(each.question, Answer(overlap(each, text)))
        return [self.kept[each.question] for each in questions]


KEPT = {}


class KeepsByTextInItsModule(KeepsByText):
    """Keeps them outside of any object, where fresh copies do not help."""

    def __init__(self):
        self.kept = None

    def answer(self, questions):
        self.kept = KEPT
        return super().answer(questions)


class Plain(PoolsById):
    """Answers each question by its own evidence."""

    def answer(self, questions):
        return [Answer(overlap(each, " ".join(passage.text for passage in each.evidence))) for each in questions]


def values(answerer):
    made = answers_task(answerer)
    found = made.measure(made.load())
    return found.values, {measure.metric.name: measure.value for measure in found.measures}, found.findings


@pytest.mark.parametrize("answerer", [PoolsById(), KeepsByText()], ids=["pools", "keeps"])
def test_an_answerer_that_joins_what_it_is_asked_measures_what_a_plain_one_does(answerer):
    assert values(answerer)[:2] == values(Plain())[:2]


def test_an_answerer_that_keeps_answers_by_the_text_outside_of_itself_is_named():
    KEPT.clear()
    sentences = [each for each in values(KeepsByTextInItsModule())[2] if "keeps answers by the text" in each]
    assert len(sentences) == 2  # the judged pages are mostly the retrieved ones
    assert not any("keeps answers" in each for each in values(Plain())[2])


def test_neither_ids_nor_order_nor_objects_join_what_an_answerer_is_asked():
    asked, copies = [], []

    class Notes(Plain):
        def answer(self, questions):
            asked.append(questions)
            copies.append(self)
            return super().answer(questions)

    values(original := Notes())
    assert len(asked) == 4
    ids = [{each.question_id for each in questions} for questions in asked]
    assert len(set.union(*ids)) == sum(map(len, ids)) == 4 * 16
    assert not set.union(*ids) & {f"q{number}" for number in range(16)}
    assert len({tuple(each.question for each in questions) for questions in asked}) == 4
    assert len({id(each) for each in (original, *copies)}) == 5


def test_an_error_names_the_question_as_the_dataset_does():
    class Wrong(Plain):
        def answer(self, questions):
            return [Answer("Z")] * len(questions)

    with pytest.raises(AnswererError, match=r"question 'q\d+': the letter 'Z'"):
        values(Wrong())


def test_answers_come_back_in_the_order_of_the_questions():
    made = answers_task(Plain())
    items = made.load()

    class Echo(Answerer):
        def answer(self, questions):
            return [Answer("A", reasoning=each.question) for each in questions]

    from ragsweep_answers.measuring.contexts import contexts, questions

    asked = questions(items, contexts(items, "none", None, 1, 1))
    assert [each.reasoning for each in ask_apart(Echo(), asked, "part")] == [each.question for each in asked]
