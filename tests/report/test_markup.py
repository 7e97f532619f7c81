"""Any text in Markdown shows literally and cannot act as markup."""

import re
from html import escape, unescape

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ragsweep.core.terminal import one_line
from ragsweep.report.markup import code, markdown, plain

RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
PIECES = [
    *"a _ * ` [x] (http://x.org) ![i](y) <b> <!-- # - + = 1. 12) ~~ | $ \\ & &amp; @me www.x.org : \n { ^ >".split(" "),
    "\u202e",
    " ",
]
TEXT = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)


def text_of(html):
    """The text that a reader sees. Fails if there are other tags than our own."""
    ours = r"</?(?:p|ul|li|table|thead|tbody|tr|th|td|code|h1)(?: style=\"[a-z:-]+\")?>"
    assert "<" not in re.sub(ours, "", html)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


PLACES = {  # where a text stands, and what a reader sees there
    "{}": "{}",
    "# {}": "{}",
    "- {}": "{}",
    "- {} ({})": "{} ({})",
    "| a | b |\n| --- | --- |\n| {} | {} |": "a b {} {}",
}


@given(TEXT)
@example("<script>alert(1)</script> | ![x](http://x.org/y.png) `a` _b_ **c**")
@example("- # 1. > x")
@example("___")
@example("a #")
def test_a_value_is_text_in_every_place(text):
    for template, seen in PLACES.items():
        html = RENDERER.render(template.replace("{}", markdown(text)))
        assert text_of(html) == " ".join(seen.replace("{}", one_line(text)).split())


@given(TEXT)
def test_code_is_code(text):
    if one_line(text):
        html = RENDERER.render(f"- Run: {code(text)}")
        assert re.fullmatch(r"<ul>\n<li>Run: <code>[^<]*</code></li>\n</ul>\n", html)


def test_plain_text_is_no_markup():
    for text in ("[a](https://a.example)", "![a](b)", "<img src=a>", "<a href='b'>", "p <= 0.05 [0, 1]"):
        html = RENDERER.render(plain(text))
        assert html == f"<p>{escape(plain(text), quote=False)}</p>\n"
        assert plain(text).replace(" ", "") == text.replace(" ", "")
