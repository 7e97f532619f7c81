"""Logs of lm-evaluation-harness, made by the harness itself."""

import json
import math

import pytest
from answers.quiz import CASES, DATA, QUESTIONS, REPORTED, accuracy, is_correct
from scipy.special import softmax

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.datasets.model.cases import LETTERS, Option
from ragsweep_answers.answering.question import Question
from ragsweep_answers.answering.recorded_answers import RecordedAnswerer

HARNESS = REPORTED["lm-eval 0.4.13"]
CHOICE, TEXT, GENERATE = (DATA / f"samples_quiz_{name}.jsonl" for name in ("choice", "text", "generate"))


def answers(path, questions=QUESTIONS, **settings):
    return RecordedAnswerer(str(path), **settings).answer(questions)


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def changed(tmp_path):
    """Writes the samples of a log after a function has changed each of them, in reverse order."""

    def write(path, change):
        rows = rows_of(path)[::-1]
        for row in rows:
            change(row)
        target = tmp_path / "samples.jsonl"
        target.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return target

    return write


@pytest.mark.parametrize(
    ("path", "name", "reported"),
    [
        (CHOICE, None, HARNESS["quiz_choice"]["acc,none"]),
        (TEXT, None, HARNESS["quiz_text"]["acc,none"]),
        (GENERATE, "strict", HARNESS["quiz_generate"]["exact_match,strict"]),
        (GENERATE, "flexible", HARNESS["quiz_generate"]["exact_match,flexible"]),
    ],
)
def test_the_accuracy_is_the_one_that_the_harness_reports(path, name, reported):
    assert accuracy(answers(path, filter=name)) == reported


@pytest.mark.parametrize(
    ("path", "name", "metric"), [(CHOICE, "none", "acc"), (TEXT, "none", "acc"), (GENERATE, "strict", "exact_match")]
)
def test_each_answer_is_right_where_the_harness_says_so(path, name, metric):
    scored = {row["doc"]["id"]: bool(row[metric]) for row in rows_of(path) if row["filter"] == name}
    assert is_correct(answers(path, filter=name)) == [scored[case["id"]] for case in CASES]


def test_a_temperature_is_not_a_letter():
    """The flexible filter of this task reads C from "100 °C"; the strict one finds no answer."""
    position = [case["id"] for case in CASES].index("boil")
    assert answers(GENERATE, filter="strict")[position].letter is None
    assert answers(GENERATE, filter="flexible")[position].letter == "C"


@pytest.mark.parametrize("path", [CHOICE, TEXT])
def test_the_probabilities_are_the_softmax_of_the_log_likelihoods(path):
    for row, answer in zip(rows_of(path), answers(path), strict=True):
        expected = softmax([float(score) for score, _ in row["filtered_resps"]])
        assert answer.probabilities == pytest.approx(expected.tolist(), rel=1e-12)
        assert sum(answer.probabilities) == pytest.approx(1, abs=1e-15)
        assert answer.scores == ()


def test_a_generated_text_is_kept_with_its_prompt():
    logged = rows_of(GENERATE)[0]
    [exchange] = answers(GENERATE, filter="strict")[0].exchanges
    assert exchange.prompt == logged["arguments"]["gen_args_0"]["arg_0"]
    assert exchange.response == logged["resps"][0][0]


@pytest.mark.parametrize(("path", "expected"), [(CHOICE, True), (GENERATE, False)])
def test_only_log_likelihoods_give_a_confidence(path, expected):
    answerer = RecordedAnswerer(str(path), filter="strict" if path == GENERATE else None)
    assert answerer.has_confidence is expected


@pytest.mark.parametrize("name", ["query_id", "question_id"])
def test_a_sample_belongs_to_the_case_whose_id_its_document_has(changed, name):
    def rename(row):
        row["doc"][name] = row["doc"].pop("id")
        row["doc_id"] = 0

    assert answers(changed(TEXT, rename)) == answers(TEXT)


def test_a_sample_without_an_id_belongs_to_the_case_at_its_position(changed):
    assert answers(changed(TEXT, lambda row: row["doc"].pop("id"))) == answers(TEXT)


def test_a_position_with_another_question_is_refused(changed):
    path = changed(TEXT, lambda row: row["doc"].pop("id"))
    with pytest.raises(
        DatasetError, match="line 1: the text of sample 11 does not have the question of case 'capital'"
    ):
        answers(path, QUESTIONS[::-1])


def asked(name, case, *texts):
    return Question(name, case, "What is it?", tuple(map(Option, LETTERS, texts)))


@pytest.fixture
def log(tmp_path):
    """Writes samples without ids: the document, what was scored with which log-likelihood, and the prompt."""

    def write(*samples):
        rows = [
            {
                "doc_id": number,
                "doc": document,
                "arguments": {f"gen_args_{n}": {"arg_0": prompt, "arg_1": text} for n, (text, _) in enumerate(scored)},
                "filtered_resps": [[score, "False"] for _, score in scored],
            }
            for number, (document, scored, prompt) in enumerate(samples)
        ]
        path = tmp_path / "samples_made.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


def test_a_position_with_the_same_question_about_another_case_is_refused(log):
    scored = [(" flu", -1), (" measles", -2)]
    girl, man = ({"case": text, "question": "What is it?"} for text in ("A girl of 3.", "A man of 60."))
    questions = [asked("a", man["case"], "flu", "measles"), asked("b", girl["case"], "flu", "measles")]
    assert [answer.letter for answer in answers(log((man, scored, ""), (girl, scored, "")), questions)] == ["A", "A"]
    with pytest.raises(DatasetError, match="the text of sample 0 does not have the case of case 'a'"):
        answers(log((girl, scored, ""), (man, scored, "")), questions)


def test_a_position_with_other_options_is_refused(log):
    path = log(({"question": "What is it?"}, [(" flu", -1), (" measles", -2)], ""))
    with pytest.raises(DatasetError, match="the text of sample 0 does not have the options of case 'a'"):
        answers(path, [asked("a", "", "flu", "mumps")])


def test_an_id_with_other_options_is_refused(log):
    path = log(({"id": "a"}, [(" flu", -1), (" measles", -2)], ""))
    with pytest.raises(
        DatasetError, match="what the harness scored for case 'a' are not its options: ' flu', ' measles'"
    ):
        answers(path, [asked("a", "", "flu", "mumps")])


def test_letters_that_mean_other_options_in_the_prompt_are_refused(log):
    scored = [(" A", -1), (" B", -2)]
    prompts = [
        f"What is it?\nA. {first}\nB. {second}\nAnswer:" for first, second in (("flu", "mumps"), ("mumps", "flu"))
    ]
    question = asked("a", "", "flu", "mumps")
    assert answers(log(({"id": "a"}, scored, prompts[0])), [question])[0].letter == "A"
    with pytest.raises(DatasetError, match="the prompt has the options of case 'a' in another order than the dataset"):
        answers(log(({"id": "a"}, scored, prompts[1])), [question])


def test_options_that_are_letters_are_not_taken_for_other_options(log):
    vitamins = asked("a", "", "B", "A", "D", "C")
    [answer] = answers(log(({"id": "a"}, [(" B", -1), (" A", -2), (" D", -3), (" C", -4)], "")), [vitamins])
    assert answer.letter == "A"
    assert answer.probabilities == pytest.approx(softmax([-1, -2, -3, -4]).tolist())
    with pytest.raises(DatasetError, match="could be letters or texts of options in another order"):
        answers(log(({"id": "a"}, [(" A", -1), (" B", -2), (" C", -3), (" D", -4)], "")), [vitamins])


def test_arguments_may_be_lists_as_in_older_versions(changed):
    def to_lists(row):
        row["arguments"] = [[each["arg_0"], each["arg_1"]] for each in row["arguments"].values()]

    assert answers(changed(TEXT, to_lists)) == answers(TEXT)


def test_a_log_has_a_confidence_if_any_sample_has_log_likelihoods(changed):
    def first_is_text(row):
        if row["doc_id"] == 11:
            row.update(filtered_resps=["B"], resps=[["B"]])

    assert RecordedAnswerer(str(changed(CHOICE, first_is_text))).has_confidence is True


def test_options_that_were_scored_in_another_order_keep_their_scores(changed):
    def reverse(row):
        requests = list(row["arguments"].values())[::-1]
        row["arguments"] = {f"gen_args_{number}": request for number, request in enumerate(requests)}
        row["filtered_resps"].reverse()

    assert answers(changed(TEXT, reverse)) == answers(TEXT)


def test_the_first_of_equal_log_likelihoods_is_the_answer_as_in_the_harness(changed):
    def level(row):
        row["filtered_resps"] = [["-1.5", "False"] for _ in row["filtered_resps"]]

    assert {answer.letter for answer in answers(changed(CHOICE, level))} == {"A"}


@pytest.mark.parametrize("value", ["nan", "-inf"])
def test_log_likelihoods_without_a_largest_one_are_no_answer(changed, value):
    def break_all(row):
        row["filtered_resps"] = [[value, "False"] for _ in row["filtered_resps"]]

    assert {answer.letter for answer in answers(changed(CHOICE, break_all))} == {None}


@pytest.mark.parametrize("lowest", [str(-math.inf), -1e308])
def test_an_impossible_option_has_the_probability_0(changed, lowest):
    best = {row["doc"]["id"]: max(float(score) for score, _ in row["filtered_resps"]) for row in rows_of(CHOICE)}

    def only_best(row):
        for response in row["filtered_resps"]:
            response[0] = 1e308 if float(response[0]) == best[row["doc"]["id"]] else lowest

    found = answers(changed(CHOICE, only_best))
    assert [answer.letter for answer in found] == [answer.letter for answer in answers(CHOICE)]
    assert all(sorted(answer.probabilities) == [*[0] * (len(answer.probabilities) - 1), 1] for answer in found)


@pytest.mark.parametrize("value", ["inf", 10**400, "1e400"])
def test_a_log_likelihood_that_is_too_large_is_refused(changed, value):
    path = changed(CHOICE, lambda row: row["filtered_resps"][0].__setitem__(0, value))
    with pytest.raises(
        DatasetError, match=r"line 1: the field 'filtered_resps' is .* log-likelihoods, which are at most 0"
    ):
        answers(path)


def test_unconditional_log_likelihoods_are_left_out(changed):
    def double(row):
        row["filtered_resps"] += [["0.0", "True"] for _ in row["filtered_resps"]]
        row["metrics"].append("acc_mutual_info")

    assert answers(changed(CHOICE, double)) == answers(CHOICE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: row["filtered_resps"].pop(), r"line 1: found 3 log-likelihoods; its case 'primary' has 4 options"),
        (
            lambda row: row.update(filtered_resps=[["B", "C"]]),
            "line 1: the field 'filtered_resps' is .* one text per sample",
        ),
        (lambda row: row.pop("doc"), "line 1: the field 'doc' is missing; expected a sample of lm-eval"),
        (lambda row: row["doc"].update(id="capital"), "line 2: the case 'capital' is answered twice, first in line 1"),
        (
            lambda row: row.update(doc={}, doc_id=12),
            "line 1: the dataset has no case 'number 12'; its cases are 'capital'",
        ),
        (lambda row: row.update(doc={}, doc_id="x"), "line 1: the field 'doc_id' is \"x\"; expected a whole number"),
    ],
)
def test_a_sample_that_does_not_fit_is_refused_in_one_line(changed, change, message):
    with pytest.raises(DatasetError, match=message) as error:
        answers(changed(CHOICE, change), format="lm_eval")
    assert "\n" not in str(error.value)


def test_several_filters_must_be_told_apart():
    with pytest.raises(ConfigError, match=r"several filters; set answerer.filter to one of 'strict', 'flexible'"):
        answers(GENERATE)
    with pytest.raises(ConfigError, match=r"found 'none', expected a filter of .*: 'strict', 'flexible'"):
        answers(GENERATE, filter="none")


def test_half_a_character_does_not_end_in_a_file_of_the_run(changed):
    path = changed(GENERATE, lambda row: row.update(resps=[["B \ud800"]], filtered_resps=["B"]))
    assert answers(path, filter="strict")[0].reasoning == "B ?"


def test_samples_of_a_part_of_the_dataset_leave_the_others_missing(tmp_path):
    path = tmp_path / "samples.jsonl"
    path.write_text("\n".join(CHOICE.read_text(encoding="utf-8").splitlines()[2:4]), encoding="utf-8")
    with pytest.raises(DatasetError, match="10 of 12 cases have no answer: 'capital', 'red-planet', 'largest'"):
        answers(path)
    expected = [answer.letter if 2 <= place < 4 else None for place, answer in enumerate(answers(CHOICE))]
    assert [answer.letter for answer in answers(path, missing="no_answer")] == expected
