"""The page of metrics: its example runs, its numbers are computed here, and it has every metric."""

import doctest
import itertools
import math
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import yaml
from application import PROJECT

import ragsweep
from ragsweep.core.project import CONF
from ragsweep.datasets import Collection, Dataset, Document, PageChunker, Query, Reference
from ragsweep.evaluation import judge, token_precision
from ragsweep.tasks.ranking.spans.spans import retrieved_spans
from ragsweep_answers.measuring.measures.answer_errors import error_categories
from ragsweep_answers.measuring.measures.calibration import brier, gaps_by_bin

PAGE = PROJECT / "docs/metrics.md"
LEAST_WORDS, MOST_WORDS = 1000, 1950


def measured(metric, rankings, qrels, k):
    return ragsweep.evaluate(rankings, qrels, k=k, resamples=1).means[metric]


# What differs: the code of the document, and ragsweep


def discounted(grades):
    return sum(grade / math.log2(rank + 2) for rank, grade in enumerate(grades))


def ideal():
    """The lesson sorts the grades of what was retrieved."""
    grades = {"a": 2, "b": 0, "c": 1, "d": 0}
    of_the_lesson = discounted(grades.values()) / discounted(sorted(grades.values(), reverse=True))
    return of_the_lesson, measured("ndcg", {"q": [*grades]}, {"q": grades | {"e": 2}}, 4)


PASSAGES, RELEVANT = [34] * 5, [34, 35]


def page():
    """The guide adds every passage of a relevant page, and takes the best order of the relevant pages."""
    of_the_guide = discounted(page in RELEVANT for page in PASSAGES) / discounted([1] * len(RELEVANT))
    return of_the_guide, measured("ndcg", {"q": PASSAGES}, {"q": RELEVANT}, 5)


def recall():
    of_the_guide = sum(page in RELEVANT for page in PASSAGES) / len(RELEVANT)
    return of_the_guide, measured("recall", {"q": PASSAGES}, {"q": RELEVANT}, 5)


def unjudged():
    of_the_module = np.mean([1.0, 0.0])
    return of_the_module, measured("recall", {"judged": ["a"], "unjudged": ["a"]}, {"judged": ["a"]}, 5)


def certain():
    """The framework's bins leave out their upper edge."""
    confidence, correct = np.array([1, 0.95, 0.8, 0.3]), np.array([0.0, 1, 1, 0])
    edges, error = np.linspace(0, 1, 11), 0.0
    for low, high in itertools.pairwise(edges):
        chosen = (confidence >= low) & (confidence < high)
        if chosen.any():
            error += abs(confidence[chosen].mean() - correct[chosen].mean()) * chosen.sum() / len(confidence)
    return error, np.abs(gaps_by_bin(confidence, correct) @ np.full(4, 1 / 4)).sum()


def silent():
    confidence, correct = np.array([0.8, np.nan]), np.array([1.0, 0])
    stated = ~np.isnan(confidence)
    return np.mean((confidence[stated] - correct[stated]) ** 2), brier(confidence, correct).mean()


def words():
    """The notebook's code adds the words of the passages once for each reference that is found."""
    names = [f"word{number}" for number in range(53)]
    text, references = " ".join(names), [" ".join(names[:9]), " ".join(names[20:28])]
    wanted = Counter(word for reference in references for word in reference.split())
    retrieved = Counter(names * len(references))
    places = [(text.index(words), words) for words in references]
    placed = tuple(Reference("q", "d", start, start + len(words), words) for start, words in places)
    document = Document.from_pages("d", [("1", "d#1", text)])
    dataset = Dataset.from_collection(
        Collection("s", "passage", (document,), (Query("q", "?"),), (), (), (), placed), PageChunker()
    )
    judged = judge(np.array([[0]]), dataset.qrels.query, dataset.qrels.unit, dataset.qrels.grade)
    judged = replace(judged, spans=retrieved_spans(dataset, judged.queries, np.array([[0]])))
    of_the_notebook = (wanted & retrieved).total() / retrieved.total()
    return of_the_notebook, token_precision(judged, 1, token="word")[0]


def unsure():
    """The confidence below which a wrong answer counts as one of low confidence."""

    def is_low(confidence):
        one = np.ones(1)
        given = (0 * one, np.zeros(1, int), one, 0 * one, confidence * one)
        return error_categories(*given, chance=one / 4, low=0.3)[0] == "low confidence"

    return 0.5, min(number for number in range(1, 1000) if not is_low(number / 1000)) / 1000


DIFFERS = {
    "NDCG's ideal": ideal,
    "A page counts once": page,
    "Recall counts": recall,
    "A query without judgments": unjudged,
    "A confidence of 1.0": certain,
    "An answer without a confidence": silent,
    "Retrieved words count once": words,
    "Low confidence": unsure,
}


def rows():
    """The rows of the table of differences: the rule, and both numbers as they are written."""
    section = PAGE.read_text().partition("## Where the references give another number")[2].partition("\n## ")[0]
    return re.findall(r"^\| ([^|]+?) \|[^|\n]+\| (\d*\.\d{4}) \| (\d*\.\d{4}) \|$", section, re.MULTILINE)


def test_a_rule_that_differs_gives_the_numbers_of_the_page():
    written = {next(name for name in DIFFERS if rule.startswith(name)): numbers for rule, *numbers in rows()}
    computed = {name: [f"{value:.4f}".removeprefix("0") for value in compute()] for name, compute in DIFFERS.items()}
    assert len(rows()) == len(DIFFERS)
    assert computed == written


def test_the_example_gives_what_the_page_shows():
    [block] = re.findall(r"^```pycon\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    example = doctest.DocTestParser().get_doctest(block, {}, PAGE.name, str(PAGE), 0)
    assert doctest.DocTestRunner().run(example) == (0, 3)


def test_the_page_has_every_metric_and_fits_its_length():
    text = PAGE.read_text()
    named = {*re.findall(r"`([a-z][\w/]*)`", text)}
    shipped = [
        yaml.safe_load((CONF / f"evaluation/{name}.yaml").read_text())["metrics"] for name in ("default", "spans")
    ]
    answers = "".join(path.read_text() for path in (PROJECT / "src/ragsweep_answers/measuring").rglob("*.py"))
    declared = {*re.findall(r'"((?:confidence|reasoning|retrieval|safety)/\w+)"', answers)}
    assert len(declared) > 12
    assert named >= {*shipped[0], *shipped[1], *declared, "accuracy", "brier", "ece"}
    assert LEAST_WORDS < len(text.split()) <= MOST_WORDS
