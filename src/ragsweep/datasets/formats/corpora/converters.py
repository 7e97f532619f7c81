"""Turns web pages and Word documents into Markdown."""

from __future__ import annotations

import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from io import BytesIO
from xml.etree import ElementTree

MAIN = "word/document.xml"
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
SPACE = "{http://www.w3.org/XML/1998/namespace}space"
AROUND_TEXT = (f"{W}bdo", f"{W}dir", f"{W}fldSimple", f"{W}ruby", f"{W}rubyBase")  # a direction, a field, a reading
EQUATIONS = {  # by the part of an equation, its line
    "f": "{num}/{den}",
    "sSup": "{e}^{sup}",
    "sSub": "{e}_{sub}",
    "sSubSup": "{e}_{sub}^{sup}",
    "rad": "√{e}",
    "nary": "{sign}_{sub}^{sup} {e}",
}
IGNORED = re.compile(r"An unrecognised element was ignored: (?:\{[^}]*\})?(\S+)")  # as mammoth says it


def page_as_markdown(page: str) -> str:
    """All text of a web page, as Markdown, without scripts, styles, images and readings of Japanese words.

    Nothing that it links to is fetched. A table within a cell of another one is a line of text, and a
    merged cell is one cell.
    """
    from bs4 import BeautifulSoup, ProcessingInstruction
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(page, "html.parser")
    for element in soup(["script", "style", "template", "noscript", "head", "rt", "rp"]):  # rt is how a word is read
        element.decompose()
    for text in soup.find_all(string=True):
        if isinstance(text, ProcessingInstruction):  # <?xml version="1.0"?>
            text.extract()
    for cell in soup(["td", "th"]):
        cell.attrs = {}  # a merged cell would become as many as the page says
    for table in reversed(soup("table")):  # the innermost first
        if table.find_parent(["td", "th"]) is not None:
            table.replace_with(f" {' '.join(table.get_text(' ').split())} ")
    converter = MarkdownConverter(
        heading_style="ATX",
        strip=["a", "img", "b", "strong", "i", "em"],
        escape_asterisks=False,
        escape_underscores=False,  # a_name stays one word
    )
    return str(converter.convert_soup(soup)).strip()


def word_as_markdown(document: bytes) -> tuple[str, Counter[str]]:
    """The body of a Word document, as Markdown with its tables, and how many elements are left out, by their names.

    Macros are not run, images and links not followed. An equation becomes one line, such as `E=mc^2` and `(a+b)/c`.

    Args:
        document: Its XML has no DOCTYPE.

    Raises:
        ElementTree.ParseError: A part is not XML.
        zipfile.BadZipFile: It is no archive.
    """
    import mammoth

    converted = mammoth.convert_to_html(BytesIO(_readable(document)), convert_image=lambda _: [])
    ignored = (IGNORED.match(message.message) for message in converted.messages)
    return page_as_markdown(converted.value), Counter(f"element {element[1]}" for element in ignored if element)


def _readable(document: bytes) -> bytes:
    """The document with equations as text, and without elements that the converter would drop with their text."""
    with zipfile.ZipFile(BytesIO(document)) as archive:
        parts = {part.filename: archive.read(part) for part in archive.infolist()}
    if MAIN not in parts:
        return document
    body = ElementTree.fromstring(parts[MAIN])  # without a DOCTYPE, it has no entities
    for parent in [*body.iter()]:
        parent[:] = [*_unwrapped(parent)]
        for place, child in enumerate(parent):
            if child.tag in (f"{M}oMath", f"{M}oMathPara"):
                run = ElementTree.Element(f"{W}r")
                ElementTree.SubElement(run, f"{W}t", {SPACE: "preserve"}).text = _line(child)
                parent[place] = run
                if parent.tag == f"{W}body":
                    parent[place] = ElementTree.Element(f"{W}p")
                    parent[place].append(run)
    written = BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, ElementTree.tostring(body) if name == MAIN else content)
    return written.getvalue()


def _unwrapped(parent: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """The child elements; wrappers around text are replaced by what they contain."""
    for child in parent:
        if child.tag in AROUND_TEXT:
            yield from _unwrapped(child)
        elif child.tag == f"{W}cr":
            yield ElementTree.Element(f"{W}br")
        elif child.tag != f"{W}rt":  # how a word is read
            yield child


def _line(element: ElementTree.Element) -> str:
    """An equation, or a part of one, in one line."""
    name = element.tag.removeprefix(M)
    if name in ("t", f"{W}t"):
        return element.text or ""
    lines = [(child.tag.removeprefix(M), _line(child)) for child in element]
    if name == "d":
        return f"({', '.join(line for child, line in lines if child == 'e')})"
    if name not in EQUATIONS:
        return "".join(line for _, line in lines)
    sign = element.find(f"{M}naryPr/{M}chr")
    parts = {"sign": "∫" if sign is None else sign.get(f"{M}val"), **{part: _grouped(line) for part, line in lines}}
    line = EQUATIONS[name].format_map(defaultdict(str, parts))
    return re.sub(r"[_^](?= |\^|$)", "", line)  # bounds that are not there


def _grouped(text: str) -> str:
    """A part of an equation, in parentheses unless it is one number or name."""
    return text if re.fullmatch(r"\w*|\([^()]*\)", text) else f"({text})"
