"""Turns web pages and Word documents into Markdown."""

from __future__ import annotations

from collections import Counter
from io import BytesIO
from typing import NamedTuple

from ragsweep.datasets.formats.corpora.html_tables import flatten_tables
from ragsweep.datasets.formats.corpora.word import as_readable, ignored_elements


def all_as_markdown(page: str) -> str:
    """All text of a web page, as Markdown, without scripts, styles, images and readings of Japanese words.

    Nothing that it links to is fetched.
    """
    from bs4 import BeautifulSoup, ProcessingInstruction
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(page, "html.parser")
    for element in soup(["script", "style", "template", "noscript", "head", "rt", "rp"]):  # rt is how a word is read
        element.decompose()
    for text in soup.find_all(string=True):
        if isinstance(text, ProcessingInstruction):  # <?xml version="1.0"?>
            text.extract()
    flatten_tables(soup)
    converter = MarkdownConverter(
        heading_style="ATX",
        strip=["a", "img", "b", "strong", "i", "em"],
        escape_asterisks=False,
        escape_underscores=False,  # a_name stays one word
    )
    return str(converter.convert_soup(soup)).strip()


class Converted(NamedTuple):
    """A Word document as text, and how many parts are left out, by what they are."""

    text: str
    dropped: Counter[str]


def body_as_markdown(document: bytes) -> Converted:
    """The body of a Word document, as Markdown with its tables. Macros are not run, images and links not followed."""
    import mammoth

    document, dropped = as_readable(document)
    converted = mammoth.convert_to_html(BytesIO(document), convert_image=lambda _: [])
    dropped += ignored_elements([message.message for message in converted.messages])
    return Converted(all_as_markdown(converted.value), dropped)
