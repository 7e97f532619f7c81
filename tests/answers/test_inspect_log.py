"""Logs of Inspect AI, made by Inspect itself."""

import json
import shutil
import struct
import sys
import tracemalloc
import zipfile

import pytest
from answers.quiz import CASES, DATA, QUESTIONS, REPORTED, accuracy, is_correct

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep_answers.answering import inspect_log
from ragsweep_answers.answering.question import Question
from ragsweep_answers.answering.recorded_answers import RecordedAnswerer

pytestmark = pytest.mark.extra("inspect")
INSPECT = REPORTED["inspect-ai 0.3.285"]


def answers(path, questions=QUESTIONS, **settings):
    return RecordedAnswerer(str(path), **settings).answer(questions)


def read_eval_log(path):
    from inspect_ai.log import read_eval_log  # only where it is installed

    return read_eval_log(path)


@pytest.fixture
def changed(tmp_path):
    """Writes a log after a function has changed it."""

    def write(name, change):
        from inspect_ai.log import write_eval_log

        log = read_eval_log(str(DATA / f"{name}.eval"))
        change(log)
        write_eval_log(log, str(tmp_path / "log.eval"))
        return tmp_path / "log.eval"

    return write


@pytest.mark.parametrize("name", INSPECT)
def test_the_accuracy_is_the_one_that_inspect_reports(name):
    assert accuracy(answers(DATA / f"{name}.eval")) == INSPECT[name]


@pytest.mark.parametrize("name", INSPECT)
def test_each_answer_is_right_where_inspect_says_so(name):
    samples = read_eval_log(str(DATA / f"{name}.eval")).samples
    scored = {sample.id: next(iter(sample.scores.values())).value == "C" for sample in samples}
    assert is_correct(answers(DATA / f"{name}.eval")) == [scored[case["id"]] for case in CASES]


def test_the_letter_of_a_shuffled_option_is_that_of_the_case():
    """The model answered C to every question, but in the shuffled dataset C was another option."""
    samples = {sample.id: sample for sample in read_eval_log(str(DATA / "quiz_shuffled_dataset.eval")).samples}
    for question, answer in zip(QUESTIONS, answers(DATA / "quiz_shuffled_dataset.eval"), strict=True):
        sample = samples[question.question_id]
        chosen = sample.scores["choice"].answer
        expected = sample.choices["ABCDE".index(chosen)] if chosen else None
        assert dict(question.options).get(answer.letter) == expected


def test_what_inspect_could_not_read_is_no_answer():
    """The model wrote "D) Carbon dioxide" for a question with three options, and Inspect found no answer in it."""
    by_case = dict(zip([case["id"] for case in CASES], answers(DATA / "quiz.eval"), strict=True))
    assert by_case["gas"].letter is None
    assert by_case["frozen"].letter is None


def test_tokens_times_and_texts_are_those_of_the_log():
    sample = next(each for each in read_eval_log(str(DATA / "quiz.eval")).samples if each.id == "pump")
    assert sample.working_time < sample.total_time  # which counts the waiting
    usage = sample.model_usage["hf/SmolLM2-135M-Instruct"]
    answer = answers(DATA / "quiz.eval")[[case["id"] for case in CASES].index("pump")]
    assert (answer.tokens_in, answer.tokens_out) == (usage.input_tokens, usage.output_tokens)
    assert answer.time_ms == sample.working_time * 1000
    assert (answer.exchanges[0].prompt, answer.exchanges[0].response) == (sample.input, sample.output.completion)


def test_cached_tokens_are_tokens_of_the_prompt(changed):
    def cache(log):
        for sample in log.samples:
            usage = next(iter(sample.model_usage.values()))
            usage.input_tokens_cache_read, usage.input_tokens_cache_write = 1000, 200

    plain = answers(DATA / "quiz.eval")
    assert [each.tokens_in - 1200 for each in answers(changed("quiz", cache))] == [each.tokens_in for each in plain]


def test_tokens_and_times_that_cannot_be_are_not_known(changed):
    def break_numbers(log):
        sample = next(each for each in log.samples if each.id == CASES[0]["id"])
        sample.working_time = -5.0
        usage = next(iter(sample.model_usage.values()))
        usage.input_tokens, usage.output_tokens = -3, 10**12

    first, *others = answers(changed("quiz", break_numbers))
    assert (first.tokens_in, first.tokens_out, first.time_ms) == (None, None, None)
    assert None not in [each.tokens_in for each in others]


def test_there_is_no_confidence():
    assert RecordedAnswerer(str(DATA / "quiz.eval")).has_confidence is False


def test_a_sample_that_was_not_scored_is_missing(changed):
    def fail(log):
        log.samples[0].scores = None

    with pytest.raises(DatasetError, match="1 of 12 cases has no answer: 'bees'"):
        answers(changed("quiz", fail))


def test_several_scorers_must_be_told_apart(changed):
    def score_twice(log):
        for sample in log.samples:
            sample.scores["other"] = sample.scores["choice"].model_copy(update={"answer": "B"})

    path = changed("quiz", score_twice)
    with pytest.raises(ConfigError, match=r"several scorers; set answerer.filter to one of 'choice', 'other'"):
        answers(path)
    with pytest.raises(
        ConfigError, match=r"answerer.filter: found 'first', expected a scorer of .*: 'choice', 'other'"
    ):
        answers(path, filter="first")
    assert {answer.letter for answer in answers(path, filter="other")} == {"B"}


def test_several_epochs_are_refused(changed):
    def repeat(log):
        log.samples.append(log.samples[0].model_copy(update={"epoch": 2}))

    with pytest.raises(
        DatasetError, match="sample 'bees', epoch 2: the case 'bees' is answered twice, first in epoch 1"
    ):
        answers(changed("quiz", repeat))


def test_choices_of_another_case_are_refused():
    others = [Question(each.question_id, "", "?", QUESTIONS[0].options) for each in QUESTIONS]
    with pytest.raises(DatasetError, match="sample 'bees', epoch 1: its choices are not the options of the case"):
        answers(DATA / "quiz.eval", others)


def test_choices_that_are_letters_are_not_taken_for_the_letters_of_other_options(changed):
    def letters(log):
        for sample in log.samples:
            sample.choices = [*"ABCD"[: len(sample.choices)]]

    with pytest.raises(DatasetError, match="its choices are not the options of the case"):
        answers(changed("quiz", letters))


def test_an_answer_to_an_unknown_case_is_refused():
    with pytest.raises(
        DatasetError, match=r"sample 'bees', epoch 1: the dataset has no case 'bees'; its cases are 'capital'"
    ):
        answers(DATA / "quiz.eval", QUESTIONS[:1])


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04"])
def test_a_damaged_log_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "log.eval").write_bytes(content)
    with pytest.raises(DatasetError, match="cannot be read as a log of Inspect") as error:
        answers(tmp_path / "log.eval")
    assert "\n" not in str(error.value)


def test_a_log_that_is_cut_off_is_refused(tmp_path):
    (tmp_path / "log.eval").write_bytes((DATA / "quiz.eval").read_bytes()[:-100])
    with pytest.raises(DatasetError, match="cannot be read as a log of Inspect"):
        answers(tmp_path / "log.eval")


def test_a_log_that_unzips_to_more_than_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(inspect_log, "LARGEST_LOG_MB", 1)
    shutil.copy(DATA / "quiz.eval", tmp_path / "log.eval")
    with zipfile.ZipFile(tmp_path / "log.eval", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/large.json", b" " * 2_000_000)
    with pytest.raises(DatasetError, match="holds 2 MB, expected at most 1 MB"):
        answers(tmp_path / "log.eval")
    monkeypatch.setattr(inspect_log, "LARGEST_LOG_MB", 4000)
    monkeypatch.setattr(inspect_log, "LARGEST_ENTRY_MB", 1)
    with pytest.raises(DatasetError, match=r"'samples/large\.json' holds 2 MB, expected at most 1 MB in a sample"):
        answers(tmp_path / "log.eval")


def rewritten(path, change):
    """The bundled log with the fields of each sample changed by a function, compressed as archives usually are."""
    with zipfile.ZipFile(DATA / "quiz.eval") as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename.startswith("samples/"):
                content = json.dumps(change(json.loads(content))).encode()
            new.writestr(entry.filename, content)
    return path


def peak_of(path):
    tracemalloc.start()
    try:
        return answers(path), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("field", ["store", "messages", "metadata"])
def test_a_log_is_read_in_memory_that_does_not_grow_with_what_is_not_kept(tmp_path, field):
    """12 samples with 1 MB, and with 2 MB each, of which nothing counts; 0.1 MB on the disk."""
    found = []
    for megabytes in (1, 2):
        large = {"role": "user", "content": "a" * megabytes * 10**6}
        value = [large] if field == "messages" else large
        path = rewritten(tmp_path / f"{megabytes}.eval", lambda sample, value=value: {**sample, field: value})
        assert path.stat().st_size < 200_000
        found.append(peak_of(path))
    (one, at_most), (two, more) = found
    assert one == two == answers(DATA / "quiz.eval")
    assert more < at_most + 6 * 10**6 < 12 * 10**6  # 6 times a text of 1 MB; all samples have 12 MB more


def test_prompts_and_responses_that_are_too_long_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(inspect_log, "LARGEST_TEXTS_MB", 3)
    path = rewritten(tmp_path / "log.eval", lambda sample: {**sample, "input": "a" * 10**6})
    with pytest.raises(DatasetError, match="its prompts and responses have more than 3 MB"):
        answers(path)


def test_an_entry_that_is_larger_than_its_archive_states_is_refused(tmp_path):
    path = rewritten(tmp_path / "log.eval", lambda sample: sample)
    size = zipfile.ZipFile(path).getinfo("samples/bees_epoch_1.json").file_size
    path.write_bytes(path.read_bytes().replace(struct.pack("<I", size), struct.pack("<I", 100)))
    with pytest.raises(DatasetError, match="cannot be read as a log of Inspect"):
        answers(path)


def test_without_inspect_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(ConfigError, match=r"needs inspect-ai: pip install 'ragsweep\[inspect\]'"):
        answers(DATA / "quiz.eval")


def test_a_sample_that_does_not_fit_its_case_can_be_left_out():
    """Its question then counts as not answered."""
    path = DATA / "quiz_shuffled_dataset.eval"
    odd, *others = QUESTIONS
    options = tuple(option._replace(text=f"other {option.text}") for option in odd.options)
    questions = [Question(odd.question_id, "", odd.question, options), *others]
    with pytest.raises(DatasetError, match=r"its choices are not the options.*answerer\.on_error=skip leaves it out"):
        answers(path, questions)
    found = answers(path, questions, on_error="skip")
    assert found[0].letter is None
    assert found[1:] == answers(path)[1:]


def test_a_sample_that_cannot_be_read_can_be_left_out(tmp_path):
    path, damaged = tmp_path / "log.eval", f"samples/{QUESTIONS[0].question_id}_epoch_1.json"
    with zipfile.ZipFile(DATA / "quiz.eval") as source, zipfile.ZipFile(path, "w") as target:
        for entry in source.infolist():
            target.writestr(entry.filename, b'{"id": ' if entry.filename == damaged else source.read(entry))
    with pytest.raises(DatasetError, match=r"epoch 1: cannot be read.*answerer\.on_error=skip leaves it out"):
        answers(path)
    found = answers(path, on_error="skip")
    assert found[0].letter is None
    assert found[1:] == answers(DATA / "quiz.eval")[1:]
    left_out, *others = QUESTIONS
    some = RecordedAnswerer(str(path)).answer_some(others, [left_out.question_id])
    assert some == found[1:]  # a question that is not asked refuses nothing
