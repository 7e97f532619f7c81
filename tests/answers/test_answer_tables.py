"""Tables, files and facts of measured answers, and the evidence of answers that are recorded."""

import itertools
import json

import pytest
import small
from answers import small_answers
from answers.small_answers import Fixed, named, settings
from scipy.stats import beta
from sklearn.metrics import label_ranking_average_precision_score, precision_score, recall_score

from ragsweep.core.errors import DatasetError
from ragsweep.datasets import Dataset, PageChunker
from ragsweep_answers.answering import Answer, RecordedAnswerer
from ragsweep_answers.measuring.measures.retrieved import PRECISION, as_units, evidence_quality

CORRECT = [case["correct_answer"] for case in small.cases()]
WRONG = ["ABC"["CAB".index(letter)] for letter in CORRECT]
RELEVANT = [page for _, _, page, _, _ in small.CASES]
DENGUE = "- kind: missed critical diagnosis\n  reason: She bleeds.\n  case: [dengue]\n  chosen: [pulse]\n"
REASONING = "Dengue makes the platelets fall; watch for bleeding."


@pytest.fixture
def measured(files):
    return lambda answerer, **changed: small_answers.measured(files, answerer, evaluation=settings(**changed))


def recorded(retrieved, letters=CORRECT, **fields):
    """Answers of a system that retrieved these units by itself; right ones by default."""
    answers = zip(letters, retrieved, strict=True)
    return Fixed([Answer(letter, retrieved=units, **fields) for letter, units in answers], recorded=True)


# The evidence that was given


def test_evidence_was_found_if_a_relevant_unit_is_among_the_passages_that_were_given(files):
    dataset = Dataset.from_collection(files.load(), PageChunker())
    other = ["anaemia.pdf#1" if page.startswith("fever") else "fever.pdf#1" for page in RELEVANT]
    ranked = as_units([(wrong, wrong, page) for wrong, page in zip(other, RELEVANT, strict=True)], dataset)
    quality = evidence_quality(ranked, ranked[:, :2], dataset, 2, collapse="before_cutoff", relevance_level=1)
    assert quality.at(PRECISION, 2) == 1 / 2  # of the two first distinct pages
    assert quality.with_relevant.tolist() == [0] * 8  # the answerer got the same wrong page twice
    assert quality.retrieved.tolist() == [2] * 8


def test_all_evidence_of_a_recorded_answer_counts_as_given(measured):
    given = []
    for page in RELEVANT:
        first, second, last, *_ = (name for name in dict.fromkeys(RELEVANT) if name != page)
        given.append((first, second, page, last))
    facts = measured(recorded(given, WRONG)).facts
    assert facts["retrieval_metrics"]["avg_documents_retrieved"] == 4
    assert facts["retrieval_metrics"]["recall_at_3"] == 1
    assert facts["error_analysis"]["retrieval_failures"] == 0
    assert facts["error_analysis"]["reasoning_failures"] == 8


def test_recorded_answers_that_are_recorded_again_keep_their_evidence(measured, tmp_path):
    """Page 3 of fever.pdf has no text that a reasoning could be compared with."""
    given = [("fever.pdf#3", "fever.pdf#3", page) for page in RELEVANT]
    first = measured(recorded(given, cited=("fever.pdf#3",), reasoning=REASONING))
    lines = [*first.files["answers.jsonl"]]
    assert [tuple(json.loads(line)["evidence"]) for line in lines] == given
    (tmp_path / "answers.jsonl").write_text("".join(lines))
    again = measured(RecordedAnswerer(str(tmp_path / "answers.jsonl")))
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


def test_recorded_names_are_the_keys_of_judgments_and_refused_where_they_name_no_unit(measured, table):
    """Only one of the two documents has a page 4, and both have a page 1."""
    by_name, by_number = (measured(table({"evidence": [key], "cited": key})) for key in ("fever.pdf#4", "4"))
    assert by_number.details == by_name.details
    assert named(by_number) == named(by_name)
    assert by_number.details["evidence"][0] == "fever.pdf#4"
    with pytest.raises(DatasetError, match=r"evidence of case 'case-1': page '1' is in 2 documents"):
        measured(table({"evidence": ["1"]}))
    for name, key in itertools.product(("evidence", "cited"), ("9", "fever.pdf#5", "fevers.pdf#2", "fever.pdf")):
        with pytest.raises(DatasetError, match=rf"\A{name} of case 'case-2': .*{key!r}.*\Z"):
            measured(table({}, {name: ["fever.pdf#4", key]}))


def test_some_questions_alone_have_their_recorded_answers(files, table):
    """As in a race, whose rounds ask some of the questions."""
    task = small_answers.task(files, table({"answer": WRONG[0]}))
    assert task.measure_some(task.load(), ["case-1", "case-2", "case-4"]).values["accuracy"] == 2 / 3


def test_a_recorded_reasoning_is_compared_with_the_pages_that_it_was_given(measured):
    measurement = measured(recorded([("fever.pdf#4", "fever.pdf#4")] * 8, reasoning=REASONING))
    assert named(measurement)["reasoning/coherence"] == named(measurement)["reasoning/evidence_used"] == 1
    assert measurement.facts["safety_metrics"]["checked_for_hallucination"] == 8
    assert "The answers name the pages of their evidence, not its passages" in " ".join(measurement.findings)
    partly_without_text = measured(recorded([("fever.pdf#4", "fever.pdf#3")] * 8, reasoning=REASONING))
    assert "reasoning/coherence" not in named(partly_without_text)


# Facts


def test_the_facts_are_those_of_scikit_learn_and_by_hand(measured):
    letters = ["B", "A", "A", "A", None, "A", "B", "A"]  # the third, the fourth and the fifth are wrong
    given = [("fever.pdf#3", page) for page in RELEVANT]
    facts = measured(recorded(given, letters, confidence=0.9)).facts
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


def test_rates_come_with_the_largest_rate_that_they_do_not_rule_out(measured, tmp_path):
    (tmp_path / "rules.yaml").write_text(DENGUE)
    invented = "A randomised trial found labetalol superior."
    answers = [Answer("A", retrieved=("fever.pdf#4",), reasoning=invented if row < 3 else "") for row in range(8)]
    measurement = measured(Fixed(answers, recorded=True), dangerous={"small": str(tmp_path / "rules.yaml")})
    safety = measurement.facts["safety_metrics"]
    assert (safety["hallucination_rate"], safety["checked_for_hallucination"]) == (1, 3)
    assert safety["hallucination_rate_at_most"] == 1
    assert (safety["dangerous_errors"], safety["dangerous_error_rate"]) == (1, 1 / 8)
    assert safety["dangerous_error_rate_at_most"] == pytest.approx(beta.ppf(0.95, 2, 7))
    [row] = measurement.tables["dangerous_errors.csv"].to_dict("records")
    texts = {"query_id": "case-3", "answered": "A) the pulse", "correct": "C) the platelets"}
    assert row == {**texts, "kind": "missed critical diagnosis", "reason": "She bleeds."}
