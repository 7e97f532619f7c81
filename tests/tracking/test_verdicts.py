"""The tag `decision` of the run that a sweep names, and what the parent run says of it."""

import numpy as np
from outcomes import as_guesses, over_alpha

from ragsweep.sweeps import decide
from ragsweep.tracking.decisions import _verdicts, answer_of

SCORES = np.linspace(0.2, 0.8, 40)
ALIKE = np.array([SCORES, SCORES, SCORES])
ONE_IS_BETTER = np.array([SCORES, SCORES + 0.1, SCORES])


def test_the_named_run_is_chosen_unless_it_is_not_to_be_shipped():
    for scores, p, verdict, name in (
        (ALIKE, None, "tied", "alpha: same values"),
        (ONE_IS_BETTER, None, "chosen", "alpha: 0.5"),
        (ONE_IS_BETTER, (0.5, 0.5, 0.5), "not shipped: guessing", "alpha: nothing to ship, guessing"),
    ):
        decision = decide(over_alpha(scores, (0, 0.5, 1)))
        decision = as_guesses(decision, 0.25, p) if p else decision
        answer = answer_of(decision)
        assert dict(_verdicts(decision, None))[decision.named]["decision"] == verdict
        assert (answer.name, "Ship" in answer.headline) == (name, verdict == "chosen")
