"""The errors that a user can mend: one line each, worded for the person who reads it."""

LONGEST_LINE = 1000  # characters; some libraries put the whole answer of a server into an error


class RagsweepError(Exception):
    """Base of all our errors; its text is one line that says where, what was found and what was expected."""


class ConfigError(RagsweepError):
    """A setting that does not exist, or a value that it cannot take."""


class DatasetError(RagsweepError):
    """A document, query or judgment that cannot be read or does not fit the others."""


class EncoderError(RagsweepError):
    """An encoder whose files are not there or not the expected ones, or whose embeddings are invalid."""


class RetrieverError(RagsweepError):
    """A retriever or an index that returned something that is not a ranking."""


class TrackingError(RagsweepError):
    """A tracking store that cannot be reached, or does not hold what it is asked for."""


class RefusedError(TrackingError):
    """A request that the store rejects for good. Unlike an outage, retrying does not help."""


class JobFailed(Exception):  # noqa: N818 - it reports an error, whatever it was
    """A job of a sweep failed; the error has already been printed."""


class Terminated(SystemExit):
    """The process was sent SIGTERM or SIGHUP: unlike a `sys.exit` in code that it runs, this must end it."""


def first_line(error: BaseException) -> str:
    """What an error says, in one line of a length to read, without what a terminal would take for a command."""
    line = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return "".join(each for each in line[:LONGEST_LINE] if each.isprintable())
