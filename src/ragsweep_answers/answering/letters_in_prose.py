"""Tells a letter that names an option from one that is a word, or a part of a name."""

from __future__ import annotations

import re

from ragsweep_answers.answering.answer_words import AFTER_NOUN, ANSWER, BAD, EXCEPT, GOOD, IS

# A letter, but not that of B12, I'm, D-dimer, A/B or i.e. A letter within a sentence is an option only between words
# that are said of options: not "hepatitis B", "a drug" or "B cells".
WORD = r"0-9A-Za-z\u00c0-\u024f\u0370-\u04ff"
NOUN = (
    r"(?:\b(?:the|la|l'|el|le|die|a(?=\s+letra))\s*)?\b(?:answer\s+)?"
    r"(?:options?|choices?|letters?|statements?|opci[oó]n|alternativa|letra|вариант|choix|opzione|antwort(?:möglichkeit)?|odpowiedź)\b\s*#?\s*"
    r"|(?:विकल्प|选项|選項|選択肢)\s*"
)
LETTER = re.compile(
    rf"(?P<noun>{NOUN})?(?<![{WORD}'.-])(?P<open>[\"'(\[{{<]{{0,3}})(?P<letter>[A-Za-z])"
    rf"(?![{WORD}]|'\w|-[{WORD}]|\.\.?[A-Za-z]\b|[+^]|:[\\/])(?P<close>[)\"'\]}}>]{{0,3}})(?:\s*选项|\s+(?:ş\u0131kk\u0131|seçeneği)\w*)?",
    re.I,
)
BEFORE = re.compile(  # the answer is | B
    rf"(?:^|[^\w\s'-]|[^\x00-\u024f\u0370-\u04ff]|(?:^|\s)-+|{EXCEPT}(?:\s+(?:la|a))?|\b(?:is|makes?|making|supports?|favou?rs?|was|are|be"
    r"|being|not"
    r"|nor|neither|either|both|and|or|but|so|thus|therefore|hence|then|than|over|of|with|choose|chose|vote|select"
    r"|selected"
    r"|pick|picked|for|say|think|guess|mean|leaves|leaving|us|answers?|ans|towards?|to|favou?r|prefer|believe|consider"
    r"|considered|considering|remains|only|likely|probably|definitely|clearly|certainly|actually|really|indeed|no|wait"
    r"|yes|exclude|eliminate|out|why|makes|that|while|although|though|since|because|as|if|unless|from|between|among|on"
    r"|plus|niet|inte|maar|utan|ma|correction|finally|still|now|instead|options|it's|that's|isn't|conclude|maybe|perhaps|possibly|also|except"
    r"|ist|lautet|nicht|weder|noch|sondern|und|oder|wähle|würde|ehesten|daher|deshalb|somit|folglich|also"
    r"|est|réponse|pas|mais|choisis|donc|la|et|ou|c'est|respuesta|es|no|sino|elijo|elegiría|y|o|ni"
    r"|risposta|è|resposta|é|é\s+a|e|ответ|это|не|\u0430|и|или|выбираю|верный|adalah|ialah|jest|är|er|là|cevap|yan\u0131t"
    r"|nur|bis\s+auf|seule?|sol[ao]|apenas|somente|только|alleen|est-ce|es\s+la|è\s+la|det|to|het|apakah|c'est|s'agit\s+de|mich\s+für|elle|lean|\u03b7|\u03bf|(?:is|was)\s+(?:it|this|that)))\s*$",
    re.I,
)
AFTER = re.compile(  # B | is correct
    r"\s*(?:$|[^\w\s'+^-]|[^\x00-\u024f\u0370-\u04ff])|\s+-|\s+(?:is|isn't|are|was|would|will|seems|appears|fits"
    r"|matches|makes|explains|looks|can|cannot|can't|could|might|may|must|should|does|doesn't|has|remains|leaves"
    r"|because|since|as|and|or|but|not|nor|rather|over|instead|for|in|due|given|based|according|which|where|while"
    r"|whereas|although|though|even|with|than|to|takes|i\.?e|it(?=\s+is\b)|here|the|as|best|correct|incorrect|wrong"
    r"|right"
    r"|true|false|yes|no|wählen|nehmen|entscheiden|sind|ist|die|und|oder|sondern|est|la|le|et|ou|mais|plus|es|y|o|sino|è|é|e|then|plus|maar|utan|ma|son|sont|sono|são|estão|están|está|zijn|quella|richtig|korrekt|n'est|mi|m\u0131"
    rf"|и|или|\u0430|верен|so)\b|\s+{BAD}",
    re.I,
)
PRONOUN_AFTER = re.compile(r"\s+(?!(?:is|was|isn't|seems|and|or|because|fits|matches)\b)[a-z]", re.I)  # I would
LABEL_BEFORE = re.compile(  # Answer: | b
    rf"(?:(?:\b(?:choice|option)\b|{ANSWER}{AFTER_NOUN}?)[\"')\]]*\s*(?:(?:would\s+)?{IS}\s*:?|(?P<label>[:=-]))\s*|(?:^|\.\s)\W*)$",
    re.I,
)
ENUMERATED = re.compile(r"[)\]]+\s*|\.\s+(?![a-z])|\s+-+\s")  # b) Beta blockers | b. Beta blockers | b - they
ARTICLE_AFTER = re.compile(r"\s+(?:best|better|correct|incorrect|wrong|right|true|false)\b", re.I)  # a better drug
ALONE = re.compile(r"[)\].:,;!\s]*(?:$|正しい|正解|正确|正確|誤り|錯誤|错误)")
NAME_AFTER = re.compile(r"\.\s?(?=(?-i:[a-z]))")  # C. difficile
PROSE = re.compile(  # B. because ...
    rf"\b(?:this|that|these|the|it|is|are|was|you|I|we|hope|thanks?|please|note|explanation|reason|reasoning|rationale"
    rf"|confiden\w*|because|since|but|and|or|so|final|answer|option|choice|question|why|here|sure|certain\w*|likely"
    rf"|not|no"
    rf"|wait|hmm|actually|sorry|let|right)\b|{GOOD}|{BAD}|[^\x00-\u024f]",
    re.I,
)


def is_labelled(line: str, found: re.Match[str], before: str, *, has_text_behind: bool) -> bool:
    """Whether a letter in lower case stands alone behind words such as "Answer:"; but not in "the answer is a"."""
    end = found.end("letter")
    quoted = found["open"][-1:] == "'" == found["close"][:1]
    label = LABEL_BEFORE.search(before)
    alone = (
        has_text_behind
        or quoted
        or ALONE.match(line, end)
        or (label and label["label"] and ENUMERATED.match(line, end))
    )
    is_article = found["letter"] == "a" and before.rstrip().endswith("is") and end == len(line)
    return bool(label and alone and not is_article)


def is_among_words_of_answers(line: str, found: re.Match[str], before: str) -> bool:
    """Whether the words around a letter are said of options; not in "hepatitis B", "A patient" or "C. difficile"."""
    end = found.end()
    if not BEFORE.search(before) or not (found["close"].startswith(")") or AFTER.match(line, end)):
        return False
    if found["letter"].upper() in "AI" and not found["close"] and ARTICLE_AFTER.match(line, end):
        return False
    if found["letter"].upper() == "I" and PRONOUN_AFTER.match(line, end):
        return False
    name = NAME_AFTER.match(line, end)
    return not name or PROSE.match(line, name.end()) is not None
