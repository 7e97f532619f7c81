"""Faults that are put into clean datasets: the audit finds them where they matter, and raises no alarm without them.

    python -m pytest tests/audit/test_audit_faults.py --soak -q -n 0    # prints the table of docs/questions.md

A fault of judgments matters if recall@5 of BM25 falls by more than half the width of its 95 % interval. Pages that are
removed matter if one of them is judged relevant. Copies and passages that are too long always matter.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
import pytest
from read_strictly import span_questions

from ragsweep.datasets import Dataset, Qrels, RecursiveChunker, pdf_dataset
from ragsweep.models.encoders.model_files import MINILM
from ragsweep.models.encoders.text_read import Lengths
from ragsweep.models.encoders.token_counts import token_counts
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep_audit.dataset_audit import audit
from ragsweep_audit.findings.duplicates import DuplicatePassages, DuplicateQueries
from ragsweep_audit.findings.finding import LEVEL, Audited
from ragsweep_audit.findings.shifted import shifted_pages
from ragsweep_audit.findings.swapped import swapped_judgments
from ragsweep_audit.findings.uncovered import AbsentUnits
from ragsweep_audit.findings.unit_ranks import UnitRanks
from ragsweep_audit.findings.unread_text import UnreadTexts

SHARES = (0.01, 0.05, 0.2)
WINDOW = 254
FOUND = 0.95
FOUND_SWAPS = 0.9  # BM25 finds too few of the pages of both queries


def number_of_copies(finding, items):
    return sum(copies.count for copies in finding.find(Audited(items)))


@dataclass(frozen=True)
class Clean:
    """A dataset without faults, with what every injection needs."""

    items: Dataset

    @cached_property
    def ranks(self) -> UnitRanks:
        """The ranks of all units for all queries, so that judgments can be changed without ranking again."""
        items = self.items
        scores = SparseRetriever(NO_STORE, stop_words="english", stemmer="english").index(items.texts)
        of_passage = scores.scores([query.text for query in items.queries])
        of_unit = np.zeros((len(items.units), len(items.queries)))
        np.maximum.at(of_unit, items.passage_units, of_passage.T)
        ranks = [np.searchsorted(np.sort(-row), -row) for row in of_unit.T]
        return UnitRanks(np.arange(len(items.queries)), np.arange(len(items.units)), np.array(ranks, dtype=np.int32))

    @cached_property
    def tokens(self):
        return token_counts(self.items.texts, MINILM, NO_STORE)

    @cached_property
    def copies(self):
        """How many copies of passages and of queries there are without the fault."""
        return [number_of_copies(finder, self.items) for finder in (DuplicatePassages(), DuplicateQueries())]

    def recall(self, query, unit):
        """Recall@5 of BM25 for each query, shape [queries]."""
        hits = np.bincount(query, self.ranks.of(query, unit) < 5, len(self.items.queries))
        return hits / np.maximum(np.bincount(query, minlength=len(self.items.queries)), 1)

    def matters(self, query, unit):
        """Whether recall with these judgments is lower than it was by more than its interval is wide to one side."""
        before = self.recall(self.items.qrels.query, self.items.qrels.unit)
        half = 1.96 * before.std(ddof=1) / np.sqrt(len(before))
        return before.mean() - self.recall(query, unit).mean() > half

    def judged(self, query, unit):
        qrels = Qrels(query, unit, np.ones_like(unit))
        return replace(self.items, qrels=qrels)


def chosen_rows(rng, number, share):
    """A share of so many rows, at least one."""
    return rng.choice(number, max(1, round(share * number)), replace=False)


def shift(clean, share, rng):
    qrels, step = clean.items.qrels, rng.choice([-1, 1])
    moved = np.clip(qrels.unit + step, 0, len(clean.items.units) - 1)
    unit = np.where(np.isin(qrels.query, chosen_rows(rng, len(clean.items.queries), share)), moved, qrels.unit)
    findings = shifted_pages(clean.judged(qrels.query, unit), clean.ranks, 1, LEVEL)
    return any(finding.details["offset"] == -step for finding in findings), clean.matters(qrels.query, unit)


def swap(clean, share, rng):
    qrels = clean.items.qrels
    chosen = chosen_rows(rng, len(clean.items.queries), share)
    partner = np.arange(len(clean.items.queries))
    half = len(chosen) // 2
    partner[chosen[:half]], partner[chosen[half : 2 * half]] = chosen[half : 2 * half], chosen[:half]
    query = partner[qrels.query]
    findings = list(swapped_judgments(clean.judged(query, qrels.unit), clean.ranks, 1, LEVEL))
    return bool(findings), clean.matters(query, qrels.unit)


def remove(clean, share, rng):
    items = clean.items
    gone = chosen_rows(rng, len(items.units), share)
    kept = ~np.isin(items.passage_units, gone)
    passages = tuple(passage for passage, stays in zip(items.passages, kept, strict=True) if stays)
    left = replace(items, passages=passages, passage_units=items.passage_units[kept])
    return any(AbsentUnits().find(Audited(left))), bool(np.isin(items.qrels.unit, gone).any())


def copy_passages(clean, share, rng):
    """Add near copies of passages as pages of their own: one in 40 words is another one, case and spaces differ."""
    items = clean.items
    long = np.flatnonzero([len(text.split()) >= 40 for text in items.texts])
    chosen = long[chosen_rows(rng, len(long), share)]
    copies = []
    for row in chosen:
        words = items.texts[row].upper().split()
        words[:: max(40, len(words) // 3)] = ["other"] * len(words[:: max(40, len(words) // 3)])
        copies.append(replace(items.passages[row], text="  ".join(words), source="copy"))
    units = np.arange(len(copies)) + len(items.units)
    more = replace(
        items,
        passages=items.passages + tuple(copies),
        units=items.units + tuple(f"copy#{number}" for number in range(len(copies))),
        passage_units=np.concatenate([items.passage_units, units]),
    )
    return number_of_copies(DuplicatePassages(), more) >= clean.copies[0] + FOUND * len(copies), True


def copy_queries(clean, share, rng):
    """Add near copies of queries, with other case, marks and function words."""
    items = clean.items
    chosen = chosen_rows(rng, len(items.queries), share)
    copies = [
        replace(items.queries[row], query_id=f"copy{row}", text=f"Please: {items.queries[row].text.upper()}!!")
        for row in chosen
    ]
    more = replace(items, queries=items.queries + tuple(copies))
    return number_of_copies(DuplicateQueries(), more) >= clean.copies[1] + FOUND * len(copies), True


def lengthen(clean, share, rng):
    """Make passages longer than the window: their tokens become twice the window."""
    tokens = clean.tokens.copy()
    tokens[chosen_rows(rng, len(tokens), share)] = 2 * WINDOW
    lengths = Lengths(tokens, WINDOW, "tokens")
    return UnreadTexts().of("passage", clean.items.texts, lengths, "minilm") is not None, True


FAULTS = {  # what injects it, and the share that must be found, of those that matter
    "shifted pages": (shift, FOUND),
    "swapped judgments": (swap, FOUND_SWAPS),
    "removed pages": (remove, FOUND),
    "near copies of passages": (copy_passages, FOUND),
    "near copies of queries": (copy_queries, FOUND),
    "passages that are too long": (lengthen, FOUND),
}
TIMES = dict.fromkeys(FAULTS, 200) | {"near copies of passages": 3}  # that compares all passages each time


def inject(clean, fault, share, times):
    """How often the fault mattered, and how often it was found then."""
    outcomes = [FAULTS[fault][0](clean, share, np.random.default_rng([1, seed])) for seed in range(times)]
    are_found = [is_found for is_found, mattered in outcomes if mattered]
    return len(are_found), sum(are_found)


@pytest.fixture(scope="module")
def manual_in_passages(manual):
    return Clean(Dataset.from_collection(manual, RecursiveChunker(500, 50)))


@pytest.fixture(scope="module")
def filings(real_data):
    folder = real_data / "financebench"
    collection = pdf_dataset("filings", str(folder / "documents"), str(folder / "test_queries.json")).load()
    return Clean(Dataset.from_collection(collection, RecursiveChunker(500, 50)))


@pytest.fixture(scope="module")
def claims(scifact):
    return Clean(scifact)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_fifth_of_the_manual_is_found(manual_in_passages, fault):
    mattered, times_found = inject(manual_in_passages, fault, 0.2, min(20, TIMES[fault]))
    assert mattered
    assert times_found >= FAULTS[fault][1] * mattered - 1
    if fault in ("removed pages", "near copies of queries", "passages that are too long"):  # also a single one
        mattered, times_found = inject(manual_in_passages, fault, 0.01, 10)
        assert mattered == times_found > 0


def alarms(items):
    return {finding.kind for finding in audit(Audited(items, retriever=SparseRetriever(NO_STORE))).findings}


@pytest.mark.usefixtures("long_work")
def test_the_manual_raises_no_alarm(manual_in_passages, manual_pages):
    assert alarms(manual_in_passages.items) == alarms(manual_pages) == set()


@pytest.mark.soak
@pytest.mark.real_data
def test_real_data_raises_only_alarms_that_are_true(filings, real_data):
    from ragsweep.datasets import OwnDataset, TextCorpus

    # Two pages of the filings are blank, and their cover pages and tables of contents repeat each other.
    assert alarms(filings.items) == {"pages_without_text", "duplicate_passages"}
    chroma = real_data / "chunking_evaluation"
    spans = OwnDataset("own", TextCorpus(str(chroma / "corpora")), span_questions(str(chroma / "questions_df.csv")))
    assert alarms(Dataset.from_collection(spans.load(), RecursiveChunker(500, 50))) == set()


@pytest.mark.real_data
def test_scifact_raises_only_alarms_that_are_true(scifact):
    # Two claims stand in the abstracts word by word.
    assert alarms(scifact) == {"copied_queries"}


DATASETS = {"manual": "manual_in_passages", "financebench": "filings", "SciFact": "claims"}
WITHOUT_PAGES = ("shifted pages", "SciFact")
NEVER_MATTER = {(fault, "financebench") for fault in ("shifted pages", "swapped judgments")}  # BM25 finds too little
ENOUGH = 0.05  # of the seeds, in which a fault must have mattered to tell how often it is found


@pytest.mark.soak
@pytest.mark.real_data
@pytest.mark.parametrize("dataset", DATASETS)
def test_half_of_the_queries_of_a_clean_dataset_seldom_raise_an_alarm(request, capsys, dataset):
    clean, times = request.getfixturevalue(DATASETS[dataset]), 300
    qrels, alarms = clean.items.qrels, {"shifted_pages": 0, "swapped_judgments": 0}
    for seed in range(times):
        chosen = np.isin(qrels.query, chosen_rows(np.random.default_rng(seed), len(clean.items.queries), 0.5))
        half = clean.judged(qrels.query[chosen], qrels.unit[chosen])
        for find in (shifted_pages, swapped_judgments):
            alarms[find.__name__] += any(find(half, clean.ranks, 1, LEVEL))
    with capsys.disabled():
        print(f"\n{dataset}: false alarms in {times} halves: {alarms}", end="")
    assert max(alarms.values()) <= 3 * LEVEL * times


@pytest.mark.soak
@pytest.mark.real_data
@pytest.mark.parametrize(("fault", "dataset"), [pair for pair in product(FAULTS, DATASETS) if pair != WITHOUT_PAGES])
def test_a_fault_is_found_where_it_matters(request, capsys, fault, dataset):
    clean, times, tells = request.getfixturevalue(DATASETS[dataset]), TIMES[fault], False
    for share in SHARES:
        mattered, times_found = inject(clean, fault, share, times)
        rate = f"{times_found / mattered:.1%}" if mattered else "-"
        with capsys.disabled():
            print(f"\n| {fault} | {dataset} | {share:.0%} | {mattered} of {times} | {rate} |", end="")
        if mattered >= ENOUGH * times:
            assert times_found >= FAULTS[fault][1] * mattered
            tells = True
    assert tells is ((fault, dataset) not in NEVER_MATTER)
