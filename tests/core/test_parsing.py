"""JSON, YAML and CSV of any origin: read as it was written, or refused in one line, and soon; settings of odd names."""

import csv
import gzip
import io
import json
import shlex
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import example, given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from ragsweep.core.csv_files import as_it_was, as_text, read_per_query, write_table
from ragsweep.core.locks import locked
from ragsweep.core.parsing import DEEPEST_NESTING, MalformedError, from_json, from_yaml, read_lines, read_text
from ragsweep.core.project import typed

NUMBERS = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def reason(read, *given):
    """Why something is malformed; empty if it is read."""
    try:
        read(*given)
    except MalformedError as error:
        return str(error)
    return ""


@given(PLAIN)
def test_plain_values_are_read_as_they_were_written(value):
    assert from_json(json.dumps(value)) == value
    text = yaml.safe_dump(value)
    assert from_yaml(text) == yaml.safe_load(text)


@given(st.text(), st.text(alphabet="{}[]&*!:-? \n\"'#|>%@`a1.e~"))
def test_any_text_is_a_value_or_malformed(text, marks):
    with suppress(MalformedError):
        from_json(text)
    with suppress(MalformedError):
        from_yaml(marks)


TOO_DEEP = "[" * (DEEPEST_NESTING + 1) + "]" * (DEEPEST_NESTING + 1)
BEYOND = [
    (from_json, "[" * 100_000, "nested more than"),
    (from_json, TOO_DEEP, "nested more than"),
    (from_json, '{"a":' * 900 + "1" + "}" * 900, "nested more than"),
    (from_json, "9" * 5_000, "thousands of digits"),
    (from_json, "NaN", "holds NaN"),
    (from_json, '[{"a": 1, "b": 2, "a": 1}]', "an object has the field 'a' twice"),
    (from_json, "[1,\n2,]", "line 2"),
    (from_yaml, "a: &a [1]\nb: *a", "alias (line 2)"),
    (from_yaml, "a: &a [*a]", "alias"),
    (from_yaml, "[" * 5_000, "nested more than"),
    (from_yaml, "a: " + "9" * 5_000, "cannot be converted"),
    (from_yaml, "a: 2001-99-99", "cannot be converted"),
    (from_yaml, "a: !!python/object/apply:os.system [id]", "not plain YAML"),
    (from_yaml, "a: [1", "not plain YAML"),
]


@pytest.mark.usefixtures("long_work")
def test_what_is_beyond_the_limits_is_malformed():
    assert from_json(TOO_DEEP[1:-1])
    assert [(parse, text[:99]) for parse, text, fact in BEYOND if fact not in reason(parse, text)] == []


def test_lines_are_read_with_their_numbers_and_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    (tmp_path / "file").write_bytes(b"\xef\xbb\xbfword")
    assert read_text(tmp_path / "file", 1) == "word"
    content = b"\xef\xbb\xbfone\r\n\ntwo"
    (tmp_path / "lines").write_bytes(content)
    (tmp_path / "lines.gz").write_bytes(gzip.compress(content))
    for name in ("lines", "lines.gz"):
        assert list(read_lines(tmp_path / name, 1)) == [(1, "one\r\n"), (2, "\n"), (3, "two")]


NO_TEXT = [  # a file, what both readers say, and which line is named by the one of lines
    ("file", b"one\nna\xefve", "not UTF-8 (line 2)", "line 2"),
    ("file", b"\xff\xfe", "not UTF-8 (line 1)", "line 1"),
    ("file", b"\xfe\xff\0K", "not UTF-8 (line 1)", "line 1"),
    ("file", "KEY=1".encode("utf-16"), "not UTF-8 (line 1)", "line 1"),
    ("file", b"one\n" + b"a" * 2_000, "larger than 0.001 MB", "line 2"),
    ("file.gz", gzip.compress(b"a" * 10**7), "larger than 0.001 MB", "line 1"),
    ("file.gz", gzip.compress(b"one")[:-4], "cannot be unzipped to its end", ""),
    ("file.gz", b"one", "cannot be unzipped to its end", ""),
]


def test_a_file_that_is_no_text_or_too_large_is_malformed(tmp_path):
    reasons = []
    for name, content, fact, place in NO_TEXT:
        path = tmp_path / name
        path.write_bytes(content)
        by_line = reason(lambda path=path: [*read_lines(path, 0.001)])
        reasons += [(reason(read_text, path, 0.001), fact), (by_line, fact), (by_line, place)]
    assert [(line, fact) for line, fact in reasons if fact not in line] == []
    assert reason(read_text, tmp_path, 1) == "not a file"


def test_a_lock_follows_no_link(tmp_path):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / ".old.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "old", 1):
        pass
    assert (tmp_path / "victim").read_text() == "mine"


# Tables as CSV files: no cell is a formula, and every text and number is read back

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1", "'=1", "''-1", "\n+1"]
NO_FORMULAS = ["", "'", "'a", "a=b", "5-1", "https://x.org/?a=b"]


@given(st.lists(st.tuples(TEXT, st.floats(allow_nan=False, allow_infinity=False)), min_size=1))
@example([(text, -0.1) for text in [*FORMULAS, *NO_FORMULAS, 'a "b", c', "a\r\nb\rc\nd", "NA", "\0"]])
def test_what_is_written_is_read_back(tmp_path_factory, rows):
    texts, numbers = ([*column] for column in zip(*rows, strict=True))
    written = dict.fromkeys(("query_id", "query", "retrieved", "relevant"), texts)
    written |= {"query_type": [""] * len(texts), "f1": numbers}
    path = tmp_path_factory.mktemp("table") / "per_query.csv"
    write_table(path, pd.DataFrame(written))
    assert read_per_query(path).to_dict("list") == written


def test_a_text_is_no_formula_and_others_and_numbers_stay_as_they_are(tmp_path):
    assert [as_text(text) for text in FORMULAS] == [f"'{text}" for text in FORMULAS]
    assert [as_it_was(f"'{text}") for text in FORMULAS] == FORMULAS
    assert [as_text(text) for text in NO_FORMULAS] == [as_it_was(text) for text in NO_FORMULAS] == NO_FORMULAS
    write_table(tmp_path / "t.csv", pd.DataFrame({"=x": [-0.5, 1.0], "swept": [None, -1], "text": ["-1", "b"]}))
    rows = list(csv.reader(io.StringIO((tmp_path / "t.csv").read_text())))
    assert rows == [["'=x", "swept", "text"], ["-0.5", "", "'-1"], ["1.0", "-1.0", "b"]]


def test_a_time_that_is_not_known_is_empty_and_no_other_number_may_be(tmp_path):
    table = pd.DataFrame({"query_id": ["1", "2"], "query": "q", "query_type": "", "time_ms": [np.nan, 2.5]})
    write_table(tmp_path / "t.csv", table)
    pd.testing.assert_frame_equal(read_per_query(tmp_path / "t.csv"), table)
    write_table(tmp_path / "t.csv", table.rename(columns={"time_ms": "f1"}))
    assert "column f1" in reason(read_per_query, tmp_path / "t.csv")


HEAD = '"query_id","query","query_type","f1","retrieved","relevant"\n'
REFUSED = [
    ("", "at least one row"),
    (HEAD, "at least one row"),
    (HEAD + '"1","q","",0.5\n', "each with 6 cells"),
    (HEAD + '"1","q","",0.5,"a","b","c"\n', "each with 6 cells"),
    (HEAD + '"1","q","",x,"a","b"\n', "expected texts between quotes"),
    (HEAD + '1,"q","",0.5,"a","b"\n', "column query_id: found a number"),
    (HEAD + '"1","q","",0.5,"a","b"\n"2","q","","x","a","b"\n', "column f1: found 'x'"),
    (HEAD + '"1","q","",nan,"a","b"\n', "column f1: found 'nan'"),
    (HEAD + '"1","q","",inf,"a","b"\n', "column f1: found 'inf'"),
    (HEAD + f'"1","q","",{"9" * 5000},"a","b"\n', "expected a number"),
    (HEAD.replace('"f1"', '"f1","f1"') + '"1","q","",1,1,"a","b"\n', "columns that no table of queries has"),
    (HEAD.replace("f1", "run_id") + '"1","q","",1,"a","b"\n', "columns that no table of queries has"),
    (HEAD.replace('"f1"', ",".join(map(str, range(200)))) + "1\n", "columns that no table of queries has"),
    (HEAD.replace("query_type", "type") + '"1","q","",1,"a","b"\n', "no column query_type"),
    (HEAD + '"1","q', "is not CSV"),
]


def test_another_table_is_refused_with_the_reason(tmp_path):
    reasons = []
    for text, fact in REFUSED:
        (tmp_path / "per_query.csv").write_text(text)
        reasons.append((reason(read_per_query, tmp_path / "per_query.csv"), fact))
    assert [(line, fact) for line, fact in reasons if fact not in line] == []


# Settings of odd names, through a shell's quoting, Hydra and OmegaConf

ODD = [
    *("a b", "a,b", "it's", 'say "x"', "{x}", "[x]", "a{b,c}", "$HOME", "${seed}", "a${b", "\\${x}", "\\\\${x}\\"),
    *("a\\", "\\'", '\\"', " a ", "a=b", "a:b", "#1", "~", "*", "x(y)", "é", "100%", "-", "", "a;b", "`x`", "!x"),
    *("0123", "1e5", "2024", "-1", "1_0", ".5", "true", "No", "null", "nan", "-inf", "1.pdf", "??"),
]
CHARACTERS = st.characters(codec="utf-8", exclude_categories=("Cc",)) | st.sampled_from("'\"\\${}[],: =")


def read_as_typed(value):
    """The value that a configuration gets from what is typed for this one."""
    [override] = shlex.split(typed("dataset.name", value))
    parsed = OverridesParser.create().parse_override(override)
    return OmegaConf.to_container(OmegaConf.create({"typed": parsed.value()}), resolve=True)["typed"]


@given(st.text(CHARACTERS, max_size=12).filter(lambda text: text != "???"))
@example("\\'\\\"${a\\")
def test_any_name_is_read_as_it_was(text):
    assert [read_as_typed(text), read_as_typed([text, text])] == [text, [text, text]]


def test_an_odd_name_is_read_as_it_was_and_what_needs_no_quotes_gets_none():
    assert [text for text in ODD if read_as_typed(text) != text] == []
    assert [text for text in ODD if read_as_typed([text, "a.pdf"]) != [text, "a.pdf"]] == []
    assert typed("corpus.path", "my_pdfs/a-1.pdf") == "corpus.path=my_pdfs/a-1.pdf"
