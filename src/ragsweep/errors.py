"""The errors that a user can mend: one line each, worded for the person who reads it."""


class RagsweepError(Exception):
    """Base of all our errors; its text is one line that says where, what was found and what was expected."""


class ConfigError(RagsweepError):
    """A setting that does not exist, or a value that it cannot take."""


class DatasetError(RagsweepError):
    """A document, query or judgment that cannot be read or does not fit the others."""


class EncoderError(RagsweepError):
    """An encoder whose weights are not there, or not the ones that were expected."""


class TrackingError(RagsweepError):
    """A tracking store that cannot be reached, or does not hold what it is asked for."""


class JobFailed(Exception):  # noqa: N818 - it reports an error, whatever it was
    """A job of a sweep came to no result, and what became of it has been said."""


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
