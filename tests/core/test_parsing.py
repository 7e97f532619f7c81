"""Reading JSON and YAML of any origin: a value, or one line, and soon; and files that one process at a time writes."""

import gzip
import json
from contextlib import suppress

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.locks import locked
from ragsweep.core.parsing import DEEPEST_NESTING, MalformedError, from_json, from_yaml, read_lines, read_text

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(PLAIN)
def test_plain_values_are_read_as_they_were_written(value):
    assert from_json(json.dumps(value)) == value
    text = yaml.safe_dump(value)
    assert from_yaml(text) == yaml.safe_load(text)


@given(st.text())
def test_any_text_is_a_value_or_malformed_json(text):
    with suppress(MalformedError):
        from_json(text)


@given(st.text(alphabet="{}[]&*!:-? \n\"'#|>%@`a1.e~"))
def test_any_text_is_a_value_or_malformed_yaml(text):
    with suppress(MalformedError):
        from_yaml(text)


BEYOND_JSON = [
    ("[" * 100_000, "nested more than"),
    ("[" * (DEEPEST_NESTING + 1) + "]" * (DEEPEST_NESTING + 1), "nested more than"),
    ('{"a":' * 900 + "1" + "}" * 900, "nested more than"),
    ("9" * 5_000, "thousands of digits"),
    ("NaN", "holds NaN"),
    ('[{"a": 1, "b": 2, "a": 1}]', "an object has the field 'a' twice"),
    ("[1,\n2,]", "line 2"),
]
BEYOND_YAML = [
    ("a: &a [1]\nb: *a", r"alias \(line 2\)"),
    ("a: &a [*a]", "alias"),
    ("[" * 5_000, "nested more than"),
    ("a: " + "9" * 5_000, "cannot be converted"),
    ("a: 2001-99-99", "cannot be converted"),
    ("a: !!python/object/apply:os.system [id]", "not plain YAML"),
    ("a: [1", "not plain YAML"),
]


@pytest.mark.usefixtures("long_work")
def test_what_is_beyond_the_limits_is_malformed():
    assert from_json("[" * DEEPEST_NESTING + "]" * DEEPEST_NESTING) is not None
    for parse, table in ((from_json, BEYOND_JSON), (from_yaml, BEYOND_YAML)):
        for text, reason in table:
            with pytest.raises(MalformedError, match=reason):
                parse(text)


def test_lines_are_read_with_their_numbers_and_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    (tmp_path / "file").write_bytes(b"\xef\xbb\xbfword")
    assert read_text(tmp_path / "file", 1) == "word"
    content = b"\xef\xbb\xbfone\r\n\ntwo"
    (tmp_path / "lines").write_bytes(content)
    (tmp_path / "lines.gz").write_bytes(gzip.compress(content))
    for name in ("lines", "lines.gz"):
        assert list(read_lines(tmp_path / name, 1)) == [(1, "one\r\n"), (2, "\n"), (3, "two")]


NO_TEXT = [
    ("file", b"one\nna\xefve", r"not UTF-8 \(line 2\)"),
    *(("file", utf_16, r"not UTF-8 \(line 1\)") for utf_16 in (b"\xff\xfe", b"\xfe\xff\0K", "KEY=1".encode("utf-16"))),
    ("file", b"one\n" + b"a" * 2_000, r"larger than 0\.001 MB"),
    ("file.gz", gzip.compress(b"a" * 10**7), r"larger than 0\.001 MB \(line 1\)"),
    ("file.gz", gzip.compress(b"one")[:-4], "cannot be unzipped to its end"),
    ("file.gz", b"one", "cannot be unzipped to its end"),
]


def test_a_file_that_is_no_text_or_too_large_is_malformed(tmp_path):
    for name, content, reason in NO_TEXT:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(MalformedError, match=reason):
            list(read_lines(tmp_path / name, 0.001))
        if name == "file":
            with pytest.raises(MalformedError, match=reason):
                read_text(tmp_path / name, 0.001)
    with pytest.raises(MalformedError, match="not a file"):
        read_text(tmp_path, 1)


def test_a_lock_follows_no_link(tmp_path):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / ".old.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "old", 1):
        pass
    assert (tmp_path / "victim").read_text() == "mine"
