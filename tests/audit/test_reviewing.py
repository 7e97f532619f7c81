"""`ragsweep review`, in processes of its own: from what nobody judged to a dataset with the judgments."""

import csv
import json
import threading
from pathlib import Path

import pytest
from small import PAGES, QUERIES, arguments, write_queries

from ragsweep.app.commands import composed
from ragsweep.core.errors import ConfigError
from ragsweep_audit.reviewing import Review

IRON = ("Are iron tablets taken daily where haemoglobin is below 11?", ["anaemia.pdf#1"], "factual")
MANY = [*QUERIES, IRON]
UNJUDGED = ("6", "anaemia.pdf#2")  # answers IRON, too


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The small dataset with a query that lacks a judgment."""
    folder = tmp_path_factory.mktemp("reviewed") / "data"
    arguments(folder)
    write_queries(folder / "questions.json", MANY)
    return folder


@pytest.fixture(scope="module")
def dataset(folder):
    return [
        "dataset=pdf",
        "dataset.name=small",
        f"dataset.documents={folder / 'pdfs'}",
        f"dataset.queries={folder / 'questions.json'}",
    ]


@pytest.fixture(scope="module")
def review(shared_application):
    """Run the command; its lines, and its status."""

    def run(*given):
        process = shared_application.script("review", *given)
        return process.stdout.splitlines(), process.stderr, process.returncode

    return run


@pytest.fixture(scope="module")
def table(review, dataset, tmp_path_factory):
    """A table that has been written, and what was said."""
    path = tmp_path_factory.mktemp("table") / "review.csv"
    lines, errors, status = review(*dataset, "--out", str(path))
    assert status == 0, errors
    return path, lines


def rows_of(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))


def filled(table, folder, verdict, pair=UNJUDGED):
    """The table, in which one row is filled in."""
    rows = rows_of(table)
    for row in rows:
        row["relevant"] = verdict if (row["query_id"], row["unit"]) == pair else ""
    path = folder / "filled.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def test_the_missing_judgment_is_listed(table):
    path, lines = table
    pairs = {(row["query_id"], row["unit"]): row for row in rows_of(path)}
    assert pairs[UNJUDGED]["query"] == IRON[0]
    assert pairs[UNJUDGED]["text"].strip() == PAGES["anaemia.pdf"][1]
    assert all(name in pairs[UNJUDGED]["ranks"] for name in ("words", "letters", "meaning"))
    assert not {(str(number), page) for number, (_, pages, _) in enumerate(MANY, 1) for page in pages} & pairs.keys()
    assert lines[0].startswith("Not judged, although all of 3 unlike retrievers rank them among the first 3:")
    assert "Precision 0." in lines[1]
    assert lines[2] == f"To judge: {path}"


def test_more_is_listed_further_down(review, dataset, table):
    listed = int(review(*dataset, "--depth", "7")[0][0].split(": ")[1].split()[0])
    assert listed > len(rows_of(table[0]))


def test_judgments_go_into_a_copy_of_the_questions_and_are_not_listed_again(review, dataset, table, tmp_path):
    new = tmp_path / "new.json"
    applied = filled(table[0], tmp_path, "no")
    lines, errors, status = review(*dataset, "--apply", applied, "--out", str(new))
    assert status == 0, errors
    assert lines[0] == f"1 row of {len(rows_of(table[0]))} filled in: 0 relevant, 1 not; 1 judgment new."
    assert lines[2:] == [f"Written: {new}; use it by dataset.queries={new}"]
    assert json.loads(new.read_text())[5]["relevant_docs"] == {"anaemia.pdf#1": 1, "anaemia.pdf#2": 0}
    again = tmp_path / "again.csv"
    review(*dataset[:3], f"dataset.queries={new}", "--out", str(again))
    assert UNJUDGED not in {(row["query_id"], row["unit"]) for row in rows_of(again)}
    assert len(rows_of(again)) == len(rows_of(table[0])) - 1


def changes(line):
    """The means before and after, of a line such as `...: Recall 0.500 -> 0.600, F1 0.400 -> 0.450.`"""
    return list(zip(*(each.removesuffix(".").split()[-3::2] for each in line.split(": ")[1].split(", ")), strict=True))


def test_the_metrics_with_the_judgments_are_those_of_the_new_dataset(review, dataset, tmp_path):
    asked = write_queries(tmp_path / "asked.json", [*MANY, ("Which disease needs a platelet count?", [], "factual")])
    (tmp_path / "own.csv").write_text("query_id,unit,relevant\n7,fever.pdf#4,yes\n6,anaemia.pdf#2,yes\n")
    new = tmp_path / "new.json"
    given = ["--apply", str(tmp_path / "own.csv"), "--out", str(new)]
    lines, errors, status = review(*dataset[:3], f"dataset.queries={asked}", *given)
    assert status == 0, errors
    before, after = (review(*dataset[:3], f"dataset.queries={each}")[0][1] for each in (asked, new))
    assert lines[1].startswith("With these judgments, this configuration measures: Precision 0.")
    assert changes(lines[1]) == [changes(before)[0], changes(after)[0]]
    assert changes(before)[0] != changes(after)[0]


def test_in_place_keeps_the_old_file_and_a_link_to_it(review, dataset, table, folder, tmp_path):
    own, link = tmp_path / "questions.json", tmp_path / "links" / "q.json"
    own.write_bytes(before := (folder / "questions.json").read_bytes())
    own.chmod(0o640)
    link.parent.mkdir()
    link.symlink_to(own)
    applied = filled(table[0], tmp_path, "yes")
    lines, errors, status = review(*dataset[:3], f"dataset.queries={link}", "--apply", applied, "--in-place")
    assert status == 0, errors
    [kept] = tmp_path.glob("questions.json.*.bak")
    assert lines[2] == f"Written: {own} (before: {kept})"
    assert kept.read_bytes() == before
    assert kept.stat().st_mode == own.stat().st_mode
    assert own.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert json.loads(own.read_text())[5]["relevant_docs"] == ["anaemia.pdf#1", "anaemia.pdf#2"]


@pytest.fixture
def own(folder, tmp_path):
    """A copy of the questions that a test may change."""
    (tmp_path / "questions.json").write_bytes((folder / "questions.json").read_bytes())
    return tmp_path / "questions.json"


@pytest.fixture
def review_of_own(own, dataset, shared_application):
    places = [f"{name}={value}" for name, value in shared_application.places.items()]
    return Review.of(composed([*dataset[:3], f"dataset.queries={own}", *places]))


def verdict(path, row):
    path.write_text(f"query_id,unit,relevant\n{row}\n")
    return path


def test_two_reviews_at_once_lose_no_judgment(review_of_own, own, tmp_path):
    first = review_of_own.apply(verdict(tmp_path / "1.csv", "5,fever.pdf#1,no"), None)
    next(first)  # it has read the file
    table = verdict(tmp_path / "2.csv", "6,anaemia.pdf#2,yes")
    second = threading.Thread(target=lambda: list(review_of_own.apply(table, None)))
    second.start()
    second.join(3)  # it must wait; without a lock, it would be done by now
    list(first)
    second.join()
    rows = json.loads(own.read_text())
    assert rows[4]["relevant_docs"] == {"anaemia.pdf#3": 1, "fever.pdf#1": 0}
    assert rows[5]["relevant_docs"] == ["anaemia.pdf#1", "anaemia.pdf#2"]


def test_no_earlier_backup_is_overwritten(review_of_own, own, tmp_path):
    before = []
    for number, row in enumerate(["5,fever.pdf#1,no", "5,fever.pdf#2,no", "6,anaemia.pdf#2,yes"]):
        before.append(own.read_text())
        list(review_of_own.apply(verdict(tmp_path / f"{number}.csv", row), None))
    assert sorted(each.read_text() for each in tmp_path.glob("*.bak")) == sorted(before)


def test_nothing_is_written_through_a_link_that_somebody_has_put_there(review_of_own, own, tmp_path):
    table = verdict(tmp_path / "1.csv", "6,anaemia.pdf#2,yes")
    (tmp_path / "victim").write_text("mine")
    for name in (".questions.json.partial", ".new.json.partial", "out.json"):
        (tmp_path / name).symlink_to(tmp_path / "victim")
    list(review_of_own.apply(table, tmp_path / "new.json"))
    with pytest.raises(ConfigError, match=r"^--out: .*out.json exists; name a new file$"):
        list(review_of_own.apply(table, tmp_path / "out.json"))
    list(review_of_own.apply(table, None))
    assert (tmp_path / "victim").read_text() == "mine"
    assert (tmp_path / "new.json").read_text() == own.read_text()


def test_a_read_only_file_is_refused(review_of_own, own, tmp_path):
    before = own.read_text()
    own.chmod(0o444)
    with pytest.raises(ConfigError, match=r"^--in-place: .*questions.json is read-only"):
        list(review_of_own.apply(verdict(tmp_path / "1.csv", "6,anaemia.pdf#2,yes"), None))
    assert own.read_text() == before


def test_an_empty_table_changes_nothing(review_of_own, own, tmp_path):
    before = own.read_text()
    lines = list(review_of_own.apply(verdict(tmp_path / "1.csv", ""), None))
    assert lines[1] == "Nothing is filled in, so nothing was written."
    assert own.read_text() == before


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["--apply", "TABLE"], "--apply: expected --out FILE or --in-place with it"),
        (["--in-place"], "--in-place: expected --apply TABLE with it, and no --out"),
        (["--out", "OLD"], "exists; name a new file"),
        (["--out", "LINK"], "exists; name a new file"),
        (["--depth", "11"], "--depth: found 11, expected a number from 1 to 10"),
        (["--apply", "TABLE", "--out", "new.txt"], "expected a name that ends in .json, as questions.json does"),
        (["--apply", "MAYBE", "--out", "new.json"], "column relevant: found 'maybe', expected yes, no"),
        (["--out", "new.csv", "k=many"], "k: found 'many', expected a whole number"),
        (["--out", "new.csv", "task=answers"], "the task reviews no judgments; expected task=ranking"),
        (["sweep"], "sweep: expected the id of a run or of a sweep"),
    ],
)
def test_bad_input_gets_one_line_and_nothing_is_written(review, dataset, table, tmp_path, given, problem):  # noqa: PLR0917
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "new.csv")  # which does not exist
    words = {"TABLE": filled(table[0], tmp_path, "yes"), "OLD": str(table[0]), "LINK": str(link)}
    if "MAYBE" in given:
        words["MAYBE"] = filled(table[0], tmp_path, "maybe")
    given = [words.get(each, str(tmp_path / each) if each.startswith("new.") else each) for each in given]
    chosen = ["dataset=clinical_cases"] if "task=answers" in given else dataset
    lines, errors, status = review(*chosen, *given)
    assert (lines, status) == ([], 2), errors
    assert problem in errors.splitlines()[-1]
    assert not list(tmp_path.glob("new.*"))


@pytest.fixture(scope="module")
def run_sweep(shared_application):
    """Sweep over alpha; the sweep's id, and the first sentence of its decision."""

    def run(folder, *dataset):
        settings = ["retriever.alpha=0,1", "k=2"]
        process = shared_application.run("-m", folder, *dataset, *settings)
        assert process.returncode == 0, process.stderr
        [path] = Path(folder.partition("=")[2]).glob("**/decision.json")
        record = json.loads(path.read_text())
        return record["sweep"], record["headline"][0]

    return run


@pytest.fixture(scope="module")
def sweep(run_sweep, dataset, tmp_path_factory):
    return run_sweep(f"hydra.sweep.dir={tmp_path_factory.mktemp('sweep')}", *dataset)


def test_a_sweep_is_decided_as_if_its_dataset_had_the_judgments(review, run_sweep, sweep, dataset, table):
    folder = table[0].parent
    applied, new = filled(table[0], folder, "yes"), folder / "new.json"
    before, of_before = sweep
    review(*dataset, "--apply", applied, "--out", str(new))
    _, of_after = run_sweep(f"hydra.sweep.dir={folder / 'after'}", *dataset[:3], f"dataset.queries={new}")
    lines, errors, status = review(before, *dataset[2:], "--apply", applied)
    assert status == 0, errors
    assert lines[0] == "1 judgment of filled.csv."
    assert lines[1] == f"As judged: {of_before}"
    assert lines[2] == f"With these judgments: {of_after}"
    assert of_before != of_after
    assert lines[3].startswith("The choice would ")


def test_without_a_table_all_that_is_listed_counts_as_relevant(review, sweep, dataset):
    lines, errors, status = review(sweep[0], dataset[2], dataset[3])
    assert status == 0, errors
    assert lines[0].startswith("Not judged, although all of 3 unlike retrievers")
    assert lines[2].startswith("If all of them were relevant: ")


def test_another_dataset_than_the_recorded_one_is_refused(review, sweep, dataset, tmp_path):
    other = write_queries(tmp_path / "other.json", MANY[:3])
    _, errors, status = review(sweep[0], dataset[2], f"dataset.queries={other}")
    assert status == 2
    assert "small is not the dataset that was measured; name its files" in errors
