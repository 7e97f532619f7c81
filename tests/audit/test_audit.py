"""The audit of a dataset: every kind of finding, on faults that are put into it and on data without them."""

import tracemalloc
from dataclasses import replace
from itertools import combinations
from math import ceil

from hypothesis import given
from hypothesis import strategies as st
from rankings import SPARSE, dataset_of, paged

from ragsweep.datasets import FixedChunker, RecursiveChunker
from ragsweep.text.near_copies import similar
from ragsweep_audit.dataset_audit import audit
from ragsweep_audit.findings import uncovered
from ragsweep_audit.findings.duplicates import DuplicatePassages, DuplicateQueries
from ragsweep_audit.findings.finding import Audited
from ragsweep_audit.findings.garbled import GarbledText
from ragsweep_audit.findings.query_wording import CopiedQueries, DependentQueries

FIRST = {("q1", "a.pdf#1"): 1}


def made(pages, queries=("What of iron?",), judgments=FIRST, **fields):
    """A dataset of documents, each a list of pages, with queries q1, q2, ..."""
    asked = {f"q{number}": text for number, text in enumerate(queries, start=1)}
    return dataset_of([paged(name, *texts) for name, texts in pages.items()], asked, judgments, **fields)


def findings_of(finding, dataset, relevance_level=1):
    return [*finding.find(Audited(dataset, relevance_level))]


# What cannot be found or measured

COVERAGE = (
    *(uncovered.AbsentUnits(), uncovered.PagesWithoutText(), uncovered.QueriesWithoutJudgments()),
    *(uncovered.QueriesWithoutRelevant(), uncovered.SkippedDocuments()),
)


def coverage(dataset, relevance_level=1):
    return audit(Audited(dataset, relevance_level), COVERAGE).findings


def test_what_cannot_be_found_or_measured_is_found():
    judgments = {("q1", "a.pdf#3"): 1, ("q1", "a.pdf#90"): 1, ("q2", "a.pdf#1"): 0, ("q4", "a.pdf#2"): 1}
    queries = [f"What of {name}?" for name in "abcd"]
    findings = coverage(made({"a.pdf": ["iron and tea", "", "fever"]}, queries, judgments, skipped=("c.pdf",)))
    assert [(finding.kind, finding.count, finding.out_of, finding.examples) for finding in findings] == [
        ("absent_units", 2, 3, ("a.pdf#2", "a.pdf#90")),
        ("pages_without_text", 1, 3, ("a.pdf#2",)),
        ("queries_without_judgments", 1, 4, ("q3",)),
        ("queries_without_relevant", 1, 4, ("q2",)),
        ("skipped_documents", 1, 2, ("c.pdf",)),
    ]
    assert "at most 0.250, as nothing relevant can be found for 1 query of 2" in findings[0].text
    judgments = {(f"q{n}", unit): 1 for n in range(1, 3001) for unit in ("a.pdf#1", *["a.pdf#9"][: n == 1])}
    [absent, *_] = coverage(made({"a.pdf": ["iron"]}, [f"What {n}?" for n in range(3000)], judgments))
    assert "at most 0.9998" in absent.cost  # 2999.5 of 3000, which is not shown as 1


def test_questions_that_the_documents_do_not_answer_need_no_judgment_and_a_lower_grade_scores_in_ndcg_alone():
    items = made({"a.pdf": ["iron and tea"]}, ["What of iron?", "Why?", "Who?"])
    first, *unanswered = items.queries
    marked = [replace(query, answerable=False) for query in unanswered]
    [finding] = coverage(replace(items, queries=(first, unanswered[0], marked[1])))
    assert (finding.count, finding.out_of, finding.examples) == (1, 2, ("q2",))
    assert "answerable: false" in finding.advice
    assert not coverage(replace(items, queries=(first, *marked)))
    for grade, exception in ((0, False), (1, True)):
        judgments = {("q1", "a.pdf#1"): 2, ("q2", "a.pdf#1"): grade}
        [finding] = coverage(made({"a.pdf": ["iron"]}, ["What?", "Who?"], judgments), 2)
        assert finding.cost.startswith("They score 0")
        assert ("NDCG" in finding.cost) is exception


HALF = ("iron tablets", "iron and tea", "rest", "sleep")  # iron is in exactly half of them


def test_queries_for_which_nothing_is_found_are_counted():
    queries = ("Eisen", "iron", "tea", "tablets")
    items = made({"a.pdf": HALF}, queries, {(f"q{number}", "a.pdf#1"): 1 for number in range(1, 5)})
    for retriever, count in ((SPARSE, 2), (replace(SPARSE, backend="bm25s"), 1), (None, 0)):
        findings = audit(Audited(items, retriever=retriever)).findings
        silent = [(finding.count, finding.out_of) for finding in findings if finding.kind == "nothing_found"]
        assert silent == [(count, 4)] * bool(count), retriever


# Copies


@given(st.lists(st.sets(st.sampled_from("abcdefgh")), max_size=12), st.sampled_from([0.5, 0.6, 0.75, 0.8, 1.0]))
def test_similar_sets_are_those_that_comparing_all_pairs_finds(sets, least):
    def jaccard(one, other):
        return len(one & other) / len(one | other) if one | other else 0

    all_pairs = combinations(range(len(sets)), 2)
    pairs = {(one, other) for one, other in all_pairs if jaccard(sets[one], sets[other]) >= least}
    listed = {tuple(pair) for pair in similar([sorted(elements) for elements in sets], least).tolist()}
    assert listed <= pairs
    first = [sets.index(elements) for elements in sets]  # of equal sets, the first stands for all of them
    of_first, listed_of_first = ({frozenset((first[i], first[j])) for i, j in group} for group in (pairs, listed))
    assert of_first == listed_of_first


WITHOUT = "Mice without the enzyme DNA polymerase {} a larger sensitivity to ionizing radiation by day."
OLDER = "Adults who are older than most others and live in London {} to work each day in summer."
PAIRS = [  # two queries, and whether they ask the same
    ("How is iron deficiency treated in women?", "how is IRON deficiency treated in women", True),
    ("How is iron deficiency treated in women?", "How do you treat iron deficiency in a woman?", False),
    ("How is iron deficiency treated in men?", "Please, how are iron deficiencies treated in men?", True),
    ("What was the revenue of Boeing in 2021?", "What was the revenue of Boeing in 2022?", False),
    ("Venules have a larger diameter than arterioles.", "Arterioles have a larger diameter than venules.", False),
    ("Vitamin D lowers the risk of fractures.", "Vitamin D does not lower the risk of fractures.", False),
    (WITHOUT.format("reveal"), WITHOUT.format("fail to reveal"), False),
    (OLDER.format("walk"), OLDER.format("don't walk"), False),
    ("Aspirin raises blood pressure in rats.", "Aspirin lowers blood pressure in rats.", False),
]


def copied_queries(queries, judgments=FIRST, level=1):
    dataset = made({"a.pdf": ["iron", "", "tea"]}, queries, judgments)
    return findings_of(DuplicateQueries(near=0.9), dataset, level)


def test_queries_that_ask_the_same_are_copies():
    judgments = {("q1", "a.pdf#1"): 1, ("q2", "a.pdf#3"): 1}
    for one, other, are_copies in PAIRS:
        findings = copied_queries([one, other, "What of malaria tests?"], judgments)
        assert [finding.examples for finding in findings] == [("q1 and q2",)] * are_copies, (one, other)
        assert [finding.details["pairs_with_different_judgments"] for finding in findings] == [1] * are_copies
    venules, arterioles = "Venules are larger than arterioles.", "Arterioles are larger than venules."
    [finding] = copied_queries([venules, arterioles, arterioles.upper()])  # beside another one with the same words
    assert finding.examples == ("q2 and q3",)
    queries = ["How is iron taken daily?", "How is iron taken daily, please?"]
    judgments = {("q1", "a.pdf#1"): 2, ("q2", "a.pdf#1"): 2, ("q1", "a.pdf#2"): 1}
    for level, differing in ((1, 1), (2, 0)):  # the relevance level decides which judgments count
        [finding] = copied_queries(queries, judgments, level)
        assert finding.details["pairs_with_different_judgments"] == differing


LONG = "Iron tablets are taken daily with lemon water and not with tea or coffee since both of them bind the iron " * 2
WEEKLY = LONG.replace("daily", "weekly", 1)


def copied_passages(pages, near=0.8, **given):
    return findings_of(DuplicatePassages(near=near), made(pages, **given))


def relevant_to_q1(*units):
    return {("q1", unit): 1 for unit in units}


def test_a_copy_of_a_relevant_page_that_is_not_judged_is_found():
    pages = {"a.pdf": [LONG, "Fever in a child"], "b.pdf": [WEEKLY, "A short page"]}
    asked = {"queries": ["What of iron?", "What of fever?"], "judgments": {**FIRST, ("q2", "a.pdf#2"): 1}}
    [finding] = copied_passages(pages, **asked)
    assert finding.examples == ("a.pdf#1 and b.pdf#1",)
    assert finding.details["affected_queries"] == ["q1"]
    assert not copied_passages(pages, 0.99, **asked)
    [finding] = copied_passages(pages, judgments=relevant_to_q1("a.pdf#1", "b.pdf#1"))
    assert finding.details["affected_queries"] == []
    pages = {name: ["A cover page", LONG] for name in ("a.pdf", "b.pdf")}  # of passages, the second page is relevant
    across = FixedChunker(500, 0, "characters", across_pages=True)
    for judged, affected in ((["a.pdf#2"], ["q1"]), (["a.pdf#2", "b.pdf#2"], [])):
        [finding] = copied_passages(pages, judgments=relevant_to_q1(*judged), chunker=across)
        assert (finding.out_of, finding.details["affected_queries"]) == (2, affected)


def test_copies_are_named_by_their_pages_or_on_one_page_by_their_ids(monkeypatch):
    pages, halves = f"{LONG} {LONG.upper()}", FixedChunker(len(LONG), 0, "characters")
    [finding] = copied_passages({"a.pdf": [pages], "b.pdf": [pages]}, 0.7, chunker=halves)
    assert finding.details["pairs"] > 1
    assert finding.examples == ("a.pdf#1 and b.pdf#1",)
    [finding] = copied_passages({"a.pdf": [f"{LONG} {LONG}"]}, 0.7, chunker=halves, unit="passage")
    first, second = finding.examples[0].split(" and ")
    assert first != second
    monkeypatch.setattr("ragsweep_audit.findings.duplicates.MOST_COMPARED", 2)
    [finding] = copied_passages({"a.pdf": [LONG, WEEKLY], "b.pdf": [LONG.upper()]})
    assert finding.examples == ("a.pdf#1 and b.pdf#1",), "in a large corpus, exact copies alone"


def test_passages_that_overlap_are_no_copies():
    words = " ".join(f"word{number}" for number in range(200))
    overlapping = {"chunker": RecursiveChunker(200, 180), "unit": "passage"}
    assert len(made({"a.pdf": [words]}, **overlapping).passages) > 2
    assert not copied_passages({"a.pdf": [words]}, 0.5, **overlapping)
    assert copied_passages({"a.pdf": [words], "b.pdf": [words]}, 0.5)


# The wording of queries


def copied_from(page, *queries, share=0.8):
    judgments = {(f"q{number}", "a.pdf#1"): 1 for number in range(1, len(queries) + 1)}
    return findings_of(CopiedQueries(share=share), made({"a.pdf": [page]}, queries, judgments))


def test_copied_questions_are_those_whose_words_stand_in_a_row_in_the_answer_and_others_cannot_stand_alone():
    """A word of six letters has five bigrams in a script without spaces: six of them are not six words."""
    page = "Haemoglobin below 11 g/dl needs iron tablets, which are taken daily with lemon water."
    queries = ["Iron tablets, which are taken daily with what?", "How does one take tablets of iron every day?"]
    [finding] = copied_from(page, *queries)
    assert (finding.examples, finding.out_of) == (("q1",), 2)
    assert not copied_from(page, *queries, share=1.0)
    page = "ผู้ป่วยควรได้รับยาพาราเซตามอลขนาดห้าร้อยมิลลิกรัม 抗生物質の投与"
    [finding] = copied_from(page, "พาราเซตามอล", "抗生物質の投与", "ผู้ป่วยควรได้รับยาพาราเซตามอล")
    assert finding.examples == ("q3",)
    queries = ["What does this passage say?", "Which test finds malaria?"]
    [finding] = findings_of(DependentQueries(), made({"a.pdf": ["iron"]}, queries))
    assert (finding.count, finding.out_of, finding.examples) == (1, 2, ("q1",))


def test_a_query_of_twice_the_length_takes_at_most_twice_the_memory():
    peaks = []
    for length in (4000, 8000):
        query = [f"w{number}" for number in range(length)]  # the answer has all but every tenth word of it
        answer = " ".join(word for number, word in enumerate(query) if number % 10)
        tracemalloc.start()
        assert not copied_from(answer, " ".join(query))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2.5 * peaks[0]


RUNS = st.lists(st.sampled_from("abc"), max_size=14)


@given(RUNS, RUNS, st.floats(0, 1))
def test_a_query_is_copied_if_a_run_of_its_words_is_in_the_answer(query, answer, share):
    length = max(6, ceil(share * len(query) - 1e-9))
    runs = {tuple(query[start : start + length]) for start in range(len(query) - length + 1)}
    expected = any(tuple(answer[start : start + length]) in runs for start in range(len(answer) - length + 1))
    assert bool(copied_from(" ".join(["x", *answer]), " ".join(query) or "y", share=share)) == expected


# Damaged text

CLEAN = "The officer visits every household once a month, and writes births and deaths into the register (S-2)."
DAMAGED = {
    "characters that the file does not explain": "The o\ufffdcer vis\ue003ts every h\ue000useh\ufffdld once a month.",
    "a wrong encoding": "Le mÃ©decin rÃ©pond Ã\xa0 lâ€™infirmiÃ¨re, dÃ©jÃ\xa0 prÃ©sente au prÃ©alable.",
    "ligatures, which no query has": "The o\ufb03cer \ufb01nds the \ufb01rst \ufb02uid in the o\ufb03ce.",
    "letters apart": "W a s h y o u r h a n d s before you eat.",
}
UNUSUAL = [
    CLEAN,
    "\uf0b7 Appliances\n\uf0b7 Entertainment\n\uf0b7 Services",  # bullets of a symbol font
    "Él pagó 5 € por «él». SÃO PAULO, Ação, ŠKODA, naïve façade, Zürich — “Çà et là”.",
    "Options: a b c d or 1 2 3 4 5 6 7; short- and long-term plans, pre- and post-natal care, in- or outpatients.",
    "The xc- system: xc- is changed by xc- and xc- again, as xc- does.",
    "the u s s r and the u s s r s allies, a u s s r plan, n a t o and the u n e s c o",
    "Немного русского текста и 日本語のテキスト, Ελληνικά.",
]


def garbled(*pages, share=0.05):
    return findings_of(GarbledText(share=share), made({"a.pdf": pages}))


def test_damaged_text_is_found_with_its_cause_and_unusual_text_is_not():
    for cause, text in DAMAGED.items():
        [finding] = garbled(CLEAN, text, CLEAN)
        assert finding.details["pages"] == {cause: ["a.pdf#2"]}
        assert finding.count == 1
        assert not garbled(CLEAN, text, CLEAN, share=1.0)
    assert garbled(f"{CLEAN} nowâ€\x9d")  # bytes that Windows leaves undefined are read as Latin-1
    assert [text for text in UNUSUAL if garbled(text)] == []
    apart = "N o t e s on the use of salt"  # damage only if they spell a word of the corpus
    assert not garbled(apart)
    assert garbled(apart, "The notes of the officer.")
