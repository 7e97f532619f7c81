"""What a language model would judge. It steers what a person is asked, and never counts as a judgment."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ragsweep.app.commands import composed
from ragsweep.config.configuration_walk import Walk
from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import counted, one_line, shortened
from ragsweep.models.language.language_model import (
    Asking,
    Conversation,
    LanguageModel,
    Message,
    TooLongError,
    most_tokens,
)
from ragsweep.models.language.response import CAUSE_NAMES, grade_in
from ragsweep.models.language.writing import as_data
from ragsweep.replay.trusted_record import keys_of
from ragsweep_audit.judging.pool import Pair, Pool

PROMPT = """\
Query: {query}

Text: {text}

How relevant is the text for the query: {grades}? Reply with JSON alone, such as {{"grade": 0}}."""
LONGEST_READ = 6000  # characters of a text, around the passage that is ranked highest
GROUP = "language_model"


def about_model(overrides: Sequence[str]) -> list[str]:
    """The overrides that choose the language model."""
    return [override for override in overrides if keys_of([override]).pop().partition(".")[0] == GROUP]


def model_of(overrides: Sequence[str]) -> tuple[LanguageModel, str]:
    """The language model that overrides choose, and a digest of its settings. Raises `ConfigError`."""
    stores = [override for override in overrides if keys_of([override]).pop().partition(".")[0] == "store"]
    config = composed([*stores, *about_model(overrides)])
    walk = Walk(config)
    model: LanguageModel = walk.build(GROUP)
    return model, digest(walk.settings_of(GROUP))


def with_guesses(pool: Pool, model: LanguageModel, highest: int, tokens: int) -> Pool:
    """The pool with a guess for each pair that nobody has judged and that can change a difference.

    Args:
        pool: The pairs.
        model: What guesses.
        highest: The highest grade.
        tokens: The most tokens of a reply.

    Raises:
        ConfigError: The model said nothing that could be read.
        ModelError: The model cannot be loaded or asked, or the limit on tokens is reached.
    """
    grades = "1 if it is, 0 if not" if highest == 1 else f"from 0 for not at all to {highest} for completely"

    def guess(pair: Pair, asked: Conversation) -> tuple[int | None, str]:
        shown, most = pair.read(), LONGEST_READ
        while True:
            text = as_data("".join(shown.cut(most)[1:]))
            prompt = PROMPT.format(query=as_data(pair.query), text=text, grades=grades)
            try:
                response = asked.complete([Message("user", prompt)])
            except TooLongError:
                most //= 2
                if not most:
                    return None, "the query is too long"
                continue
            why = CAUSE_NAMES[response.cause] if response.cause else repr(shortened(one_line(response.text)))
            return grade_in(response.text, highest), why

    places = np.flatnonzero(np.isnan(pool.judged) & (np.ptp(pool.weights, axis=0) > 0))
    most = most_tokens(model, None, tokens, "judge")
    asking = Asking("judge", most, start_will_do=True, limit="--guess-tokens")
    replies = model.ask_each([pool.pairs[place] for place in places.tolist()], guess, asking)
    guesses = [grade for grade, _ in replies]
    if unread := [reply for grade, reply in replies if grade is None]:
        replies_without = f"{len(unread):,} of {counted(len(guesses), 'reply')}"
        why = f"--guess: no grade from 0 to {highest} in {replies_without}, such as {unread[0]}"
        if len(unread) == len(guesses):
            raise ConfigError(why)
        print(why, file=sys.stderr)
    guessed = np.full(len(pool.pairs), np.nan)
    guessed[places] = [np.nan if grade is None else grade / highest for grade in guesses]
    return replace(pool, guessed=guessed)
