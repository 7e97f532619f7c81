"""PDF files whose font is in the file, or is not."""

TWO_LETTERS = "<002b0048> Tj"


def written(path, font, *more_objects, text="(Fever) Tj"):
    """A PDF of one page, whose font is the first of these objects."""
    content = f"BT /F1 20 Tf 20 100 Td {text} ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R"
        " /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        font,
        *more_objects,
    ]
    text, offsets = "%PDF-1.4\n", []
    for number, object_ in enumerate(objects, start=1):
        offsets.append(len(text))
        text += f"{number} 0 obj\n{object_}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    text += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    text += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{text.index('xref')}\n%%EOF"
    path.write_text(text)
    return path


def standard(path):
    return written(path, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")


def without_font(path, name="LiberationSans"):
    """Letters by their number in a font that is not in the file."""
    return written(
        path,
        f"<< /Type /Font /Subtype /Type0 /BaseFont /{name} /Encoding /Identity-H /DescendantFonts [6 0 R] >>",
        f"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /{name} /FontDescriptor 7 0 R"
        " /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
        f"<< /Type /FontDescriptor /FontName /{name} /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800"
        " /Descent -200 /CapHeight 700 /StemV 80 >>",
        text=TWO_LETTERS,
    )
