r"""The words by which a text states, denies, doubts or compares answers, in the languages that are read.

Each constant is a part of a regular expression without groups. `M` is a mention of an option: `option_letters` has put
one character of a private range in place of "(B) Metoprolol", "option B" or "metoprolol", so that the patterns of
`answer_frames` are about words, not about options.
"""

from __future__ import annotations

L, LT, T, OTHER = "\ue000", "\ue100", "\ue200", "\ue300"  # first of a letter, a letter with its text, a text; neither
M = f"[{L}-{OTHER}]"
LETTERED = f"[{L}-\ue1ff]"

# What is stated: "answer", in a label or a sentence.
ANSWER = (
    r"(?:\b(?:answers?|ans|answer\s+(?:choice|option|letter)|choice|option|selection|solution|pick|guess|verdict"
    r"|antwort(?:möglichkeit)?|lösung|wahl|réponse|reponse|choix|respuesta|opción|elección|alternativa|risposta|opzione|resposta"
    r"|letra|gabarito|ответ|відповідь|вариант|выбор|cevap|yan\u0131t|jawaban|jawapan|đáp\s+án|antwoord|odpowiedź|odpověď|svar(?:et)?|vastaus"
    r"|răspuns(?:ul)?|válasz|jibu|απάντηση)\b|答案|选项|選項|选择|選擇|正解|正答|答え|解答|回答|選択肢|정답|답|الإجابة|الجواب|پاسخ|উত্তর|సమాధానం|பதில்|उत्तर|คำตอบ|תשובה)"
)
AFTER_NOUN = (  # "réponse finale"
    r"(?:\s+(?:finale?|corrigée|correcte?|corr?e(?:ct|tt?)[ao]|définitive|definitiva|yang\s+(?:benar|tepat)|đúng|الصحيحة|النهائية"
    r"|صحیح|הנכונה|and\s+(?:confidence|probability)))"
)
LABEL = (  # such a word with a colon at the start of a line
    r"(?:decision|final|conclusion|response|prediction|label|diagnosis|output|result|letter|treatment|management|step|test"
    r"|ergebnis|conclusión|résultat|结论|結論)"
)
BEST = (  # what makes a noun the one that is asked for: "the most likely diagnosis"
    r"(?:\b(?:most\s+(?:likely|probably|appropriate|suitable|probable|accurate|consistent|reasonable|plausible|fitting"
    r"|correct|relevant|effective|helpful|important|useful|suggestive|significant|characteristic)"
    r"|best(?!-|\s+(?:known|\w+ed)\b)|better|correct"
    r"|right|next|ideal|optimal|preferred|recommended|indicated|appropriate|of\s+choice"
    r"|only\s+(?:option|choice|answer|one)|richtig(?:e|er|es)?|korrekt(?:e|er|es)?|beste|wahrscheinlichsten?|bonne"
    r"|meilleure|correcte?|correct[ao]|mejor|правиль\w*|верн\w*|poprawn\w*|prawidłow\w*)\b|正确|正確|最佳|最可能|最合适|最も適切|正しい)"
)
IS = (
    r"(?:(?:\b|(?<=n'))(?:is|was|are|be|being|remains|ist|sind|sont|son|lautet|adalah|ialah|jest|är|er|là|wäre|sei|este|est|serait|es|sería|è|é|está|están|sono|são|estão|zijn|είναι"
    r"|seems?(?:\s+to\s+be)?|appears?\s+to\s+be)\b|'s\b|应该是|應該是|才是|就是|是|为|為|は|은|는|هي|هو|היא|הוא|คือ|(?<=\s)-(?=\s))"
)
FINALLY = r"finally(?!,?\s*[(\[]?[\ue000-\ue3ff][)\]]*[,:])"  # but not "Finally, (D): it is a vitamin"
SURELY = (
    r"(?:\b(?:therefore|thus|then|hence|indeed|still|now|most|also|certainly|clearly|definitely|likely|probably"
    r"|obviously|surely|simply|actually|really|undoubtedly|evidently|ultimately"
    rf"|{FINALLY}"
    r"|almost(?=\s+(?:certainly|surely|definitely))|consequently"
    r"|accordingly|equally|best|again|instead|am\s+ehesten|wahrscheinlich|also|daher|donc|probablement|probablemente"
    r"|in\s+fact"
    r"|of\s+course|going\s+to\s+be|indicated\s+by|represented\s+by|given\s+by|labeled|labelled)\b(?:\s*,)?\s*)"
)
ARTICLE = r"(?:\b(?:the|la|le|el|l'|a\s+letra|die|der|das|это|\u03b7|\u03bf|(?<=\bé )a)\b\s*|l')"

# How a writer chooses: "I would go with".
CHOOSE = (
    r"(?:\b(?:choose|chose|select|selected|pick|picked|go(?:ing)?\s+(?:with|for)|opt(?:ing)?\s+for|settle\s+(?:on|for)"
    r"|vote(?:\s+for)?|say|answer(?:\s+with)?|favou?r|prefer|lean(?:ing)?(?:\s+(?:towards?|to))?|wähle|choisi[st]"
    r"|choisirais|elijo|elegiría"
    r"|escojo|escogería|escolho|escolheria|scelgo|sceglierei|выбираю|выбрала?|выберу)\b|选择|選擇|选|選ぶ)"
)
WRITER = (
    r"(?:\b(?:I|we|let's|let\s+me|let\s+us|(?:you|one|doctors?|physicians?|clinicians?)\s+should|ich|je|yo|eu|я)\b"
    r"(?:'(?:d|ll|m|ve))?)"
)
THINK = r"(?:\b(?:think|thinking|believe|guess|suspect|conclude|mean|glaube|denke|pense|creo|думаю)\b(?:\s+that)?)"
IT = (
    r"(?:\b(?:it|that|this|which)(?:'s|\s+(?:is|(?:must|should|has\s+to|can\s+only|(?:would"
    r"|will)(?:\s+have\s+to)?)\s+be)|'d\s+be"
    r"|(?:'s|\s+has)\s+got\s+to\s+be)|^\W*must\s+be\b|\bc'est|\bil\s+s'agit\s+(?:de|d')|\bes(?=\s+la)|\best-ce)"
)
SO = (  # what opens a conclusion, or a correction
    r"(?:\b(?:so|therefore|thus|hence|(?<!,\s)(?<!and\s)then|consequently|accordingly|ultimately"
    rf"|{FINALLY}"
    r"|in\s+conclusion|overall|no|nope"
    r"|wait|actually|rather|correction|sorry|instead|yes|by\s+elimination|by\s+exclusion|daher|deshalb|folglich|somit"
    r"|donc|ainsi|entonces|luego|por\s+lo\s+tanto|portanto|quindi|значит|следовательно|итак|таким\s+образом)\b"
    r"|(?<![\ue000-\ue1ff])(?<![\ue000-\ue1ff]\s)(?<!\))(?<!\)\s)→|∴|所以|因此|故|应|應|本题|本題|したがって|よって)"
)
LEAVES = r"(?:\b(?:leaves|leaving|left\s+with)\b(?:\s+(?:us|only|me|with|just))*)"
GIVE = (  # what is done, where only the texts of options are named
    r"(?:(?:^|\b(?:I|we|you|patient|he|she|they)\s+(?:\w+\s+)?(?:would|should|must|will)\s+|\b(?:I|we)'(?:d|ll)\s+"
    r"|[.,]\s+)(?:give|start|prescribe|administer|recommend|use|order|get|receive|have|perform|obtain)"
    r"|\b(?:needs?|requires?))"
)
SAYS = (
    r"(?:\b(?:says?|said|thinks?|thought|claims?|claimed|believes?|believed|argues?|argued"
    r"|assumes?|assumed|guess(?:es)?|pick|choose)\b)"
)

# What is said of an option.
GOOD = (
    r"(?:\b(?:correct|right|true|yes|best|the\s+(?:(?!wrong|incorrect|false|worst|least|next|second|other|dangerous|harmful|expensive|costly|invasive|toxic"
    r"|common|frequent|tempting|popular|misleading|controversial|aggressive|risky|problematic"
    r"|for\b|of\b|in\b|to\b)\w+\s+){0,3}"
    r"(?:answer|option|choice|diagnosis|one|drug\s+of\s+choice|treatment\s+of\s+choice)"
    r"|(?:the\s+)?most\s+(?:likely|appropriate|suitable|probable|accurate|consistent|plausible|fitting|reasonable)"
    r"|the\s+(?:best(?!\s+(?:known|\w+ed)\b)|most\s+(?:likely|appropriate|suitable|probable|accurate|consistent"
    r"|plausible))(?:\s+\w+){1,4}?"
    r"|the\s+(?:clear|obvious)\s+(?:winner|choice|answer)|(?:the\s+)?better|the\s+(?:preferred|recommended|ideal|optimal)(?:\s+\w+)?|favou?red"
    r"|richtig|korrekt|trifft\s+zu|die\s+(?:richtige|korrekte|beste|passende)\s+(?:antwort|wahl|option|lösung)"
    r"|(?:la\s+)?correcte?|la\s+(?:bonne\s+|meilleure\s+)?(?:réponse|option)|le\s+(?:bon|meilleur)\s+choix|juste"
    r"|corr?ett?[ao]|correct[ao]|la\s+(?:mejor\s+)?(?:respuesta|opción)|верен|верно|правильн\w*)\b"
    r"|[✓✔✅☑]|是?正确(?:的|答案)?|正確|正しい|正解|对|對)"
)
FITS = (
    r"(?:\b(?:fits|matches|explains|works|suits)\b(?:\s+\w+){0,3}?\s+(?:best|better|perfectly|well)\b(?!\s+than)"
    r"|\bbest\s+(?:fits|matches|explains|suits|describes|represents|accounts\s+for|addresses|answers)\b"
    r"|\bmakes\s+(?:the\s+most\s+)?sense\b(?=\s*(?:[.,;!]|$|here|given|because|as|in|for))"
    r"|\b(?:best|accurately|correctly|perfectly|clearly)\s+(?:describes|captures|encapsulates|reflects|aligns|summarizes)\b"
    r"|\bthe\s+only\s+(?:one|option|choice|answer)\s+that\s+(?:truly|accurately|correctly|fully|directly|really)\b"
    r"|\btakes\s+(?:priority|precedence)\b)"
)
BAD = (
    r"(?:\b(?:wrong|incorrect|false|untrue|unlikely|less\s+likely|excluded|eliminated|contraindicated"
    r"|inappropriate|implausible|insufficient|too\s+(?!often|frequently|many\b)\w+|ruled\s+out|the\s+wrong\s+\w+|(?:an?|the)\s+(?:\w+\s+)?(?:distractor|trap|red\s+herring)|falsch|nicht\s+richtig|inkorrekt|incorrectes?|fausses?|faux|erronées?"
    r"|incorret[ao]s?|incorrect[ao]s?|fals[aeio]s?|erróne[ao]s?|errad[ao]s?|errat[aeio]|sbagliat[aeio]|scorrett[aeio]|fout|onjuist"
    r"|невер\w*|неправил\w*|niepoprawn\w*|nieprawidłow\w*)\b|[✗✘❌✕✖]|(?<!不)错的?(?!误)|不?错误|錯誤|不正确|不正確|不对|間違い|誤り|틀[렸린])"
)
ALL = (  # the options, or all others
    r"(?:\b(?:all(?:e|es)?|every\w*|each|any|toutes?|tous|todas|todos|tutt[aei]|все|allt|alla)\b|其他|其余|其餘|都|すべて|全て|全部|他|選択肢|모두)"
)
NONE = r"\b(?:none|no\s+(?:option|answer|other)|keine[rs]?|aucune?|ningun[ao]|nessun[ao]|nenhum[ao]?|ни\s+один|geen)\b"
YES = r"(?:(?:yes|ja|oui|sí|si|sim|sì|да|tak|evet|ya|yep|correct)\b|(?:是|对|對)的?|はい|네|예|نعم)"
NO = r"(?:(?:no|nein|non|não|нет|nee|nie|nej|nei|hay\u0131r|tidak)\b|不是的?|不对|いいえ|違います|아니[요오]|لا)"
ASKS = (  # the words of a question whether an option is the answer, besides those for "answer" and "right"
    r"(?:\b(?:it|this|that|so|then|would|es|ce?|que|qu|elle|il|l|la|le|a|die|der|das|the|het|czy|to|det|apakah|это"
    r"|est|ist|quella|option|m[i\u0131])\b|هل|吗|嗎|です|でしょう|か|입니까|인가요|이?에요)"
)
NOT = (
    r"(?:n't\b|\b(?:not|never|cannot|neither|nicht|weder|pas|no(?=\s+es\b)|ni|não|non|не|nie|bukan|không(?:\s+phải)?"
    r"|inte|niet|ikke|nu(?=\s+este))\b|不是|并非|非)"
)
BUT = (
    r"(?:\b(?:but|rather|sondern|mais|sino|mas|ma|\u0430|(?:it|that)(?:'s|\s+is)|c'est|es(?:\s+la)?|instead"
    r"|tylko|lecz|maar|utan|melainkan|mà\s+là)\b|而是)"
)

# What leaves a statement open, denies it, or says that somebody else makes it.
OPEN = (
    r"(?:\b(?:if|while|although|though|whereas|whether|unless|assuming|suppose|perhaps|maybe|possibly"
    r"|might|may|could|would\s+have\s+been|wenn|ob|vielleicht|könnte|peut-être|si|tal\s+vez|quizás|podría|если"
    r"|возможно)\b|如果|可能是|かも)"
)
INSISTS = (  # after "I can't"
    r"\s+(?:help\s+(?!(?:but\s+)?(?:wonder|doubt|suspect|question|disagree|\w+\s+(?:that\s+)?(?:it|[A-Z])\b))"
    r"(?:but|\w+ing)|but|deny(?!\s+n?or\b)|stress|emphasi[sz]e|overstate)\b"
)
DENIED = (
    rf"(?:n't\b(?!{INSISTS})|\b(?:cannot\b(?!{INSISTS})|not|never|no(?!\s+doubt)|none|nobody|nothing|(?<!no\s)doubt\w*|false|wrong|incorrect"
    r"|untrue|mistaken|unlikely|impossible|hardly|worst|least|kein\w*|nicht|pas|falsch\w*|faux)\b|不)"
)
ELSEWHERE = (  # at the start of a sentence about something else: "in the example, the answer is B"
    r"(?:^\W*(?!(?:in\s+)?(?:this|the\s+best|an?\s+\w+)\s)(?:[\w']+\W+){0,3}?(?:[dl]'|nell')?(?:examples?|beispiel|exemple|ejemplo|exemplo|esempio|пример\w*|voorbeeld|przykład\w*"
    r"|(?:previous|other|last)\s+(?:question|case|problem))\b|^\W*\w{0,3}例)"
)
EXCEPT = (
    r"(?:\b(?:except(?:ing)?(?:\s+for)?|besides|other\s+than|(?:apart|aside)\s+from|außer|bis\s+auf|sauf|excepté|excepto|exceto|salvo|menos"
    r"|tranne|eccetto|кроме|behalve|utom)\b)"
)
REASON = (  # what follows an answer and may name other options
    r"(?:because|since|as(?!\s+well)|due|given|based|according|so|where|in|for|i\.?e|namely|while|whereas|although"
    r"|though|even|despite|(?:and\s+|but\s+)?"
    r"(?:not(?!\s+(?:sure|certain|correct|right|true|really|entirely|quite|the|an|at|a\s+\w)\b)"
    r"|over|rather\s+than|instead\s+of|as\s+opposed\s+to)(?=\s+\S)|but\s+(?:I|we|one)|less\s+likely|weil|da|denn|car"
    r"|parce|porque|ya\s+que|так\s+как)\b|因为|因為|理由"
)
