"""Abbreviations and ordinals of European languages, for a model of sentences that knows English only."""

# ruff: noqa: RUF001

from __future__ import annotations

import re

# Nothing ends behind these. None is a word of English, and none often ends a sentence of its language, as "usw." does.
# A dot is one with or without a space behind it, "_" is a space.
ABBREVIATIONS = """
    Abb Abschn bspw bzgl bzw d.h engl evtl ggf hrsg inkl einschl insb insbes i.d.R Kap o.g sog u.a u.U vgl z.B z.T zzgl
    Dipl chap éd p.ex Mme Mgr
    Sr Sra Sres Srta Dra Dres Ud Uds pág págs núm núms p.ej
    np tzn tzw tj m.in zob rys ul inż
    dott sig sigg sig.ra dott.ssa avv cfr pag pagg ad_es p.es
    bijv d.w.z m.a.w o.a o.m t.o.v i.v.m m.b.t n.a.v t.a.v blz dhr mevr drs
    см рис стр табл т.е т.к напр проф акад ул
    π.χ δηλ βλ σελ εικ κεφ πρβλ
    např tzv obr esim dvs t.ex bl.a f.eks
"""
# Nothing ends behind these before a digit or a lower-case letter. Some are words of English.
BEFORE_NUMBERS = """
    Abs aprox av Bd ca cap excl lt max mind Nr pkt por poz str tab Ziff гл αρ
"""
# These end sentences, but not before a lower-case letter.
BEFORE_LOWER_CASE = "usw ecc es ff geb MwSt Mrd itd itp enz a.u.b г др млн млрд руб т.д т.п κ.λπ"
MONTHS = "Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
LONGEST_ABBREVIATION = 20  # characters, with spaces behind its dots and behind it


def _any_of(abbreviations: str) -> str:
    spelled = sorted({form for each in abbreviations.split() for form in (each, each[0].upper() + each[1:])})
    return "|".join(re.escape(form).replace(r"\.", r"\.\s?").replace("_", r"\s") for form in spelled)


INITIALS = r"[^\W\d_]\.-[^\W\d_]"  # J.-P.
ORDINAL = r"(?:[Ii]m|vom|zum|zur|[Dd]er|[Dd]as|dem|den|des)\s\d{1,2}"  # im 19. Jahrhundert


def _before(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-])(?:{pattern})\.\s*\Z")


ENDS_NOTHING = _before(f"{_any_of(ABBREVIATIONS)}|{INITIALS}|{ORDINAL}")
ENDS_NOTHING_BEFORE_NUMBERS = _before(_any_of(BEFORE_NUMBERS))
ENDS_NOTHING_BEFORE_LOWER_CASE = _before(f"{_any_of(BEFORE_NUMBERS)}|{_any_of(BEFORE_LOWER_CASE)}")
DAY = _before(r"\d{1,2}")
MONTH = re.compile(rf"(?:{MONTHS})\b")


def goes_on_at(text: str, position: int) -> bool:
    """Whether a sentence goes on at a position, as an abbreviation or an ordinal stands before it."""
    start, after = max(0, position - LONGEST_ABBREVIATION), text[position : position + 1]
    if after.islower():
        patterns = [ENDS_NOTHING, ENDS_NOTHING_BEFORE_LOWER_CASE]
    elif after.isdigit():
        patterns = [ENDS_NOTHING, ENDS_NOTHING_BEFORE_NUMBERS]
    else:
        patterns = [ENDS_NOTHING, DAY] if MONTH.match(text, position) else [ENDS_NOTHING]
    return any(pattern.search(text, start, position) for pattern in patterns)
