"""Settings of odd names, through a shell's quoting, Hydra and OmegaConf."""

import shlex

from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import example, given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from ragsweep.core.project import typed

ODD = [
    *("a b", "a,b", "it's", 'say "x"', "{x}", "[x]", "a{b,c}", "$HOME", "${seed}", "a${b", "\\${x}", "\\\\${x}\\"),
    *("a\\", "\\'", '\\"', " a ", "a=b", "a:b", "#1", "~", "*", "x(y)", "é", "100%", "-", "", "a;b", "`x`", "!x"),
    *("0123", "1e5", "2024", "-1", "1_0", ".5", "true", "No", "null", "nan", "-inf", "1.pdf", "??"),
]


def read(argument):
    """The value that a configuration gets from what is typed."""
    [override] = shlex.split(argument)
    parsed = OverridesParser.create().parse_override(override)
    return OmegaConf.to_container(OmegaConf.create({"typed": parsed.value()}), resolve=True)["typed"]


def test_an_odd_name_is_read_as_it_was():
    assert [text for text in ODD if read(typed("dataset.name", text)) != text] == []
    assert [text for text in ODD if read(typed("dataset.skip", [text, "a.pdf"])) != [text, "a.pdf"]] == []


CHARACTERS = st.characters(codec="utf-8", exclude_categories=("Cc",)) | st.sampled_from("'\"\\${}[],: =")


@given(st.text(CHARACTERS, max_size=12).filter(lambda text: text != "???"))
@example("\\'\\\"${a\\")
def test_any_name_is_read_as_it_was(text):
    assert read(typed("dataset.name", text)) == text
    assert read(typed("dataset.skip", [text, text])) == [text, text]


def test_what_needs_no_quotes_gets_none():
    assert typed("corpus.path", "my_pdfs/a-1.pdf") == "corpus.path=my_pdfs/a-1.pdf"
