"""What is done to a Word document before it is converted: what the converter cannot read becomes what it can read.

These are equations, text boxes, and text in elements that it does not know. What is dropped is counted.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from xml.etree import ElementTree

MAIN = "word/document.xml"
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
V = "{urn:schemas-microsoft-com:vml}"
COMPATIBLE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
TEXT_BOX = f"{W}txbxContent"
AROUND_TEXT = tuple(f"{W}{name}" for name in ("bdo", "dir", "fldSimple"))  # a direction of writing, a field
REWRITTEN = (b"oMath", b":bdo", b":dir>", b":dir ", b":fldSimple", b":ruby>", b":cr/>", b":cr ", b"txbxContent")
SPACE = "{http://www.w3.org/XML/1998/namespace}space"
PARTS = {  # what the parts of a document are that no converter reads, by the pattern of their names
    "header": re.compile(r"word/header\d*\.xml"),
    "footer": re.compile(r"word/footer\d*\.xml"),
    "chart": re.compile(r"word/charts/chart\d*\.xml"),
    "diagram": re.compile(r"word/diagrams/data\d*\.xml"),
    "embedded file": re.compile(r"word/embeddings/.+"),
    "file of comments": re.compile(r"word/comments\.xml"),
}
PARTS_WITH_TEXT = {"header", "footer", "file of comments"}  # of these, only parts with a text count
IGNORED = re.compile(r"An unrecognised element was ignored: (?:\{[^}]*\})?(\S+)")  # as mammoth says it


def as_readable(content: bytes) -> tuple[bytes, Counter[str]]:
    """A Word document as the converter can read it, and how many parts it has that are dropped, by what they are.

    An equation becomes one line, such as `E=mc^2` and `(a+b)/c`.

    Args:
        content: The document, whose XML has no DOCTYPE.

    Raises:
        ElementTree.ParseError: A part is not XML.
        zipfile.BadZipFile: It is no archive.
    """
    dropped: Counter[str] = Counter()
    with zipfile.ZipFile(BytesIO(content)) as archive:
        parts = {part.filename: part for part in archive.infolist()}
        for name in parts:
            for what, pattern in PARTS.items():
                if pattern.fullmatch(name) and (what not in PARTS_WITH_TEXT or _has_text(archive.read(name))):
                    dropped[what] += 1
        xml = archive.read(MAIN) if MAIN in parts else b""
        if not any(mark in xml for mark in REWRITTEN):
            return content, dropped
        body = ElementTree.fromstring(xml)  # without a DOCTYPE, it has no entities
        for parent in [*body.iter()]:
            parent[:] = [*_readable_in(parent)]
            for place, child in enumerate(parent):
                if child.tag in (f"{M}oMath", f"{M}oMathPara"):
                    parent[place] = _as_run(child, in_paragraph=parent.tag != f"{W}body")
        written = BytesIO()
        with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new:
            for name in parts:
                new.writestr(name, ElementTree.tostring(body) if name == MAIN else archive.read(name))
    return written.getvalue(), dropped


def _readable_in(parent: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """The elements within one, of which those that the converter ignores are replaced by what they contain."""
    for child in parent:
        if child.tag in AROUND_TEXT:
            yield from _readable_in(child)
        elif child.tag == f"{W}ruby":  # a word, and how it is read
            base = child.find(f"{W}rubyBase")
            yield from () if base is None else _readable_in(base)
        elif child.tag == f"{W}cr":
            yield ElementTree.Element(f"{W}br")
        elif boxes := _unread_boxes(child):
            picture = ElementTree.Element(f"{W}pict")
            ElementTree.SubElement(picture, f"{V}textbox").extend(boxes)
            yield picture
        else:
            yield child


def _unread_boxes(element: ElementTree.Element) -> list[ElementTree.Element]:
    """The texts of the text boxes of a drawing that older programs do not get in another form."""
    drawn: ElementTree.Element | None = element
    if element.tag == f"{COMPATIBLE}AlternateContent":
        old_form = element.find(f"{COMPATIBLE}Fallback")
        is_read = old_form is not None and next(_boxes(old_form), None) is not None
        drawn = None if is_read else element.find(f"{COMPATIBLE}Choice")
    elif element.tag != f"{W}drawing":
        return []
    return [] if drawn is None else [*_boxes(drawn)]


def _boxes(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """The outermost text boxes."""
    for child in element:
        if child.tag == TEXT_BOX:
            yield child
        else:
            yield from _boxes(child)


def ignored_elements(messages: list[str]) -> Counter[str]:
    """The elements that the converter says it has ignored, by what they are called in a notice."""
    return Counter(f"element {found[1]}" for message in messages if (found := IGNORED.match(message)))


def _has_text(xml: bytes) -> bool:
    return any((text.text or "").strip() for text in ElementTree.fromstring(xml).iter(f"{W}t"))


def _as_run(equation: ElementTree.Element, *, in_paragraph: bool) -> ElementTree.Element:
    run = ElementTree.Element(f"{W}r")
    text = ElementTree.SubElement(run, f"{W}t", {SPACE: "preserve"})
    text.text = _line(equation)
    if in_paragraph:
        return run
    paragraph = ElementTree.Element(f"{W}p")
    paragraph.append(run)
    return paragraph


def _line(element: ElementTree.Element) -> str:
    """An equation, or a part of one, in one line."""
    name = element.tag.removeprefix(M)
    if name in ("t", f"{W}t"):
        return element.text or ""
    lines = [(child.tag.removeprefix(M), _line(child)) for child in element]
    parts = dict(lines)
    if name in LINES:
        return LINES[name](parts)
    if name == "nary":
        sign = element.find(f"{M}naryPr/{M}chr")
        symbol = (sign.get(f"{M}val") if sign is not None else None) or "∫"
        bounds = (f"{mark}{_grouped(parts[bound])}" for mark, bound in (("_", "sub"), ("^", "sup")) if parts.get(bound))
        return f"{symbol}{''.join(bounds)} {parts.get('e', '')}"
    if name in ENCLOSED:
        begin, separator, end = ENCLOSED[name]
        return f"{begin}{separator.join(line for child, line in lines if child in ('e', 'mr', 'oMath'))}{end}"
    return "".join(line for _, line in lines)


def _grouped(text: str) -> str:
    """A part of an equation, in parentheses unless it is one number or name."""
    return text if re.fullmatch(r"\w*|\([^()]*\)", text) else f"({text})"


ENCLOSED = {  # what is around the parts of an equation, and between them
    "d": ("(", ", ", ")"),
    "m": ("[", "; ", "]"),
    "eqArr": ("[", "; ", "]"),
    "mr": ("", ", ", ""),
    "oMathPara": ("", "; ", ""),
}
LINES: Mapping[str, Callable[[Mapping[str, str]], str]] = {
    "f": lambda parts: f"{_grouped(parts.get('num', ''))}/{_grouped(parts.get('den', ''))}",
    "sSup": lambda parts: f"{_grouped(parts.get('e', ''))}^{_grouped(parts.get('sup', ''))}",
    "sSub": lambda parts: f"{_grouped(parts.get('e', ''))}_{_grouped(parts.get('sub', ''))}",
    "sSubSup": lambda parts: (
        f"{_grouped(parts.get('e', ''))}_{_grouped(parts.get('sub', ''))}^{_grouped(parts.get('sup', ''))}"
    ),
    "rad": lambda parts: f"√{'[' + parts['deg'] + ']' if parts.get('deg') else ''}({parts.get('e', '')})",
    "func": lambda parts: f"{parts.get('fName', '')}({parts.get('e', '')})",
}
