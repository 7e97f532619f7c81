"""Tables as CSV files: no cell is a formula, and every text and number is read back as it was."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragsweep.core.csv_files import as_it_was, as_text, read_per_query, write_table
from ragsweep.core.parsing import MalformedError

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1", "'=1", "''-1", "\n+1"]
HEAD = '"query_id","query","query_type","f1","retrieved","relevant"\n'


def table(texts, numbers):
    return pd.DataFrame({"query_id": texts, "query": texts, "query_type": "", "f1": numbers}).assign(
        retrieved=texts, relevant=texts
    )


@given(st.lists(st.tuples(TEXT, st.floats(allow_nan=False, allow_infinity=False)), min_size=1))
@example([(text, -0.1) for text in [*FORMULAS, "", "'", 'a "b", c', "a\r\nb\rc\nd", "NA", "\0", "'a"]])
def test_what_is_written_is_read_back(tmp_path_factory, rows):
    written = table([text for text, _ in rows], [number for _, number in rows])
    path = tmp_path_factory.mktemp("table") / "per_query.csv"
    write_table(path, written)
    assert read_per_query(path).to_dict("list") == written.to_dict("list")


def test_a_text_is_no_formula_and_others_stay_as_they_are():
    for text in FORMULAS:
        assert as_text(text) == f"'{text}"
        assert as_it_was(as_text(text)) == text
    for text in ("", "'", "'a", "a=b", "5-1", "https://x.org/?a=b"):
        assert as_text(text) == as_it_was(text) == text


def test_numbers_and_their_heads_stay_numbers_and_names(tmp_path):
    write_table(tmp_path / "t.csv", pd.DataFrame({"=x": [-0.5, 1.0], "swept": [None, -1], "text": ["-1", "b"]}))
    rows = list(csv.reader(io.StringIO((tmp_path / "t.csv").read_text())))
    assert rows == [["'=x", "swept", "text"], ["-0.5", "", "'-1"], ["1.0", "-1.0", "b"]]


def test_a_time_that_is_not_known_is_empty_and_no_other_number_may_be(tmp_path):
    table = pd.DataFrame({"query_id": ["1", "2"], "query": "q", "query_type": "", "time_ms": [np.nan, 2.5]})
    write_table(tmp_path / "t.csv", table)
    pd.testing.assert_frame_equal(read_per_query(tmp_path / "t.csv"), table)
    write_table(tmp_path / "t.csv", table.rename(columns={"time_ms": "f1"}))
    with pytest.raises(MalformedError, match="column f1"):
        read_per_query(tmp_path / "t.csv")


REFUSED = [
    ("", "at least one row"),
    (HEAD, "at least one row"),
    (HEAD + '"1","q","",0.5\n', "each with 6 cells"),
    (HEAD + '"1","q","",0.5,"a","b","c"\n', "each with 6 cells"),
    (HEAD + '"1","q","",x,"a","b"\n', "expected texts between quotes"),
    (HEAD + '1,"q","",0.5,"a","b"\n', "column query_id: found a number, expected text"),
    (HEAD + '"1","q","",0.5,"a","b"\n"2","q","","x","a","b"\n', "column f1: found 'x', expected a number"),
    (HEAD + '"1","q","",nan,"a","b"\n', "column f1: found 'nan', expected a number"),
    (HEAD + '"1","q","",inf,"a","b"\n', "column f1: found 'inf', expected a number"),
    (HEAD + f'"1","q","",{"9" * 5000},"a","b"\n', "expected a number"),
    (HEAD.replace('"f1"', '"f1","f1"') + '"1","q","",1,1,"a","b"\n', "columns that no table of queries has"),
    (HEAD.replace("f1", "run_id") + '"1","q","",1,"a","b"\n', "columns that no table of queries has"),
    (HEAD.replace('"f1"', ",".join(map(str, range(200)))) + "1\n", "columns that no table of queries has"),
    (HEAD.replace("query_type", "type") + '"1","q","",1,"a","b"\n', "has no column query_type"),
    (HEAD + '"1","q', "is not CSV"),
]


def test_another_table_is_refused_with_the_reason(tmp_path):
    for text, reason in REFUSED:
        (tmp_path / "per_query.csv").write_text(text)
        with pytest.raises(MalformedError, match=reason):
            read_per_query(tmp_path / "per_query.csv")
