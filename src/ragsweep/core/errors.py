"""Errors that the user can fix: each is one line, worded for the person who reads it."""

LONGEST_ERROR_LINE = 1000  # characters; some libraries put a server's whole response into an error


class RagsweepError(Exception):
    """Base of all our errors; its text is one line that says where, what was found and what was expected."""


class ConfigError(RagsweepError):
    """A setting that does not exist, or a value that it cannot take."""


class DatasetError(RagsweepError):
    """A document, query or judgment that cannot be read or does not fit the others."""


class NotAcceptedError(RagsweepError):
    """Items that a check of the run does not accept."""


class EncoderError(RagsweepError):
    """An encoder whose files are not there or not the expected ones, or whose embeddings are invalid."""


class RetrieverError(RagsweepError):
    """A retriever or an index that returned something that is not a ranking."""


class ModelError(RagsweepError):
    """A language model that cannot be reached or set up, or that has spent what it may spend."""


class UnusableError(ModelError):
    """A language model most of whose responses have no usable text, such as cut off ones; they were paid for."""


class TrackingError(RagsweepError):
    """A tracking store that cannot be reached, or lacks what was asked for."""


class RefusedError(TrackingError):
    """A request that the store rejects for good. Unlike an outage, retrying does not help."""


class JobFailed(Exception):  # noqa: N818 - it reports an error, whatever it was
    """A job of a sweep failed; the error has already been printed."""


class Terminated(SystemExit):
    """The process received SIGTERM or SIGHUP. Unlike `sys.exit` in a user's code, this must end the process."""


class UnansweredError(UnusableError):
    """A system that runs elsewhere and did not answer a query; what it had answered before is kept."""


class NothingFoundError(UnusableError):
    """A retriever that returned no passage for any query: it was asked, but there is nothing to measure."""


def first_line(error: BaseException) -> str:
    """The first line of an error's text, with those that it announces, shortened and without control characters."""
    lines = [line.strip() for line in str(error).strip().splitlines()] or [type(error).__name__]
    line = " ".join(lines) if lines[0].endswith(":") else lines[0]
    return "".join(character for character in line[:LONGEST_ERROR_LINE] if character.isprintable())
