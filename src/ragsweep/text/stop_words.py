"""English words without a content of their own, for the purposes that need different ones."""

from __future__ import annotations

# Those of Lucene's StandardAnalyzer, which most BM25 baselines use.
LUCENE_STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they "
    "this to was will with".split()
)

# For comparing questions. Negations and words that compare ("more", "only") are not among them: a question with one of
# these asks something else.
FUNCTION_WORDS = frozenset(
    "a an the and or but if then than so as at by for from in into of on onto to upon up with about over under after "
    "before because while during between through per via is are was were be been being am do does did doing done has "
    "have had having can could may might must shall should will would i me my mine we us our you your he him his she "
    "her hers it its they them their this that these those such own both there here once again further any each every "
    "some what which who whom whose when where why how please also just very too s t".split()
)
NEGATIONS = frozenset(
    "no not never none nor neither cannot without except fail lack unabl kein keinen keinem keiner nicht nie".split()
)  # as stems

# For comparing a reasoning with its evidence, whose negations and comparisons are often worded otherwise.
REASONING_STOP_WORDS = (FUNCTION_WORDS | LUCENE_STOP_WORDS) - set(
    "between doing further just once onto per please via".split()
) | set(
    "all although either hence however itself more most neither nor now ours out same since still themselves though "
    "thus until whether yet yours".split()
)
# Words with which a reasoning speaks of itself: "Step 5: therefore the best answer is option B."
FRAMING_WORDS = frozenset(
    "answer answers best choice choices conclude conclusion confidence correct option options passage passages "
    "question step steps therefore".split()
)
